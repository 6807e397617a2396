//! Rows of a table in memory, which are buffered without a copy: the host holds them in any case.
//!
//! ```text
//!  numbers       the arrays of the host
//!  text          few strings repeat: views of the strings of the host; otherwise a dictionary
//!      │
//!      ├──► in memory until the release is built, which copies the values of its rows
//!      └──► spilled: copied to the types of the file
//! ```
//!
//! A batch of a frame is a slice, and its buffers are those of the whole frame. So no buffer of the host may leave with a release, nor
//! be written to a file.

use std::sync::Arc;

use datafusion::arrow::array::{Array, ArrayRef, AsArray, RecordBatch, StringViewArray};
use datafusion::arrow::buffer::ScalarBuffer;
use datafusion::arrow::compute::cast;
use datafusion::arrow::datatypes::{DataType, SchemaRef};
use datafusion::datasource::memory::MemorySourceConfig;
use datafusion::datasource::source::DataSourceExec;
use datafusion::physical_plan::coop::CooperativeExec;
use datafusion::physical_plan::repartition::RepartitionExec;
use datafusion::physical_plan::spill::get_record_batch_memory_size;
use datafusion::physical_plan::{ExecutionPlan, Partitioning};
use throng_core::dictionary_encode::DictionaryEncoder;

use crate::AnonymizeError;

/// Returns whether all batches of a plan are those of a table in memory.
pub(crate) fn is_in_memory(plan: &Arc<dyn ExecutionPlan>) -> bool {
    if let Some(scan) = plan.downcast_ref::<DataSourceExec>() {
        return scan.data_source().downcast_ref::<MemorySourceConfig>().is_some();
    }
    let deals = |node: &RepartitionExec| matches!(node.partitioning(), Partitioning::RoundRobinBatch(_));
    let passes_on =
        plan.downcast_ref::<CooperativeExec>().is_some() || plan.downcast_ref::<RepartitionExec>().is_some_and(deals);
    passes_on && plan.children().into_iter().all(is_in_memory)
}

/// Returns text as views of its own strings; `None` if it is no plain text. Views of nulls are arbitrary in the tables of other
/// libraries, and empty here.
pub(crate) fn borrowed_text(text: &ArrayRef) -> Option<ArrayRef> {
    match text.data_type() {
        DataType::Utf8 | DataType::LargeUtf8 => cast(text, &DataType::Utf8View).ok(),
        DataType::Utf8View => match text.nulls().filter(|nulls| nulls.null_count() > 0) {
            None => Some(Arc::clone(text)),
            Some(nulls) => {
                let strings = text.as_string_view();
                let known = strings.views().iter().zip(nulls);
                let views: ScalarBuffer<u128> =
                    known.map(|(view, is_valid)| if is_valid { *view } else { 0 }).collect();
                let buffers = strings.data_buffers().to_vec();
                let strings = StringViewArray::try_new(views, buffers, Some(nulls.clone())).ok()?;
                Some(Arc::new(strings))
            }
        },
        _ => None,
    }
}

/// Returns the memory of a batch: that of its own strings for views, and that of all buffers for other columns.
pub(crate) fn borrowed_bytes(rows: &RecordBatch) -> Result<usize, AnonymizeError> {
    let views = rows.columns().iter().filter_map(|column| column.as_string_view_opt());
    let text: usize = views.map(|strings| strings.len() * size_of::<u128>() + strings.total_bytes_len()).sum();
    let is_other = |column: &usize| rows.column(*column).data_type() != &DataType::Utf8View;
    let others: Vec<usize> = (0..rows.num_columns()).filter(is_other).collect();
    let others = rows.project(&others).map_err(|source| AnonymizeError::Kernel("project", source))?;
    Ok(text + get_record_batch_memory_size(&others))
}

/// Returns rows in these types, with a copy of borrowed text.
pub(crate) fn owned_rows(rows: RecordBatch, schema: &SchemaRef) -> Result<RecordBatch, AnonymizeError> {
    if !rows.columns().iter().any(|column| column.data_type() == &DataType::Utf8View) {
        return Ok(rows);
    }
    let mut encoder = DictionaryEncoder::default();
    let columns = rows.columns().iter().zip(schema.fields()).map(|(column, field)| {
        if column.data_type() == field.data_type() { Ok(Arc::clone(column)) } else { encoder.compact(column) }
    });
    let columns = columns.collect::<Result<_, _>>().map_err(|source| AnonymizeError::Kernel("compact", source))?;
    RecordBatch::try_new(Arc::clone(schema), columns).map_err(|source| AnonymizeError::Kernel("batch", source))
}

#[cfg(test)]
#[path = "borrowed_rows_tests.rs"]
mod tests;

//! Rows of an emission that are released in boxes of earlier emissions.

use std::sync::Arc;

use datafusion::arrow::array::{RecordBatch, UInt32Array};
use datafusion::arrow::compute::take_record_batch;
use throng_core::out_of_core::Workspace;
use throng_core::row_hash::Checksum;
use throng_core::stream::{BoxLabels, PublishedBoxes};

use crate::AnonymizeError;
use crate::anonymizer::Anonymizer;
use crate::buffered_rows::{content, kept_column, numbers};
use crate::release::{ClassLabels, Form, ReleasedLabels, Run};
use crate::resources::Resources;
use crate::snapshot::buffered_rows;

/// Released rows in canonical order: by box, and by their row hash within a box.
#[derive(Clone, Debug)]
pub(super) struct JoinedRows {
    /// The rows, with the unit of privacy as the last column if the policy has one.
    pub(super) batch: RecordBatch,
    pub(super) checksum: Checksum,
}

impl JoinedRows {
    /// Releases `rows` in the boxes with these numbers.
    pub(super) fn new(
        rows: &RecordBatch,
        box_of: Vec<u32>,
        boxes: &PublishedBoxes,
        anonymizer: &Anonymizer,
        workspace: &Resources,
    ) -> Result<Self, AnonymizeError> {
        let seed = anonymizer.content_seed();
        let rows = buffered_rows(rows, box_of, anonymizer.binding(), seed, workspace)?;
        let keys: Vec<(u32, u128)> = numbers(&rows).iter().copied().zip(content(&rows)).collect();
        let mut order: Vec<u32> = (0..keys.len() as u32).collect();
        order.sort_unstable_by_key(|row| keys[*row as usize]);
        let rows = take_record_batch(&rows, &UInt32Array::from(order))
            .map_err(|source| AnonymizeError::Kernel("take", source))?;
        let in_order: Vec<&[u32]> = numbers(&rows).chunk_by(|a, b| a == b).collect();
        let runs: Vec<Run> = (0..).zip(&in_order).map(|(class, rows)| Run { class, rows: rows.len() }).collect();
        let used: Vec<u32> = in_order.iter().map(|rows| rows[0]).collect();
        let labels = released_labels(boxes.labels(&used), anonymizer, workspace);
        let batch = labels.batch(Form::Plain, &runs, |kept| Ok(Arc::clone(rows.column(kept_column(kept)))))?;
        let mut checksum = Checksum::default();
        checksum.add(content(&rows));
        Ok(Self { batch, checksum })
    }
}

/// Returns the released labels of boxes, a row for each.
pub(super) fn labels_of_boxes(
    labels: BoxLabels,
    anonymizer: &Anonymizer,
    workspace: &Resources,
) -> Result<RecordBatch, AnonymizeError> {
    let width = labels.columns.len().max(1);
    let boxes = labels.label_of.len() / width;
    let runs: Vec<Run> = (0..boxes as u32).map(|class| Run { class, rows: 1 }).collect();
    released_labels(labels, anonymizer, workspace).labels(&runs)
}

fn released_labels(labels: BoxLabels, anonymizer: &Anonymizer, workspace: &Resources) -> ReleasedLabels {
    let BoxLabels { columns, label_of } = labels;
    let labels = Arc::new(ClassLabels { columns, label_of });
    ReleasedLabels::plain(anonymizer, labels, workspace.budget("labels of published boxes")).0
}

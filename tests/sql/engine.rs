//! Adapter of a session for the runner of the query files.

use arrow::array::RecordBatch;
use arrow::datatypes::DataType;
use arrow::util::display::{ArrayFormatter, FormatOptions};
use async_trait::async_trait;
use datafusion::error::DataFusionError;
use datafusion::prelude::SessionContext;
use sqllogictest::{AsyncDB, DBOutput, DefaultColumnType};

pub struct Engine {
    pub ctx: SessionContext,
}

#[async_trait]
impl AsyncDB for Engine {
    type Error = DataFusionError;
    type ColumnType = DefaultColumnType;

    async fn run(&mut self, sql: &str) -> Result<DBOutput<DefaultColumnType>, DataFusionError> {
        let frame = self.ctx.sql(sql).await?;
        let types: Vec<_> = frame.schema().fields().iter().map(|field| column_type(field.data_type())).collect();
        let rows = rows(&frame.collect().await?);
        Ok(match types.is_empty() {
            true => DBOutput::StatementComplete(0),
            false => DBOutput::Rows { types, rows },
        })
    }

    async fn shutdown(&mut self) {}
}

fn column_type(data_type: &DataType) -> DefaultColumnType {
    match data_type {
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => DefaultColumnType::Text,
        data_type if data_type.is_integer() => DefaultColumnType::Integer,
        data_type if data_type.is_floating() => DefaultColumnType::FloatingPoint,
        _ => DefaultColumnType::Any,
    }
}

/// Formats rows as text. A plan, which is one multi-line value, becomes one row per line, numbered and with dashes for
/// the indentation.
pub fn rows(batches: &[RecordBatch]) -> Vec<Vec<String>> {
    let mut rows = Vec::new();
    for batch in batches {
        let options = FormatOptions::default().with_null("NULL");
        let columns: Vec<_> =
            batch.columns().iter().map(|column| ArrayFormatter::try_new(column.as_ref(), &options).unwrap()).collect();
        for row in 0..batch.num_rows() {
            let cells: Vec<String> = columns.iter().map(|column| cell(column.value(row).to_string())).collect();
            match cells.as_slice() {
                [kind, plan] if plan.contains('\n') => {
                    rows.push(vec![kind.clone()]);
                    rows.extend(plan.trim_end().lines().enumerate().map(|(index, line)| vec![plan_line(index, line)]));
                }
                _ => rows.push(cells),
            }
        }
    }
    rows
}

fn cell(text: String) -> String {
    if text.is_empty() { "(empty)".to_owned() } else { text }
}

fn plan_line(index: usize, line: &str) -> String {
    let plan = line.trim_start();
    format!("{:02}){}{plan}", index + 1, "-".repeat(line.len() - plan.len()))
}

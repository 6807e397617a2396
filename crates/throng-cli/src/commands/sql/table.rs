//! Formats a result as a table, in time and memory proportional to its text.

use arrow::array::RecordBatch;
use arrow::datatypes::Schema;
use arrow::error::ArrowError;
use arrow::util::display::{ArrayFormatter, FormatOptions};
use unicode_width::UnicodeWidthStr;

/// A cell: its lines, and the width of the widest.
struct Cell {
    text: String,
    width: usize,
}

impl Cell {
    fn new(text: String) -> Self {
        let width = text.split('\n').map(UnicodeWidthStr::width).max().unwrap_or(0);
        Self { text, width }
    }

    fn height(&self) -> usize {
        1 + self.text.bytes().filter(|byte| *byte == b'\n').count()
    }
}

/// Returns the table of all batches, with a header.
pub(super) fn format_table(schema: &Schema, batches: &[RecordBatch]) -> Result<String, ArrowError> {
    let options = FormatOptions::default().with_null("NULL").with_display_error(true);
    let mut rows: Vec<Vec<Cell>> = vec![schema.fields().iter().map(|field| Cell::new(field.name().clone())).collect()];
    for batch in batches {
        let formatters: Result<Vec<_>, ArrowError> =
            batch.columns().iter().map(|column| ArrayFormatter::try_new(column, &options)).collect();
        let formatters = formatters?;
        for row in 0..batch.num_rows() {
            rows.push(formatters.iter().map(|column| Cell::new(column.value(row).to_string())).collect());
        }
    }
    let width = |column: usize| rows.iter().map(|row| row[column].width).max().unwrap_or(0);
    let widths: Vec<usize> = (0..schema.fields().len()).map(width).collect();
    let rule = widths.iter().fold("+".to_owned(), |rule, width| rule + &"-".repeat(width + 2) + "+") + "\n";
    let mut table = rule.clone();
    for (number, row) in rows.iter().enumerate() {
        push_row(&mut table, row, &widths);
        if number == 0 {
            table.push_str(&rule);
        }
    }
    table.push_str(&rule);
    Ok(table)
}

fn push_row(table: &mut String, row: &[Cell], widths: &[usize]) {
    let height = row.iter().map(Cell::height).max().unwrap_or(1);
    let mut lines: Vec<_> = row.iter().map(|cell| cell.text.split('\n')).collect();
    for _ in 0..height {
        table.push('|');
        for (lines, width) in lines.iter_mut().zip(widths) {
            let line = lines.next().unwrap_or_default();
            // The padding of the standard library counts characters, not terminal columns.
            table.push(' ');
            table.push_str(line);
            table.extend(std::iter::repeat_n(' ', width - line.width()));
            table.push_str(" |");
        }
        table.push('\n');
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::time::{Duration, Instant};

    use arrow::array::{ArrayRef, Int64Array, ListArray, StringArray};
    use arrow::datatypes::Int64Type;
    use arrow::util::pretty::pretty_format_batches_with_options;

    use super::*;

    fn batch() -> RecordBatch {
        let texts = ["plain", "two\nlines", "", "日本語", "a\tb", "e\u{301}", "x\n"];
        let texts: ArrayRef = Arc::new(StringArray::from_iter(texts.map(Some).into_iter().chain([None])));
        let numbers: ArrayRef = Arc::new(Int64Array::from_iter((0..8).map(|row| (row != 3).then_some(row * 1000))));
        let lists = (0..8).map(|row| (row % 2 == 0).then(|| vec![Some(row), None]));
        let lists: ArrayRef = Arc::new(ListArray::from_iter_primitive::<Int64Type, _, _>(lists));
        RecordBatch::try_from_iter([("text", texts), ("a longer name", numbers), ("lists", lists)]).unwrap()
    }

    #[test]
    fn tables_look_as_those_of_arrow() {
        let options = FormatOptions::default().with_null("NULL").with_display_error(true);
        let batch = batch();
        for rows in 0..=batch.num_rows() {
            let batches = [batch.slice(0, rows)];
            let expected = pretty_format_batches_with_options(&batches, &options).unwrap().to_string() + "\n";
            assert_eq!(format_table(&batch.schema(), &batches).unwrap(), expected, "{rows} rows");
        }
    }

    #[test]
    fn a_long_value_takes_no_longer_than_its_length() {
        let text: ArrayRef = Arc::new(StringArray::from_iter_values(["x".repeat(8_000_000)]));
        let batch = RecordBatch::try_from_iter([("text", text)]).unwrap();
        let start = Instant::now();
        let table = format_table(&batch.schema(), &[batch]).unwrap();
        assert_eq!(table.len(), 5 * (8_000_000 + 5));
        assert!(start.elapsed() < Duration::from_secs(10), "{:?}", start.elapsed());
    }
}

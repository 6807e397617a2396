//! Results as a table in Markdown.

/// Prints a table row by row.
#[derive(Debug)]
pub struct Rows {
    columns: usize,
}

impl Rows {
    /// Begins a table with these headings.
    pub fn new(headings: &[&str]) -> Self {
        println!("\n| {} |", headings.join(" | "));
        println!("|{}", "---|".repeat(headings.len()));
        Self { columns: headings.len() }
    }

    /// One more row; missing cells stay empty.
    pub fn row(&self, cells: &[String]) {
        let empty = std::iter::repeat_n(String::new(), self.columns.saturating_sub(cells.len()));
        let cells: Vec<String> = cells.iter().cloned().chain(empty).collect();
        println!("| {} |", cells.join(" | "));
    }
}

//! Result tables in Markdown.

/// Formats a table.
pub fn markdown(headings: &[&str], rows: &[Vec<String>]) -> String {
    let mut text = format!("| {} |\n|{}\n", headings.join(" | "), "---|".repeat(headings.len()));
    for row in rows {
        text.push_str(&format!("| {} |\n", row.join(" | ")));
    }
    text
}

/// Prints a table row by row.
#[derive(Debug)]
pub struct Rows {
    columns: usize,
}

impl Rows {
    /// Prints the headings of a table.
    pub fn new(headings: &[&str]) -> Self {
        println!("\n| {} |", headings.join(" | "));
        println!("|{}", "---|".repeat(headings.len()));
        Self { columns: headings.len() }
    }

    /// Prints a row; missing cells stay empty.
    pub fn row(&self, cells: &[String]) {
        let empty = std::iter::repeat_n(String::new(), self.columns.saturating_sub(cells.len()));
        let cells: Vec<String> = cells.iter().cloned().chain(empty).collect();
        println!("| {} |", cells.join(" | "));
    }
}

//! A data set on the command line: `census=100k`.

use anyhow::{Context, Result};

/// A data set and its number of rows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Choice {
    /// Name of the data set.
    pub name: String,
    /// Number of rows, if given.
    pub rows: Option<usize>,
}

impl Choice {
    /// Parses `NAME` or `NAME=ROWS`, where rows may end in `k` or `M`.
    pub fn parse(word: &str) -> Result<Self> {
        let Some((name, count)) = word.split_once('=') else { return Ok(Self { name: word.to_owned(), rows: None }) };
        let (digits, factor) = match count.strip_suffix('k') {
            Some(digits) => (digits, 1_000),
            None => count.strip_suffix('M').map_or((count, 1), |digits| (digits, 1_000_000)),
        };
        let rows =
            digits.parse::<usize>().with_context(|| format!("`{word}`: expected rows such as 500, 100k or 1M"))?;
        Ok(Self { name: name.to_owned(), rows: Some(rows * factor) })
    }

    /// Returns the name with the number of rows.
    pub fn title(&self) -> String {
        match self.rows {
            None => self.name.clone(),
            Some(rows) if rows >= 1_000_000 && rows % 1_000_000 == 0 => format!("{}={}M", self.name, rows / 1_000_000),
            Some(rows) if rows >= 1_000 && rows % 1_000 == 0 => format!("{}={}k", self.name, rows / 1_000),
            Some(rows) => format!("{}={rows}", self.name),
        }
    }
}

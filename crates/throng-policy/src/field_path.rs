//! Path of a field in the policy file, such as `columns.age.hierarchy.intervals[1]`.

use std::fmt;

/// One step down from a table or list of the file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PathStep {
    /// A field of a table.
    Key(String),
    /// An element of a list.
    Index(usize),
}

/// Steps from the root of the file to a field.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FieldPath(Vec<PathStep>);

impl FieldPath {
    /// Creates a path of table keys.
    pub fn of(keys: &[&str]) -> Self {
        Self(keys.iter().map(|key| PathStep::Key((*key).to_owned())).collect())
    }

    /// Appends the name of a field.
    pub fn key(&self, name: &str) -> Self {
        self.then(PathStep::Key(name.to_owned()))
    }

    /// Appends the index of a list element.
    pub fn index(&self, position: usize) -> Self {
        self.then(PathStep::Index(position))
    }

    /// Appends the steps of another path.
    pub fn join(&self, below: &Self) -> Self {
        Self([self.0.as_slice(), below.0.as_slice()].concat())
    }

    /// Returns the steps from the root.
    pub fn steps(&self) -> &[PathStep] {
        &self.0
    }

    fn then(&self, step: PathStep) -> Self {
        let mut steps = self.0.clone();
        steps.push(step);
        Self(steps)
    }
}

impl fmt::Display for FieldPath {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (depth, step) in self.0.iter().enumerate() {
            match step {
                PathStep::Index(position) => write!(formatter, "[{position}]")?,
                PathStep::Key(name) => {
                    let separator = if depth == 0 { "" } else { "." };
                    if is_bare(name) {
                        write!(formatter, "{separator}{name}")?;
                    } else {
                        write!(formatter, "{separator}{name:?}")?;
                    }
                }
            }
        }
        Ok(())
    }
}

/// Returns whether the name is a bare key of TOML.
fn is_bare(name: &str) -> bool {
    !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '-')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_reads_as_it_would_be_written() {
        let path = FieldPath::of(&["columns", "zip code", "hierarchy"]).key("intervals").index(1);
        assert_eq!(path.to_string(), "columns.\"zip code\".hierarchy.intervals[1]");
        assert_eq!(FieldPath::of(&["a.b", "", "c-d_1"]).to_string(), "\"a.b\".\"\".c-d_1");
        assert_eq!(FieldPath::default().to_string(), "");
    }
}

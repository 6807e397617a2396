//! Collects the problems of a policy with their positions.

use std::fmt;
use std::io;

use thiserror::Error;

use crate::field_path::FieldPath;
use crate::spanned_toml::{SpannedToml, ValueOrigin};
use crate::text_position::LineColumn;

/// A problem of a policy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// Path of the field, such as `columns.age.weight`, or the command-line flag that set it, such as `--p`. Empty for
    /// the whole file.
    pub path: String,
    /// Position in the file; `None` for a flag.
    pub place: Option<LineColumn>,
    /// Description: found, expected, and a remedy.
    pub message: String,
}

impl fmt::Display for Problem {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.path.is_empty() {
            write!(formatter, "{}: ", self.path)?;
        }
        formatter.write_str(&self.message)
    }
}

/// All problems that prevent a policy or a binding.
///
/// Displays one line per problem, `policy.toml:12:5: columns.age.wieght: unknown field; did you mean ...`. It never
/// contains a location or the value of an environment variable.
#[derive(Debug, Error)]
pub struct PolicyError {
    file: String,
    problems: Vec<Problem>,
    #[source]
    unreadable: Option<io::Error>,
}

impl PolicyError {
    pub(crate) fn new(file: &str, problems: Vec<Problem>) -> Self {
        Self { file: file.to_owned(), problems, unreadable: None }
    }

    pub(crate) fn unreadable(file: &str, error: io::Error) -> Self {
        let message = match error.kind() {
            io::ErrorKind::NotFound => "there is no such policy file".to_owned(),
            kind => format!("the policy file can't be read: {kind}"),
        };
        let problems = vec![Problem { path: String::new(), place: None, message }];
        Self { file: file.to_owned(), problems, unreadable: Some(error) }
    }

    /// Returns the name of the policy file, as given.
    pub fn file(&self) -> &str {
        &self.file
    }

    /// Returns all problems in file order; those without a position come last.
    pub fn problems(&self) -> &[Problem] {
        &self.problems
    }
}

impl fmt::Display for PolicyError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, problem) in self.problems.iter().enumerate() {
            if index > 0 {
                formatter.write_str("\n")?;
            }
            match problem.place {
                Some(place) => write!(formatter, "{}:{place}: {problem}", self.file)?,
                None if problem.path.starts_with("--") => write!(formatter, "{problem}")?,
                None => write!(formatter, "{}: {problem}", self.file)?,
            }
        }
        Ok(())
    }
}

/// Maximum number of reported problems. Further ones are only counted: a generated file may have one in each line.
const MAX_PROBLEMS: usize = 100;

/// Truncates a list of problems, and appends the number of the others.
pub(crate) fn shortened(mut problems: Vec<Problem>) -> Vec<Problem> {
    let more = problems.len().saturating_sub(MAX_PROBLEMS);
    problems.truncate(MAX_PROBLEMS);
    problems.extend((more > 0).then(|| and_more(more)));
    problems
}

fn and_more(problems: usize) -> Problem {
    Problem { path: String::new(), place: None, message: format!("and {problems} more problems") }
}

/// Collects the problems of one document.
pub(crate) struct Report<'a> {
    document: &'a SpannedToml,
    problems: Vec<Problem>,
    /// Number of problems that are not stored.
    more: usize,
    /// The part of the document that paths are relative to.
    base: FieldPath,
}

impl<'a> Report<'a> {
    /// Creates an empty report.
    pub fn new(document: &'a SpannedToml) -> Self {
        Self { document, problems: Vec::new(), more: 0, base: FieldPath::default() }
    }

    /// Interprets the following paths relative to a table of the document.
    pub fn begin(&mut self, base: FieldPath) {
        self.base = base;
    }

    /// Interprets the following paths relative to the whole document.
    pub fn end(&mut self) {
        self.base = FieldPath::default();
    }

    /// Adds a problem at the value of a field.
    pub fn value(&mut self, path: &FieldPath, message: impl Into<String>) {
        self.add(path, message.into(), |_, value| value);
    }

    /// Adds a problem at the key of a field that is missing or should not be present.
    pub fn field(&mut self, path: &FieldPath, message: impl Into<String>) {
        self.add(path, message.into(), |key, _| key);
    }

    /// Returns the problems as an error, if there are any.
    pub fn finish(mut self) -> Result<(), PolicyError> {
        if self.problems.is_empty() {
            return Ok(());
        }
        self.problems.sort_by_key(|problem| (problem.place.is_none(), problem.place));
        self.problems.extend((self.more > 0).then(|| and_more(self.more)));
        Err(PolicyError::new(self.document.name(), self.problems))
    }

    /// Returns the command-line flag that set a field, if any.
    pub fn flag(&self, path: &FieldPath) -> Option<&'static str> {
        match self.document.origin(&self.base.join(path)) {
            ValueOrigin::Flag(flag) => Some(flag),
            ValueOrigin::File { .. } | ValueOrigin::Unplaced => None,
        }
    }

    /// Returns whether further problems are only counted, so that callers can skip expensive messages.
    pub fn is_full(&self) -> bool {
        self.problems.len() >= MAX_PROBLEMS
    }

    fn add(&mut self, path: &FieldPath, message: String, place: impl Fn(LineColumn, LineColumn) -> LineColumn) {
        if self.is_full() {
            self.more += 1;
            return;
        }
        let path = &self.base.join(path);
        let (path, place) = match self.document.origin(path) {
            ValueOrigin::File { key, value } => (path.to_string(), Some(place(key, value))),
            ValueOrigin::Flag(flag) => (flag.to_owned(), None),
            ValueOrigin::Unplaced => (path.to_string(), None),
        };
        self.problems.push(Problem { path, place, message });
    }
}

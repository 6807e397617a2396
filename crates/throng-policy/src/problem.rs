//! Problems of a policy, collected with their places.

use std::fmt;
use std::io;

use thiserror::Error;

use crate::field_path::FieldPath;
use crate::spanned_toml::{SpannedToml, ValueOrigin};
use crate::text_position::LineColumn;

/// One thing that is wrong with a policy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// The field, such as `columns.age.weight`; or the command-line flag that set it, such as `--p`. Empty when the
    /// whole file is meant.
    pub path: String,
    /// Where it stands in the file; none for a flag.
    pub place: Option<LineColumn>,
    /// What was found, what was expected, and what to do.
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

/// Why there is no policy, or no binding: all problems at once.
///
/// Its text has one line per problem, `policy.toml:12:5: columns.age.wieght: unknown field; did you mean ...`. It never
/// holds a location or the value of an environment variable.
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

    /// The policy file, as it was named.
    pub fn file(&self) -> &str {
        &self.file
    }

    /// All problems, in the order of the file; those without a place come last.
    pub fn problems(&self) -> &[Problem] {
        &self.problems
    }

    /// Whether the file could not be read at all, as opposed to being a bad policy.
    pub fn is_unreadable(&self) -> bool {
        self.unreadable.is_some()
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

/// So many problems are told, and the others are counted: a generated file may have one in each of its lines.
const MOST_PROBLEMS: usize = 100;

/// The first problems of many.
pub(crate) fn shortened(mut problems: Vec<Problem>) -> Vec<Problem> {
    let more = problems.len().saturating_sub(MOST_PROBLEMS);
    problems.truncate(MOST_PROBLEMS);
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
    /// Problems that are only counted.
    more: usize,
}

impl<'a> Report<'a> {
    /// Nothing is wrong yet.
    pub fn new(document: &'a SpannedToml) -> Self {
        Self { document, problems: Vec::new(), more: 0 }
    }

    /// Something is wrong with the value of a field.
    pub fn value(&mut self, path: &FieldPath, message: impl Into<String>) {
        self.add(path, message.into(), |_, value| value);
    }

    /// A field is missing, or should not be there.
    pub fn field(&mut self, path: &FieldPath, message: impl Into<String>) {
        self.add(path, message.into(), |key, _| key);
    }

    /// All that was wrong, if anything was.
    pub fn finish(mut self) -> Result<(), PolicyError> {
        if self.problems.is_empty() {
            return Ok(());
        }
        self.problems.sort_by_key(|problem| (problem.place.is_none(), problem.place));
        self.problems.extend((self.more > 0).then(|| and_more(self.more)));
        Err(PolicyError::new(self.document.name(), self.problems))
    }

    /// The flag that set a field, if one did.
    pub fn flag(&self, path: &FieldPath) -> Option<&'static str> {
        match self.document.origin(path) {
            ValueOrigin::Flag(flag) => Some(flag),
            ValueOrigin::File { .. } | ValueOrigin::Unplaced => None,
        }
    }

    /// Whether further problems are only counted, so that nobody needs to think about their words.
    pub fn is_full(&self) -> bool {
        self.problems.len() >= MOST_PROBLEMS
    }

    fn add(&mut self, path: &FieldPath, message: String, place: impl Fn(LineColumn, LineColumn) -> LineColumn) {
        if self.is_full() {
            self.more += 1;
            return;
        }
        let (path, place) = match self.document.origin(path) {
            ValueOrigin::File { key, value } => (path.to_string(), Some(place(key, value))),
            ValueOrigin::Flag(flag) => (flag.to_owned(), None),
            ValueOrigin::Unplaced => (path.to_string(), None),
        };
        self.problems.push(Problem { path, place, message });
    }
}

//! Drafts a policy from the profiles of the columns of a table, with a reason for every line.
//!
//! ```text
//!  profile of each column ──► likely roles and questions ──► policy.toml
//!  throng_core::profile       role.rs, names.rs              write.rs, builder.rs
//! ```
//!
//! A draft holds column names, counts and round numbers, and no value of the table.

mod builder;
mod names;
mod role;
mod write;

use arrow::datatypes::{DataType, Field};
use throng_core::profile::{Profile, ValueKind};
use throng_core::risk::Risk;

use names::{NameHint, hint_of_name};
use role::{Guess, GuessedRole, guess, names_a_person};

/// A draft of a policy for one table.
#[derive(Clone, Debug)]
pub struct PolicyDraft {
    columns: Vec<DraftColumn>,
}

/// A column with its profile and its likely role.
#[derive(Clone, Debug)]
struct DraftColumn {
    name: String,
    data_type: DataType,
    profile: Profile,
    guess: Guess,
    /// An earlier column with the same day in every row.
    same_days_as: Option<String>,
}

/// Number of columns of dates or times that are compared with each other.
const MAX_DAYS: usize = 10;

impl PolicyDraft {
    /// Guesses the role of each column from its name, type and profile. Names must be unique.
    pub fn new<'a>(columns: impl IntoIterator<Item = (&'a Field, Profile)>) -> Self {
        let column = |(field, profile): (&Field, Profile)| {
            let (name, data_type) = (field.name().clone(), field.data_type().clone());
            let guess = guess(&name, &profile, &data_type);
            DraftColumn { name, data_type, profile, guess, same_days_as: None }
        };
        Self { columns: columns.into_iter().map(column).collect() }
    }

    /// Returns the names of the columns that are or may be quasi-identifiers.
    pub fn quasi(&self) -> Vec<String> {
        let quasi = self.columns.iter().filter(|column| column.guess.role == GuessedRole::Quasi);
        quasi.map(|column| column.name.clone()).collect()
    }

    /// Returns pairs of likely quasi-identifiers that hold dates or times, which may be the same days twice.
    pub fn like_days(&self) -> Vec<(String, String)> {
        let is_day = |column: &&DraftColumn| {
            column.guess.role == GuessedRole::Quasi
                && matches!(column.profile.kind(), ValueKind::Date | ValueKind::Timestamp)
        };
        let days: Vec<&DraftColumn> = self.columns.iter().filter(is_day).take(MAX_DAYS).collect();
        let pairs =
            days.iter().enumerate().flat_map(|(at, later)| days[..at].iter().map(move |earlier| (earlier, later)));
        pairs.map(|(earlier, later)| (earlier.name.clone(), later.name.clone())).collect()
    }

    /// Records that a column has the same day as an earlier one in every row.
    pub fn set_same_days(&mut self, earlier: &str, later: &str) {
        if let Some(column) = self.columns.iter_mut().find(|column| column.name == later) {
            column.same_days_as.get_or_insert_with(|| earlier.to_owned());
        }
    }

    /// Returns the number of rows of the table.
    pub fn rows(&self) -> u64 {
        self.columns.first().map_or(0, |column| column.profile.rows())
    }

    /// Returns the number of columns of the table.
    pub fn columns(&self) -> usize {
        self.columns.len()
    }

    /// Returns the number of open questions.
    pub fn questions(&self) -> usize {
        write::questions(&self.columns)
    }

    /// Returns the text of the policy file for the table at `locations`. `risk` is that of the
    /// [quasi-identifiers](Self::quasi), if there are any.
    pub fn text(&self, locations: &[String], risk: Option<&Risk>) -> String {
        write::policy(locations, self.rows(), &self.columns, risk)
    }
}

/// Returns whether the name of a column says that its values are people, or refer to them.
pub fn may_identify_people(name: &str) -> bool {
    names_a_person(name) || matches!(hint_of_name(name), Some((NameHint::Reference, _)))
}

/// Returns the share of a column in the risk, if it is a quasi-identifier.
fn share_of(risk: Option<&Risk>, name: &str) -> Option<f64> {
    risk?.columns.iter().find(|column| column.name == name).map(|column| column.share)
}

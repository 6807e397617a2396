//! Guesses the role of a column, with a reason, or leaves a question open.
//!
//! A guess is used only if an error is on the safe side: dropping a column, generalizing it, or treating it as
//! sensitive because of its name. The role `insensitive` is never guessed.

use arrow::datatypes::DataType;
use throng_core::list_texts::list_field;
use throng_core::profile::{Profile, TextShape, ValueKind};

use super::names::{NameHint, hint_of_name};
use crate::declared_type::{DeclaredType, describe_type};

/// The likely role of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum GuessedRole {
    Identifier,
    Quasi,
    Sensitive,
}

impl GuessedRole {
    pub(super) fn as_str(self) -> &'static str {
        match self {
            Self::Identifier => "identifier",
            Self::Quasi => "quasi",
            Self::Sensitive => "sensitive",
        }
    }
}

/// A guessed role.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Guess {
    pub(super) role: GuessedRole,
    /// Whether the user must confirm the role.
    pub(super) is_question: bool,
    /// The reason, in a sentence.
    pub(super) why: String,
    /// Whether its values repeat as those of people with several rows do.
    pub(super) is_unit: bool,
}

fn sure(role: GuessedRole, why: impl Into<String>) -> Guess {
    Guess { role, is_question: false, why: why.into(), is_unit: false }
}

fn question(role: GuessedRole, why: impl Into<String>) -> Guess {
    Guess { role, is_question: true, why: why.into(), is_unit: false }
}

/// Share of unique values from which a column identifies rows.
const MOSTLY: f64 = 0.9;
/// Rows per distinct value from which a number refers to a group and not to a person.
const ROWS_PER_GROUP: u64 = 20;
/// Maximum number of distinct values of a likely quasi-identifier, without other evidence.
const FEW: u64 = 50;
/// Minimum share of values with a shape that is taken as evidence.
const NEARLY_ALL: f64 = 0.95;

/// Returns the likely role of a column.
pub(super) fn guess(name: &str, profile: &Profile, data_type: &DataType) -> Guess {
    let (valued, distinct) = (profile.valued(), profile.distinct());
    let is_unique = valued > 1 && profile.unique_share() >= MOSTLY;
    if profile.kind() == ValueKind::Other {
        return match list_field(data_type) {
            Some(element) if DeclaredType::of(element.data_type()).is_some() => list(name),
            _ => question(
                GuessedRole::Identifier,
                format!(
                    "a column of the type `{}` can be neither generalized nor counted, only left out or kept as it is",
                    describe_type(data_type)
                ),
            ),
        };
    }
    if profile.not_finite() > 0 {
        return question(
            GuessedRole::Identifier,
            format!(
                "{} rows have NaN or an infinity, which only a column that is left out or kept as it is may have",
                profile.not_finite()
            ),
        );
    }
    if valued == 0 {
        return sure(GuessedRole::Identifier, "it has no value in any row, so nothing is lost without it");
    }
    if let Some(looks) = looks_like_a_person(profile) {
        return sure(GuessedRole::Identifier, format!("its values look like {looks}"));
    }
    let counted = counted(profile);
    match hint_of_name(name) {
        Some((NameHint::Person, word)) => {
            sure(GuessedRole::Identifier, format!("`{word}` in its name says that it names a person"))
        }
        Some((NameHint::Reference, word)) => reference(name, word, profile, is_unique),
        Some((NameHint::Private, word)) if distinct < 2 => question(
            GuessedRole::Quasi,
            format!("`{word}` in its name is a thing that people keep private, but all rows have the same value"),
        ),
        Some((NameHint::Private, word)) if is_unique => question(
            GuessedRole::Sensitive,
            format!(
                "`{word}` in its name is something people keep private, but {counted}, so anyone who knows the value finds the row"
            ),
        ),
        Some((NameHint::Private, word)) => {
            sure(GuessedRole::Sensitive, format!("`{word}` in its name is a thing that people keep private"))
        }
        Some((NameHint::Known, word)) if is_unique && profile.kind() == ValueKind::Text => question(
            GuessedRole::Identifier,
            format!("`{word}` in its name is a thing that others can know, but {counted}"),
        ),
        Some((NameHint::Known, word)) => {
            sure(GuessedRole::Quasi, format!("`{word}` in its name is a thing that others can know"))
        }
        None if matches!(profile.kind(), ValueKind::Date | ValueKind::Timestamp) => {
            sure(GuessedRole::Quasi, "when something happened to a person is often known to others")
        }
        None if is_unique && profile.kind() == ValueKind::Text => {
            sure(GuessedRole::Identifier, format!("{counted}, as in an identifier or a free text"))
        }
        None if is_unique => question(GuessedRole::Identifier, format!("its name says nothing, and {counted}")),
        None if distinct <= FEW => question(
            GuessedRole::Quasi,
            format!("its name says nothing, and its {distinct} values could be known to others"),
        ),
        None => question(GuessedRole::Identifier, format!("neither its name nor its {distinct} values say what it is")),
    }
}

/// Returns the likely role of a column of lists, whose elements can be counted but not generalized.
fn list(name: &str) -> Guess {
    let why = "a list can't be generalized; if it is sensitive, p counts the elements of a class";
    match hint_of_name(name) {
        Some((NameHint::Private, word)) => question(
            GuessedRole::Sensitive,
            format!("`{word}` in its name is a thing that people keep private, and {why}"),
        ),
        _ => question(GuessedRole::Identifier, why),
    }
}

/// Describes how many rows have a unique value.
fn counted(profile: &Profile) -> String {
    let about = if profile.is_exact() { "" } else { "about " };
    format!("{about}{} of {} rows have a value that no other row has", profile.uniques(), profile.valued())
}

/// Whether a name says that the column refers to the people of the table, and not to people or things beside them.
pub(super) fn names_a_person(name: &str) -> bool {
    let name = name.to_lowercase();
    PERSON_WORDS.iter().any(|word| name.contains(word))
}

/// Words in the name of a column whose values are the people of the table.
const PERSON_WORDS: [&str; 14] = [
    "patient",
    "person",
    "people",
    "customer",
    "client",
    "member",
    "user",
    "employee",
    "student",
    "subject",
    "participant",
    "household",
    "insured",
    "citizen",
];

fn reference(name: &str, word: &str, profile: &Profile, is_unique: bool) -> Guess {
    let (valued, distinct) = (profile.valued(), profile.distinct());
    if is_unique {
        return sure(GuessedRole::Identifier, format!("`{word}` in its name, and {}", counted(profile)));
    }
    if distinct.saturating_mul(ROWS_PER_GROUP) >= valued {
        let is_unit = names_a_person(name);
        let people =
            if is_unit { "`unit` above makes k and p count people" } else { "mind that k counts rows and not people" };
        let why = format!(
            "`{word}` in its name, and {distinct} values in {valued} rows: if a value is a person, leave it out; {people}"
        );
        return Guess { is_unit, ..question(GuessedRole::Identifier, why) };
    }
    question(
        GuessedRole::Quasi,
        format!(
            "`{word}` in its name, but only {distinct} values in {valued} rows: it may stand for a group, such as a department"
        ),
    )
}

fn looks_like_a_person(profile: &Profile) -> Option<&'static str> {
    let shapes = [
        (TextShape::EMAIL, "addresses of e-mail"),
        (TextShape::IP, "addresses of the internet protocol"),
        (TextShape::TOKEN, "long random numbers, as of a person, a device or a session"),
    ];
    shapes.into_iter().find(|(shape, _)| profile.shape_share(*shape) >= NEARLY_ALL).map(|(_, looks)| looks)
}

#[cfg(test)]
#[path = "role_tests.rs"]
mod tests;

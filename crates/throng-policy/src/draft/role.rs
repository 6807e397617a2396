//! The likely role of a column, with the reason for it, or a question where the data does not decide.
//!
//! A guess is written down only where a mistake is on the safe side: leaving a column out, generalizing it, or counting it
//! as sensitive when its name says so. That a column needs no protection is never guessed.

use throng_core::profile::{Profile, Shape, ValueKind};

use super::names::{Said, said};

/// The likely role of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    Identifier,
    Quasi,
    Sensitive,
}

impl Role {
    pub(super) fn as_str(self) -> &'static str {
        match self {
            Self::Identifier => "identifier",
            Self::Quasi => "quasi",
            Self::Sensitive => "sensitive",
        }
    }
}

/// A guess.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Guess {
    pub(super) role: Role,
    /// Whether the user must confirm it.
    pub(super) is_question: bool,
    /// The reason, in a sentence.
    pub(super) why: String,
}

fn sure(role: Role, why: impl Into<String>) -> Guess {
    Guess { role, is_question: false, why: why.into() }
}

fn question(role: Role, why: impl Into<String>) -> Guess {
    Guess { role, is_question: true, why: why.into() }
}

/// The share of unique values from which a column identifies rows.
const MOSTLY: f64 = 0.9;
/// Rows per distinct value from which a number refers to a group and not to a person.
const ROWS_PER_GROUP: u64 = 20;
/// The most values of a column that others are likely to know, in the absence of other evidence.
const FEW: u64 = 50;
/// Where nearly all values look like something, they are that.
const NEARLY_ALL: f64 = 0.95;

/// Returns the likely role of a column.
pub(super) fn guess(name: &str, profile: &Profile, data_type: &str) -> Guess {
    let (valued, distinct) = (profile.valued(), profile.distinct());
    let is_unique = valued > 1 && profile.unique_share() >= MOSTLY;
    if profile.kind() == ValueKind::Other {
        return question(
            Role::Identifier,
            format!(
                "a column of type {data_type} can be neither generalized nor counted, only left out or kept as it is"
            ),
        );
    }
    if profile.not_finite() > 0 {
        return question(
            Role::Identifier,
            format!(
                "{} rows have NaN or an infinity, which only a column that is left out or kept as it is may have",
                profile.not_finite()
            ),
        );
    }
    if valued == 0 {
        return sure(Role::Identifier, "it has no value in any row, so that nothing is lost without it");
    }
    if let Some(looks) = looks_like_a_person(profile) {
        return sure(Role::Identifier, format!("its values look like {looks}"));
    }
    let counted = counted(profile);
    match said(name) {
        Some((Said::Person, word)) => {
            sure(Role::Identifier, format!("`{word}` in its name says that it names a person"))
        }
        Some((Said::Reference, word)) => reference(word, profile, is_unique),
        Some((Said::Private, word)) if distinct < 2 => question(
            Role::Quasi,
            format!("`{word}` in its name is a thing that people keep private, but all rows have the same value"),
        ),
        Some((Said::Private, word)) if is_unique => question(
            Role::Sensitive,
            format!(
                "`{word}` in its name is a thing that people keep private, but {counted}, so that whoever knows the value finds the row"
            ),
        ),
        Some((Said::Private, word)) => {
            sure(Role::Sensitive, format!("`{word}` in its name is a thing that people keep private"))
        }
        Some((Said::Known, word)) if is_unique && profile.kind() == ValueKind::Text => {
            question(Role::Identifier, format!("`{word}` in its name is a thing that others can know, but {counted}"))
        }
        Some((Said::Known, word)) => sure(Role::Quasi, format!("`{word}` in its name is a thing that others can know")),
        None if matches!(profile.kind(), ValueKind::Date | ValueKind::Timestamp) => {
            sure(Role::Quasi, "when something happened to a person is often known to others")
        }
        None if is_unique && profile.kind() == ValueKind::Text => {
            sure(Role::Identifier, format!("{counted}, as in an identifier or a free text"))
        }
        None if is_unique => question(Role::Identifier, format!("its name says nothing, and {counted}")),
        None if distinct <= FEW => {
            question(Role::Quasi, format!("its name says nothing, and its {distinct} values could be known to others"))
        }
        None => question(Role::Identifier, format!("neither its name nor its {distinct} values say what it is")),
    }
}

/// How many rows have a value of their own.
fn counted(profile: &Profile) -> String {
    let about = if profile.is_exact() { "" } else { "about " };
    format!("{about}{} of {} rows have a value that no other row has", profile.uniques(), profile.valued())
}

fn reference(word: &str, profile: &Profile, is_unique: bool) -> Guess {
    let (valued, distinct) = (profile.valued(), profile.distinct());
    if is_unique {
        return sure(Role::Identifier, format!("`{word}` in its name, and {}", counted(profile)));
    }
    if distinct.saturating_mul(ROWS_PER_GROUP) >= valued {
        return question(
            Role::Identifier,
            format!(
                "`{word}` in its name, and {distinct} values in {valued} rows: if a value is a person, leave it out, and \
                 mind that k counts rows and not people"
            ),
        );
    }
    question(
        Role::Quasi,
        format!(
            "`{word}` in its name, but only {distinct} values in {valued} rows: it may stand for a group, such as a department"
        ),
    )
}

fn looks_like_a_person(profile: &Profile) -> Option<&'static str> {
    let shapes = [
        (Shape::EMAIL, "addresses of e-mail"),
        (Shape::IP, "addresses of the internet protocol"),
        (Shape::TOKEN, "long random numbers, as of a person, a device or a session"),
    ];
    shapes.into_iter().find(|(shape, _)| profile.shape_share(*shape) >= NEARLY_ALL).map(|(_, looks)| looks)
}

#[cfg(test)]
#[path = "role_tests.rs"]
mod tests;

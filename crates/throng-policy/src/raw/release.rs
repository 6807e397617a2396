//! The ways to release a column, under the names that they have in the file.

use schemars::JsonSchema;
use serde::Deserialize;
use throng_core::columns::ColumnRecoding as Generalized;

use crate::policy::SensitiveRelease;

use super::RawRole;

/// How a column is written into the release.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(rename = "Release")]
pub enum RawRelease {
    /// For quasi-identifiers: numbers, dates and times as text, `25` or `[25-39]`.
    Interval,
    /// For quasi-identifiers: numbers, dates and times as two columns of their own type, `NAME_min` and `NAME_max`.
    Bounds,
    /// For quasi-identifiers: the lowest common ancestor in the hierarchy.
    Ancestor,
    /// For quasi-identifiers: the set of the values that occur, `{A, B}`.
    Set,
    /// For quasi-identifiers: the mean of the numbers, dates or times of a class, rounded to the type of the column. It
    /// need not be the value of anyone in the class.
    Mean,
    /// For quasi-identifiers: the lower median of the numbers, dates or times of a class. It need not be the value of
    /// everyone in the class.
    Median,
    /// For quasi-identifiers: the most frequent value of a class. It need not be the value of everyone in the class.
    Mode,
    /// For sensitive columns with `categories`: the name of the category in place of the value.
    Category,
    /// For sensitive columns with `categories`: the value as it is.
    Value,
    /// For sensitive columns with `categories`: the value as it is, and its category in a column `NAME_category`.
    Both,
    /// For the identifier that is the `unit` of `[privacy]`: a keyed pseudonym in place of the value, by which rows and
    /// tables of one run can be joined. This is pseudonymity, not anonymity: anyone with the secret can recompute it, and all
    /// rows of a person are linked. So rows are linked in groups of at least k people.
    Pseudonym,
}

impl RawRelease {
    /// The name of the release in the policy file.
    pub fn as_str(self) -> &'static str {
        match self {
            RawRelease::Interval => "interval",
            RawRelease::Bounds => "bounds",
            RawRelease::Ancestor => "ancestor",
            RawRelease::Set => "set",
            RawRelease::Mean => "mean",
            RawRelease::Median => "median",
            RawRelease::Mode => "mode",
            RawRelease::Category => "category",
            RawRelease::Value => "value",
            RawRelease::Both => "both",
            RawRelease::Pseudonym => "pseudonym",
        }
    }

    /// The role of the columns that it is for.
    pub fn role(self) -> RawRole {
        match self {
            RawRelease::Category | RawRelease::Value | RawRelease::Both => RawRole::Sensitive,
            RawRelease::Pseudonym => RawRole::Identifier,
            _ => RawRole::Quasi,
        }
    }

    /// What it means for a quasi-identifier; none when it is for other columns.
    pub fn of_quasi(self) -> Option<Generalized> {
        match self {
            RawRelease::Interval => Some(Generalized::Interval),
            RawRelease::Bounds => Some(Generalized::Bounds),
            RawRelease::Ancestor => Some(Generalized::Ancestor),
            RawRelease::Set => Some(Generalized::Set),
            RawRelease::Mean => Some(Generalized::Mean),
            RawRelease::Median => Some(Generalized::Median),
            RawRelease::Mode => Some(Generalized::Mode),
            RawRelease::Category | RawRelease::Value | RawRelease::Both | RawRelease::Pseudonym => None,
        }
    }

    /// What it means for a sensitive column; none when it is for other columns.
    pub fn of_sensitive(self) -> Option<SensitiveRelease> {
        match self {
            RawRelease::Category => Some(SensitiveRelease::Category),
            RawRelease::Value => Some(SensitiveRelease::Value),
            RawRelease::Both => Some(SensitiveRelease::Both),
            _ => None,
        }
    }
}

impl From<Generalized> for RawRelease {
    fn from(release: Generalized) -> Self {
        match release {
            Generalized::Interval => RawRelease::Interval,
            Generalized::Bounds => RawRelease::Bounds,
            Generalized::Ancestor => RawRelease::Ancestor,
            Generalized::Set => RawRelease::Set,
            Generalized::Mean => RawRelease::Mean,
            Generalized::Median => RawRelease::Median,
            Generalized::Mode => RawRelease::Mode,
        }
    }
}

impl From<SensitiveRelease> for RawRelease {
    fn from(release: SensitiveRelease) -> Self {
        match release {
            SensitiveRelease::Category => RawRelease::Category,
            SensitiveRelease::Value => RawRelease::Value,
            SensitiveRelease::Both => RawRelease::Both,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_release_is_read_under_the_name_that_it_tells_and_has_one_role() {
        use RawRelease::*;
        for release in [Interval, Bounds, Ancestor, Set, Mean, Median, Mode, Category, Value, Both, Pseudonym] {
            let read: RawRelease = serde_json::from_value(release.as_str().into()).unwrap();
            assert_eq!(read, release);
            let (quasi, sensitive) = (release.of_quasi(), release.of_sensitive());
            assert_eq!(quasi.is_some(), release.role() == RawRole::Quasi, "{release:?}");
            assert_eq!(sensitive.is_some(), release.role() == RawRole::Sensitive, "{release:?}");
            let read = quasi.map(RawRelease::from).or(sensitive.map(RawRelease::from));
            assert_eq!(read, Some(release).filter(|release| *release != Pseudonym));
        }
    }
}

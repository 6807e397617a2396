//! Refusals, which tasks return as rows.
//!
//! The engine forwards only the message of a remote error. A refusal (no release can satisfy the privacy models, a
//! value is missing from its hierarchy) is a result of the query and would be the same on retry, so it is returned as
//! rows.

use serde::{Deserialize, Serialize};
use throng_core::CoreError as Core;

use crate::AnonymizeError;

/// The reason why there is no release. Holds no value of the data.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Refusal {
    /// No release of this input can satisfy the privacy models.
    Infeasible(String),
    /// The input is invalid, or does not fit the policy.
    BadData(String),
}

impl Refusal {
    /// Returns the refusal that an error stands for, or `None` if it is a bug or a retry may succeed.
    pub(super) fn of(error: &AnonymizeError) -> Option<Self> {
        match error {
            AnonymizeError::Core(Core::Infeasible(_)) | AnonymizeError::Suppression { .. } => {
                Some(Self::Infeasible(error.to_string()))
            }
            AnonymizeError::Core(error) if error.is_internal() => None,
            AnonymizeError::Core(_) => Some(Self::BadData(error.to_string())),
            _ => None,
        }
    }
}

/// The reason why there is no release plan.
pub(super) enum NoPlan {
    /// A reader returned a refusal.
    Refused(Refusal),
    Failed(AnonymizeError),
}

impl From<AnonymizeError> for NoPlan {
    fn from(error: AnonymizeError) -> Self {
        Self::Failed(error)
    }
}

impl NoPlan {
    /// Returns the refusal, or the error if it is none.
    pub(super) fn refusal(self) -> Result<Refusal, AnonymizeError> {
        match self {
            Self::Refused(refusal) => Ok(refusal),
            Self::Failed(error) => Refusal::of(&error).ok_or(error),
        }
    }
}

#[cfg(test)]
mod tests {
    use datafusion::arrow::error::ArrowError;

    use super::*;

    #[test]
    fn a_bug_is_not_a_refusal() {
        let refusal = |error: Core| Refusal::of(&AnonymizeError::from(error));
        assert_eq!(refusal(Core::Beyond { column: "age".to_owned(), classes: 1 }), None);
        assert_eq!(refusal(Core::Misplaced { groups: 1 }), None);
        assert_eq!(refusal(Core::Kernel("cast", ArrowError::DivideByZero)), None);
        assert!(matches!(refusal(Core::Limit { column: "age".to_owned() }), Some(Refusal::BadData(_))));
        assert!(matches!(refusal(Core::Infeasible(Vec::new())), Some(Refusal::Infeasible(_))));
    }
}

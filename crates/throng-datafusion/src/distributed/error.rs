//! Refusals that travel as answers.
//!
//! An engine passes on only the text of an error that happened elsewhere. A refusal (no release can keep the promise, a value
//! is missing from its hierarchy) is an answer to the question that was asked, and would be the same if the task were tried
//! again. So it travels as rows.

use throng_core::CoreError as Core;

use super::message::RefusalMessage;
use crate::AnonymizeError;

/// Why there is no release, in words that hold no value of the data.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// No release of this input can keep the promise.
    Infeasible(String),
    /// The input is broken, or does not fit the policy.
    BadData(String),
}

impl Refusal {
    /// The refusal that an error is; none where another attempt may succeed, or where it is a bug.
    pub(super) fn of(error: &AnonymizeError) -> Option<Self> {
        match error {
            AnonymizeError::Core(Core::Infeasible(_)) | AnonymizeError::Suppression { .. } => {
                Some(Self::Infeasible(error.to_string()))
            }
            AnonymizeError::Core(Core::Kernel(..) | Core::Misplaced { .. }) => None,
            AnonymizeError::Core(_) => Some(Self::BadData(error.to_string())),
            _ => None,
        }
    }

    pub(super) fn to_message(&self) -> RefusalMessage {
        let (is_infeasible, text) = match self {
            Self::Infeasible(text) => (true, text),
            Self::BadData(text) => (false, text),
        };
        RefusalMessage { is_infeasible, text: text.clone() }
    }

    pub(super) fn from_message(message: RefusalMessage) -> Self {
        match message.is_infeasible {
            true => Self::Infeasible(message.text),
            false => Self::BadData(message.text),
        }
    }
}

//! SQL functions, one per file, and shared helpers.

mod anonymize;
mod anonymize_stream;
mod arguments;
mod class_keys;
mod frequencies;
mod frequency_measures;
mod generalize;
mod k_anonymity;
mod lookup;
mod p_sensitivity;
mod privacy_check;
mod privacy_check_exec;
mod table_cache;

pub use anonymize::AnonymizeFunction;
pub use anonymize_stream::AnonymizeStreamFunction;
pub use frequencies::FrequencyFunction;
pub use generalize::GeneralizeFunction;
pub use k_anonymity::KAnonymityFunction;
pub use p_sensitivity::PSensitivityFunction;
pub use privacy_check::PrivacyCheckFunction;
pub(crate) use privacy_check::{CheckedPolicy, PrivacyCheck};
pub(crate) use privacy_check_exec::PrivacyCheckExec;

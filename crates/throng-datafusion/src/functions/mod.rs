//! What SQL can call. One file per function; the others hold what several of them share.

mod anonymize;
mod arguments;
mod classes;
mod generalize;
mod k_anonymity;
mod lookup;
mod p_sensitivity;
mod privacy_check;
mod privacy_check_exec;

pub use anonymize::AnonymizeFunction;
pub use generalize::Generalize;
pub use k_anonymity::KAnonymity;
pub use p_sensitivity::PSensitivity;
pub use privacy_check::PrivacyCheckFunction;

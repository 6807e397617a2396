//! Policies in SQL: the path of a policy file, or the policy itself.

use std::path::Path;
use std::sync::Arc;

use datafusion::prelude::SessionConfig;
use throng_policy::{Overrides, Policy, Secret};

use crate::AnonymizeError;

/// Reads a policy from a SQL literal.
///
/// A text with `=` or a line break is the policy itself: every TOML statement has one, and paths rarely do. Any other
/// text is a path, relative to the working directory; hierarchy files are relative to the folder of the policy. Input
/// and output locations may be missing and are ignored. A host may set the [`Secret`] as an extension of the session
/// configuration; the default is that of the user.
pub(crate) fn policy_of(text: &str, config: &SessionConfig) -> Result<Arc<Policy>, AnonymizeError> {
    let overrides = Overrides::for_a_table();
    let policy = match text.contains(['=', '\n']) {
        true => Policy::parse(text, Path::new(""), &overrides),
        false => Policy::load(Path::new(text), &overrides),
    };
    let policy = policy?;
    Ok(Arc::new(match config.get_extension::<Secret>() {
        Some(secret) => policy.with_secret(secret.as_ref().clone()),
        None => policy,
    }))
}

/// Reads the policy of a release from a SQL literal, as [`policy_of`] does. A release of a series is refused.
pub(crate) fn release_policy_of(text: &str, config: &SessionConfig) -> Result<Arc<Policy>, AnonymizeError> {
    let policy = policy_of(text, config)?;
    policy.check_outside_series()?;
    Ok(policy)
}

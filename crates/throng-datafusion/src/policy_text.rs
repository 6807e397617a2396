//! A policy as SQL names it: the path of a policy file, or the policy itself.

use std::path::Path;
use std::sync::Arc;

use datafusion::prelude::SessionConfig;
use throng_policy::{Overrides, Policy, Secret};

use crate::AnonymizeError;

/// Reads a policy that is written in a query.
///
/// A text with `=` or a line break is the policy itself: TOML has no statement without one, and paths rarely have any.
/// Everything else is a path, which starts at the folder of the process, and at whose folder the paths of hierarchies
/// start. Locations are left out of either, or don't matter: the table is at hand. A host may give the session a [`Secret`]
/// as an extension of its configuration; otherwise it is that of the user.
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

//! A policy as SQL names it: the path of a policy file, or the policy itself.

use std::path::Path;
use std::sync::Arc;

use throng_policy::{Overrides, Policy};

use crate::Error;

/// Reads a policy that is written in a query.
///
/// A text with `=` or a line break is the policy itself: TOML has no statement without one, and paths rarely have any.
/// Everything else is a path, which starts at the folder of the process, and at whose folder the paths of hierarchies
/// start. Locations are left out of either, or don't matter: the table is at hand.
pub(crate) fn policy_of(text: &str) -> Result<Arc<Policy>, Error> {
    let overrides = Overrides::for_a_table();
    let policy = match text.contains(['=', '\n']) {
        true => Policy::parse(text, Path::new(""), &overrides),
        false => Policy::load(Path::new(text), &overrides),
    };
    Ok(Arc::new(policy?))
}

//! `throng clean`

use std::path::Path;

use serde_json::json;
use throng_job::{CleanOptions, Cleaned, JobError, Kind};
use throng_policy::{Overrides, Policy, Store};

use crate::args::CleanArgs;
use crate::outcome::Outcome;

pub(super) async fn clean(args: &CleanArgs) -> Result<Outcome, JobError> {
    let (location, store) = target(&args.target)?;
    let default = CleanOptions::default();
    let options = CleanOptions { older_than: args.older_than.unwrap_or(default.older_than), dry_run: args.dry_run };
    let cleaned = throng_job::clean(&location, &store, options).await?;
    let json = json!({
        "outcome": "cleaned",
        "output": cleaned.location,
        "dry_run": args.dry_run,
        "removed": if args.dry_run { 0 } else { cleaned.removed.len() },
        "leftovers": cleaned.removed,
        "alive": cleaned.alive,
    });
    Ok(Outcome::success(text(&cleaned, args.dry_run), json))
}

/// Returns the output of a policy, or the location itself. A file must be a policy, because an output is never a file.
fn target(text: &str) -> Result<(String, Store), JobError> {
    let path = Path::new(text);
    if path.is_file() || path.extension().is_some_and(|extension| extension == "toml") {
        let policy = Policy::load(path, &Overrides::default())?;
        return Ok((policy.output.location, policy.store));
    }
    let refused = |error| JobError::new(Kind::BadPolicy, format!("the location {error}"));
    throng_policy::check_location(text).map_err(refused)?;
    Ok((text.to_owned(), Store::default()))
}

fn text(cleaned: &Cleaned, dry_run: bool) -> String {
    let verb = if dry_run { "would remove" } else { "removed" };
    let mut lines: Vec<String> = cleaned.removed.iter().map(|leftover| format!("{verb} {leftover}")).collect();
    if lines.is_empty() {
        lines.push(format!("nothing to remove at {}", cleaned.location));
    }
    if cleaned.alive > 0 {
        lines.push(format!("skipped, because their runs may still be active: {}", cleaned.alive));
    }
    lines.join("\n")
}

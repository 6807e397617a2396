//! Locations of tables: expands environment variables, and rejects credentials.

use thiserror::Error;

/// Looks up an environment variable.
pub type Environment<'a> = &'a dyn Fn(&str) -> Option<String>;

/// URL schemes in which the part before `@` is a container, not a user.
const CONTAINER_SCHEMES: [&str; 4] = ["abfs", "abfss", "wasb", "wasbs"];

/// Prefix of the location of a Delta table.
const DELTA_PREFIX: &str = "delta+";

/// Query parameters that sign a URL of S3, Google or Azure, in lower case.
const SIGNING_PARAMETERS: [&str; 6] = ["x-amz-", "x-goog-", "signature=", "sig=", "token=", "accesskeyid="];

/// The reason why a location can't be used. The message does not contain the location, which may hold a secret.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum LocationError {
    /// The location is empty.
    #[error("is empty; name a file, a folder or a URL")]
    Empty,
    /// An environment variable is not set.
    #[error("the environment variable `{0}` is not set")]
    Unset(String),
    /// `${` without `}`, or without a name.
    #[error("has a `${{` that does not become `${{NAME}}`; write `$$` for a dollar")]
    Unclosed,
    /// A `$` that does not begin a variable.
    #[error("has a `$` that does not begin `${{NAME}}`; write `$$` for a dollar")]
    LoneDollar,
    /// The location contains a user name or password.
    #[error("holds a user name or password; secrets come only from the environment, so take it out of the location")]
    Credentials,
    /// The URL has a query string, which may contain signatures or tokens.
    #[error("has a query (`?`), which may hold a secret; name a file of the server without one")]
    Query,
    /// A query with a signature or a token, in the URL of an object store.
    #[error("has a query (`?`) with a signature or a token; secrets come only from the environment, so take it out")]
    Signed,
}

/// Replaces `${NAME}` by the value of an environment variable, and `$$` by `$`.
pub fn expand(written: &str, environment: Environment<'_>) -> Result<String, LocationError> {
    let mut expanded = String::with_capacity(written.len());
    let mut rest = written;
    while let Some((before, after)) = rest.split_once('$') {
        expanded.push_str(before);
        if let Some(after) = after.strip_prefix('$') {
            expanded.push('$');
            rest = after;
        } else if let Some(after) = after.strip_prefix('{') {
            let (name, after) =
                after.split_once('}').filter(|(name, _)| !name.is_empty()).ok_or(LocationError::Unclosed)?;
            let value = environment(name).ok_or_else(|| LocationError::Unset(name.to_owned()))?;
            expanded.push_str(&value);
            rest = after;
        } else {
            return Err(LocationError::LoneDollar);
        }
    }
    expanded.push_str(rest);
    Ok(expanded)
}

/// Returns the location of a Delta table without its prefix; `None` for any other location.
pub fn delta_table(location: &str) -> Option<&str> {
    location.strip_prefix(DELTA_PREFIX)
}

/// Rejects a location that is empty or contains credentials.
pub fn check(location: &str) -> Result<(), LocationError> {
    let location = delta_table(location).unwrap_or(location);
    if location.is_empty() {
        return Err(LocationError::Empty);
    }
    match location.split_once("://") {
        Some((scheme, rest)) if holds_credentials(scheme, rest) => Err(LocationError::Credentials),
        Some((_, rest)) if is_web(location) && rest.contains('?') => Err(LocationError::Query),
        Some((_, rest)) if is_signed(rest) => Err(LocationError::Signed),
        _ => Ok(()),
    }
}

/// Whether a URL of an object store ends in a query that signs it. A question mark alone is part of a glob.
fn is_signed(rest: &str) -> bool {
    let Some((_, query)) = rest.split_once('?') else { return false };
    let query = query.to_ascii_lowercase();
    SIGNING_PARAMETERS.iter().any(|name| query.contains(name))
}

/// Whether a location is on a web server, which is read-only.
pub fn is_web(location: &str) -> bool {
    let scheme = location.split_once("://").map(|(scheme, _)| scheme);
    scheme.is_some_and(|scheme| scheme.eq_ignore_ascii_case("http") || scheme.eq_ignore_ascii_case("https"))
}

/// Returns whether the authority has a user name or password. A secret may contain a slash, so a non-numeric port
/// counts too.
fn holds_credentials(scheme: &str, rest: &str) -> bool {
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    match authority.rsplit_once('@') {
        Some((user, _)) => user.contains(':') || !CONTAINER_SCHEMES.contains(&scheme.to_ascii_lowercase().as_str()),
        None if authority.starts_with('[') => false,
        None => authority.split_once(':').is_some_and(|(_, port)| !port.chars().all(|c| c.is_ascii_digit())),
    }
}

#[cfg(test)]
#[path = "location_tests.rs"]
mod tests;

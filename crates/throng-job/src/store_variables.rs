//! Checks of the environment variables that configure object stores.
//!
//! The clients of stores put the values into URLs and headers, and panic where that is not possible. So each value is
//! checked before a client reads it. An error names the variable and never shows its value.

use url::Url;

use crate::error::{JobError, Kind};

/// Returns an error if the client of a store can't use the value of a variable, or if the value holds a secret that the
/// client would show: a password in an endpoint.
pub(crate) fn check_variable(name: &str, value: &str) -> Result<(), JobError> {
    match fault(name, value) {
        None => Ok(()),
        Some(fault) => Err(JobError::new(Kind::BadPolicy, format!("the environment variable {name} {fault}"))),
    }
}

fn fault(name: &str, value: &str) -> Option<&'static str> {
    let ends_in = |endings: &[&str]| endings.iter().any(|ending| name.ends_with(ending));
    if ends_in(&["ENDPOINT", "ENDPOINT_URL", "ENDPOINT_URL_S3", "BASE_URL", "AUTHORITY_HOST"]) {
        return endpoint_fault(value);
    }
    // The key of a Google service account is a JSON document.
    if !ends_in(&["SERVICE_ACCOUNT_KEY"]) && value.chars().any(char::is_control) {
        return Some("has a line break or another control character in its value; set it without");
    }
    if ends_in(&["REGION", "ACCOUNT_NAME"]) && !value.chars().all(|c| c.is_ascii_alphanumeric() || "-_.".contains(c)) {
        return Some("has a value with characters that no such name has; set it to letters, digits and dashes");
    }
    // Paths may contain any character. Everything else is put into headers.
    let is_path = ends_in(&["FILE", "PATH", "CREDENTIALS", "SERVICE_ACCOUNT"]);
    (!is_path && !value.is_ascii()).then_some("has a value with letters beyond ASCII; set it again")
}

fn endpoint_fault(value: &str) -> Option<&'static str> {
    if value.is_empty() {
        return Some("is empty; set it to a URL, or remove it");
    }
    let is_plain = !value.contains(|c: char| c.is_control() || c.is_whitespace());
    let url =
        Url::parse(value).ok().filter(|url| is_plain && matches!(url.scheme(), "http" | "https") && url.has_host());
    match url {
        None => Some("is not a URL that begins with https:// or http://; set it to one, or remove it"),
        Some(url) if !url.username().is_empty() || url.password().is_some() => {
            Some("holds a user name or password; take it out, and set the credentials in their own variables")
        }
        Some(url) if url.query().is_some() || url.fragment().is_some() => {
            Some("has a query (`?`) or a fragment (`#`); set it without")
        }
        Some(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_that_no_client_can_use_is_refused_by_the_name_of_its_variable() {
        for (name, value) in [
            ("AWS_ENDPOINT_URL", ""),
            ("AWS_ENDPOINT_URL", "hunter2.example.org:9000"),
            ("AWS_ENDPOINT_URL_S3", "ftp://hunter2"),
            ("AWS_ENDPOINT", "https://key:hunter2@example.org"),
            ("AWS_ENDPOINT_URL", "https://example.org/?X-Amz-Signature=hunter2"),
            ("AWS_ENDPOINT_URL", "https://hunter2\n"),
            ("GOOGLE_BASE_URL", "hunter2"),
            ("AWS_REGION", "hunter2\n"),
            ("AWS_REGION", "hunter2 x"),
            ("AWS_SESSION_TOKEN", "hunter2\r\n"),
            ("AWS_ACCESS_KEY_ID", "hunter2\n"),
            ("AWS_SECRET_ACCESS_KEY", "hunter2é"),
            ("AZURE_STORAGE_ACCOUNT_NAME", "hunter2/x"),
            ("AZURE_STORAGE_TOKEN", "hunter2\n"),
            ("AZURE_STORAGE_ACCOUNT_KEY", "hunter2\n"),
            ("GOOGLE_SERVICE_ACCOUNT", "/hunter2\n"),
        ] {
            let error = check_variable(name, value).unwrap_err();
            assert_eq!(error.kind(), Kind::BadPolicy);
            assert!(error.to_string().contains(name) && !error.to_string().contains("hunter2"), "{error}");
        }
    }

    #[test]
    fn usual_values_are_fine() {
        for (name, value) in [
            ("AWS_ENDPOINT_URL", "https://minio.example.org:9000/base/"),
            ("AWS_ENDPOINT_URL", "http://[::1]:9000"),
            ("AWS_REGION", "eu-west-1"),
            ("AWS_SESSION_TOKEN", "IQoJ+/=="),
            ("AWS_SESSION_TOKEN", ""),
            ("AWS_WEB_IDENTITY_TOKEN_FILE", "/home/zoë/token"),
            ("GOOGLE_SERVICE_ACCOUNT_KEY", "{\n  \"private_key\": \"x\"\n}"),
            ("GOOGLE_APPLICATION_CREDENTIALS", "/home/zoë/key.json"),
            ("AZURE_STORAGE_ACCOUNT_NAME", "devstoreaccount1"),
        ] {
            check_variable(name, value).unwrap();
        }
    }
}

//! Classification and redaction of object store errors.

use super::Kind;

/// Returns the kind of a store error, and the advice to show.
pub(super) fn storage_kind(error: &object_store::Error) -> (Kind, &'static str) {
    use object_store::Error as Store;
    let says = |words: &str| error.to_string().contains(words);
    match error {
        Store::Precondition { .. } => (Kind::TemporaryIo, "it has changed while it was read; try again"),
        _ if says("non-partial response") || says("Range request not supported") => {
            (Kind::BadData, "its server does not send parts of files; copy the file, and read the copy")
        }
        _ if lacks_credentials(error) => (Kind::TemporaryIo, NO_CREDENTIALS),
        // Denied list requests do not return `PermissionDenied` or `Unauthenticated`.
        _ if says("status code: 401") || says("status code: 403") => {
            (Kind::TemporaryIo, "check the credentials in the environment")
        }
        Store::NotFound { .. } => (Kind::NoInput, "check the location"),
        Store::PermissionDenied { .. } | Store::Unauthenticated { .. } => {
            (Kind::TemporaryIo, "check the credentials in the environment")
        }
        _ => (Kind::TemporaryIo, "try again"),
    }
}

/// Address that clients query for credentials if the environment has none.
const METADATA_SERVER: &str = "http://169.254.169.254";

/// Advice when no credentials are found there either.
pub(crate) const NO_CREDENTIALS: &str = "the environment holds no credentials for the store; set them, such as AWS_ACCESS_KEY_ID and \
                              AWS_SECRET_ACCESS_KEY";

/// Whether a request was not sent because there are no credentials.
pub(crate) fn lacks_credentials(error: &object_store::Error) -> bool {
    error.to_string().contains(METADATA_SERVER)
}

/// Returns the message of a store error without the body of the server's response, which may repeat the key, the
/// signature or the signed text. Keeps the status and the error code of the response.
pub(crate) fn store_reason(error: &object_store::Error) -> String {
    const ANSWERS: [&str; 2] = ["Server returned non-2xx status code: ", "Server returned error response: "];
    let text = error.to_string();
    let Some((before, answer)) = ANSWERS.iter().find_map(|answer| text.split_once(answer)) else {
        return first_line(&text).to_owned();
    };
    let status: String = answer.chars().take_while(|c| c.is_ascii_alphanumeric() || *c == ' ').collect();
    let code = answer.split_once("<Code>").and_then(|(_, rest)| rest.split_once("</Code>")).map(|(code, _)| code);
    let code = code.filter(|code| code.len() < 64 && code.chars().all(|c| c.is_ascii_alphanumeric()));
    let code = code.map(|code| format!(" ({code})")).unwrap_or_default();
    format!("{}the server answered {}{code}", first_line(before), status.trim())
}

fn first_line(text: &str) -> &str {
    text.lines().next().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::JobError;

    #[test]
    fn the_response_of_a_server_is_not_shown() {
        let answer = "Error performing GET http://host/b/a in 1ms - Server returned non-2xx status code: 403 Forbidden: \
                      <?xml version=\"1.0\"?><Error><Code>SignatureDoesNotMatch</Code><AWSAccessKeyId>AKIACANARY\
                      </AWSAccessKeyId><StringToSign>canary</StringToSign></Error>";
        let error = object_store::Error::Generic { store: "S3", source: answer.into() };
        let message = JobError::storage("reading a", &error).to_string();
        assert!(
            message.contains("GET http://host/b/a in 1ms - the server answered 403 Forbidden (SignatureDoesNotMatch);")
        );
        assert!(!message.to_ascii_lowercase().contains("canary"), "{message}");
        let answer = "Server returned error response: <Error><Code>canary canary</Code></Error>";
        let message = store_reason(&object_store::Error::Generic { store: "S3", source: answer.into() });
        assert!(!message.contains("canary"), "{message}");
    }
}

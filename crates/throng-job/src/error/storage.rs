//! Classification and redaction of object store errors.

use std::error::Error;
use std::io;

use super::Kind;

/// Returns what the caller should do about an error of a store, and the advice to show. Only what another attempt can fix is
/// [`Kind::TemporaryIo`].
pub(crate) fn storage_kind(error: &object_store::Error) -> (Kind, &'static str) {
    use object_store::Error as Store;
    let text = error.to_string();
    let says = |words: &str| text.contains(words);
    match error {
        Store::Precondition { .. } => (Kind::TemporaryIo, "it has changed while it was read; try again"),
        _ if says("non-partial response") || says("Range request not supported") => {
            (Kind::BadData, "its server does not send parts of files; copy the file, and read the copy")
        }
        _ if lacks_credentials(&text) => (Kind::BadPolicy, no_credentials(error)),
        // A refused listing has a different message from a refused read.
        _ if says("status code: 401") || says("status code: 403") => (Kind::BadPolicy, WRONG_CREDENTIALS),
        Store::PermissionDenied { .. } | Store::Unauthenticated { .. } if !is_local(error) => {
            (Kind::BadPolicy, WRONG_CREDENTIALS)
        }
        _ if is_bucket_missing(error) => (Kind::NoInput, "there is no such bucket or container; check the location"),
        Store::NotFound { .. } => (Kind::NoInput, "check the location"),
        _ if says("status code: 404") => (Kind::NoInput, "check the location"),
        _ => io_cause(error).map_or((Kind::TemporaryIo, "try again"), io_kind),
    }
}

/// Returns what the caller should do about an error of the local file system, and the advice to show.
pub(crate) fn io_kind(error: &io::Error) -> (Kind, &'static str) {
    use io::ErrorKind as Io;
    // EMFILE is the same on Linux, the BSDs and macOS.
    const TOO_MANY_OPEN_FILES: i32 = 24;
    match error.kind() {
        _ if cfg!(unix) && error.raw_os_error() == Some(TOO_MANY_OPEN_FILES) => {
            (Kind::BadPolicy, "the process has reached its limit of open files; raise it (`ulimit -n`)")
        }
        Io::FileTooLarge => {
            (Kind::BadPolicy, "a file would become larger than the process may write; raise that limit (`ulimit -f`)")
        }
        Io::PermissionDenied | Io::ReadOnlyFilesystem => (Kind::BadPolicy, "check the permissions"),
        Io::NotADirectory | Io::IsADirectory | Io::InvalidFilename | Io::InvalidInput | Io::AlreadyExists => {
            (Kind::BadPolicy, "check the location")
        }
        Io::StorageFull | Io::QuotaExceeded => (Kind::TemporaryIo, "make space, then run again"),
        _ => (Kind::TemporaryIo, "check space and permissions, then run again"),
    }
}

/// Whether a store reports that the bucket or container does not exist.
pub(crate) fn is_bucket_missing(error: &object_store::Error) -> bool {
    let text = error.to_string();
    ["NoSuchBucket", "ContainerNotFound", "bucket does not exist"].iter().any(|words| text.contains(words))
}

const WRONG_CREDENTIALS: &str = "check the credentials in the environment";

/// Returns the file system error inside a store error. An unreachable server has none: its errors are connection errors.
fn io_cause(error: &object_store::Error) -> Option<&io::Error> {
    if !is_local(error) {
        return None;
    }
    let mut next: Option<&(dyn Error + 'static)> = Some(error);
    while let Some(error) = next {
        if let Some(error) = error.downcast_ref::<io::Error>() {
            return Some(error);
        }
        next = error.source();
    }
    None
}

fn is_local(error: &object_store::Error) -> bool {
    use object_store::Error as Store;
    match error {
        Store::Generic { store, .. } => *store == "LocalFileSystem",
        // The client of a remote store begins its messages with the request.
        _ => !error.to_string().contains("Error performing "),
    }
}

/// Addresses where clients look for credentials when the environment has none.
const METADATA_SERVERS: [&str; 2] = ["http://169.254.169.254", "http://metadata"];

/// Whether a request was not even sent, because there were no credentials.
fn lacks_credentials(text: &str) -> bool {
    METADATA_SERVERS.iter().any(|server| text.contains(server))
}

/// The advice if they find none there either.
fn no_credentials(error: &object_store::Error) -> &'static str {
    match error {
        object_store::Error::Generic { store: "S3", .. } => {
            "the environment holds no credentials for the store; set them, such as AWS_ACCESS_KEY_ID and \
             AWS_SECRET_ACCESS_KEY"
        }
        object_store::Error::Generic { store: "GCS", .. } => {
            "the environment holds no credentials for the store; set them, such as GOOGLE_APPLICATION_CREDENTIALS or \
             GOOGLE_SERVICE_ACCOUNT"
        }
        object_store::Error::Generic { store: "MicrosoftAzure", .. } => {
            "the environment holds no credentials for the store; set them, such as AZURE_STORAGE_ACCOUNT_NAME and \
             AZURE_STORAGE_ACCOUNT_KEY"
        }
        _ => "the environment holds no credentials for the store; set those of its cloud (AWS_, GOOGLE_ or AZURE_)",
    }
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

    #[test]
    fn only_what_another_attempt_can_fix_is_temporary() {
        let generic = |store: &'static str, text: &str| object_store::Error::Generic { store, source: text.into() };
        let answer =
            |status: &str| format!("Error performing list request: Server returned non-2xx status code: {status}");
        let forbidden = object_store::Error::PermissionDenied {
            path: "a".to_owned(),
            source: "Error performing GET http://host/a".into(),
        };
        for (error, kind) in [
            (generic("S3", &answer("404 Not Found: <Error><Code>NoSuchBucket</Code></Error>")), Kind::NoInput),
            (generic("MicrosoftAzure", &answer("404 Not Found: ContainerNotFound")), Kind::NoInput),
            (generic("GCS", &answer("404 Not Found: The specified bucket does not exist.")), Kind::NoInput),
            (generic("MicrosoftAzure", &answer("403 Forbidden")), Kind::BadPolicy),
            (forbidden, Kind::BadPolicy),
            (generic("S3", &answer("503 Slow Down")), Kind::TemporaryIo),
            (generic("S3", "Error performing GET http://host/a: connection reset"), Kind::TemporaryIo),
        ] {
            assert_eq!(storage_kind(&error).0, kind, "{error}");
        }
    }

    #[test]
    fn the_advice_for_missing_credentials_is_that_of_the_store() {
        let text = "Error performing PUT http://169.254.169.254/latest/api/token in 1s";
        for (store, variable) in [
            ("S3", "AWS_ACCESS_KEY_ID"),
            ("GCS", "GOOGLE_SERVICE_ACCOUNT"),
            ("MicrosoftAzure", "AZURE_STORAGE_ACCOUNT_KEY"),
        ] {
            let (kind, advice) = storage_kind(&object_store::Error::Generic { store, source: text.into() });
            assert_eq!(kind, Kind::BadPolicy);
            assert!(advice.contains(variable), "{advice}");
            assert_eq!(advice.contains("AWS_"), store == "S3", "{advice}");
        }
    }

    #[test]
    fn errors_of_the_file_system_say_whether_to_try_again() {
        let local = |error: io::Error| object_store::Error::Generic { store: "LocalFileSystem", source: error.into() };
        #[cfg(unix)]
        {
            let (kind, advice) = storage_kind(&local(io::Error::from_raw_os_error(24)));
            assert!(kind == Kind::BadPolicy && advice.contains("ulimit -n"), "{advice}");
        }
        for (error, kind) in [
            (io::ErrorKind::PermissionDenied, Kind::BadPolicy),
            (io::ErrorKind::NotADirectory, Kind::BadPolicy),
            (io::ErrorKind::InvalidFilename, Kind::BadPolicy),
            (io::ErrorKind::ReadOnlyFilesystem, Kind::BadPolicy),
            (io::ErrorKind::FileTooLarge, Kind::BadPolicy),
            (io::ErrorKind::StorageFull, Kind::TemporaryIo),
            (io::ErrorKind::TimedOut, Kind::TemporaryIo),
        ] {
            assert_eq!(storage_kind(&local(error.into())).0, kind, "{error}");
            assert_eq!(JobError::file_system("writing a", &error.into()).kind(), kind, "{error}");
        }
    }
}

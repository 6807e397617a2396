//! How a command ended: text for people, one JSON object for scripts, and an exit code.

use std::io::Write;

use serde_json::{Value, json};
use throng_job::JobError;

/// The end of a command.
#[derive(Debug)]
pub(crate) struct Outcome {
    exit_code: u8,
    /// For people, on stderr.
    text: String,
    /// For scripts, the last line on stdout; none for commands whose output is a document.
    json: Option<Value>,
}

impl Outcome {
    pub(crate) fn success(text: String, json: Value) -> Self {
        Self { exit_code: 0, text, json: Some(json) }
    }

    /// Everything was already printed.
    pub(crate) fn printed() -> Self {
        Self { exit_code: 0, text: String::new(), json: None }
    }

    pub(crate) fn failure(exit_code: u8, message: &str) -> Self {
        let json = json!({ "outcome": "error", "exit_code": exit_code, "error": message });
        Self { exit_code, text: format!("error: {message}"), json: Some(json) }
    }

    /// A failure of a command whose output is a document.
    pub(crate) fn broken(exit_code: u8, message: &str) -> Self {
        Self { json: None, ..Self::failure(exit_code, message) }
    }

    /// A command line that is not understood. The text for people is printed already.
    pub(crate) fn usage(message: &str) -> Self {
        Self { text: String::new(), ..Self::failure(2, message) }
    }

    /// A failure with more than a message.
    pub(crate) fn failure_with(exit_code: u8, text: String, json: Value) -> Self {
        Self { exit_code, text, json: Some(json) }
    }

    pub(crate) fn exit_code(&self) -> u8 {
        self.exit_code
    }

    /// The message of a failure, as scripts read it.
    pub(crate) fn error(&self) -> Option<&str> {
        self.json.as_ref()?.get("error")?.as_str()
    }

    pub(crate) fn print(&self) {
        if !self.text.is_empty() {
            eprint_line(&self.text);
        }
        if let Some(json) = &self.json {
            write_out(&json.to_string());
        }
    }
}

/// Writes a line for people to stderr. It may be closed, which must not end a job.
pub(crate) fn eprint_line(text: &str) {
    let _ = writeln!(std::io::stderr(), "{text}");
}

/// Writes a line for scripts to stdout.
pub(crate) fn write_out(text: &str) {
    let _ = writeln!(std::io::stdout(), "{text}");
}

impl From<JobError> for Outcome {
    fn from(error: JobError) -> Self {
        Self::failure(error.kind().exit_code(), &error.to_string())
    }
}

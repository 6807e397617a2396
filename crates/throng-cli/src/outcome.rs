//! Outcome of a command: text for users, one JSON object for scripts, and an exit code.

use std::io::Write;

use serde_json::{Value, json};
use throng_job::JobError;

/// Outcome of a command.
#[derive(Debug)]
pub(crate) struct Outcome {
    exit_code: u8,
    /// Text for users, on stderr.
    text: String,
    /// JSON for scripts, as the last line on stdout; `None` for commands whose output is a document.
    json: Option<Value>,
}

impl Outcome {
    pub(crate) fn success(text: String, json: Value) -> Self {
        Self { exit_code: 0, text, json: Some(json) }
    }

    /// Success of a command that has printed everything already.
    pub(crate) fn printed() -> Self {
        Self { exit_code: 0, text: String::new(), json: None }
    }

    pub(crate) fn failure(exit_code: u8, message: &str) -> Self {
        let json = json!({ "outcome": "error", "exit_code": exit_code, "error": message });
        Self { exit_code, text: format!("error: {message}"), json: Some(json) }
    }

    /// Failure of a command whose output is a document.
    pub(crate) fn broken(exit_code: u8, message: &str) -> Self {
        Self { json: None, ..Self::failure(exit_code, message) }
    }

    /// A usage error. The text for users is printed already.
    pub(crate) fn usage(message: &str) -> Self {
        Self { text: String::new(), ..Self::failure(2, message) }
    }

    /// A failure with more text and JSON than a message.
    pub(crate) fn failure_with(exit_code: u8, text: String, json: Value) -> Self {
        Self { exit_code, text, json: Some(json) }
    }

    /// Adds text and a field of the JSON. A finding that does not hold turns a success into a failure with this exit code.
    pub(crate) fn with_finding(mut self, text: &str, field: &str, value: Value, failure: Option<u8>) -> Self {
        self.text = format!("{}\n{text}", self.text);
        if let Some(json) = &mut self.json {
            json[field] = value;
            if failure.is_some() {
                json["outcome"] = "refused".into();
                json["satisfied"] = false.into();
            }
        }
        self.exit_code = if self.exit_code == 0 { failure.unwrap_or(0) } else { self.exit_code };
        self
    }

    pub(crate) fn exit_code(&self) -> u8 {
        self.exit_code
    }

    /// Returns the message of a failure, as in the JSON.
    pub(crate) fn error(&self) -> Option<&str> {
        self.json.as_ref()?.get("error")?.as_str()
    }

    /// Returns the JSON for scripts; null for commands whose output is a document.
    pub(crate) fn into_json(self) -> Value {
        self.json.unwrap_or_default()
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

/// Writes a line to stderr. Ignores errors, because a closed stderr must not end a job.
pub(crate) fn eprint_line(text: &str) {
    let _ = writeln!(std::io::stderr(), "{text}");
}

/// Writes a line to stdout. Ignores errors.
pub(crate) fn write_out(text: &str) {
    let _ = writeln!(std::io::stdout(), "{text}");
}

impl From<JobError> for Outcome {
    fn from(error: JobError) -> Self {
        Self::failure(error.kind().exit_code(), &error.to_string())
    }
}

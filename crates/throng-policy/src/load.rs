//! Loads a [`Policy`]: syntax, overrides, structure, validation.

use std::path::Path;
use std::sync::Arc;

use crate::field_path::FieldPath;
use crate::location::Environment;
use crate::overrides::Overrides;
use crate::policy::Policy;
use crate::problem::{PolicyError, Problem, Report};
use crate::spanned_toml::{SpannedToml, SpannedValue};
use crate::validate::{ValidationContext, validate};
use crate::{check_fields, raw, schema};

/// Name of a policy without a file, in error messages.
pub(crate) const UNNAMED: &str = "policy";

impl Policy {
    /// Reads a policy file. Hierarchy files are relative to its folder.
    pub fn load(path: &Path, overrides: &Overrides) -> Result<Policy, PolicyError> {
        let name = path.display().to_string();
        let bytes = std::fs::read(path).map_err(|error| PolicyError::unreadable(&name, error))?;
        let text = String::from_utf8(bytes).map_err(|_| {
            let message = "the policy file is not UTF-8 text".to_owned();
            PolicyError::new(&name, vec![Problem { path: String::new(), place: None, message }])
        })?;
        read(&name, &text, path.parent().unwrap_or(Path::new("")), overrides, &environment_variable)
    }

    /// Parses the text of a policy. Hierarchy files are relative to `folder`.
    pub fn parse(text: &str, folder: &Path, overrides: &Overrides) -> Result<Policy, PolicyError> {
        read(UNNAMED, text, folder, overrides, &environment_variable)
    }
}

pub(crate) fn environment_variable(name: &str) -> Option<String> {
    std::env::var(name).ok()
}

/// Reads a policy with an explicit environment, so that the result depends on the arguments alone.
pub(crate) fn read(
    name: &str,
    text: &str,
    folder: &Path,
    overrides: &Overrides,
    environment: Environment<'_>,
) -> Result<Policy, PolicyError> {
    read_within(name, text, overrides, &ValidationContext { folder: Some(folder), environment })
}

/// Reads a policy in a context that may have no folder.
pub(crate) fn read_within(
    name: &str,
    text: &str,
    overrides: &Overrides,
    surroundings: &ValidationContext<'_>,
) -> Result<Policy, PolicyError> {
    read_document(SpannedToml::parse(name, text)?, overrides, surroundings)
}

/// Builds a policy from a document of any origin. The caller has checked its syntax.
pub(crate) fn read_document(
    mut document: SpannedToml,
    overrides: &Overrides,
    surroundings: &ValidationContext<'_>,
) -> Result<Policy, PolicyError> {
    overrides.apply(&mut document);
    let document = Arc::new(document);

    let mut report = Report::new(&document);
    check_version(&document, &mut report);
    check_fields::check(&document, &schema::json_schema(), &mut report);
    report.finish()?;

    let mut report = Report::new(&document);
    match serde_json::from_value::<raw::RawPolicy>(document.to_json()) {
        Ok(raw) => {
            let policy = validate(&raw, Arc::clone(&document), surroundings, &mut report);
            report.finish().map(|()| policy)
        }
        Err(_) => {
            // Unreachable unless the structural check has a bug. The error may quote a location, so it is dropped.
            let message = "the policy does not have the structure that its schema describes";
            let problem = Problem { path: String::new(), place: None, message: message.to_owned() };
            Err(PolicyError::new(document.name(), vec![problem]))
        }
    }
}

/// Checks the version before the fields, since other versions have other fields.
fn check_version(document: &SpannedToml, report: &mut Report<'_>) {
    let path = FieldPath::of(&["version"]);
    if let Some(SpannedValue::Integer(version)) = document.get(&path).map(|node| &node.value)
        && *version != i128::from(raw::VERSION)
    {
        report.value(&path, format!("version {version} is not known here; use {}", raw::VERSION));
    }
}

//! Object stores of other clouds on the loopback interface, each with an empty bucket `people`.
//!
//! Azure is Azurite from the registry of npm. No package of a registry speaks the XML API of Google Cloud Storage, which the client of
//! object stores uses; it equals that of S3 except for the names of headers, so moto serves it behind a proxy that translates them
//! (`google.py`).

mod npm;

use std::process::Command;

use crate::python::PythonPackages;
use crate::s3::REQUIREMENTS;
use crate::server_process::ServerProcess;

/// Version of Azurite; the newest that runs on Node 20.
const AZURITE: &str = "azurite@3.34.0";

/// A local process that serves the API of a cloud's object store.
#[derive(Debug)]
pub struct CloudStore {
    scheme: &'static str,
    process: ServerProcess,
}

impl CloudStore {
    /// Starts Google Cloud Storage, installing packages on first use. Returns the reason if that is impossible.
    pub fn google() -> Result<Self, String> {
        let packages = PythonPackages::install("s3", "moto", REQUIREMENTS)?;
        let process = ServerProcess::start(&mut packages.script(include_str!("google.py")))?;
        Ok(Self { scheme: "gs", process })
    }

    /// Starts Azure Blob Storage, installing packages on first use. Returns the reason if that is impossible.
    pub fn azure() -> Result<Self, String> {
        let modules = npm::install("azure", AZURITE)?;
        let mut command = Command::new("node");
        command.args(["-e", include_str!("azure.js")]).env("NODE_PATH", modules);
        Ok(Self { scheme: "az", process: ServerProcess::start(&mut command)? })
    }

    /// Returns the URL of a folder in the bucket.
    pub fn url(&self, folder: &str) -> String {
        format!("{}://people/{folder}", self.scheme)
    }

    /// Returns the environment of clients.
    pub fn environment(&self) -> Vec<(&'static str, String)> {
        let address = format!("http://{}", self.process.address());
        match self.scheme {
            "gs" => {
                let key = format!(
                    r#"{{"gcs_base_url":"{address}","disable_oauth":true,"client_email":"","private_key":"","private_key_id":""}}"#
                );
                vec![("GOOGLE_SERVICE_ACCOUNT_KEY", key), ("GOOGLE_ALLOW_HTTP", "true".to_owned())]
            }
            _ => vec![("AZURE_STORAGE_USE_EMULATOR", "true".to_owned()), ("AZURITE_BLOB_STORAGE_URL", address)],
        }
    }
}

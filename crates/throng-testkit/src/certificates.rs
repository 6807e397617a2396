//! Certificates for tests, made by `openssl` and valid for two days.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A certificate authority whose files are in a folder of the test.
#[derive(Debug)]
pub struct Authority {
    folder: PathBuf,
    certificate: PathBuf,
    key: PathBuf,
}

/// A certificate and its private key, as PEM files.
#[derive(Clone, Debug)]
pub struct Issued {
    /// File of the certificate.
    pub certificate: PathBuf,
    /// File of the private key.
    pub key: PathBuf,
}

impl Authority {
    /// Makes an authority with this name in a folder. Returns the reason if that is impossible.
    pub fn new(folder: &Path, name: &str) -> Result<Self, String> {
        let authority = Self {
            folder: folder.to_owned(),
            certificate: folder.join(format!("{name}.pem")),
            key: folder.join(format!("{name}.key")),
        };
        let settings = authority.settings(name, "")?;
        openssl(
            &["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2"],
            &[("-config", &settings), ("-keyout", &authority.key), ("-out", &authority.certificate)],
        )?;
        Ok(authority)
    }

    /// Returns the certificate of the authority.
    pub fn certificate(&self) -> &Path {
        &self.certificate
    }

    /// Issues a certificate for hosts in the form of openssl: `DNS:localhost,IP:127.0.0.1`.
    pub fn issue(&self, name: &str, hosts: &str) -> Result<Issued, String> {
        let file = |ending: &str| self.folder.join(format!("{name}.{ending}"));
        let (request, settings) = (file("csr"), self.settings(name, hosts)?);
        let issued = Issued { certificate: file("pem"), key: file("key") };
        openssl(
            &["req", "-new", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"],
            &[("-config", &settings), ("-keyout", &issued.key), ("-out", &request)],
        )?;
        openssl(
            &["x509", "-req", "-days", "2", "-CAcreateserial", "-extensions", "leaf"],
            &[
                ("-in", &request),
                ("-CA", &self.certificate),
                ("-CAkey", &self.key),
                ("-extfile", &settings),
                ("-out", &issued.certificate),
            ],
        )?;
        Ok(issued)
    }

    /// Writes the settings of a command, so that it does not depend on those of the system.
    fn settings(&self, name: &str, hosts: &str) -> Result<PathBuf, String> {
        let path = self.folder.join(format!("{name}.cnf"));
        let hosts = if hosts.is_empty() { String::new() } else { format!("subjectAltName={hosts}\n") };
        let text = format!(
            "[req]\ndistinguished_name=name\nx509_extensions=authority\nprompt=no\n[name]\nCN={name}\n\
             [authority]\nbasicConstraints=critical,CA:TRUE\nkeyUsage=critical,keyCertSign\n\
             [leaf]\nbasicConstraints=CA:FALSE\nextendedKeyUsage=serverAuth,clientAuth\n{hosts}"
        );
        fs::write(&path, text).map_err(|error| format!("{}: {error}", path.display()))?;
        Ok(path)
    }
}

fn openssl(arguments: &[&str], files: &[(&str, &Path)]) -> Result<(), String> {
    let mut command = Command::new("openssl");
    command.args(arguments);
    for (option, file) in files {
        command.arg(option).arg(file);
    }
    let ran = command.output().map_err(|error| format!("openssl: {error}"))?;
    match ran.status.success() {
        true => Ok(()),
        false => Err(format!("openssl {}: {}", arguments[0], String::from_utf8_lossy(&ran.stderr))),
    }
}

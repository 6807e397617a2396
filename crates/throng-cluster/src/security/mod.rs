//! TLS and tokens between the processes of a compute cluster.
//!
//! Ballista opens connections in several places and lets one function change the endpoint of each of them before it
//! connects ([`Security::endpoint_override`]). It secures all connections of a cluster: from clients and executors to
//! the scheduler, and from clients and executors to the shuffles of executors. Both ends present a certificate of the
//! same authority.
//!
//! Servers are built here ([`serve`]), because Ballista's own listen in plain text. The server to which a scheduler
//! pushes tasks can't be replaced. Executors of a secured cluster therefore poll the scheduler for tasks, and that
//! server is not started.

mod admission;
pub(crate) mod serve;
mod token;

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use ballista_core::extension::EndpointOverrideFn;
use ballista_core::utils::{GrpcClientConfig, create_grpc_client_endpoint};
use throng_job::{JobError, Kind};
use tonic::transport::{Certificate, ClientTlsConfig, Endpoint, Error, Identity, Server, ServerTlsConfig};

use crate::settings;
pub(crate) use admission::{is_admitted, is_refusal, wait_for_admission};
pub use token::Tokens;

/// Time for a TLS handshake.
const HANDSHAKE: Duration = Duration::from_secs(10);

/// PEM files with the identity of a process.
#[derive(Clone, Debug)]
pub struct CertificateFiles {
    /// Certificates of the authority that signed those of all processes.
    pub authority: PathBuf,
    /// Certificate of this process, followed by intermediate ones.
    pub certificate: PathBuf,
    /// Private key of the certificate.
    pub key: PathBuf,
}

/// The identity of a process of a secured cluster, and the callers that it admits.
#[derive(Clone)]
pub struct Security {
    client: ClientTlsConfig,
    server: ServerTlsConfig,
    tokens: Option<Tokens>,
}

/// Shows no key and no token.
impl fmt::Debug for Security {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Security").field("has_token", &self.tokens.is_some()).finish_non_exhaustive()
    }
}

impl Security {
    /// Reads and checks the certificates of a process. If there are tokens, callers that present none of them are refused.
    pub fn load(files: &CertificateFiles, tokens: Option<Tokens>) -> Result<Self, JobError> {
        let authority = Certificate::from_pem(read(&files.authority)?);
        let identity = Identity::from_pem(read(&files.certificate)?, read(&files.key)?);
        let client = ClientTlsConfig::new().ca_certificate(authority.clone()).identity(identity.clone());
        let server = ServerTlsConfig::new().identity(identity).client_ca_root(authority);
        let security = Self { client: client.timeout(HANDSHAKE), server: server.timeout(HANDSHAKE), tokens };
        let checked = security.server(Server::builder()).map(drop);
        checked.and_then(|()| security.endpoint(Endpoint::from_static("http://localhost")).map(drop)).map_err(
            |_| {
                let text = format!(
                    "{}, {} and {} are not the certificates of an authority, a certificate and its private key in PEM",
                    files.authority.display(),
                    files.certificate.display(),
                    files.key.display()
                );
                JobError::new(Kind::BadPolicy, text)
            },
        )?;
        Ok(security)
    }

    /// Returns the function that secures every connection that Ballista opens.
    pub(crate) fn endpoint_override(&self) -> EndpointOverrideFn {
        let security = self.clone();
        Arc::new(move |endpoint| Ok(security.endpoint(endpoint)?))
    }

    /// Returns an endpoint for the same address, with TLS and the token. Ballista's own encryption setting is sent with
    /// a query and is not trusted.
    fn endpoint(&self, endpoint: Endpoint) -> Result<Endpoint, Error> {
        let endpoint = match endpoint.uri().scheme_str() {
            Some("https") => endpoint,
            _ => {
                let address = endpoint.uri().authority().map_or("", |authority| authority.as_str());
                let config = GrpcClientConfig::from(&settings::ballista());
                create_grpc_client_endpoint(format!("https://{address}"), Some(&config))?
            }
        };
        let endpoint = endpoint.tls_config(self.client.clone())?;
        match &self.tokens {
            // The user agent is the only header of an endpoint that all its requests carry.
            Some(tokens) => endpoint.user_agent(tokens.user_agent()),
            None => Ok(endpoint),
        }
    }

    /// Returns a server that admits only callers with a certificate of the authority.
    fn server(&self, server: Server) -> Result<Server, Error> {
        server.tls_config(self.server.clone())
    }
}

fn read(path: &Path) -> Result<Vec<u8>, JobError> {
    std::fs::read(path).map_err(|error| JobError::new(Kind::BadPolicy, format!("reading {}: {error}", path.display())))
}

#[cfg(test)]
pub(crate) mod tests;

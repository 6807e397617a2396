//! The options of processes that speak to each other in a cluster with TLS.

use std::path::PathBuf;

use clap::Args as ClapArgs;

/// The token itself, for platforms that hand out secrets as variables. It is no option: others see command lines.
#[cfg(feature = "cluster")]
const TOKEN: &str = "THRONG_CLUSTER_TOKEN";

#[derive(Clone, Debug, ClapArgs)]
#[cfg_attr(not(feature = "cluster"), allow(dead_code, reason = "there is no cluster to connect to"))]
pub(crate) struct ClusterSecurityArgs {
    /// The authority that signed the certificates of all processes of the cluster, as a PEM file
    ///
    /// With it, and a certificate and its key, all connections of the cluster are encrypted, and both ends of each must have
    /// such a certificate.
    #[arg(long, env = "THRONG_CLUSTER_CA", value_name = "FILE")]
    cluster_ca: Option<PathBuf>,

    /// The certificate of this process, as a PEM file
    #[arg(long, env = "THRONG_CLUSTER_CERT", value_name = "FILE")]
    cluster_cert: Option<PathBuf>,

    /// The private key of this process, as a PEM file
    #[arg(long, env = "THRONG_CLUSTER_KEY", value_name = "FILE")]
    cluster_key: Option<PathBuf>,

    /// A file with the token of the cluster; the variable THRONG_CLUSTER_TOKEN may hold the token itself
    ///
    /// Every process of the cluster must show it. A file may have several lines: the first is shown, and all are accepted.
    #[arg(long, env = "THRONG_CLUSTER_TOKEN_FILE", value_name = "FILE")]
    cluster_token_file: Option<PathBuf>,
}

#[cfg(feature = "cluster")]
mod load {
    use throng_cluster::{CertificateFiles, Security, Tokens};
    use throng_job::{JobError, Kind};

    use super::{ClusterSecurityArgs, TOKEN};

    impl ClusterSecurityArgs {
        /// Reads the files. `None` if nothing of this was asked for; whatever was asked for and can't be had is an error.
        pub(crate) fn load(&self) -> Result<Option<Security>, JobError> {
            let wrong = |text: &str| Err(JobError::new(Kind::BadPolicy, text));
            let tokens = self.tokens()?;
            match (&self.cluster_ca, &self.cluster_cert, &self.cluster_key) {
                (None, None, None) if tokens.is_none() => Ok(None),
                (None, None, None) => wrong(
                    "the token of a cluster would be sent in plain text; set --cluster-ca, --cluster-cert and --cluster-key too",
                ),
                (Some(authority), Some(certificate), Some(key)) => {
                    let (authority, certificate, key) = (authority.clone(), certificate.clone(), key.clone());
                    Security::load(&CertificateFiles { authority, certificate, key }, tokens).map(Some)
                }
                _ => wrong("--cluster-ca, --cluster-cert and --cluster-key belong together; set all of them, or none"),
            }
        }

        fn tokens(&self) -> Result<Option<Tokens>, JobError> {
            match (&self.cluster_token_file, std::env::var_os(TOKEN)) {
                (None, None) => Ok(None),
                (Some(_), Some(_)) => {
                    let text = format!("the token of the cluster is in {TOKEN} and in a file; set one of them");
                    Err(JobError::new(Kind::BadPolicy, text))
                }
                (Some(file), None) => {
                    let text = std::fs::read_to_string(file).map_err(|error| {
                        JobError::new(Kind::BadPolicy, format!("reading {}: {error}", file.display()))
                    })?;
                    Tokens::parse(&text, &file.display().to_string()).map(Some)
                }
                // Text that is not Unicode is no token either.
                (None, Some(token)) => Tokens::parse(token.to_str().unwrap_or_default(), TOKEN).map(Some),
            }
        }
    }
}

//! Tokens that callers present to the servers of a compute cluster.

use std::fmt;

use sha2::{Digest, Sha256};
use throng_job::{JobError, Kind};

/// Shortest token: 16 characters of base64 are 96 bits.
const SHORTEST: usize = 16;

/// Prefix of the token in the user agent.
const PRODUCT: &str = "throng-token/";

/// The token that this process presents, and the tokens that it accepts.
#[derive(Clone)]
pub struct Tokens {
    shown: String,
    /// Digests, so that the time of a comparison reveals nothing about a token.
    accepted: Vec<[u8; 32]>,
}

/// Shows no token.
impl fmt::Debug for Tokens {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tokens").field("accepted", &self.accepted.len()).finish_non_exhaustive()
    }
}

impl Tokens {
    /// Parses tokens, one per line: the first is presented and all are accepted, so that a token can be replaced while
    /// a cluster runs. `source` names the file or variable in messages.
    pub fn parse(text: &str, source: &str) -> Result<Self, JobError> {
        let tokens: Vec<&str> = text.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
        let is_valid = |token: &&str| token.len() >= SHORTEST && token.bytes().all(|byte| byte.is_ascii_graphic());
        match tokens.first() {
            Some(first) if tokens.iter().all(is_valid) => {
                Ok(Self { shown: (*first).to_owned(), accepted: tokens.into_iter().map(digest).collect() })
            }
            _ => {
                let text = format!(
                    "{source} must hold one token per line, each of {SHORTEST} or more ASCII characters without spaces"
                );
                Err(JobError::new(Kind::BadPolicy, text))
            }
        }
    }

    /// Returns the user agent that carries the token.
    pub(super) fn user_agent(&self) -> String {
        format!("{PRODUCT}{}", self.shown)
    }

    /// Whether a user agent carries one of the tokens. Libraries append their names to it.
    pub(super) fn accepts(&self, user_agent: &str) -> bool {
        let shown = user_agent.split(' ').next().and_then(|product| product.strip_prefix(PRODUCT));
        shown.is_some_and(|token| self.accepted.contains(&digest(token)))
    }
}

fn digest(token: &str) -> [u8; 32] {
    Sha256::digest(token.as_bytes()).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    const TOKEN: &str = "0123456789abcdef";

    #[test]
    fn the_first_token_is_shown_and_all_are_accepted() {
        let old = Tokens::parse(TOKEN, "f").unwrap();
        let new = Tokens::parse(&format!("new-{TOKEN}\n\n {TOKEN} \n"), "f").unwrap();
        assert!(new.accepts(&format!("{} tonic/0.14", new.user_agent())));
        assert!(new.accepts(&old.user_agent()));
        assert!(!old.accepts(&new.user_agent()));
        for wrong in [
            "",
            TOKEN,
            "tonic/0.14",
            "throng-token/",
            "throng-token/0123456789abcdeF",
            "throng-token/ 0123456789abcdef",
        ] {
            assert!(!old.accepts(wrong), "{wrong}");
        }
    }

    #[test]
    fn a_file_without_a_usable_token_is_refused_and_not_quoted() {
        for text in ["", "\n \n", "hunter2", "0123456789 abcdef", "0123456789abcdefü", "0123456789abcdef\nhunter2"] {
            let error = Tokens::parse(text, "THE_FILE").unwrap_err();
            assert_eq!(error.kind(), Kind::BadPolicy);
            assert!(error.to_string().contains("THE_FILE") && !error.to_string().contains("hunter2"), "{error}");
        }
        assert!(!format!("{:?}", Tokens::parse(TOKEN, "f").unwrap()).contains(TOKEN));
    }
}

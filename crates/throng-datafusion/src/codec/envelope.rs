//! Versioned, checksummed envelope around encoded plan nodes.
//!
//! ```text
//!  magic (7)   kind (1)   version (1)   checksum (8)   message
//! ```
//!
//! A single flipped bit can turn `k = 10` into `k = 11`, and both are valid policies. The checksum ensures that a
//! damaged policy is rejected. It does not protect against forgery.

use prost::Message;
use twox_hash::XxHash3_64;

use super::error::CodecError;

/// Prefix of every encoded node. No protobuf message begins with these bytes: they would be a field of an invalid wire
/// type.
const MAGIC: &[u8] = b"\xffTHRONG";
/// Format version. Adding fields to messages does not require a new one.
const VERSION: u8 = 2;

/// Kind of an encoded node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct NodeKind {
    byte: u8,
    /// Name in error messages.
    name: &'static str,
}

/// An [`crate::AnonymizedTable`] in a logical plan.
pub(super) const TABLE: NodeKind = NodeKind { byte: b'T', name: "an anonymized table" };
/// A [`crate::distributed::TaskTable`] in a logical plan.
pub(super) const TASKS: NodeKind = NodeKind { byte: b'S', name: "a table of tasks" };
/// A [`crate::distributed::TaskExec`] in a physical plan.
pub(super) const TASK: NodeKind = NodeKind { byte: b'K', name: "a task" };
/// An [`crate::AnonymizeExec`] in a physical plan.
pub(super) const EXEC: NodeKind = NodeKind { byte: b'E', name: "AnonymizeExec" };
/// A [`crate::functions::PrivacyCheck`] in a logical plan.
pub(super) const CHECK: NodeKind = NodeKind { byte: b'C', name: "a privacy check" };
/// A [`crate::functions::PrivacyCheckExec`] in a physical plan.
pub(super) const CHECK_EXEC: NodeKind = NodeKind { byte: b'P', name: "PrivacyCheckExec" };

impl NodeKind {
    /// Encodes a message with its envelope.
    pub(super) fn seal(self, message: &impl Message, bytes: &mut Vec<u8>) {
        let body = message.encode_to_vec();
        bytes.extend_from_slice(MAGIC);
        bytes.extend([self.byte, VERSION]);
        bytes.extend(checksum(self.byte, VERSION, &body).to_le_bytes());
        bytes.extend(body);
    }

    /// Decodes a message of this kind. Returns `None` if the magic prefix is missing.
    pub(super) fn open<M: Message + Default>(self, bytes: &[u8]) -> Result<Option<M>, CodecError> {
        let Some(rest) = bytes.strip_prefix(MAGIC) else { return Ok(None) };
        let ([kind, version], rest) = rest.split_first_chunk().ok_or(CodecError::CutShort(self.name))?;
        if *kind != self.byte {
            return Err(CodecError::Kind(self.name));
        }
        if *version != VERSION {
            return Err(CodecError::Version { node: self.name, found: *version, known: VERSION });
        }
        let (written, body) = rest.split_first_chunk().ok_or(CodecError::CutShort(self.name))?;
        if u64::from_le_bytes(*written) != checksum(*kind, *version, body) {
            return Err(CodecError::Damaged(self.name));
        }
        M::decode(body).map(Some).map_err(|_| CodecError::Malformed(self.name))
    }

    /// Returns whether the bytes hold a node of this kind.
    pub(super) fn is_of(self, bytes: &[u8]) -> bool {
        bytes.strip_prefix(MAGIC).and_then(<[u8]>::first) == Some(&self.byte)
    }

    /// Returns the error for a message that lacks a field.
    pub(super) fn malformed(self) -> CodecError {
        CodecError::Malformed(self.name)
    }
}

fn checksum(kind: u8, version: u8, body: &[u8]) -> u64 {
    XxHash3_64::oneshot_with_seed(u64::from_le_bytes([kind, version, 0, 0, 0, 0, 0, 0]), body)
}

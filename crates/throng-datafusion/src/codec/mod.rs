//! Encodes plans that contain Throng's nodes, to be executed elsewhere.
//!
//! ```text
//!  client                         scheduler                        executor
//!  AnonymizedTable ──logical──►   AnonymizedTable
//!    policy, input table            scan() ──► AnonymizeExec ──physical──► AnonymizeExec
//!                                                policy, schema of the input   └─ its child is a child of the plan
//! ```
//!
//! The codecs handle Throng's nodes and delegate everything else to an inner codec, by default DataFusion's own.
//! Encoded nodes begin with a magic prefix that no other codec writes, so any codec can be the inner one.
//!
//! A policy is encoded as its portable text (see [`throng_policy::Policy::to_portable`]) and needs no file, folder or
//! environment variable where it is decoded. The input of a table is encoded as the plan of its scan, as far as
//! DataFusion or the inner codec supports it: files, views and DataFrames can be encoded, in-memory tables can't. The
//! child of the operator in a physical plan is encoded by DataFusion, which does include in-memory rows before they are
//! anonymized: protect the bytes of a plan like its input.
//!
//! # A release of its own
//!
//! A decoded node computes its own release when it is first executed, from the input as it is at that time. A release
//! depends on input, policy and seed alone, so its bytes are the same on any machine. An input that changes in between
//! yields another release, and a table that occurs twice in a plan is anonymized twice. Neither a computed release nor
//! a progress listener is encoded.
//!
//! # The barrier
//!
//! A decoded table is as opaque as the original: no part of a query is pushed below it. A client that can submit plans
//! can also submit one that reads the input directly, so accept plans only from clients that may read it.
//!
//! # Damage
//!
//! A damaged Throng node is an error, and never decodes to another node. The rest of a plan is decoded by DataFusion,
//! which checks less: flipped bits may go unnoticed or cause a panic. Use a transport that detects corruption.
//!
//! # Functions
//!
//! Functions are encoded by name and looked up in the registry of the decoding session, which must have them
//! registered. None of Throng's functions has state.

mod delegate;
mod envelope;
mod error;
mod logical;
mod message;
mod physical;
mod task;

pub use error::CodecError;
pub use logical::ThrongLogicalCodec;
pub(crate) use message::AnonymizerMessage;
pub use physical::ThrongPhysicalCodec;

#[cfg(test)]
#[path = "codec_tests.rs"]
mod tests;

#[cfg(test)]
#[path = "damage_tests.rs"]
mod damage_tests;

#[cfg(test)]
#[path = "test_people.rs"]
mod test_people;

#[cfg(test)]
#[path = "task_tests.rs"]
mod task_tests;

//! Plans with our operator as bytes, to be run elsewhere.
//!
//! ```text
//!  client                         scheduler                        executor
//!  AnonymizedTable ──logical──►   AnonymizedTable
//!    policy, input table            scan() ──► AnonymizeExec ──physical──► AnonymizeExec
//!                                                policy, schema of the input   └─ its child is a child of the plan
//! ```
//!
//! The codecs know our two nodes and hand everything else to an inner codec, by default DataFusion's own. Our bytes begin
//! with a magic number that no other codec writes, so that any codec can be inside: what does not begin with it is not
//! ours.
//!
//! A policy travels as its portable text (see [`throng_policy::Policy::to_portable`]): no file, folder or environment
//! variable is needed where it arrives. The input of a table travels as the plan of its scan, as far as DataFusion or the
//! inner codec can write it: files, views and DataFrames do, tables in memory don't. The child of the operator in a
//! physical plan is written by DataFusion, which does put rows in memory into the bytes, before they are anonymized: keep
//! the bytes of a plan as safe as its input.
//!
//! # A release of its own
//!
//! What arrives makes a release of its own, when it is first run, of what the input holds there and then. A release
//! depends on nothing but input, policy and seed, so that it has the same bytes wherever it is made; but an input that
//! changes in between gives another one, and a table that stands twice in a plan is anonymized twice. Neither a release
//! that has been made nor a listener for its progress travels.
//!
//! # The barrier
//!
//! A decoded table is the same opaque leaf as before: nothing of a query gets below it. Whoever can write a plan can of
//! course also write one that reads the input itself, so accept plans only from those who may.
//!
//! # Damage
//!
//! A node of ours that was damaged is an error and never another node. The rest of a plan is DataFusion's, whose readers
//! check less: bits that flip there may go unnoticed, and some of them end in a panic. Move plans by means that notice.
//!
//! # Functions
//!
//! Functions travel by name and are looked up in the registry of the session that decodes, so that it must have them
//! registered. None of ours carries a state of its own.

mod envelope;
mod error;
mod logical;
mod message;
mod physical;
mod task;

pub use error::CodecError;
pub use logical::ThrongLogicalCodec;
pub use physical::ThrongPhysicalCodec;
pub use task::TaskReader;

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

//! Simulated intruders. They see only what a reader of a release has, and share no code with the anonymizer.

mod borrowed_rows;
mod rerun;

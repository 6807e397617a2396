//! Intruders. They see what a reader of a release could have, and share no code with what makes releases.

mod borrowed_rows;
mod rerun;

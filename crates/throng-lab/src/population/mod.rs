//! People of a population in the boxes of a release.
//!
//! The labels of a class are a box: a set of values per quasi-identifier. An intruder who does not know who is in the table, and
//! has a register of the population, finds `F` people of the register in the box of a class. That number determines how well the
//! people of the class are hidden from such an intruder:
//!
//! - k-map asks for at least k people in every box [El Emam 2008];
//! - delta-presence limits the share of them who are in the release [Nergiz 2007].
//!
//! ```text
//!  release    ──► ReleasedReader ──► ReleasedBoxes: classes with the sets of their labels, in a tree
//!                                        │
//!  population ──► distinct tuples ──► PeopleCounter: which boxes hold this tuple?   one pass, in parallel
//! ```
//!
//! Boxes may overlap, so a person may be in several of them, and is counted in each. A label that can't be parsed is an error: it
//! must not be treated as any value here, because that would count too many people.

mod box_tree;
mod boxes;
mod counter;
mod label_set;

pub use boxes::ReleasedBoxes;
pub use counter::{BoxCounts, PeopleCounter};

#[cfg(test)]
mod population_tests;

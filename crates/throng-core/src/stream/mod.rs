//! Streams: when rows that arrive one after the other are released, and which of them together.
//!
//! Rows wait in a buffer. When the oldest of them has waited as long as allowed, an *emission* decides all rows of the
//! buffer: every row that can be in a class is released, and a row that can't waits for later rows, as long as allowed, and
//! is then suppressed. An emission is anonymized like a separate table. There is no clock here: time is passed in as a
//! number.
//!
//! # The promise where arrivals are known
//!
//! Someone who knows when a row arrived, and follows the stream, learns at most in which emission the row was released. The
//! rows of that emission with the same released values are a class of it, which satisfies every model, in distinct units
//! where the policy names a unit. So knowing the arrival, however exactly, still leaves a whole class.
//!
//! CASTLE releases a row that has waited long enough in the box of a cluster that was published before [Cao 2011]. Someone who
//! knows when that row arrived sees a single row with these labels in the emission. So the rows of an emission that use a box
//! again would have to satisfy the models on their own. But then the smallest box around them satisfies the models too, and
//! lies inside the published box, which contains all of them: using the published box loses at least as much, in every column.
//! So no box is used again, and none is remembered.
//!
//! # The promise where arrivals are unknown
//!
//! After every emission, all rows that were released with the same values, in any emission so far, satisfy every model, in distinct
//! units where the policy names a unit. Someone who keeps all emissions and knows the quasi-identifiers of a person, but not when the
//! row arrived, finds a whole class at all times. The same holds for someone who knows that a row had arrived by some time: the
//! rows that were released until then satisfy the models too. It does not hold for someone who knows that a row arrived *after* some
//! time, or between two: a few rows may have joined a class since, and emissions show which.
//!
//! So a row may be released in a published box. Every row of a box is a row that its labels are true of, and a class that satisfies
//! a model goes on to do so when rows join it, if the model is closed under adding rows; of the other models the joining rows must satisfy
//! each among themselves, and merging preserves it. Neither the rows nor the units of a class need to be remembered to decide, only its
//! labels. The verifier has counts of its own ([`crate::verify::ReleasedClasses`]), to which it adds those of each emission.
//!
//! What an intruder who knows the algorithm concludes from it is not covered (minimality). A row joins the tightest box around it, so
//! it is not one of the rows that joined a wider box while a tighter one was remembered. The rows with which a class was published
//! are ruled out in this way only if a tighter box was known even then; it may have been forgotten since, where there are more than
//! [`MOST_BOXES`].
//!
//! # Two emissions with one person
//!
//! Two emissions with rows of one person are two releases that have that person in common. They are not compared with each
//! other: that would require remembering people, which a series of releases does ([`crate::series`]) and a stream does
//! not.
//!
//! # Why an emission releases all it can
//!
//! A class can't have rows of two emissions, so the more rows an emission has, the closer the rows of a class can be to each
//! other. Releasing only the classes with rows that are due would leave fewer rows to the next emission to choose from: with
//! k = 10 each class takes nine recent rows along with an old one, and the buffer is never as full again.
//!
//! Seen as boxes in the space of the columns and time, the classes of a stream tile that space, and none lasts longer than the
//! limit. A tile with k rows is smallest in the columns if it lasts as long as allowed, which holds for every class of an
//! emission of a full buffer. Shorter tiles that follow the rows more closely gain less than that: with half and a quarter of the
//! limit between emissions, the loss of a census was the same and 5 % higher.
//!
//! Where rows join published classes, those that lose much less in one than in a new class do so, and the others form new classes.
//! Boxes of many emissions are tighter than those of one, so the longer the stream is, the less it loses.
//!
//! # Bounds
//!
//! With a limit of rows, no more rows wait than the limit says. Rows that are nearly due are decided together with those that
//! are, so an emission that can't release anything is not repeated for each arriving row: a row takes part in at most
//! [`SLACK`] + 1 emissions. At most [`MOST_BOXES`] boxes are remembered.
//!
//! | file | idea |
//! |---|---|
//! | `arrivals` | which rows are due |
//! | `emission` | the decision about each row of the buffer |
//! | `published_boxes` | the boxes of earlier emissions |
//! | `extent` | what a label stands for in any table |
//! | `box_index` | the tightest box around a row |
//! | `reuse` | the rows that join a published class |

mod arrivals;
mod box_index;
mod emission;
mod extent;
mod published_boxes;
mod reuse;

pub use arrivals::{Arrivals, DelayLimits, SLACK};
pub use emission::{EMISSION_PROPOSALS, Emission};
pub use published_boxes::{BoxLabels, BoxesInTable, MOST_BOXES, PublishedBoxes};

#[cfg(test)]
#[path = "stream_tests.rs"]
mod tests;

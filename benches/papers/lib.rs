//! Shared parts of the experiments of the papers and other benches: data sets, the path from a table to classes, and
//! result tables.

mod choice;
mod data;
mod draws;
mod run;
mod table;

pub use choice::Choice;
pub use data::{Census, People, data_or_skip};
pub use draws::SampleRng;
pub use run::{Formed, Surveyed, category, form, interval, mean, survey};
pub use table::{Rows, markdown};

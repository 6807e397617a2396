//! Parts of the loss comparison: data sets, literal baselines, timed trials and plots.

mod cpu;
mod grow;
mod leaves;
mod made_up;
mod plot;
mod rows;
mod tables;
mod trial;

pub use cpu::cpu_seconds;
pub use plot::svg;
pub use rows::RowTable;
pub use tables::{DataSet, IntervalTable};
pub use trial::{
    BASELINE_LEAVES, BASELINE_LITERAL, BASELINE_WHOLE, Outcome, STRICT, THRONG, Trial, WHOLE_TABLE_ROWS, trials,
};

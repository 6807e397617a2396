//! Delta tables as input and as output.
//!
//! | file | content |
//! |---|---|
//! | `hand_made` | tables whose log is written line by line |
//! | `input` | versions, times, partition columns, and what is refused by name |
//! | `output` | releases as versions of a table |
//! | `python` | tables of the Python package `deltalake`, and releases that it and polars read |

mod hand_made;
mod input;
mod output;
mod python;
mod series;

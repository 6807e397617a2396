//! Measurements are in the benches next to this file; see CONTRIBUTING.md for how to run them.

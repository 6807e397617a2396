//! Measurements are in the benches beside this file; see CONTRIBUTING.md for how to run them.

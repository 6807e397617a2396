//! Runs the examples of the operator.

#[path = "../../crates/throng-datafusion/examples/dataframe.rs"]
mod dataframe;
#[path = "../../crates/throng-datafusion/examples/external_table.rs"]
mod external_table;
#[path = "../../crates/throng-datafusion/examples/host.rs"]
mod host;

#[test]
fn a_host_program_runs() {
    host::main().unwrap();
}

#[test]
fn a_pipeline_of_dataframes_runs() {
    dataframe::main().unwrap();
}

#[test]
fn an_external_table_runs() {
    external_table::main().unwrap();
}

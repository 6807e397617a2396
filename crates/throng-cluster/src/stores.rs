//! Object stores of a process, opened from its own environment when a plan first names them.
//!
//! Credentials are never sent: session settings go over the wire in plain text and hold nothing about stores.

use std::path::Path;
use std::sync::Arc;

use datafusion::common::Result;
use datafusion::execution::runtime_env::{RuntimeEnv, RuntimeEnvBuilder};
use throng_job::Stores;

/// Returns a runtime on the stores of this process, which spills to `spill` if it is given.
pub(crate) fn runtime(stores: &Arc<Stores>, spill: Option<&Path>) -> Result<Arc<RuntimeEnv>> {
    let stores: Arc<Stores> = Arc::clone(stores);
    let builder = RuntimeEnvBuilder::new().with_object_store_registry(stores);
    match spill {
        Some(folder) => builder.with_temp_file_path(folder).build_arc(),
        None => builder.build_arc(),
    }
}

//! Object stores of a process, opened from its own environment when a plan first names them.
//!
//! Credentials never travel: session settings go over the wire in the clear, and nothing of a store is in them.

use std::path::Path;
use std::sync::Arc;

use datafusion::common::Result;
use datafusion::execution::runtime_env::{RuntimeEnv, RuntimeEnvBuilder};
use throng_job::Stores;

/// A runtime on the stores of this process. What is spilled goes to the folder, if one is given.
pub(crate) fn runtime(stores: &Arc<Stores>, spill: Option<&Path>) -> Result<Arc<RuntimeEnv>> {
    let stores: Arc<Stores> = Arc::clone(stores);
    let builder = RuntimeEnvBuilder::new().with_object_store_registry(stores);
    match spill {
        Some(folder) => builder.with_temp_file_path(folder).build_arc(),
        None => builder.build_arc(),
    }
}

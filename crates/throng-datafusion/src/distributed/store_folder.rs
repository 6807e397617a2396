//! A folder in an object store, by a URL that every machine can resolve.

use std::sync::Arc;

use datafusion::datasource::listing::ListingTableUrl;
use datafusion::error::DataFusionError;
use datafusion::execution::runtime_env::RuntimeEnv;
use datafusion::object_store::path::Path;
use datafusion::object_store::{ObjectStore, ObjectStoreExt, PutPayload};

use crate::AnonymizeError;

/// A folder in an object store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoreFolder(String);

impl StoreFolder {
    /// Creates a folder from its URL.
    pub fn new(url: impl Into<String>) -> Self {
        Self(url.into())
    }

    /// Returns the URL of the folder, as it was given.
    pub fn url(&self) -> &str {
        &self.0
    }

    /// Returns the object store registered in `runtime`, and the path of an object in it.
    pub fn object(&self, runtime: &RuntimeEnv, name: &str) -> Result<(Arc<dyn ObjectStore>, Path), DataFusionError> {
        let url = ListingTableUrl::parse(&self.0)?;
        Ok((runtime.object_store(url.object_store())?, url.prefix().clone().join(name)))
    }

    pub(super) async fn put(&self, runtime: &RuntimeEnv, name: &str, bytes: Vec<u8>) -> Result<(), AnonymizeError> {
        let (store, path) = self.object(runtime, name).map_err(AnonymizeError::Read)?;
        store.put(&path, PutPayload::from(bytes)).await.map(|_| ()).map_err(AnonymizeError::Store)
    }

    pub(super) async fn get(&self, runtime: &RuntimeEnv, name: &str) -> Result<Vec<u8>, AnonymizeError> {
        let (store, path) = self.object(runtime, name).map_err(AnonymizeError::Read)?;
        let found = store.get(&path).await.map_err(AnonymizeError::Store)?;
        Ok(found.bytes().await.map_err(AnonymizeError::Store)?.into())
    }
}

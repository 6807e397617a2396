//! A folder on a store, by its URL, as every machine can reach it.

use std::sync::Arc;

use datafusion::datasource::listing::ListingTableUrl;
use datafusion::error::DataFusionError;
use datafusion::execution::runtime_env::RuntimeEnv;
use datafusion::object_store::path::Path;
use datafusion::object_store::{ObjectStore, ObjectStoreExt, PutPayload};

use crate::AnonymizeError;

/// A folder on a store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StorePlace(String);

impl StorePlace {
    /// The folder with this URL.
    pub fn new(url: impl Into<String>) -> Self {
        Self(url.into())
    }

    /// Its URL.
    pub fn url(&self) -> &str {
        &self.0
    }

    /// The store as this process reaches it, and the path of an object there.
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

//! A bucket accessed with a separate client that bypasses the proxy.

use futures::TryStreamExt;
use object_store::aws::{AmazonS3, AmazonS3Builder};
use object_store::path::Path;
use object_store::{Error, ObjectStore, ObjectStoreExt};
use throng_testkit::s3::Server;
use tokio::runtime::Runtime;

use crate::state::Objects;

/// Credentials of every client. The server accepts any; no message may contain them.
pub const KEY_ID: &str = "AKIDEXAMPLEEXAMPLE";
pub const SECRET: &str = "s3cr3t-that-nobody-may-see";

pub struct Bucket {
    pub name: String,
    store: AmazonS3,
    runtime: Runtime,
}

impl Bucket {
    /// Creates a bucket.
    pub fn new(server: &Server, name: &str) -> Self {
        server.make_bucket(name);
        Self::open(server, name)
    }

    /// Opens an existing bucket.
    pub fn open(server: &Server, name: &str) -> Self {
        let store = AmazonS3Builder::new()
            .with_bucket_name(name)
            .with_endpoint(format!("http://{}", server.address()))
            .with_allow_http(true)
            .with_region("us-east-1")
            .with_access_key_id(KEY_ID)
            .with_secret_access_key(SECRET)
            .build()
            .unwrap();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        Self { name: name.to_owned(), store, runtime }
    }

    pub fn url(&self, path: &str) -> String {
        format!("s3://{}/{path}", self.name)
    }

    pub fn put(&self, path: &str, bytes: Vec<u8>) {
        self.runtime.block_on(self.store.put(&Path::from(path), bytes.into())).unwrap();
    }

    pub fn remove(&self, path: &str) {
        self.runtime.block_on(self.store.delete(&Path::from(path))).unwrap();
    }

    /// Returns the bytes of an object, if it exists.
    pub fn get(&self, path: &str) -> Option<Vec<u8>> {
        let read = async {
            let found = self.store.get(&Path::from(path)).await?;
            found.bytes().await
        };
        match self.runtime.block_on(read) {
            Ok(bytes) => Some(bytes.to_vec()),
            Err(Error::NotFound { .. }) => None,
            Err(error) => panic!("the server can't be read: {error}"),
        }
    }

    /// Returns every object by its path below a folder. Panics if the bucket has objects elsewhere.
    pub fn objects(&self, folder: &str) -> Objects {
        let listed: Vec<_> = self.runtime.block_on(self.store.list(None).try_collect()).unwrap();
        let object = |path: String| {
            let below = path.strip_prefix(folder).unwrap_or_else(|| panic!("{path} is not below {folder}"));
            // An object that is removed after listing is skipped.
            self.get(&path).map(|bytes| (below.trim_start_matches('/').to_owned(), bytes))
        };
        listed.into_iter().filter_map(|listed| object(listed.location.to_string())).collect()
    }
}

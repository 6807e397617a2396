//! A bucket as somebody else sees it: past the proxy, and with a client of its own.

use futures::TryStreamExt;
use object_store::aws::{AmazonS3, AmazonS3Builder};
use object_store::path::Path;
use object_store::{Error, ObjectStore, ObjectStoreExt};
use throng_testkit::s3::Server;
use tokio::runtime::Runtime;

use crate::state::Objects;

/// The credentials of every client. The server takes any; no message may show them.
pub const KEY_ID: &str = "AKIDEXAMPLEEXAMPLE";
pub const SECRET: &str = "s3cr3t-that-nobody-may-see";

pub struct Bucket {
    pub name: String,
    store: AmazonS3,
    runtime: Runtime,
}

impl Bucket {
    /// A new bucket.
    pub fn new(server: &Server, name: &str) -> Self {
        server.make_bucket(name);
        Self::open(server, name)
    }

    /// A bucket that is there.
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

    /// The bytes of an object, if there is one.
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

    /// Every object with its bytes, by its path below a folder. All that is in the bucket must be there.
    pub fn objects(&self, folder: &str) -> Objects {
        let listed: Vec<_> = self.runtime.block_on(self.store.list(None).try_collect()).unwrap();
        let object = |path: String| {
            let below = path.strip_prefix(folder).unwrap_or_else(|| panic!("{path} is not below {folder}"));
            // What goes away meanwhile was not there.
            self.get(&path).map(|bytes| (below.trim_start_matches('/').to_owned(), bytes))
        };
        listed.into_iter().filter_map(|listed| object(listed.location.to_string())).collect()
    }
}

//! A bucket with the tables of a test, and the environment for processes that use it.

use std::sync::{Arc, OnceLock};

use arrow::array::{ArrayRef, RecordBatch, StringArray};
use futures::TryStreamExt;
use object_store::aws::{AmazonS3, AmazonS3Builder};
use object_store::path::Path;
use object_store::{ObjectStore, ObjectStoreExt};
use parquet::arrow::ArrowWriter;
use tempfile::TempDir;
use throng_testkit::s3::Server;

use crate::people::people;

/// Credentials of every process. The server accepts any; no message may contain them.
pub const KEY_ID: &str = "AKIDEXAMPLEEXAMPLE";
pub const SECRET: &str = "s3cr3t-that-nobody-may-see";

/// Number of files of the table `people`.
const FILES: i64 = 3;

/// Default number of rows of the table `people`.
const PEOPLE: i64 = 60;

/// Returns the server, which all tests of the process share.
pub fn server() -> Option<&'static Server> {
    static SERVER: OnceLock<Option<Server>> = OnceLock::new();
    SERVER.get_or_init(Server::start).as_ref()
}

/// A bucket and a local folder with the same tables: `people/` and `regions/`.
pub struct Bucket {
    name: String,
    endpoint: String,
    local: TempDir,
}

impl Bucket {
    pub fn new(server: &Server, name: &str) -> Self {
        Self::with_people(server, name, PEOPLE)
    }

    pub fn with_people(server: &Server, name: &str, count: i64) -> Self {
        server.make_bucket(name);
        let bucket = Self {
            name: name.to_owned(),
            endpoint: format!("http://{}", server.address()),
            local: TempDir::new().unwrap(),
        };
        for file in 0..FILES {
            let border = |file: i64| count * file / FILES;
            bucket.put(&format!("people/{file}.parquet"), &people(border(file), border(file + 1)));
        }
        bucket.put("regions/1.parquet", &regions());
        bucket
    }

    /// Returns the location of a table in the bucket.
    pub fn url(&self, table: &str) -> String {
        format!("s3://{}/{table}/", self.name)
    }

    /// Returns the location of the same table on this machine.
    pub fn path(&self, table: &str) -> String {
        format!("{}/", self.local.path().join(table).display())
    }

    /// Returns the environment that a process needs to connect to the server.
    pub fn environment(&self) -> Vec<(&'static str, String)> {
        vec![
            ("AWS_ENDPOINT_URL", self.endpoint.clone()),
            ("AWS_ALLOW_HTTP", "true".to_owned()),
            ("AWS_REGION", "us-east-1".to_owned()),
            ("AWS_ACCESS_KEY_ID", KEY_ID.to_owned()),
            ("AWS_SECRET_ACCESS_KEY", SECRET.to_owned()),
        ]
    }

    /// Uploads the files of a local folder to a folder of the bucket.
    pub fn put_folder(&self, from: &std::path::Path, to: &str) {
        for entry in std::fs::read_dir(from).unwrap() {
            let path = entry.unwrap().path();
            let name = format!("{to}/{}", path.file_name().unwrap().to_str().unwrap());
            let bytes = std::fs::read(&path).unwrap();
            runtime().block_on(self.store().put(&Path::from(name), bytes.into())).unwrap();
        }
    }

    /// Returns the bytes of an object; `None` if it does not exist.
    pub fn get(&self, name: &str) -> Option<Vec<u8>> {
        let found = async {
            match self.store().get(&Path::from(name)).await {
                Ok(found) => Some(found.bytes().await.unwrap().to_vec()),
                Err(object_store::Error::NotFound { .. }) => None,
                Err(error) => panic!("{error}"),
            }
        };
        runtime().block_on(found)
    }

    /// Returns the names of all objects below a folder.
    pub fn list(&self, folder: &str) -> Vec<String> {
        let folder = Path::from(folder);
        let store = self.store();
        let listed = store.list(Some(&folder)).map_ok(|object| object.location.to_string());
        let mut names: Vec<String> = runtime().block_on(listed.try_collect()).unwrap();
        names.sort();
        names
    }

    /// Writes a table to the bucket, and to the same place on this machine.
    pub fn put(&self, name: &str, batch: &RecordBatch) {
        let mut bytes = Vec::new();
        let mut writer = ArrowWriter::try_new(&mut bytes, batch.schema(), None).unwrap();
        writer.write(batch).unwrap();
        writer.close().unwrap();
        let path = self.local.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, &bytes).unwrap();
        runtime().block_on(self.store().put(&Path::from(name), bytes.into())).unwrap();
    }

    fn store(&self) -> AmazonS3 {
        let builder = AmazonS3Builder::new().with_bucket_name(&self.name).with_endpoint(&self.endpoint);
        let builder = builder.with_allow_http(true).with_region("us-east-1");
        builder.with_access_key_id(KEY_ID).with_secret_access_key(SECRET).build().unwrap()
    }
}

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap()
}

fn regions() -> RecordBatch {
    let column = |values: [&str; 4]| Arc::new(StringArray::from(values.to_vec())) as ArrayRef;
    RecordBatch::try_from_iter([
        ("region", column(["Europe", "Asia", "Europe", "Asia"])),
        ("land", column(["France", "Japan", "Spain", "China"])),
    ])
    .unwrap()
}

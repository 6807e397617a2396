//! Tables whose log is written line by line, without any library.

use std::fs;
use std::path::PathBuf;
use std::sync::Arc;

use arrow::array::{ArrayRef, Int64Array, RecordBatch};
use serde_json::{Value, json};

use crate::sandbox::Sandbox;
use crate::tables::{strings, table, write_parquet};

/// A table below a sandbox.
pub struct HandMade<'a> {
    sandbox: &'a Sandbox,
    name: &'static str,
}

/// Returns rows with these numbers.
pub fn rows(numbers: std::ops::Range<i64>) -> RecordBatch {
    let ids: ArrayRef = Arc::new(Int64Array::from_iter_values(numbers.clone()));
    table(vec![("row", ids), ("sex", strings(numbers.map(|number| ["f", "m"][(number % 2) as usize])))])
}

pub fn protocol() -> Value {
    json!({ "protocol": { "minReaderVersion": 1, "minWriterVersion": 2 } })
}

/// Returns metadata with these columns besides `row` and `sex`, by which the table is partitioned.
pub fn metadata(partitions: &[(&str, &str)]) -> Value {
    let field = |(name, kind): (&str, &str)| json!({ "name": name, "type": kind, "nullable": true, "metadata": {} });
    let columns = [("row", "long"), ("sex", "string")];
    let fields: Vec<Value> = columns.into_iter().chain(partitions.iter().copied()).map(field).collect();
    let names: Vec<&str> = partitions.iter().map(|(name, _)| *name).collect();
    json!({ "metaData": {
        "id": "7d0f7c5e-0000-4000-8000-000000000001",
        "format": { "provider": "parquet", "options": {} },
        "schemaString": json!({ "type": "struct", "fields": fields }).to_string(),
        "partitionColumns": names,
        "configuration": {},
    } })
}

impl<'a> HandMade<'a> {
    pub fn new(sandbox: &'a Sandbox, name: &'static str) -> Self {
        fs::create_dir_all(sandbox.path(name).join("_delta_log")).unwrap();
        Self { sandbox, name }
    }

    /// Returns the path of an entry.
    pub fn entry_path(&self, version: u64) -> PathBuf {
        self.sandbox.path(self.name).join(format!("_delta_log/{version:020}.json"))
    }

    /// Writes an entry.
    pub fn entry(&self, version: u64, lines: &[Value]) {
        let text: Vec<String> = lines.iter().map(Value::to_string).collect();
        fs::write(self.entry_path(version), text.join("\n")).unwrap();
    }

    /// Writes a data file, and returns the action that adds it.
    pub fn file(&self, path: &str, batch: &RecordBatch) -> Value {
        let file = self.sandbox.path(self.name).join(path);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        write_parquet(&file, batch);
        let size = fs::metadata(&file).unwrap().len();
        let encoded = path.replace('%', "%25").replace(' ', "%20");
        json!({ "add": { "path": encoded, "partitionValues": {}, "size": size, "modificationTime": 0, "dataChange": true } })
    }
}

/// Returns the action that removes a file.
pub fn remove(path: &str) -> Value {
    json!({ "remove": { "path": path, "deletionTimestamp": 0, "dataChange": true } })
}

/// Returns an added file with values of partition columns.
pub fn with_values(mut add: Value, values: Value) -> Value {
    add["add"]["partitionValues"] = values;
    add
}

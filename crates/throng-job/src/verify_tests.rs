use std::path::Path as FilePath;

use bytes::Bytes;
use datafusion::arrow::array::{ArrayRef, RecordBatch, StringArray};
use datafusion::parquet::arrow::ArrowWriter;
use datafusion::parquet::file::reader::{FileReader, SerializedFileReader};

use super::*;
use crate::write::digest;

/// Returns a Parquet file with `rows_of_a_city` rows per city.
fn table(rows_of_a_city: usize) -> Vec<u8> {
    let cities = ["Aachen", "Bonn"].into_iter().flat_map(|city| std::iter::repeat_n(city, rows_of_a_city));
    let cities: ArrayRef = Arc::new(StringArray::from(cities.collect::<Vec<_>>()));
    let batch = RecordBatch::try_from_iter([("city", cities)]).unwrap();
    let mut writer = ArrowWriter::try_new(Vec::new(), batch.schema(), None).unwrap();
    writer.write(&batch).unwrap();
    writer.into_inner().unwrap()
}

/// Creates a folder with these files, and a manifest that lists them.
fn release(files: &[(&str, Vec<u8>)]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let entry = |(name, bytes): &(&str, Vec<u8>)| {
        std::fs::write(folder.path().join(name), bytes).unwrap();
        let opened = SerializedFileReader::new(Bytes::from(bytes.clone())).unwrap();
        let rows = opened.metadata().file_metadata().num_rows() as u64;
        FileEntry { path: (*name).to_owned(), rows, bytes: bytes.len() as u64, sha256: digest(bytes) }
    };
    let manifest = Manifest::new("r1", "p", files.iter().map(entry).collect());
    std::fs::create_dir(folder.path().join("_throng")).unwrap();
    std::fs::write(folder.path().join(MANIFEST), serde_json::to_vec(&manifest).unwrap()).unwrap();
    folder
}

fn two_parts() -> tempfile::TempDir {
    release(&[("part-00000.parquet", table(2)), ("part-00001.parquet", table(3))])
}

async fn verify(location: &FilePath) -> Result<Findings, JobError> {
    let promise =
        Promise { quasi: vec!["city".to_owned()], k: 5, sensitive: Vec::new(), limits: Vec::new(), unit: None };
    let options = JobOptions { threads: 1, ..JobOptions::default() };
    verify_release(&[location.to_string_lossy().into_owned()], promise, None, &options).await
}

/// Returns the message of a refusal, which must name `file`.
async fn refusal(folder: &FilePath, file: &str) -> String {
    let error = verify(folder).await.unwrap_err();
    assert_eq!(error.kind(), Kind::Verification, "{error}");
    let message = error.to_string();
    assert!(message.contains(file), "{message}");
    message
}

#[tokio::test]
async fn a_release_is_read_by_its_manifest() {
    let folder = two_parts();
    std::fs::write(folder.path().join("_SUCCESS"), "").unwrap();
    std::fs::write(folder.path().join("README.md"), "not data").unwrap();
    std::fs::write(folder.path().join("_old.parquet"), table(1)).unwrap();
    let findings = verify(folder.path()).await.unwrap();
    assert!(findings.holds());
    assert_eq!((findings.rows, findings.classes), (10, 2));
}

#[tokio::test]
async fn a_file_that_the_manifest_does_not_list_is_refused() {
    for name in ["part-00002.parquet", "more.CSV", "below/more.arrow"] {
        let folder = two_parts();
        std::fs::create_dir(folder.path().join("below")).unwrap();
        std::fs::write(folder.path().join(name), table(5)).unwrap();
        assert!(refusal(folder.path(), name).await.contains("not listed"));
    }
}

#[tokio::test]
async fn a_file_that_is_missing_or_changed_is_refused() {
    let (first, second) = ("part-00000.parquet", "part-00001.parquet");
    let folder = two_parts();
    std::fs::remove_file(folder.path().join(second)).unwrap();
    assert!(refusal(folder.path(), second).await.contains("is missing"));

    let folder = two_parts();
    std::fs::write(folder.path().join(first), table(500)).unwrap();
    assert!(refusal(folder.path(), first).await.contains("another size"));

    let folder = two_parts();
    let mut bytes = table(2);
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    std::fs::write(folder.path().join(first), bytes).unwrap();
    assert!(refusal(folder.path(), first).await.contains("another content"));
}

#[tokio::test]
async fn a_manifest_that_is_not_understood_is_refused() {
    let folder = two_parts();
    let path = folder.path().join(MANIFEST);
    let text = std::fs::read_to_string(&path).unwrap();
    for text in [
        text[..text.len() / 2].to_owned(),
        text.replace("\"schema_version\":1", "\"schema_version\":2"),
        text.replace("part-00000.parquet", "../part-00000.parquet"),
    ] {
        std::fs::write(&path, text).unwrap();
        refusal(folder.path(), "manifest.json").await;
    }
    refusal(release(&[]).path(), "lists no files").await;
}

#[tokio::test]
async fn without_a_manifest_any_table_is_verified() {
    let folder = tempfile::tempdir().unwrap();
    let part = folder.path().join("a.parquet");
    std::fs::write(&part, table(2)).unwrap();
    assert_eq!(verify(folder.path()).await.unwrap().smallest_class, 2);
    assert_eq!(verify(&part).await.unwrap().rows, 4);
    assert_eq!(verify(&folder.path().join("*.parquet")).await.unwrap().rows, 4);
    assert_eq!(verify(&folder.path().join("absent")).await.unwrap_err().kind(), Kind::NoInput);
}

#[tokio::test]
async fn one_file_of_a_release_can_be_looked_at_alone() {
    let folder = two_parts();
    assert_eq!(verify(&folder.path().join("part-00000.parquet")).await.unwrap().rows, 4);
}

//! Properties of the files.

use std::sync::atomic::{AtomicU64, Ordering};

use arrow::compute::concat_batches;
use arrow::record_batch::RecordBatch;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;

use super::*;

/// A temporary folder, removed on drop.
struct Folder(PathBuf);

impl Folder {
    fn new(test: &str) -> Self {
        let path = std::env::temp_dir().join(format!("throng-generate-{}-{test}", std::process::id()));
        let _ = fs::remove_dir_all(&path);
        Self(path)
    }

    /// Sorted file names of the folder.
    fn names(&self) -> Vec<String> {
        let mut names: Vec<String> =
            fs::read_dir(&self.0).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    fn contents(&self) -> Vec<Vec<u8>> {
        self.names().iter().map(|name| fs::read(self.0.join(name)).unwrap()).collect()
    }

    /// All rows, file by file.
    fn rows(&self) -> RecordBatch {
        let mut batches = Vec::new();
        for name in self.names() {
            let file = File::open(self.0.join(name)).unwrap();
            let reader = ParquetRecordBatchReaderBuilder::try_new(file).unwrap();
            assert_eq!(reader.schema().fields(), census_schema().fields());
            batches.extend(reader.build().unwrap().map(Result::unwrap));
        }
        concat_batches(&census_schema(), &batches).unwrap()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn write(folder: &Folder, options: CensusOptions) -> Result<GenerateSummary, GenerateError> {
    write_census(&folder.0, &options, &|_| ())
}

#[test]
fn a_stopped_extract_leaves_nothing() {
    let folder = Folder::new("stopped");
    let written = AtomicU64::new(0);
    let stop = |rows| match written.fetch_add(rows, Ordering::Relaxed) {
        0 => ControlFlow::Continue(()),
        _ => ControlFlow::Break(()),
    };
    let options = CensusOptions::new(500_000).with_files(2);
    let error = write_census_until(&folder.0, &options, &stop).unwrap_err();
    assert!(matches!(error, GenerateError::Stopped));
    assert!(written.load(Ordering::Relaxed) < 500_000 && !folder.0.exists());
}

#[test]
fn an_extract_without_rows_is_one_file_with_the_schema() {
    let folder = Folder::new("empty");
    let summary = write(&folder, CensusOptions::new(0)).unwrap();
    assert_eq!((summary.rows, summary.files), (0, 1));
    assert_eq!(folder.names(), ["part-00000.parquet"]);
    assert_eq!(folder.rows().num_rows(), 0);
}

#[test]
fn the_number_of_files_does_not_change_the_rows() {
    let options = CensusOptions::new(10_007).with_seed(5);
    let (one, three) = (Folder::new("one"), Folder::new("three"));
    write(&one, options).unwrap();
    let progress = AtomicU64::new(0);
    let add = |rows| {
        progress.fetch_add(rows, Ordering::Relaxed);
    };
    let summary = write_census(&three.0, &options.with_files(3), &add).unwrap();
    assert_eq!(progress.into_inner(), 10_007);
    assert_eq!((summary.rows, summary.files), (10_007, 3));
    assert_eq!(three.names(), ["part-00000.parquet", "part-00001.parquet", "part-00002.parquet"]);
    assert_eq!(summary.bytes, three.contents().iter().map(|file| file.len() as u64).sum::<u64>());
    assert_eq!(one.rows(), three.rows());
    assert_eq!(one.rows().num_rows(), 10_007);
}

#[test]
fn the_same_options_give_the_same_bytes() {
    let options = CensusOptions::new(9_000).with_seed(6).with_files(2);
    let (one, two, other) = (Folder::new("bytes-1"), Folder::new("bytes-2"), Folder::new("bytes-3"));
    write(&one, options).unwrap();
    rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap().install(|| write(&two, options)).unwrap();
    write(&other, options.with_seed(7)).unwrap();
    assert_eq!(one.contents(), two.contents());
    assert_ne!(one.contents(), other.contents());
}

#[test]
fn more_files_than_rows_is_possible() {
    let folder = Folder::new("many");
    let summary = write(&folder, CensusOptions::new(1).with_files(3)).unwrap();
    assert_eq!((summary.rows, summary.files), (1, 3));
    assert_eq!(folder.rows().num_rows(), 1);
}

#[test]
fn existing_parts_are_an_error_unless_they_may_be_overwritten() {
    let folder = Folder::new("exists");
    write(&folder, CensusOptions::new(100).with_files(3)).unwrap();
    fs::write(folder.0.join("notes.txt"), "kept").unwrap();
    let before = folder.contents();
    let error = write(&folder, CensusOptions::new(50)).unwrap_err();
    assert!(matches!(&error, GenerateError::Exists { path } if path.ends_with("part-00000.parquet")), "{error}");
    assert_eq!(folder.contents(), before);
    write(&folder, CensusOptions::new(50).with_overwrite(true)).unwrap();
    // Parts of the earlier, longer extract would be read as rows of this one, so they are removed.
    assert_eq!(folder.names(), ["notes.txt", "part-00000.parquet"]);
}

#[test]
fn a_failure_leaves_nothing_behind() {
    let folder = Folder::new("fails");
    // A folder under the name of the second draft: that part cannot be created.
    fs::create_dir_all(folder.0.join(".part-00001.parquet.draft")).unwrap();
    let error = write(&folder, CensusOptions::new(1_000).with_files(2)).unwrap_err();
    assert!(matches!(error, GenerateError::Io { action: "create", .. }), "{error}");
    assert_eq!(folder.names(), [".part-00001.parquet.draft"]);
}

#[test]
fn a_failure_to_write_keeps_what_was_to_be_overwritten() {
    let folder = Folder::new("keeps");
    write(&folder, CensusOptions::new(10)).unwrap();
    let before = folder.contents();
    let obstacle = folder.0.join(".part-00001.parquet.draft");
    fs::create_dir(&obstacle).unwrap();
    write(&folder, CensusOptions::new(20).with_files(2).with_overwrite(true)).unwrap_err();
    fs::remove_dir(&obstacle).unwrap();
    assert_eq!(folder.contents(), before);
}

#[test]
fn a_file_in_the_place_of_the_folder_is_an_error() {
    let folder = Folder::new("file");
    fs::write(&folder.0, "not a folder").unwrap();
    let error = write(&folder, CensusOptions::new(1)).unwrap_err();
    assert!(matches!(error, GenerateError::Io { action: "create", .. }), "{error}");
    fs::remove_file(&folder.0).unwrap();
}

#[test]
fn parts_cover_all_rows_once() {
    for (rows, files) in [(0, 1), (7, 3), (1_000_000, 7), (u64::MAX, 5)] {
        let options = CensusOptions::new(rows).with_files(files);
        let parts: Vec<Range<u64>> = (0..files as u64).map(|index| options.part(index)).collect();
        assert_eq!((parts[0].start, parts[files - 1].end), (0, rows));
        assert!(parts.windows(2).all(|pair| pair[0].end == pair[1].start));
    }
    assert_eq!(CensusOptions::new(1).file_count(), 1);
    assert_eq!(CensusOptions::new(DEFAULT_FILE_ROWS + 1).file_count(), 2);
    assert_eq!(CensusOptions::new(1).with_files(0).file_count(), 1);
}

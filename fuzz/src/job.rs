//! Runs a whole job in a temporary folder, and recounts its release.

use std::collections::{HashMap, HashSet};
use std::fs::{self, File};
use std::path::Path;
use std::sync::{LazyLock, Once};

use arrow::array::{Array, RecordBatch};
use arrow::util::display::{ArrayFormatter, FormatOptions};
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use throng_job::{JobError, JobOptions, Kind, PublishedRelease};
use throng_policy::Policy;
use tokio::runtime::Runtime;

static RUNTIME: LazyLock<Runtime> = LazyLock::new(|| {
    tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().expect("threads")
});

/// Runs a future to completion.
pub fn block_on<T>(future: impl Future<Output = T>) -> T {
    RUNTIME.block_on(future)
}

/// Silences decoder panics, which become errors of the file and are not findings.
pub fn expect_decoders_to_panic() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let others = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            if !throng_job::is_decoding() {
                others(panic);
            }
        }));
    });
}

/// Runs a policy from `input/` to `out/release` of a folder. A refusal must be one that the caller can fix, and leave
/// nothing behind.
pub fn run(policy: &Policy, folder: &Path) -> Option<PublishedRelease> {
    released_or_kind(policy, folder).ok()
}

/// Same as [`run`], with the kind of a refusal.
pub fn released_or_kind(policy: &Policy, folder: &Path) -> Result<PublishedRelease, Kind> {
    expect_decoders_to_panic();
    let options = JobOptions { threads: 1, ..JobOptions::default() };
    match block_on(throng_job::run(policy, &options)) {
        Ok(released) => Ok(released),
        Err(error) => {
            check_refusal(&error);
            let left = fs::read_dir(folder.join("out")).expect("the folder is there").count();
            assert_eq!(left, 0, "a refused job left something behind: {error}");
            Err(error.kind())
        }
    }
}

fn check_refusal(error: &JobError) {
    let kinds = [Kind::BadData, Kind::BadPolicy, Kind::Infeasible];
    assert!(kinds.contains(&error.kind()), "{:?}: {error}", error.kind());
    assert!(!error.to_string().is_empty());
}

/// A table as text, column by column.
pub struct Texts {
    names: Vec<String>,
    columns: Vec<Vec<Option<String>>>,
    rows: usize,
}

impl Texts {
    /// Formats every value as Arrow does.
    pub fn of(batches: &[RecordBatch]) -> Self {
        let names: Vec<String> = batches
            .first()
            .map_or(Vec::new(), |batch| batch.schema().fields().iter().map(|field| field.name().clone()).collect());
        let column = |index: usize| batches.iter().flat_map(|batch| texts(batch.column(index))).collect();
        let columns = (0..names.len()).map(column).collect();
        Self { names, columns, rows: batches.iter().map(RecordBatch::num_rows).sum() }
    }

    /// Reads the release in `out/release` of a folder.
    pub fn of_release(folder: &Path) -> Self {
        let entries = fs::read_dir(folder.join("out/release")).expect("a release is a folder");
        let mut files: Vec<_> = entries.map(|entry| entry.expect("an entry").path()).collect();
        files.retain(|file| file.extension().is_some_and(|extension| extension == "parquet"));
        files.sort();
        let read = |file: &std::path::PathBuf| {
            let reader = ParquetRecordBatchReaderBuilder::try_new(File::open(file).expect("a file")).expect("Parquet");
            reader.build().expect("Parquet").map(|batch| batch.expect("rows")).collect::<Vec<_>>()
        };
        Self::of(&files.iter().flat_map(read).collect::<Vec<_>>())
    }

    pub fn rows(&self) -> usize {
        self.rows
    }

    pub fn names(&self) -> &[String] {
        &self.names
    }

    pub fn column(&self, name: &str) -> &[Option<String>] {
        let place = self.names.iter().position(|known| known == name).expect("a column of this name");
        &self.columns[place]
    }

    /// Checks that every class of equal values in these columns has k rows, and p values of each sensitive column.
    pub fn check_promise(&self, quasi: &[&str], sensitive: &[&str], k: usize, p: usize) {
        let mut classes: HashMap<Vec<&Option<String>>, Vec<usize>> = HashMap::new();
        for row in 0..self.rows {
            let class = quasi.iter().map(|name| &self.column(name)[row]).collect();
            classes.entry(class).or_default().push(row);
        }
        for rows in classes.values() {
            assert!(rows.len() >= k, "a class of {} rows with k = {k}", rows.len());
            for name in sensitive {
                let values = self.column(name);
                let distinct: HashSet<&String> = rows.iter().filter_map(|row| values[*row].as_ref()).collect();
                assert!(p == 1 || distinct.len() >= p, "a class of {} values with p = {p}", distinct.len());
            }
        }
    }
}

fn texts(column: &dyn Array) -> Vec<Option<String>> {
    let options = FormatOptions::default().with_display_error(true);
    let formatter = ArrayFormatter::try_new(column, &options).expect("values can be shown");
    let nulls = column.logical_nulls();
    let is_valid = |row: usize| nulls.as_ref().is_none_or(|nulls| nulls.is_valid(row));
    (0..column.len()).map(|row| is_valid(row).then(|| formatter.value(row).to_string())).collect()
}

//! The oracle: runs the anonymizer on guesses, each in a process of its own, with a secret that is not that of the release.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;

use datafusion::arrow::array::{ArrayRef, RecordBatch, UInt32Array};
use datafusion::arrow::compute::{concat_batches, take};
use datafusion::parquet::arrow::ArrowWriter;
use throng_lab::attacks::{AttackOutcome, OracleTrial, oracle_pairs};
use throng_lab::{Lexicon, ReleasedTable};
use throng_policy::{SECRET_VARIABLE, Store};

use super::read::{LabSource, LabTable, read_release};
use crate::error::{JobError, Kind};
use crate::job::JobOptions;

/// How guesses are run.
#[derive(Clone, Debug)]
pub struct OracleRequest {
    /// The program `throng`.
    pub program: PathBuf,
    /// The policy file.
    pub policy: PathBuf,
    /// Number of pairs of people who are attacked; each needs one run, and all together one more.
    pub trials: usize,
}

/// Runs the attack. Reads the whole original into memory.
pub(super) async fn attack(
    asked: &OracleRequest,
    lexicon: &mut Lexicon,
    original: &LabSource,
    published: &ReleasedTable,
    seed: u64,
    options: &JobOptions,
) -> Result<Option<AttackOutcome>, JobError> {
    let failed = |_| JobError::internal("the original could not be copied");
    let names: Vec<String> = original.schema().fields().iter().map(|field| field.name().clone()).collect();
    let mut batches = Vec::new();
    original
        .visit(&names, |batch| {
            batches.push(batch.clone());
            Ok(true)
        })
        .await?;
    let Some(schema) = batches.first().map(RecordBatch::schema) else { return Ok(None) };
    let table = concat_batches(&schema, &batches).map_err(failed)?;
    drop(batches);
    // Guesses have the columns in the order of the original, on which classes may depend.
    let places: Result<Vec<usize>, _> = names.iter().map(|name| schema.index_of(name)).collect();
    let table = places.and_then(|places| table.project(&places)).map_err(failed)?;
    let pairs = oracle_pairs(lexicon, &table, published, asked.trials, seed)?;
    // Private to the user: it holds copies of the original.
    let folder = tempfile::tempdir().map_err(|error| JobError::creating("creating a temporary folder", &error))?;
    let mut trials = Vec::new();
    for (number, pair) in pairs.into_iter().enumerate() {
        let secret = format!("the guess of an intruder {seed} {number}");
        let mut released = Vec::new();
        for (name, guess) in [("truth", table.clone()), ("exchanged", exchange(lexicon, &table, pair)?)] {
            let place = folder.path().join(format!("{number}-{name}"));
            run(asked, &place, guess, &secret).await?;
            let location = LabTable::from(place.join("release").display().to_string());
            let source = LabSource::open_release(&location, &Store::default(), options).await?;
            released.push(read_release(lexicon, &source, None).await?.finish(lexicon)?);
            let _ = std::fs::remove_dir_all(&place);
        }
        if let (Some(exchanged), Some(truth)) = (released.pop(), released.pop()) {
            trials.push(OracleTrial { truth, exchanged });
        }
    }
    Ok(throng_lab::attacks::oracle(published, &trials, seed))
}

/// Returns the table in which two people have exchanged their sensitive values.
fn exchange(lexicon: &Lexicon, table: &RecordBatch, [first, second]: [usize; 2]) -> Result<RecordBatch, JobError> {
    let mut order: Vec<u32> = (0..table.num_rows() as u32).collect();
    order.swap(first, second);
    let order = UInt32Array::from(order);
    let sensitive = lexicon.sensitive_columns();
    let fields = table.schema();
    let columns =
        fields.fields().iter().zip(table.columns()).map(|(field, column)| match sensitive.contains(field.name()) {
            true => take(column, &order, None),
            false => Ok(Arc::clone(column)),
        });
    let columns: Result<Vec<ArrayRef>, _> = columns.collect();
    let exchanged = columns.and_then(|columns| RecordBatch::try_new(Arc::clone(&fields), columns));
    exchanged.map_err(|_| JobError::internal("a guess could not be made"))
}

/// Anonymizes a guess.
async fn run(asked: &OracleRequest, place: &Path, guess: RecordBatch, secret: &str) -> Result<(), JobError> {
    let (asked, place, secret) = (asked.clone(), place.to_owned(), secret.to_owned());
    let ran = tokio::task::spawn_blocking(move || -> std::io::Result<bool> {
        std::fs::create_dir(&place)?;
        let input = place.join("guess.parquet");
        let writer = ArrowWriter::try_new(File::create(&input)?, guess.schema(), None);
        let mut writer = writer.map_err(std::io::Error::other)?;
        writer.write(&guess).and_then(|()| writer.close().map(|_| ())).map_err(std::io::Error::other)?;
        let ended = Command::new(&asked.program)
            .arg("run")
            .arg(&asked.policy)
            .arg("--input")
            .arg(&input)
            .arg("--output")
            .arg(place.join("release"))
            .env(SECRET_VARIABLE, secret)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status()?;
        Ok(ended.success())
    });
    let failed =
        || JobError::new(Kind::BadData, "a guess could not be released; try the policy with `throng run` first");
    match ran.await.map_err(|_| JobError::internal("a guess stopped"))? {
        Ok(true) => Ok(()),
        Ok(false) => Err(failed()),
        Err(error) => Err(JobError::creating("running a guess", &error)),
    }
}

//! Generates the data sets as Parquet, with their policies.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context, Result, bail};
use datafusion::arrow::array::{ArrayRef, Int64Array, RecordBatch, StringArray};
use datafusion::parquet::arrow::ArrowWriter;
use datafusion::parquet::basic::{Compression, ZstdLevel};
use datafusion::parquet::file::properties::WriterProperties;
use throng_papers::{Choice, People, SampleRng, data_or_skip};
use throng_policy::{Overrides, Policy};
use throng_synthetic::{CensusOptions, write_census};

const DEFAULT_ROWS: usize = 1_000_000;
const SEED: u64 = 1;

/// Rows per batch.
const BATCH_ROWS: usize = 1 << 16;

const ADULT_NUMBERS: [&str; 6] = ["age", "fnlwgt", "education-num", "capital-gain", "capital-loss", "hours-per-week"];
const ADULT_TEXTS: [&str; 9] = [
    "workclass",
    "education",
    "marital-status",
    "occupation",
    "relationship",
    "race",
    "sex",
    "native-country",
    "income",
];

/// A table in a folder, and its policy.
pub(crate) struct DataSet {
    pub(crate) name: String,
    /// The name with the number of rows.
    pub(crate) title: String,
    pub(crate) rows: usize,
    pub(crate) input: PathBuf,
    policy: Source,
}

enum Source {
    /// A file below `configs/`.
    Config(&'static str),
    Text(String),
}

impl DataSet {
    /// Writes a data set; returns `None` if its source data is missing.
    pub(crate) fn make(choice: &Choice, folder: &Path) -> Result<Option<Self>> {
        let rows = choice.rows.unwrap_or(DEFAULT_ROWS);
        let choice = Choice { rows: Some(rows), ..choice.clone() };
        let (title, name) = (choice.title(), choice.name);
        let input = folder.join(&title);
        let policy = match name.as_str() {
            "census" => {
                write_census(&input, &CensusOptions::new(rows as u64), &|_| {})?;
                Source::Config("census.toml")
            }
            "adult" => {
                let Some(data) = data_or_skip() else { return Ok(None) };
                write_adult(&input, &People::read(data)?, rows)?;
                Source::Config("adult.toml")
            }
            "numbers" => {
                write_people(&input, 6, rows)?;
                Source::Text(policy(6, "mean"))
            }
            "rich" => {
                write_people(&input, 10, rows)?;
                Source::Text(policy(10, "interval"))
            }
            _ => bail!("there is no data set `{name}`; expected census, adult, numbers or rich"),
        };
        Ok(Some(Self { name, title, rows, input, policy }))
    }

    /// Returns the policy with these overrides.
    pub(crate) fn policy(&self, overrides: &Overrides) -> Result<Policy> {
        let configs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../configs");
        Ok(match &self.policy {
            Source::Config(name) => Policy::load(&configs.join(name), overrides)?,
            Source::Text(text) => Policy::parse(text, &configs, overrides)?,
        })
    }
}

/// Returns a policy with `columns` quasi-identifiers and one sensitive column.
fn policy(columns: usize, release: &str) -> String {
    let quasi = |column| format!("[columns.measure_{column}]\nrole = \"quasi\"\nrelease = \"{release}\"\n");
    let quasi: String = (0..columns).map(quasi).collect();
    format!("version = 1\n[privacy]\nk = 10\np = 3\n{quasi}[columns.diagnosis]\nrole = \"sensitive\"\n")
}

/// Writes Adult, drawn with repetition.
fn write_adult(folder: &Path, people: &People, rows: usize) -> Result<()> {
    let mut draws = SampleRng::new(SEED);
    write(folder, rows, |count| {
        let records: Vec<usize> = (0..count).map(|_| draws.below(people.len())).collect();
        let numbers = ADULT_NUMBERS.map(|name| Ok((name.to_owned(), people.numbers(name, &records)?)));
        let texts = ADULT_TEXTS.map(|name| Ok((name.to_owned(), people.texts(name, &records)?)));
        numbers.into_iter().chain(texts).collect()
    })
}

/// Writes people with nearly unique measures. Half of each measure is a common value per person, so that measures
/// correlate; the other half makes them nearly unique.
fn write_people(folder: &Path, columns: usize, rows: usize) -> Result<()> {
    let mut draws = SampleRng::new(SEED);
    write(folder, rows, |count| {
        let mut measures = vec![Vec::with_capacity(count); columns];
        let mut diagnoses = Vec::with_capacity(count);
        for _ in 0..count {
            let common = draws.share();
            for measure in &mut measures {
                measure.push(((common + draws.share()) * 5e8) as i64);
            }
            // A few diagnoses are common and most are rare.
            diagnoses.push(format!("diagnosis {}", (40.0 * draws.share() * draws.share()) as u32));
        }
        let named = |(at, numbers)| Ok((format!("measure_{at}"), Arc::new(Int64Array::from(numbers)) as ArrayRef));
        let diagnoses: ArrayRef = Arc::new(StringArray::from(diagnoses));
        measures.into_iter().enumerate().map(named).chain([Ok(("diagnosis".to_owned(), diagnoses))]).collect()
    })
}

/// Writes a file, batch by batch.
fn write(folder: &Path, rows: usize, mut batch: impl FnMut(usize) -> Result<Vec<(String, ArrayRef)>>) -> Result<()> {
    fs::create_dir_all(folder)?;
    let compression = Compression::ZSTD(ZstdLevel::try_new(1)?);
    let properties = WriterProperties::builder().set_compression(compression).build();
    let mut writer: Option<ArrowWriter<fs::File>> = None;
    for first in (0..rows).step_by(BATCH_ROWS) {
        let batch = RecordBatch::try_from_iter(batch(BATCH_ROWS.min(rows - first))?)?;
        if writer.is_none() {
            let file = fs::File::create(folder.join("part-0.parquet"))?;
            writer = Some(ArrowWriter::try_new(file, batch.schema(), Some(properties.clone()))?);
        }
        if let Some(writer) = &mut writer {
            writer.write(&batch)?;
        }
    }
    writer.context("a data set needs at least one row")?.close()?;
    Ok(())
}

/// Returns a path as text.
pub(crate) fn utf8(path: &Path) -> Result<&str> {
    path.to_str().context("a temporary folder has a name that is not UTF-8")
}

//! `throng risk`: re-identification risk of a table as it is. Reads the table once.
//!
//! The survey of the core counts distinct tuples, from which everything else is computed.

use std::sync::Arc;

use datafusion::arrow::array::{ArrayRef, AsArray};
use datafusion::arrow::compute::cast;
use datafusion::arrow::datatypes::{DataType, Float64Type, Schema};
use datafusion::execution::memory_pool::MemoryConsumer;
use datafusion::physical_plan::SendableRecordBatchStream;
use datafusion::prelude::SessionContext;
use futures::TryStreamExt;
use throng_core::columns::{QuasiSpec, SensitiveSpec};
use throng_core::dictionary_encode::DictionaryEncoder;
use throng_core::risk::{
    ClassPeople, PeopleLimits, PeopleSource, ReleasePeople, Risk, SamplingFraction, WeightedClasses,
};
use throng_core::survey::{CountedTuples, Survey, SurveySpec};
use throng_datafusion::{EngineFailure, classify};
use throng_policy::Store;

use crate::error::{JobError, Kind};
use crate::input::{JobInput, open_table};
use crate::job::JobOptions;
use crate::lab::{CountedBoxes, LabColumns, LabSource, LabTable};
use crate::memory::too_little;
use crate::plural::plural;
use crate::progress::{Progress, Stage};
use crate::session::session;

/// Columns and threshold of a risk analysis.
#[derive(Clone, Debug)]
pub struct RiskOptions {
    /// Quasi-identifiers.
    pub quasi: Vec<String>,
    /// Sensitive columns.
    pub sensitive: Vec<String>,
    /// Rows with a risk above this are counted.
    pub threshold: f64,
    /// Share of the population that is in the table, if it is a sample.
    pub sampling_fraction: Option<SamplingFraction>,
    /// Column of sampling weights: how many people of the population a row stands for. An alternative to a fraction.
    pub weight: Option<String>,
}

/// Computes the risk of a table: a file, a folder, a glob or a URL. Returns an error for a table without rows.
pub async fn risk(locations: &[String], asked: &RiskOptions, options: &JobOptions) -> Result<Risk, JobError> {
    let session = session(options)?;
    let input = open_table(&session, locations, &Store::default(), options).await?;
    let risk = risk_of(input.as_ref(), &session, asked, options).await?;
    match risk.rows {
        0 => Err(JobError::new(Kind::BadData, "the table has no rows, so there is no risk to measure")),
        _ => Ok(risk),
    }
}

/// Computes the risk of a table among the people of its population: a table with the same quasi-identifiers and one row per
/// person. The table may itself be a release, whose intervals are read as sets of numbers or dates; other labels are read as values.
/// Reads the table twice, and the population once.
pub async fn risk_among(
    locations: &[String],
    asked: &RiskOptions,
    population: &LabTable,
    options: &JobOptions,
) -> Result<Risk, JobError> {
    let risk = risk(locations, asked, options).await?;
    let session = session(options)?;
    let store = Store::default();
    let table = LabSource::of_input(open_table(&session, locations, &store, options).await?, &session);
    let people = LabSource::open(population, &store, options).await?;
    let spec = LabColumns::Named { quasi: asked.quasi.clone(), sensitive: Vec::new(), k: 1, p: 1 };
    let spec = spec.spec(&people, &table).await?;
    let mut boxes = CountedBoxes::read(spec, None, &table, &session).await?;
    let counts = boxes.count(&people, None).await?;
    let class =
        |(rows, people): (&u64, &f64)| ClassPeople { rows: *rows, hidden: *rows, people: *people, members: None };
    Ok(risk.with_people(&ReleasePeople {
        source: PeopleSource::Table,
        classes: boxes.class_rows().iter().zip(&counts.people).map(class).collect(),
        people: counts.total,
        outside: counts.outside,
        limits: PeopleLimits::default(),
    }))
}

/// Computes the risk of an open table.
pub(crate) async fn risk_of(
    input: &dyn JobInput,
    session: &SessionContext,
    asked: &RiskOptions,
    options: &JobOptions,
) -> Result<Risk, JobError> {
    check_columns(asked, input.schema())?;
    let names: Vec<&str> =
        asked.quasi.iter().chain(&asked.sensitive).chain(&asked.weight).map(String::as_str).collect();
    let failed = |error| JobError::reading("the input", &error);
    input.read_plan(Some(&names)).apply(session)?;
    let frame = input.rows(session)?.select_columns(&names).map_err(failed)?;
    let stream = frame.execute_stream().await.map_err(failed)?;
    let counting = GroupCounting { session, observer: Arc::clone(&options.observer) };
    let (tuples, weights) = match counting.tuples(stream, asked).await {
        Ok(counted) => counted,
        Err(RiskFailure::Job(error)) => return Err(error),
        Err(RiskFailure::Engine(error)) => return Err(input.locate(session, &names, &error).await),
    };
    let risk = Risk::of(&tuples, &asked.quasi, &asked.sensitive, asked.threshold)?;
    Ok(match asked.weight {
        Some(_) => risk.with_weights(&WeightedClasses::of(&tuples, asked.quasi.len(), &weights)),
        None => risk.with_sampling_fraction(asked.sampling_fraction),
    })
}

/// Name of the resource in the out-of-memory error.
const COMBINATIONS: &str = "the distinct combinations of these columns";

enum RiskFailure {
    Job(JobError),
    Engine(datafusion::error::DataFusionError),
}

impl From<throng_core::CoreError> for RiskFailure {
    fn from(error: throng_core::CoreError) -> Self {
        Self::Job(error.into())
    }
}

/// Counts distinct tuples.
struct GroupCounting<'a> {
    session: &'a SessionContext,
    observer: Arc<dyn Progress>,
}

impl GroupCounting<'_> {
    /// Returns the distinct tuples of all columns of a stream but the weight, with their numbers of rows, and the sum of
    /// weights of each tuple.
    async fn tuples(
        &self,
        mut stream: SendableRecordBatchStream,
        asked: &RiskOptions,
    ) -> Result<(CountedTuples, Vec<f64>), RiskFailure> {
        self.observer.begin(Stage::Survey, None);
        let memory = MemoryConsumer::new("throng risk").register(&self.session.runtime_env().memory_pool);
        let full = |error| match classify(&error) {
            EngineFailure::Memory(least) => RiskFailure::Job(too_little(COMBINATIONS, least)),
            _ => RiskFailure::Engine(error),
        };
        let mut survey = Survey::new(Arc::new(spec(&stream.schema(), asked)))?;
        let mut compactor = DictionaryEncoder::default();
        let mut sums: Vec<f64> = Vec::new();
        let counted = asked.quasi.len() + asked.sensitive.len();
        while let Some(batch) = stream.try_next().await.map_err(RiskFailure::Engine)? {
            let columns: Result<Vec<ArrayRef>, _> =
                batch.columns()[..counted].iter().map(|column| compactor.compact(column)).collect();
            let columns =
                columns.map_err(|_| RiskFailure::Job(JobError::internal("strings could not be compacted")))?;
            let numbers = survey.push(&columns)?;
            if let (Some(name), Some(column)) = (&asked.weight, batch.columns().get(counted)) {
                let weights = weights(name, column).map_err(RiskFailure::Job)?;
                sums.resize(survey.groups(), 0.0);
                numbers.iter().zip(weights).for_each(|(number, weight)| sums[*number as usize] += weight);
            }
            memory.try_resize(survey.size() + size_of_val(sums.as_slice())).map_err(full)?;
            self.observer.advance(batch.num_rows() as u64);
        }
        let tuples = survey.take_groups();
        // Classes without one column are counted for as many columns concurrently as there are threads.
        let copies = 1 + rayon::current_num_threads();
        let sums_size = size_of_val(sums.as_slice());
        memory.try_resize(survey.size() + copies * 4 * tuples.size() + 4 * sums_size).map_err(full)?;
        Ok((tuples, sums))
    }
}

/// Reads a column of sampling weights.
fn weights(name: &str, column: &ArrayRef) -> Result<Vec<f64>, JobError> {
    let refused = |reason: String| JobError::new(Kind::BadData, format!("column `{name}` {reason}"));
    let is_number = column.data_type().is_numeric();
    let numbers = is_number.then(|| cast(column, &DataType::Float64).ok()).flatten();
    let numbers = numbers.ok_or_else(|| refused(format!("is {}, and weights are numbers", column.data_type())))?;
    let weights: Vec<f64> = numbers.as_primitive::<Float64Type>().iter().map(|weight| weight.unwrap_or(0.0)).collect();
    match weights.iter().filter(|weight| !(weight.is_finite() && **weight > 0.0)).count() {
        0 => Ok(weights),
        count => Err(refused(format!(
            "has {} without a weight above 0; a weight is the number of people that a row stands for",
            plural(count as u64, "row")
        ))),
    }
}

fn spec(schema: &Schema, asked: &RiskOptions) -> SurveySpec {
    let mut types = schema.fields().iter().map(|field| field.data_type().clone());
    SurveySpec {
        quasi: asked.quasi.iter().map(QuasiSpec::plain).zip(types.by_ref()).collect(),
        sensitive: asked.sensitive.iter().map(SensitiveSpec::plain).zip(types).collect(),
    }
}

/// Checks that every column exists once in the table and is named once.
fn check_columns(asked: &RiskOptions, schema: &Schema) -> Result<(), JobError> {
    let usage = |text: String| Err(JobError::new(Kind::BadQuery, text));
    let names: Vec<&String> = asked.quasi.iter().chain(&asked.sensitive).chain(&asked.weight).collect();
    if let Some(name) = names.iter().enumerate().find_map(|(place, name)| names[..place].contains(name).then_some(name))
    {
        return usage(format!("column `{name}` is named twice; name it once"));
    }
    let missing: Vec<String> =
        names.iter().filter(|name| schema.field_with_name(name).is_err()).map(|name| format!("`{name}`")).collect();
    if !missing.is_empty() {
        let known: Vec<String> = schema.fields().iter().map(|field| format!("`{}`", field.name())).collect();
        return usage(format!("the table has no column {}; it has {}", missing.join(", "), known.join(", ")));
    }
    Ok(())
}

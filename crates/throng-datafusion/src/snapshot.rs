//! One look at all rows of a query: the survey, and what a release shows of each row besides its quasi-identifiers.

use std::sync::Arc;

use datafusion::arrow::array::{ArrayRef, RecordBatch};
use datafusion::arrow::datatypes::DataType;
use datafusion::error::DataFusionError;
use datafusion::execution::TaskContext;
use datafusion::physical_plan::{ExecutionPlan, ExecutionPlanProperties, SendableRecordBatchStream};
use futures::TryStreamExt;
use throng_core::content::{Checksum, ContentHasher};
use throng_core::recode::Recoding;
use throng_core::survey::{SUPPRESSED, Survey, SurveySpec};
use throng_core::table::Table;
use throng_policy::Binding;
use tokio::task::JoinSet;

use crate::Error;
use crate::kept::{Kept, kept_columns};
use crate::progress::Progress;

/// All rows of a query.
#[derive(Debug)]
pub struct Snapshot {
    /// The cells of the rows that are not suppressed.
    pub table: Table,
    /// How many rows were read.
    pub rows: u64,
    /// How many of them are left out of the release because of their nulls.
    pub suppressed: u64,
    /// What the release shows of each row besides its quasi-identifiers.
    pub(crate) batches: Vec<RecordBatch>,
    /// The group of each row.
    pub(crate) groups: Vec<u32>,
    /// The content hash of each row.
    pub(crate) content: Vec<u128>,
    /// The key of the content hash.
    pub(crate) seed: u64,
}

/// Which columns of the query are for what.
struct Reading {
    spec: Arc<SurveySpec>,
    /// Quasi-identifiers, then sensitive columns, by name.
    surveyed: Vec<String>,
    kept: Vec<Kept>,
    seed: u64,
    progress: Arc<dyn Progress>,
}

/// What one stream brought.
struct Part {
    survey: Survey,
    batches: Vec<RecordBatch>,
    groups: Vec<u32>,
    content: Vec<u128>,
}

impl Snapshot {
    /// Reads all rows of a plan, its partitions in parallel. The seed keys the content hash.
    pub(crate) async fn read(
        input: &Arc<dyn ExecutionPlan>,
        context: &Arc<TaskContext>,
        binding: &Binding,
        seed: u64,
        progress: &Arc<dyn Progress>,
    ) -> Result<Self, Error> {
        let reading = Arc::new(Reading::new(binding, seed, Arc::clone(progress)));
        let partitions = 0..input.output_partitioning().partition_count();
        let streams = partitions.map(|partition| input.execute(partition, Arc::clone(context)));
        let streams = streams.collect::<Result<Vec<_>, _>>()?;
        let mut tasks = JoinSet::new();
        for (index, stream) in streams.into_iter().enumerate() {
            let reading = Arc::clone(&reading);
            tasks.spawn(async move { Part::read(stream, &reading).await.map(|part| (index, part)) });
        }
        let mut parts = Vec::new();
        while let Some(done) = tasks.join_next().await {
            parts.push(done.map_err(|_| Error::Task)??);
        }
        parts.sort_by_key(|(index, _)| *index);
        let parts = parts.into_iter().map(|(_, part)| part).collect();
        tokio::task::spawn_blocking(move || Self::merge(parts, seed)).await.map_err(|_| Error::Task)?
    }

    fn merge(parts: Vec<Part>, seed: u64) -> Result<Self, Error> {
        let (mut surveys, mut rest) = (Vec::new(), Vec::new());
        for part in parts {
            surveys.push(part.survey);
            rest.push((part.batches, part.groups, part.content));
        }
        let merged = Survey::merge(surveys)?;
        let rows: usize = rest.iter().map(|(_, groups, _)| groups.len()).sum();
        if u32::try_from(rows).is_err() {
            return Err(Error::TooManyRows(u32::MAX));
        }
        let mut snapshot = Self {
            table: merged.table,
            rows: rows as u64,
            suppressed: merged.suppressed,
            batches: Vec::new(),
            groups: Vec::with_capacity(rows),
            content: Vec::with_capacity(rows),
            seed,
        };
        for ((batches, groups, content), of_table) in rest.into_iter().zip(merged.groups) {
            let place = |group: u32| if group == SUPPRESSED { SUPPRESSED } else { of_table[group as usize] };
            snapshot.groups.extend(groups.into_iter().map(place));
            snapshot.content.extend(content);
            snapshot.batches.extend(batches);
        }
        Ok(snapshot)
    }

    /// The checksum of all rows that a recoding does not leave out.
    pub fn checksum(&self, recoding: &Recoding) -> Checksum {
        let is_released = |group: u32| group != SUPPRESSED && !recoding.is_out(group);
        let released = self.groups.iter().zip(&self.content).filter(|(group, _)| is_released(**group));
        let mut checksum = Checksum::default();
        checksum.add(released.map(|(_, hash)| *hash));
        checksum
    }
}

impl Reading {
    fn new(binding: &Binding, seed: u64, progress: Arc<dyn Progress>) -> Self {
        let spec = SurveySpec {
            quasi: binding.quasi.iter().map(|q| (q.spec.clone(), q.column.data_type.clone())).collect(),
            sensitive: binding.sensitive.iter().map(|s| (s.spec.clone(), s.column.data_type.clone())).collect(),
        };
        let quasi = binding.quasi.iter().map(|quasi| quasi.column.name.clone());
        let surveyed = quasi.chain(binding.sensitive.iter().map(|sensitive| sensitive.column.name.clone())).collect();
        Self { spec: Arc::new(spec), surveyed, kept: kept_columns(binding), seed, progress }
    }
}

impl Part {
    async fn read(mut stream: SendableRecordBatchStream, reading: &Reading) -> Result<Self, Error> {
        let mut part = Self {
            survey: Survey::new(Arc::clone(&reading.spec))?,
            batches: Vec::new(),
            groups: Vec::new(),
            content: Vec::new(),
        };
        let types: Vec<DataType> = reading.kept.iter().map(Kept::data_type).collect();
        let hasher = ContentHasher::new(&types, reading.seed)?;
        while let Some(batch) = stream.try_next().await? {
            if batch.num_rows() > 0 {
                part.push(&batch, reading, &hasher)?;
                reading.progress.advance(batch.num_rows() as u64);
            }
        }
        Ok(part)
    }

    fn push(&mut self, batch: &RecordBatch, reading: &Reading, hasher: &ContentHasher) -> Result<(), Error> {
        let column = |name: &String| -> Result<ArrayRef, Error> {
            let missing = || DataFusionError::Internal("a column of the query is missing from its result".to_owned());
            Ok(batch.column_by_name(name).cloned().ok_or_else(missing)?)
        };
        let surveyed = reading.surveyed.iter().map(column).collect::<Result<Vec<_>, _>>()?;
        self.groups.extend(self.survey.push(&surveyed)?);
        let kept = reading.kept.iter().map(|kept| kept.of(&column(&kept.source.name)?));
        let kept = kept.collect::<Result<Vec<_>, Error>>()?;
        self.content.extend(hasher.hash(&kept, batch.num_rows())?);
        self.batches.push(keep(kept, &reading.kept, batch.num_rows())?);
        Ok(())
    }
}

/// A batch of columns under their names; a batch of rows without columns keeps its count.
fn keep(columns: Vec<ArrayRef>, kept: &[Kept], rows: usize) -> Result<RecordBatch, Error> {
    use datafusion::arrow::array::RecordBatchOptions;
    use datafusion::arrow::datatypes::{Field, Schema};
    let field = |(column, kept): (&ArrayRef, &Kept)| Field::new(&kept.name, column.data_type().clone(), true);
    let schema = Schema::new(columns.iter().zip(kept).map(field).collect::<Vec<_>>());
    let options = RecordBatchOptions::new().with_row_count(Some(rows));
    RecordBatch::try_new_with_options(Arc::new(schema), columns, &options)
        .map_err(|source| Error::Kernel("batch", source))
}

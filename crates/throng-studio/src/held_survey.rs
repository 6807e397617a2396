//! One read of the quasi-identifiers and sensitive columns: the risk of the table as it is, and its cells, which stay in memory.
//!
//! As long as columns and hierarchies do not change, a new k or p is answered from the cells alone.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

use futures::TryStreamExt;
use throng::arrow::array::ArrayRef;
use throng::throng_core::columns::{QuasiSpec, SensitiveSpec};
use throng::throng_core::dictionary_encode::DictionaryEncoder;
use throng::throng_core::risk::DEFAULT_THRESHOLD;
use throng::throng_core::survey::{Survey, SurveySpec};
use throng::throng_core::table::Table;
use throng::{Binding, Risk};
use throng_job::{JobError, Kind, OpenTable};

/// Tables with more groups are not held; their figures come from the release alone.
const MAX_GROUPS: usize = 1 << 20;

/// The risk of a table with more distinct tuples is not measured here; `throng risk` can use more memory.
const MAX_TUPLES: usize = 1 << 22;

/// Cells of a table under the columns of one policy.
#[derive(Debug)]
pub(crate) struct HeldSurvey {
    /// Hash that identifies columns and hierarchies.
    pub(crate) key: u64,
    /// Cells and groups; `None` if there are too many to hold.
    pub(crate) table: Option<Table>,
    /// Number of rows of the table.
    pub(crate) rows: u64,
    /// Number of rows suppressed because of nulls.
    pub(crate) suppressed: u64,
    /// Risk of the table as it is; `None` if it has too many distinct tuples.
    pub(crate) risk: Option<Arc<Risk>>,
}

/// Returns a number that identifies what a survey depends on.
pub(crate) fn survey_key(binding: &Binding) -> u64 {
    let mut hasher = DefaultHasher::new();
    for quasi in &binding.quasi {
        format!("{:?} {:?}", quasi.column, quasi.spec).hash(&mut hasher);
    }
    for sensitive in &binding.sensitive {
        format!("{:?} {:?}", sensitive.column, sensitive.spec).hash(&mut hasher);
    }
    hasher.finish()
}

impl HeldSurvey {
    /// Reads a table under the columns of a policy.
    pub(crate) async fn read(table: &OpenTable, binding: &Binding) -> Result<Self, JobError> {
        let quasi: Vec<String> = binding.quasi.iter().map(|quasi| quasi.column.name.clone()).collect();
        let sensitive: Vec<String> = binding.sensitive.iter().map(|column| column.column.name.clone()).collect();
        let names: Vec<&str> = quasi.iter().chain(&sensitive).map(String::as_str).collect();
        let mut surveys = PairedSurveys {
            bound: Some(Survey::new(Arc::new(bound_spec(binding)))?),
            plain: Some(Survey::new(Arc::new(plain_spec(binding)))?),
            encoder: DictionaryEncoder::default(),
            rows: 0,
        };
        let frame = table.rows()?.select_columns(&names).map_err(|_| internal("the columns could not be selected"))?;
        let mut stream = match frame.execute_stream().await {
            Ok(stream) => stream,
            Err(error) => return Err(table.failure(&names, &error).await),
        };
        loop {
            match stream.try_next().await {
                Ok(Some(batch)) => {
                    let pushed = tokio::task::spawn_blocking(move || surveys.push(batch.columns()).map(|()| surveys));
                    surveys = pushed.await.map_err(|_| internal("the survey failed"))??;
                }
                Ok(None) => break,
                Err(error) => return Err(table.failure(&names, &error).await),
            }
        }
        let key = survey_key(binding);
        let finished = tokio::task::spawn_blocking(move || surveys.finish(key, &quasi, &sensitive));
        finished.await.map_err(|_| internal("the survey failed"))?
    }
}

/// The survey of a policy, and that of the values as they are.
struct PairedSurveys {
    bound: Option<Survey>,
    plain: Option<Survey>,
    encoder: DictionaryEncoder,
    rows: u64,
}

impl PairedSurveys {
    fn push(&mut self, columns: &[ArrayRef]) -> Result<(), JobError> {
        let encoded = columns.iter().map(|column| self.encoder.compact(column)).collect::<Result<Vec<ArrayRef>, _>>();
        let columns = encoded.map_err(|_| internal("strings could not be compacted"))?;
        self.rows += columns.first().map_or(0, |column| column.len()) as u64;
        let Self { bound, plain, .. } = self;
        let push = |survey: &mut Option<Survey>| match survey {
            Some(survey) => survey.push(&columns).map(|_| ()),
            None => Ok(()),
        };
        std::thread::scope(|scope| {
            let bound_done = scope.spawn(|| push(bound));
            let plain_done = push(plain);
            let bound_done = bound_done.join().map_err(|_| internal("the survey failed"))?;
            Ok::<_, JobError>((bound_done?, plain_done?))
        })?;
        if self.bound.as_ref().is_some_and(|survey| survey.groups() > MAX_GROUPS) {
            self.bound = None;
        }
        if self.plain.as_ref().is_some_and(|survey| survey.groups() > MAX_TUPLES) {
            self.plain = None;
        }
        Ok(())
    }

    fn finish(self, key: u64, quasi: &[String], sensitive: &[String]) -> Result<HeldSurvey, JobError> {
        let Self { bound, plain, rows, .. } = self;
        let risk = plain.map(|mut survey| Risk::of(&survey.take_groups(), quasi, sensitive, DEFAULT_THRESHOLD));
        let risk = risk.transpose()?.map(Arc::new);
        let merged = bound.map(|survey| Survey::merge(vec![survey])).transpose()?;
        let suppressed = merged.as_ref().map_or(0, |merged| merged.suppressed);
        Ok(HeldSurvey { key, table: merged.map(|merged| merged.table), rows, suppressed, risk })
    }
}

fn bound_spec(binding: &Binding) -> SurveySpec {
    SurveySpec {
        quasi: binding.quasi.iter().map(|quasi| (quasi.spec.clone(), quasi.column.data_type.clone())).collect(),
        sensitive: binding.sensitive.iter().map(|bound| (bound.spec.clone(), bound.column.data_type.clone())).collect(),
    }
}

/// Columns that are compared by their values, regardless of their treatment in the policy.
fn plain_spec(binding: &Binding) -> SurveySpec {
    let of_quasi =
        binding.quasi.iter().map(|bound| (QuasiSpec::plain(&bound.column.name), bound.column.data_type.clone()));
    let of_sensitive = binding
        .sensitive
        .iter()
        .map(|bound| (SensitiveSpec::plain(&bound.column.name), bound.column.data_type.clone()));
    SurveySpec { quasi: of_quasi.collect(), sensitive: of_sensitive.collect() }
}

fn internal(text: &str) -> JobError {
    JobError::new(Kind::Internal, text)
}

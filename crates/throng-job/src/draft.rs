//! `throng init`: profiles a table and drafts a policy for it.
//!
//! The table is read twice: for the column profiles, and for the risk of the likely quasi-identifiers.

use datafusion::arrow::array::{AsArray, RecordBatch};
use datafusion::arrow::datatypes::{DataType, Int64Type};
use datafusion::functions_aggregate::expr_fn::count;
use datafusion::logical_expr::{Operator, binary_expr, cast, ident, lit, when};
use datafusion::prelude::SessionContext;
use futures::TryStreamExt;
use rayon::prelude::*;
use throng_core::profile::Profile;
use throng_core::risk::DEFAULT_THRESHOLD;
use throng_datafusion::catch_decode_panic;
use throng_policy::{PolicyDraft, Store};

use crate::error::{JobError, Kind};
use crate::input::{JobInput, check_names, open_table};
use crate::job::JobOptions;
use crate::progress::Stage;
use crate::risk::{RiskOptions, risk_of};
use crate::session::session;

/// A drafted policy.
#[derive(Clone, Debug)]
pub struct Draft {
    /// Text of the policy file.
    pub text: String,
    /// Number of rows of the table.
    pub rows: u64,
    /// Number of columns of the table.
    pub columns: usize,
    /// Number of questions that are left open.
    pub questions: usize,
}

/// Drafts a policy for the table at `locations`.
pub async fn draft(locations: &[String], options: &JobOptions) -> Result<Draft, JobError> {
    let session = session(options)?;
    let input = open_table(&session, locations, &Store::default(), options).await?;
    check_names(input.schema())?;
    let profiles = profiles(input.as_ref(), &session, options).await?;
    let mut draft = PolicyDraft::new(input.schema().fields().iter().map(AsRef::as_ref).zip(profiles));
    if draft.rows() == 0 {
        return Err(JobError::new(Kind::BadData, "the table has no rows, so nothing is known about its columns"));
    }
    match same_days(input.as_ref(), &session, draft.like_days()).await {
        Ok(pairs) => pairs.iter().for_each(|(earlier, later)| draft.set_same_days(earlier, later)),
        // Some times can't be converted to a calendar day, and a draft is useful without the hint.
        Err(_) => tracing::debug!("columns of dates could not be compared"),
    }
    let risk = match draft.quasi() {
        names if names.is_empty() => None,
        quasi => {
            let asked = RiskOptions {
                quasi,
                sensitive: Vec::new(),
                threshold: DEFAULT_THRESHOLD,
                sampling_fraction: None,
                weight: None,
            };
            match risk_of(input.as_ref(), &session, &asked, options).await {
                // A draft is useful without the risk, which may take as much memory as the table.
                Err(error) if error.kind() == Kind::BadPolicy => {
                    tracing::warn!("the draft holds no risk: {error}");
                    None
                }
                risk => Some(risk?),
            }
        }
    };
    let text = draft.text(locations, risk.as_ref());
    Ok(Draft { text, rows: draft.rows(), columns: draft.columns(), questions: draft.questions() })
}

/// Returns the pairs of columns that have the same day in every row.
async fn same_days(
    input: &dyn JobInput,
    session: &SessionContext,
    pairs: Vec<(String, String)>,
) -> Result<Vec<(String, String)>, JobError> {
    if pairs.is_empty() {
        return Ok(pairs);
    }
    let failed = |error| JobError::reading("the input", &error);
    let day = |name: &str| cast(ident(name), DataType::Date32);
    let differs = |(earlier, later): &(String, String)| {
        let unequal = binary_expr(day(earlier), Operator::IsDistinctFrom, day(later));
        Ok(count(when(unequal, lit(1_i64)).end()?).alias(format!("{earlier}\n{later}")))
    };
    let counts = pairs.iter().map(differs).collect::<Result<Vec<_>, _>>().map_err(failed)?;
    let counted = input.rows(session)?.aggregate(Vec::new(), counts).map_err(failed)?;
    let counted = catch_decode_panic(counted.collect()).await.map_err(failed)?;
    let is_same = |column: usize| {
        let none = |batch: &RecordBatch| {
            batch.column(column).as_primitive_opt::<Int64Type>().is_some_and(|counts| counts.values() == &[0])
        };
        counted.iter().all(none)
    };
    Ok(pairs.into_iter().enumerate().filter(|(column, _)| is_same(*column)).map(|(_, pair)| pair).collect())
}

/// Reads all rows and profiles their columns.
async fn profiles(
    input: &dyn JobInput,
    session: &SessionContext,
    options: &JobOptions,
) -> Result<Vec<Profile>, JobError> {
    let failed = |error| JobError::reading("the input", &error);
    let fields = input.schema().fields();
    let mut profiles: Vec<Profile> = fields.iter().map(|field| Profile::new(field.data_type())).collect();
    input.read_plan(None).apply(session)?;
    let mut stream = input.rows(session)?.execute_stream().await.map_err(failed)?;
    options.observer.begin(Stage::Survey, None);
    loop {
        match stream.try_next().await {
            Ok(Some(batch)) => {
                profiles.par_iter_mut().zip(batch.columns()).for_each(|(profile, column)| profile.push(column));
                options.observer.advance(batch.num_rows() as u64);
            }
            Ok(None) => return Ok(profiles),
            Err(error) => {
                let names: Vec<&str> = fields.iter().map(|field| field.name().as_str()).collect();
                return Err(input.locate(session, &names, &error).await);
            }
        }
    }
}

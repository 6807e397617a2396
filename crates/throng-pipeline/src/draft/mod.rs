//! `throng init`: looks at a table and drafts a policy for it, with a reason for every line.
//!
//! ```text
//!  table ──► profile of each column ──► guesses and questions ──► risk of the quasi-identifiers ──► policy.toml
//!            throng_core::profile       role.rs, names.rs          throng_core::risk                 write.rs, builder.rs
//! ```
//!
//! The table is read twice. The draft holds names of columns, counts and round numbers, and no value of the table.

mod builder;
mod names;
mod role;
mod write;

use datafusion::arrow::datatypes::DataType;
use futures::TryStreamExt;
use rayon::prelude::*;
use throng_core::profile::Profile;
use throng_core::risk::{DEFAULT_THRESHOLD, Risk};
use throng_policy::CsvOptions;

use crate::engine::session;
use crate::error::{JobError, Kind};
use crate::job::JobOptions;
use crate::progress::Stage;
use crate::risk::{RiskOptions, risk_of};
use crate::source::Source;
use role::{Guess, Role, guess};

/// A draft of a policy.
#[derive(Clone, Debug)]
pub struct Draft {
    /// The text of the policy file.
    pub text: String,
    /// Rows of the table.
    pub rows: u64,
    /// Columns of the table.
    pub columns: usize,
    /// The questions that it leaves open.
    pub questions: usize,
}

/// A column, what it looks like, and what it is taken for.
struct Column {
    name: String,
    data_type: DataType,
    profile: Profile,
    guess: Guess,
}

/// Drafts a policy for the table at these locations.
pub async fn draft(locations: &[String], options: &JobOptions) -> Result<Draft, JobError> {
    let session = session(options)?;
    let csv = CsvOptions { delimiter: b',', header: true };
    let source = Source::open(&session, locations, None, csv).await?;
    check_names(&source)?;
    let failed = |error| JobError::reading("the input", &error);
    let fields = source.schema.fields();
    let mut profiles: Vec<Profile> = fields.iter().map(|field| Profile::new(field.data_type())).collect();
    let mut stream = source.frame(&session)?.execute_stream().await.map_err(failed)?;
    options.observer.begin(Stage::Survey, None);
    loop {
        match stream.try_next().await {
            Ok(Some(batch)) => {
                profiles.par_iter_mut().zip(batch.columns()).for_each(|(profile, column)| profile.push(column));
                options.observer.advance(batch.num_rows() as u64);
            }
            Ok(None) => break,
            Err(error) => {
                let names: Vec<&str> = fields.iter().map(|field| field.name().as_str()).collect();
                return Err(source.failure(&session, &names, &error).await);
            }
        }
    }
    let rows = profiles.first().map_or(0, Profile::rows);
    if rows == 0 {
        return Err(JobError::new(Kind::BadData, "the table has no rows, so that nothing can be told of its columns"));
    }
    let columns: Vec<Column> = fields
        .iter()
        .zip(profiles)
        .map(|(field, profile)| {
            let (name, data_type) = (field.name().clone(), field.data_type().clone());
            let guess = guess(&name, &profile, &data_type.to_string());
            Column { name, data_type, profile, guess }
        })
        .collect();
    let risk = match quasi(&columns) {
        names if names.is_empty() => None,
        quasi => {
            let asked = RiskOptions { quasi, sensitive: Vec::new(), threshold: DEFAULT_THRESHOLD };
            Some(risk_of(&source, &session, &asked, options).await?)
        }
    };
    let text = write::policy(locations, rows, &columns, risk.as_ref());
    let questions = write::questions(&columns);
    Ok(Draft { text, rows, columns: columns.len(), questions })
}

/// The columns that are or may be quasi-identifiers.
fn quasi(columns: &[Column]) -> Vec<String> {
    columns.iter().filter(|column| column.guess.role == Role::Quasi).map(|column| column.name.clone()).collect()
}

/// A policy names columns, so that two of one name can't have roles.
fn check_names(source: &Source) -> Result<(), JobError> {
    let mut names: Vec<&str> = source.schema.fields().iter().map(|field| field.name().as_str()).collect();
    names.sort_unstable();
    match names.windows(2).find(|pair| pair[0] == pair[1]) {
        Some(pair) => {
            let text = format!("the table has more than one column `{}`; rename all but one", pair[0]);
            Err(JobError::new(Kind::BadData, text))
        }
        None => Ok(()),
    }
}

/// What a column adds to the risk, if it was looked at.
fn share_of(risk: Option<&Risk>, name: &str) -> Option<f64> {
    risk?.columns.iter().find(|column| column.name == name).map(|column| column.share)
}

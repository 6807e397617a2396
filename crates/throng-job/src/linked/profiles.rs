//! Counts the profiles of a staged release from its files alone.
//!
//! Two passes over all tables. The first adds up the profile of each pseudonym: the sum of a keyed hash of the table and the
//! class over all rows that have it. The second runs the verifier on each table, with the profile of each row as one more
//! quasi-identifier and the pseudonym as its unit: every class has rows of at least k people of one profile, and every model
//! holds among them.

use std::sync::Arc;

use datafusion::arrow::array::{Array, ArrayRef, AsArray, RecordBatch, StringArray, UInt64Array};
use datafusion::arrow::compute::cast;
use datafusion::arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use datafusion::error::DataFusionError;
use datafusion::physical_plan::SendableRecordBatchStream;
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::prelude::SessionContext;
use futures::{StreamExt, TryStreamExt};
use rustc_hash::FxHashMap;
use throng_core::row_hash::RowHasher;
use throng_core::verify::Promise;
use throng_datafusion::{AnonymizeError, Verification, catch_decode_panic, catch_decode_panics, to_canonical_array};
use throng_policy::{Policy, UNIT_COLUMN};

use super::UnitId;
use super::pseudonym::unit_id;
use crate::error::JobError;
use crate::input::{FileInput, JobInput};
use crate::job::JobOptions;
use crate::manifest::FileEntry;
use crate::readback::{open_staged, refused};
use crate::session::session_in_order;
use crate::store_path::StorePath;

/// Name of the column with the profile of a row, while it is verified.
const PROFILE: &str = "__throng_profile";

/// A table that has been written and read back.
pub(crate) struct StagedTable<'a> {
    pub(crate) policy: &'a Policy,
    pub(crate) place: StorePath,
    pub(crate) files: &'a [FileEntry],
}

/// Findings about the people of a release whose rows are linked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct LinkedFindings {
    /// Number of people who have rows in the release.
    pub people: u64,
    /// Number of distinct profiles of these people.
    pub profiles: u64,
    /// Minimum number of people with one profile.
    pub smallest: u64,
}

/// Profiles of people, by their pseudonyms.
type Profiles = FxHashMap<UnitId, u128>;

/// Checks that every profile is shared by enough people, and that every model holds in each of their classes.
pub(crate) async fn check_profiles(
    tables: &[StagedTable<'_>],
    options: &JobOptions,
) -> Result<LinkedFindings, JobError> {
    match find_profiles(tables, options).await? {
        (findings, None) => Ok(findings),
        (_, Some(fault)) => Err(refused(fault)),
    }
}

/// Counts the profiles of tables. Also returns the reason why the release must be refused, if any.
pub(crate) async fn find_profiles(
    tables: &[StagedTable<'_>],
    options: &JobOptions,
) -> Result<(LinkedFindings, Option<&'static str>), JobError> {
    let seed = uuid::Uuid::new_v4().as_u64_pair().0;
    let session = session_in_order(options, 1)?;
    let mut opened = Vec::new();
    for table in tables {
        opened.push(ProfiledTable::of(table, &session).await?);
    }
    let mut profiles = Profiles::default();
    for (number, table) in opened.iter().enumerate() {
        if !table.add_profiles(&session, seed.wrapping_add(number as u64), &mut profiles).await? {
            let nothing = LinkedFindings { people: 0, profiles: 0, smallest: 0 };
            return Ok((nothing, Some("a pseudonym has another form than pseudonyms have")));
        }
    }
    let mut people: FxHashMap<u128, u64> = FxHashMap::default();
    profiles.values().for_each(|profile| *people.entry(*profile).or_default() += 1);
    let smallest = people.values().min().copied().unwrap_or(0);
    let found = LinkedFindings { people: profiles.len() as u64, profiles: people.len() as u64, smallest };
    let k = tables.iter().map(|table| table.policy.privacy.k).max().unwrap_or(u64::MAX);
    if found.people > 0 && smallest < k {
        return Ok((found, Some("fewer than k people have the same classes in all of their linked rows")));
    }
    let profiles = Arc::new(profiles);
    for (number, table) in opened.iter().enumerate() {
        if !table.keeps_promise(&session, seed.wrapping_add(number as u64), &profiles).await? {
            let fault =
                "people with the same classes in all of their linked rows do not satisfy the privacy model together";
            return Ok((found, Some(fault)));
        }
    }
    Ok((found, None))
}

/// A staged table that can be read.
struct ProfiledTable {
    input: FileInput,
    promise: Promise,
    pseudonym: String,
    /// Names of the released quasi-identifiers.
    quasi: Vec<String>,
}

impl ProfiledTable {
    async fn of(table: &StagedTable<'_>, session: &SessionContext) -> Result<Self, JobError> {
        let pseudonym = table.policy.pseudonym_column();
        let pseudonym = pseudonym.ok_or_else(|| JobError::internal("a table is linked without a pseudonym"))?;
        let input = open_staged(session, &table.place, table.files).await?;
        let promise = table.policy.staged_promise();
        Ok(Self { input, pseudonym: pseudonym.to_owned(), quasi: promise.quasi.clone(), promise })
    }

    async fn rows(&self, session: &SessionContext, names: &[&str]) -> Result<SendableRecordBatchStream, JobError> {
        let failed = |error: DataFusionError| JobError::reading("the release", &error);
        let rows = self.input.rows(session)?.select_columns(names).map_err(failed)?;
        Ok(catch_decode_panics(catch_decode_panic(rows.execute_stream()).await.map_err(failed)?))
    }

    /// Adds the classes of all rows to the profiles of their people. Returns whether all pseudonyms are well-formed.
    async fn add_profiles(
        &self,
        session: &SessionContext,
        seed: u64,
        profiles: &mut Profiles,
    ) -> Result<bool, JobError> {
        let mut names: Vec<&str> = self.quasi.iter().map(String::as_str).collect();
        names.push(&self.pseudonym);
        let mut stream = self.rows(session, &names).await?;
        while let Some(batch) = stream.try_next().await.map_err(|error| JobError::reading("the release", &error))? {
            let failed = |error: DataFusionError| JobError::reading("the release", &error);
            let classes = classes(&batch, &self.quasi, seed).map_err(failed)?;
            let units = units(&batch, &self.pseudonym).map_err(failed)?;
            for (unit, class) in units.into_iter().zip(classes) {
                match unit {
                    RowOwner::Person(person) => {
                        let profile = profiles.entry(person).or_default();
                        *profile = profile.wrapping_add(class);
                    }
                    RowOwner::Unowned => {}
                    RowOwner::Malformed => return Ok(false),
                }
            }
        }
        Ok(true)
    }

    /// Runs the verifier on the rows with their profiles and pseudonyms. Returns whether the promise holds.
    async fn keeps_promise(
        &self,
        session: &SessionContext,
        seed: u64,
        profiles: &Arc<Profiles>,
    ) -> Result<bool, JobError> {
        let mut promise = self.promise.clone();
        promise.quasi.push(PROFILE.to_owned());
        promise.unit = Some(UNIT_COLUMN.to_owned());
        let derived = [PROFILE, UNIT_COLUMN];
        let mut names: Vec<&str> = promise.columns().into_iter().filter(|name| !derived.contains(name)).collect();
        if !names.contains(&self.pseudonym.as_str()) {
            names.push(&self.pseudonym);
        }
        let stream = self.rows(session, &names).await?;
        let mut fields: Vec<Arc<Field>> = stream.schema().fields().iter().cloned().collect();
        fields.push(Arc::new(Field::new(PROFILE, DataType::Utf8, false)));
        fields.push(Arc::new(Field::new(UNIT_COLUMN, DataType::UInt64, true)));
        let schema: SchemaRef = Arc::new(Schema::new(fields));
        let linked = {
            let (schema, profiles) = (Arc::clone(&schema), Arc::clone(profiles));
            let (quasi, pseudonym) = (self.quasi.clone(), self.pseudonym.clone());
            stream.map(move |batch| with_profiles(&batch?, &schema, &quasi, &pseudonym, seed, &profiles))
        };
        let stream: SendableRecordBatchStream = Box::pin(RecordBatchStreamAdapter::new(Arc::clone(&schema), linked));
        let verified = match Verification::new(promise).run(&schema, vec![stream]).await {
            Err(AnonymizeError::Read(error)) => return Err(JobError::reading("the release", &error)),
            verified => verified?,
        };
        let verified = verified.ok_or_else(|| JobError::internal("a release was not read as a whole"))?;
        Ok(verified.findings.holds())
    }
}

/// Whom a released row belongs to, by its pseudonym.
enum RowOwner {
    Person(UnitId),
    Unowned,
    /// The released value is not a pseudonym.
    Malformed,
}

fn units(batch: &RecordBatch, pseudonym: &str) -> Result<Vec<RowOwner>, DataFusionError> {
    let missing = || DataFusionError::Internal("the pseudonyms of a release are missing".to_owned());
    let texts = cast(batch.column_by_name(pseudonym).ok_or_else(missing)?, &DataType::Utf8)?;
    let unit = |text: Option<&str>| match text {
        None => RowOwner::Unowned,
        Some(text) => unit_id(text).map_or(RowOwner::Malformed, RowOwner::Person),
    };
    Ok(texts.as_string::<i32>().iter().map(unit).collect())
}

/// Returns a keyed hash of the class of each row.
fn classes(batch: &RecordBatch, quasi: &[String], seed: u64) -> Result<Vec<u128>, DataFusionError> {
    let missing = || DataFusionError::Internal("a quasi-identifier of a release is missing".to_owned());
    let column = |name: &String| {
        let column = batch.column_by_name(name).ok_or_else(missing)?;
        to_canonical_array(column).map_err(|error| DataFusionError::External(Box::new(error)))
    };
    let labels: Vec<ArrayRef> = quasi.iter().map(column).collect::<Result<_, _>>()?;
    let types: Vec<DataType> = labels.iter().map(|labels| labels.data_type().clone()).collect();
    let hashed = RowHasher::new(&types, seed).and_then(|mut hasher| hasher.hash(&labels, batch.num_rows()));
    hashed.map_err(|error| DataFusionError::External(Box::new(error)))
}

fn with_profiles(
    batch: &RecordBatch,
    schema: &SchemaRef,
    quasi: &[String],
    pseudonym: &str,
    seed: u64,
    profiles: &Profiles,
) -> Result<RecordBatch, DataFusionError> {
    let classes = classes(batch, quasi, seed)?;
    let units = units(batch, pseudonym)?;
    let profile = |(unit, class): (&RowOwner, &u128)| match unit {
        RowOwner::Person(person) => format!("{:032x}", profiles.get(person).copied().unwrap_or_default()),
        // A row without an owner is linked with no other.
        RowOwner::Unowned | RowOwner::Malformed => format!("{class:032x} of nobody"),
    };
    let texts: StringArray = units.iter().zip(&classes).map(|row| Some(profile(row))).collect();
    let ids: UInt64Array = units
        .iter()
        .map(|unit| match unit {
            RowOwner::Person(person) => Some((*person ^ (*person >> 64)) as u64),
            RowOwner::Unowned | RowOwner::Malformed => None,
        })
        .collect();
    let mut columns: Vec<ArrayRef> = batch.columns().to_vec();
    columns.extend([Arc::new(texts) as ArrayRef, Arc::new(ids) as ArrayRef]);
    Ok(RecordBatch::try_new(Arc::clone(schema), columns)?)
}

#[cfg(test)]
#[path = "profiles_tests.rs"]
mod tests;

//! Puts people into groups: classes of one row of each, within their strata.

use std::sync::Arc;

use datafusion::arrow::array::{Array, ArrayRef, AsArray, RecordBatch, UInt64Array};
use datafusion::arrow::datatypes::{DataType, Int64Type};
use datafusion::error::DataFusionError;
use datafusion::functions_aggregate::expr_fn::count;
use datafusion::logical_expr::{ident, lit, not};
use datafusion::prelude::SessionContext;
use futures::TryStreamExt;
use rustc_hash::FxHashMap;
use throng_core::columns::BLOCK_COLUMN;
use throng_core::row_hash::RowHasher;
use throng_datafusion::{AnonymizedTable, catch_decode_panic, catch_decode_panics};
use throng_policy::Role;

use super::prepare::{KEY, OUT, SLOT, unit_text, units_of};
use super::pseudonym::{PseudonymKey, unit_id};
use super::row_function::RowFunction;
use super::strata::{RowCounts, kept_rows};
use super::{LinkedRows, LinkedTable, LinkedUnit, UnitId};
use crate::error::{JobError, Kind};
use crate::job::failure;
use crate::progress::Progress;
use crate::stage_timer::StageTimer;

/// Number of rows of the grouping that are read at a time.
const BATCH_ROWS: usize = 8 << 10;

/// People and their numbers of rows.
#[derive(Default)]
struct RowsPerPerson {
    people: FxHashMap<UnitId, RowCounts>,
    /// Number of rows of the first table without an owner, each of which is a separate unit.
    unnamed: u64,
}

/// Puts the people of the first table into groups. Rows of other people, in the other tables, are to be suppressed.
pub(crate) async fn link(
    tables: &[LinkedTable<'_>],
    key: PseudonymKey,
    session: &SessionContext,
    clock: &Arc<StageTimer>,
) -> Result<LinkedRows, JobError> {
    let Some(first) = tables.first() else { return Err(JobError::internal("no table is linked")) };
    for table in tables {
        table.check()?;
    }
    let counted = count_rows(tables, &key, session).await?;
    let k = first.policy.privacy.k;
    let mut rows = kept_rows(counted.people, k);
    // Whether a row has an owner is visible, so rows without one are hidden among each other, in a separate stratum.
    let alone: RowCounts = (0..tables.len()).map(|table| u32::from(table == 0)).collect();
    let unnamed = (1..=counted.unnamed).map(|number| (UnitId::from(number), Arc::clone(&alone)));
    check_limits(tables, &rows)?;
    let strata = strata_of(&rows);
    rows.extend(unnamed);
    let leads = Leads { table: first, rows: Arc::new(rows), strata: Arc::new(strata) };
    leads.group(key, session, clock).await
}

/// Numbers the strata: one for each tuple of numbers of rows, and 0 for rows without an owner.
fn strata_of(rows: &FxHashMap<UnitId, RowCounts>) -> FxHashMap<RowCounts, u64> {
    let mut known: Vec<&RowCounts> = rows.values().collect();
    known.sort_unstable();
    known.dedup();
    known.into_iter().cloned().zip(1..).collect()
}

/// Refuses limits on columns that do not take part in the grouping: rows of one group could lie on both sides of a
/// limit.
fn check_limits(tables: &[LinkedTable<'_>], rows: &FxHashMap<UnitId, RowCounts>) -> Result<(), JobError> {
    for (number, table) in tables.iter().enumerate() {
        let grouped = u32::from(number == 0);
        if rows.values().all(|rows| rows[number] <= grouped) {
            continue;
        }
        let limited = table.policy.columns.by_name.iter().find_map(|(name, role)| match role {
            Role::Quasi(quasi) if quasi.limit.is_some() => Some(name),
            _ => None,
        });
        if let Some(name) = limited {
            let text = "people are grouped by one row of the first table each, and other rows of theirs need not be on one side \
                        of a limit; take the `limit` out, or release the table without pseudonyms";
            return Err(JobError::new(Kind::BadPolicy, format!("column `{name}`: {text}")).with_column(name));
        }
    }
    Ok(())
}

/// Counts the rows of each person of the first table, in all tables.
async fn count_rows(
    tables: &[LinkedTable<'_>],
    key: &PseudonymKey,
    session: &SessionContext,
) -> Result<RowsPerPerson, JobError> {
    let mut counted = RowsPerPerson::default();
    let mut people: FxHashMap<UnitId, Vec<u32>> = FxHashMap::default();
    for (number, table) in tables.iter().enumerate() {
        let failed = |error: DataFusionError| JobError::reading("the input", &error);
        let rows = table.keyed(session, key)?.filter(not(ident(OUT)));
        let rows = rows.and_then(|rows| rows.aggregate(vec![ident(KEY)], vec![count(lit(1_i64))])).map_err(failed)?;
        let stream = catch_decode_panic(rows.execute_stream()).await;
        let mut stream = match stream {
            Ok(stream) => catch_decode_panics(stream),
            Err(error) => return Err(located(table, session, &error).await),
        };
        loop {
            let batch = match stream.try_next().await {
                Ok(Some(batch)) => batch,
                Ok(None) => break,
                Err(error) => return Err(located(table, session, &error).await),
            };
            let (keys, counts) = (batch.column(0).as_string::<i32>(), batch.column(1).as_primitive::<Int64Type>());
            for row in 0..batch.num_rows() {
                let rows = u32::try_from(counts.value(row)).unwrap_or(u32::MAX);
                match keys.is_null(row) {
                    true if number == 0 => counted.unnamed = u64::from(rows),
                    true => {}
                    false => {
                        let Some(unit) = unit_id(keys.value(row)) else {
                            return Err(JobError::internal("a key is not a pseudonym"));
                        };
                        if number == 0 {
                            people.insert(unit, vec![0; tables.len()]);
                        }
                        if let Some(person) = people.get_mut(&unit) {
                            person[number] = rows;
                        }
                    }
                }
            }
        }
    }
    counted.people = people.into_iter().map(|(unit, rows)| (unit, rows.into())).collect();
    Ok(counted)
}

async fn located(table: &LinkedTable<'_>, session: &SessionContext, error: &DataFusionError) -> JobError {
    let names: Vec<&str> = table.policy.columns.by_name.iter().map(|(name, _)| name.as_str()).collect();
    table.input.locate(session, &names, error).await
}

/// One row of each person of the first table.
struct Leads<'a> {
    table: &'a LinkedTable<'a>,
    rows: Arc<FxHashMap<UnitId, RowCounts>>,
    strata: Arc<FxHashMap<RowCounts, u64>>,
}

impl Leads<'_> {
    /// Forms classes of the rows, within strata.
    async fn group(
        self,
        key: PseudonymKey,
        session: &SessionContext,
        clock: &Arc<StageTimer>,
    ) -> Result<LinkedRows, JobError> {
        let Self { table, rows, strata } = &self;
        let stratum = {
            let (rows, strata) = (Arc::clone(rows), Arc::clone(strata));
            RowFunction::call(BLOCK_COLUMN, DataType::UInt64, vec![ident(KEY), ident(SLOT)], move |columns| {
                let stratum = |id: UnitId| strata.get(rows.get(&id)?).copied();
                let stratum = |(id, _, is_null): (Option<UnitId>, u64, bool)| match is_null {
                    true => Some(0),
                    false => stratum(id?),
                };
                let strata = units_of(columns, false)?.into_iter().map(stratum);
                Ok(Arc::new(strata.collect::<UInt64Array>()) as ArrayRef)
            })
        };
        let is_lead = not(ident(OUT)).and(ident(SLOT).eq(lit(1_u64)).or(ident(KEY).is_null()));
        let leads = table.numbered(session, &key)?.filter(is_lead);
        let leads = leads.map_err(|error| JobError::reading("the input", &error))?;
        let leads = table.selected(leads, unit_text(), stratum)?;
        let grouped = AnonymizedTable::new(leads.into_view(), Arc::new(table.policy.for_grouping()))?
            .with_progress(Arc::clone(clock) as Arc<dyn Progress>)
            .with_external_verification();
        let plan = grouped.plan(&session.state()).await.map_err(|error| JobError::reading("the input", &error))?;
        let release = match plan.release(session.task_ctx()).await {
            Err(error) => return Err(failure(error, &grouped, table.input.as_ref(), session).await),
            Ok(release) => release,
        };
        let quasi = grouped.anonymizer().binding().released_quasi_names();
        let unit = table.unit()?;
        let mut groups = PeopleGroups::default();
        let mut units = FxHashMap::default();
        let mut batches = release.stream(BATCH_ROWS, 1);
        while let Some(batch) = batches.try_next().await.map_err(|error| JobError::reading("the input", &error))? {
            for (id, class) in classes_of(&batch, unit, &quasi)? {
                let rows = rows.get(&id).ok_or_else(|| JobError::internal("a group has a person of no stratum"))?;
                // Classes of two strata may have equal labels.
                let stratum = (!is_unnamed(id)).then(|| Arc::clone(rows));
                units.insert(id, LinkedUnit { group: groups.number(class, stratum), rows: Arc::clone(rows) });
            }
        }
        tracing::info!(people = units.len(), groups = groups.0.len(), "people grouped by their linked rows");
        Ok(LinkedRows { key, units: Arc::new(units), grouping: release.facts().clone() })
    }
}

/// Whether the unit is a row without an owner. Pseudonyms are numbers of 128 bits.
fn is_unnamed(id: UnitId) -> bool {
    id <= UnitId::from(u64::MAX)
}

/// Numbers of groups.
#[derive(Default)]
struct PeopleGroups(FxHashMap<(u128, Option<RowCounts>), u32>);

impl PeopleGroups {
    fn number(&mut self, class: u128, stratum: Option<RowCounts>) -> u32 {
        let next = self.0.len() as u32;
        *self.0.entry((class, stratum)).or_insert(next)
    }
}

/// Returns the person and the class of each row.
fn classes_of(batch: &RecordBatch, unit: &str, quasi: &[String]) -> Result<Vec<(UnitId, u128)>, JobError> {
    let missing = || JobError::internal("a column of a grouping is missing");
    let column = |name: &String| batch.column_by_name(name).cloned().ok_or_else(missing);
    let labels: Vec<ArrayRef> = quasi.iter().map(column).collect::<Result<_, _>>()?;
    let types: Vec<DataType> = labels.iter().map(|labels| labels.data_type().clone()).collect();
    let hashed = RowHasher::new(&types, 0).and_then(|mut hasher| hasher.hash(&labels, batch.num_rows()));
    let classes = hashed.map_err(|_| JobError::internal("labels of a grouping could not be compared"))?;
    let units = batch.column_by_name(unit).and_then(|units| units.as_string_opt::<i32>()).ok_or_else(missing)?;
    let ids = units.iter().map(|unit| unit.and_then(unit_id).ok_or_else(missing));
    ids.zip(classes).map(|(id, class)| Ok((id?, class))).collect()
}

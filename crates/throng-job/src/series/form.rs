//! Forms the classes of newcomers, of which there are few. The operator forms those of the first release.

use std::sync::Arc;

use datafusion::arrow::array::{Array, ArrayRef, RecordBatch, UInt32Array, UInt64Array};
use datafusion::arrow::compute::{cast, take};
use throng_core::CoreError;
use throng_core::cluster::IgnoreProgress;
use throng_core::columns::{SensitiveCoding, SensitiveSpec};
use throng_core::feasibility::Feasibility;
use throng_core::key::ReleaseKey;
use throng_core::model::CodeMeaning;
use throng_core::model::{KAnonymity, Model, PSensitive, Privacy, UnitAnonymity, UnitDiversity};
use throng_core::partition::FeasibleRegions;
use throng_core::recode::{Recoder, Recoding, released_fields};
use throng_core::series::PoolClass;
use throng_core::survey::{SUPPRESSED, Survey, SurveySpec};
use throng_core::table::Table;
use throng_datafusion::Anonymizer;

use crate::error::JobError;

use super::kernel;
use super::rows::fingerprints;

/// Rows with their cells and groups.
struct SurveyedRows {
    table: Table,
    /// The group of each row; [`SUPPRESSED`] for rows that the policy suppresses because of a null.
    groups: Vec<u32>,
}

/// Classes of newcomers, and statistics of forming them.
pub(super) struct FormedPool {
    pub(super) classes: Vec<PoolClass>,
    pub(super) leaves: u64,
    pub(super) cycles: u32,
}

/// Name of the units in errors; no column of an input is counted under it.
const UNITS: &str = "unit";

/// Returns the cells and groups of rows, with their units as a last sensitive column if they are given. `None` if the policy suppresses all
/// of them.
fn survey(
    anonymizer: &Anonymizer,
    rows: &RecordBatch,
    units: Option<ArrayRef>,
) -> Result<Option<SurveyedRows>, JobError> {
    let binding = anonymizer.binding();
    let column = |name: &str| {
        rows.column_by_name(name).cloned().ok_or_else(|| JobError::internal("a column of the series is missing"))
    };
    let mut columns = Vec::new();
    let (mut quasi, mut sensitive) = (Vec::new(), Vec::new());
    for bound in &binding.quasi {
        let values = column(&bound.column.name)?;
        quasi.push((bound.spec.clone(), values.data_type().clone()));
        columns.push(values);
    }
    for bound in &binding.sensitive {
        let values = column(&bound.column.name)?;
        sensitive.push((bound.spec.clone(), values.data_type().clone()));
        columns.push(values);
    }
    if let Some(units) = units {
        let spec = SensitiveSpec { facets: vec![SensitiveCoding::Units], ..SensitiveSpec::plain(UNITS) };
        sensitive.push((spec, units.data_type().clone()));
        columns.push(units);
    }
    let mut survey = Survey::new(Arc::new(SurveySpec { quasi, sensitive }))?;
    let numbers = survey.push(&columns)?;
    let merged = match Survey::merge(vec![survey]) {
        Err(CoreError::NoRows { .. }) => return Ok(None),
        merged => merged?,
    };
    let group = |number: u32| if number == SUPPRESSED { SUPPRESSED } else { merged.groups[0][number as usize] };
    Ok(Some(SurveyedRows { table: merged.table, groups: numbers.into_iter().map(group).collect() }))
}

/// Forms classes of newcomers, with `reserve` units more than k. There are none if newcomers alone can't satisfy the
/// models. `units` has the unit of each row.
pub(super) fn form(
    anonymizer: &Anonymizer,
    rows: &RecordBatch,
    units: &[u128],
    key: ReleaseKey,
    reserve: u64,
) -> Result<FormedPool, JobError> {
    let none = FormedPool { classes: Vec::new(), leaves: 0, cycles: 0 };
    if rows.num_rows() == 0 {
        return Ok(none);
    }
    // If every unit has one row, rows are counted: with units every row would be a separate group.
    let mut distinct: Vec<u128> = units.to_vec();
    distinct.sort_unstable();
    distinct.dedup();
    let has_repeated = distinct.len() < units.len();
    let counted =
        has_repeated.then(|| Arc::new(units.iter().map(|unit| *unit as u64).collect::<UInt64Array>()) as ArrayRef);
    drop(distinct);
    let Some(SurveyedRows { table, groups }) = survey(anonymizer, rows, counted)? else { return Ok(none) };
    let privacy = with_reserve(anonymizer, reserve, has_repeated);
    let allowed = FeasibleRegions::of(&table, &privacy);
    let feasibility = Feasibility::of(&table, &privacy, &allowed);
    if !feasibility.shortfalls.is_empty() {
        return Ok(none);
    }
    let (method, _) = anonymizer.method();
    let leaves = method.leaves(&allowed, &table)?;
    let formed = method.classes(&leaves, &table, &privacy, &IgnoreProgress);
    let mut recoder = Recoder::new(&table);
    recoder.add(&table, &formed.classes, &allowed.suppressed_cells)?;
    let recoding = recoder.finish()?;
    let labels = class_labels(anonymizer, &recoding)?;
    let prints = fingerprints(&labels, key)?;
    let width = table.quasi().len().max(1);
    let loss = |class: u32| (0..width).map(|column| recoding.ncp(class, column)).sum::<f64>() / width as f64;
    let members = assigned(&recoding, &groups, rows, key)?;
    let class = |(class, rows): (usize, Vec<u32>)| PoolClass { rows, class: prints[class], loss: loss(class as u32) };
    let classes = members.into_iter().enumerate().map(class).collect();
    Ok(FormedPool { classes, leaves: leaves.len() as u64, cycles: formed.cycles })
}

/// Returns the models of the policy, with more units than k. Units, if they are counted, come after the sensitive columns.
fn with_reserve(anonymizer: &Anonymizer, reserve: u64, has_units: bool) -> Privacy {
    let binding = anonymizer.binding();
    let (k, unit) = (binding.k + reserve, binding.sensitive.len());
    let mut models: Vec<Arc<dyn Model>> = vec![Arc::new(KAnonymity::new(k))];
    if has_units {
        models.push(Arc::new(UnitAnonymity::new(k, unit)));
    }
    for (at, column) in binding.sensitive.iter().enumerate().filter(|(_, column)| column.p > 1) {
        models.push(match has_units {
            true => Arc::new(UnitDiversity::new(column.p, at, unit, CodeMeaning::Values)),
            false => Arc::new(PSensitive::new(column.p, at, CodeMeaning::Values)),
        });
    }
    Privacy::new(models)
}

/// Assigns rows to classes: rows of a group that several classes share in the order of a keyed hash.
fn assigned(
    recoding: &Recoding,
    groups: &[u32],
    rows: &RecordBatch,
    key: ReleaseKey,
) -> Result<Vec<Vec<u32>>, JobError> {
    let hashes = super::rows::hashes(rows.columns(), key.derive("series assignment", &[]))?;
    let mut order: Vec<u32> = (0..groups.len() as u32).filter(|row| groups[*row as usize] != SUPPRESSED).collect();
    order.sort_unstable_by_key(|row| (groups[*row as usize], hashes[*row as usize]));
    let mut members = vec![Vec::new(); recoding.class_rows().len()];
    for alike in order.chunk_by(|a, b| groups[*a as usize] == groups[*b as usize]) {
        let shares = recoding.shares(groups[alike[0] as usize]).iter();
        let classes = shares.flat_map(|share| std::iter::repeat_n(share.class, share.rows as usize));
        alike.iter().zip(classes).for_each(|(row, class)| members[class as usize].push(*row));
    }
    members.iter_mut().for_each(|rows| rows.sort_unstable());
    Ok(members)
}

/// Returns the released columns of the quasi-identifiers, with one row per class.
fn class_labels(anonymizer: &Anonymizer, recoding: &Recoding) -> Result<Vec<ArrayRef>, JobError> {
    let mut columns = Vec::new();
    for (at, bound) in anonymizer.binding().quasi.iter().enumerate() {
        let labels: UInt32Array =
            (0..recoding.class_rows().len() as u32).map(|class| recoding.label(class, at)).collect();
        let parts = &recoding.columns()[at].columns;
        for (part, field) in released_fields(&bound.spec, &bound.column.data_type).iter().enumerate() {
            let field = anonymizer
                .schema()
                .field_with_name(field.name())
                .map_err(|_| JobError::internal("a label has no column"))?;
            let values = take(&parts[part].1, &labels, None).map_err(kernel)?;
            columns.push(cast(&values, field.data_type()).map_err(kernel)?);
        }
    }
    Ok(columns)
}

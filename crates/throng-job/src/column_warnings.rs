//! Warnings about columns that weaken a promise: identifiers whose values repeat, insensitive columns that single rows out, and
//! sensitive texts that look alike.

use datafusion::arrow::array::{Array, ArrayRef, RecordBatch};
use datafusion::prelude::SessionContext;
use futures::TryStreamExt;
use rustc_hash::FxHashSet;
use throng_core::exposure::{ExposureColumns, ExposureSketch};
use throng_core::list_texts::list_field;
use throng_core::look_alikes::LookAlikeRule;
use throng_core::profile::Profile;
use throng_core::row_hash::RowHasher;
use throng_datafusion::{catch_decode_panic, catch_decode_panics, to_canonical_array, to_canonical_field};
use throng_policy::{Binding, Policy, Role, may_identify_people};

use crate::error::JobError;
use crate::input::JobInput;
use crate::plural::plural;

/// Maximum number of distinct values of a column that are compared with each other.
const COMPARED_VALUES: usize = 1 << 18;

/// Number of input rows that a run examines for identifiers that repeat. `check` examines all of them.
pub(crate) const SAMPLED_ROWS: usize = 1 << 16;

/// A column that is not released and has repeated values.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct RepeatingIdentifier {
    column: String,
    rows: u64,
    distinct: u64,
    is_exact: bool,
    /// Whether only the first rows of the table were read.
    is_sampled: bool,
}

impl RepeatingIdentifier {
    /// Returns the warning for users.
    pub(crate) fn warning(&self) -> String {
        let Self { column, rows, distinct, is_exact, is_sampled } = self;
        let about = if *is_exact { "" } else { "about " };
        let first = if *is_sampled { "the first " } else { "" };
        format!(
            "column `{column}` has {about}{} in {first}{}: if a value is a person, k counts rows and not people; set `unit = \
             \"{column}\"` under [privacy]",
            plural(distinct, "distinct value"),
            plural(rows, "row")
        )
    }
}

/// Returns the columns that may identify people with several rows, if the policy names no unit: identifiers with repeated values,
/// and other columns that are left out if their name and the number of their values suggest it. Reads the first `most` rows.
pub(crate) async fn repeating_identifiers(
    policy: &Policy,
    binding: &Binding,
    input: &dyn JobInput,
    session: &SessionContext,
    most: Option<usize>,
) -> Vec<RepeatingIdentifier> {
    // A series counts units with its ledger.
    if binding.unit.is_some() || policy.series.is_some() || binding.dropped.is_empty() {
        return Vec::new();
    }
    let is_identifier = |name: &str| {
        policy.columns.by_name.iter().any(|(known, role)| known == name && matches!(role, Role::Identifier))
    };
    let dropped = binding.dropped.iter().map(String::as_str);
    let names: Vec<&str> = dropped.filter(|name| is_identifier(name) || may_identify_people(name)).collect();
    if names.is_empty() {
        return Vec::new();
    }
    // An error here must not fail the job: these are only warnings.
    profiles(&names, input, session, most).await.map_or_else(
        |_| Vec::new(),
        |(profiles, read)| {
            let is_sampled = most.is_some_and(|most| read >= most as u64);
            let found = names.iter().zip(&profiles).filter_map(|(name, profile)| {
                let (rows, distinct) = (profile.valued(), profile.distinct());
                let is_likely = || distinct.saturating_mul(distinct) >= rows;
                let repeats = distinct > 1 && distinct < rows && profile.uniques() < distinct;
                let repeats = repeats && (is_identifier(name) || is_likely());
                let (column, is_exact) = ((*name).to_owned(), profile.is_exact());
                repeats.then_some(RepeatingIdentifier { column, rows, distinct, is_exact, is_sampled })
            });
            found.collect()
        },
    )
}

/// Reads the first `most` rows of some columns, and profiles each of them. Also returns the number of rows read.
async fn profiles(
    names: &[&str],
    input: &dyn JobInput,
    session: &SessionContext,
    most: Option<usize>,
) -> Result<(Vec<Profile>, u64), JobError> {
    let field = |name: &&str| input.schema().field_with_name(name).ok();
    let mut profiles: Vec<Profile> =
        names.iter().filter_map(field).map(|field| Profile::new(field.data_type())).collect();
    let mut rows = 0;
    each_batch(names, input, session, most, |batch| {
        rows += batch.num_rows() as u64;
        profiles.iter_mut().zip(batch.columns()).for_each(|(profile, column)| profile.push(column));
        Ok(())
    })
    .await?;
    Ok((profiles, rows))
}

/// Returns warnings about columns that are released as they are, from the rows of the input.
pub(crate) async fn released_columns(
    binding: &Binding,
    input: &dyn JobInput,
    session: &SessionContext,
) -> Result<Vec<String>, JobError> {
    let insensitive: Vec<&str> = binding.insensitive.iter().map(|column| column.name.as_str()).collect();
    let sensitive: Vec<&str> = binding.sensitive.iter().map(|column| column.column.name.as_str()).collect();
    let names = [insensitive.as_slice(), &sensitive].concat();
    let canonical = |name: &&str| {
        let field = input.schema().field_with_name(name).ok()?;
        Some(((*name).to_owned(), to_canonical_field(field).data_type().clone()))
    };
    let columns = |names: &[&str]| names.iter().filter_map(canonical).collect();
    let spec =
        ExposureColumns { insensitive: columns(&insensitive), sensitive: columns(&sensitive), quasi: Vec::new() };
    let mut sketch = match insensitive.is_empty() {
        true => None,
        false => Some(ExposureSketch::new(spec, 0)?),
    };
    let mut look_alikes: Vec<Option<LookAlikeCount>> =
        binding.sensitive.iter().map(|column| LookAlikeCount::new(&column.spec.look_alikes, column)).collect();
    if sketch.is_none() && look_alikes.iter().all(Option::is_none) {
        return Ok(Vec::new());
    }
    each_batch(&names, input, session, None, |batch| {
        let values = batch.columns().iter().map(to_canonical_array).collect::<Result<Vec<ArrayRef>, _>>()?;
        if let Some(sketch) = &mut sketch {
            sketch.push(&values, batch.num_rows())?;
        }
        for (count, column) in look_alikes.iter_mut().zip(&values[insensitive.len()..]) {
            if let Some(count) = count {
                count.push(column)?;
            }
        }
        Ok(())
    })
    .await?;
    let mut warnings = sketch.map(|sketch| sketch.finish(binding.k).warnings()).unwrap_or_default();
    warnings.extend(look_alikes.into_iter().flatten().filter_map(|count| count.warning()));
    Ok(warnings)
}

/// Reads the rows of some columns, or the first `most` of them.
async fn each_batch(
    names: &[&str],
    input: &dyn JobInput,
    session: &SessionContext,
    most: Option<usize>,
    mut read: impl FnMut(&RecordBatch) -> Result<(), JobError>,
) -> Result<(), JobError> {
    let failed = |error| JobError::reading("the input", &error);
    let frame = input.rows(session)?.select_columns(names).and_then(|frame| frame.limit(0, most)).map_err(failed)?;
    let mut rows = catch_decode_panics(catch_decode_panic(frame.execute_stream()).await.map_err(failed)?);
    while let Some(batch) = rows.try_next().await.map_err(failed)? {
        read(&batch)?;
        tokio::task::consume_budget().await;
    }
    Ok(())
}

/// Counts the distinct texts of a sensitive column before and after look-alikes are merged.
struct LookAlikeCount {
    column: String,
    rule: LookAlikeRule,
    values: FxHashSet<u64>,
    keys: FxHashSet<u64>,
    missing: FxHashSet<u64>,
}

impl LookAlikeCount {
    /// Returns a count, if the rule applies to the column and the column has no categories.
    fn new(rule: &LookAlikeRule, column: &throng_policy::BoundSensitive) -> Option<Self> {
        let is_list = list_field(&column.column.data_type).is_some();
        let applies = rule.applies_to(&column.column.data_type) && column.categories.is_none() && !is_list;
        applies.then(|| Self {
            column: column.column.name.clone(),
            rule: rule.clone(),
            values: FxHashSet::default(),
            keys: FxHashSet::default(),
            missing: FxHashSet::default(),
        })
    }

    fn push(&mut self, column: &ArrayRef) -> Result<(), JobError> {
        if self.values.len() > COMPARED_VALUES {
            return Ok(());
        }
        let keys = self.rule.keys_of(column)?;
        let hashes = |column: &ArrayRef| {
            RowHasher::new(&[column.data_type().clone()], 0)?.hash(std::slice::from_ref(column), column.len())
        };
        let nulls = column.logical_nulls();
        for (row, (value, key)) in hashes(column)?.into_iter().zip(hashes(&keys)?).enumerate() {
            let (value, key) = (value as u64, key as u64);
            if nulls.as_ref().is_some_and(|nulls| nulls.is_null(row)) {
                continue;
            }
            self.values.insert(value);
            match keys.is_null(row) {
                true => self.missing.insert(value),
                false => self.keys.insert(key),
            };
        }
        Ok(())
    }

    fn warning(&self) -> Option<String> {
        let (counting, missing) = (self.values.len() - self.missing.len(), self.missing.len());
        let merged = counting - self.keys.len().min(counting);
        if merged == 0 && missing == 0 {
            return None;
        }
        let at_least = if self.values.len() > COMPARED_VALUES { "at least " } else { "" };
        let mut parts = Vec::new();
        if merged > 0 {
            let count = plural(counting, "text");
            parts.push(format!("{at_least}{count} look like {}", plural(self.keys.len(), "value")));
        }
        if missing > 0 {
            let verb = if missing == 1 { "stands" } else { "stand" };
            parts.push(format!("{at_least}{} {verb} for no value", plural(missing, "text")));
        }
        Some(format!(
            "sensitive `{}`: {}; p counts them so, and they are released as they are; clean the column, or set `look_alikes = \
             \"distinct\"` if they mean different things",
            self.column,
            parts.join(", and ")
        ))
    }
}

/// Returns the warnings about identifiers.
pub(crate) fn warnings_of(repeating: &[RepeatingIdentifier]) -> Vec<String> {
    repeating.iter().map(RepeatingIdentifier::warning).collect()
}

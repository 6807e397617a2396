//! Roles and meaning of columns for the lab, from a policy or from names.

use std::collections::HashMap;

use arrow::datatypes::{DataType, Schema};
use throng_core::columns::{Categories, ColumnRecoding, Protection};
use throng_core::hierarchy::{HierarchySpec, Tree};
use throng_lab::{KnownQuasi, KnownSensitive, LabSpec, QuasiScale, ReleasedForm, ValueNames};
use throng_policy::{Mode, Policy, PrivacySettings, Quasi, Role, Sensitive, SensitiveRelease, Store};

use super::read::LabSource;
use crate::error::{JobError, Kind};

/// Where the roles of columns come from.
#[derive(Clone, Debug)]
pub enum LabColumns {
    /// The policy under which the release was made.
    Policy(Box<Policy>),
    /// Names of columns.
    Named {
        /// Quasi-identifiers, by their names in the original.
        quasi: Vec<String>,
        /// Sensitive columns.
        sensitive: Vec<String>,
        /// Promised k.
        k: u64,
        /// Promised p.
        p: u64,
    },
}

impl LabColumns {
    /// Returns the settings of object stores.
    pub(super) fn store(&self) -> Store {
        match self {
            Self::Policy(policy) => policy.store.clone(),
            Self::Named { .. } => super::no_settings(),
        }
    }

    /// Returns the columns of each question of the workload.
    pub(super) fn workload(&self) -> Vec<Vec<String>> {
        match self {
            Self::Policy(policy) => policy.workload.clone(),
            Self::Named { .. } => Vec::new(),
        }
    }

    /// Returns what the lab has to know, with the types of an original. Without one, `original` is the release, and types are
    /// guessed from its labels.
    pub(crate) async fn spec(&self, original: &LabSource, release: &LabSource) -> Result<LabSpec, JobError> {
        let mut spec = match self {
            Self::Policy(policy) => of_policy(policy, original.schema()),
            Self::Named { quasi, sensitive, k, p } => {
                named(quasi, sensitive, *k, *p, original.schema(), release.schema())
            }
        };
        for column in &mut spec.quasi {
            // The release has neither the column nor its bounds under another form than the one expected.
            let has = |name: &str| release.schema().field_with_name(name).is_ok();
            if column.released_names().iter().any(|name| !has(name)) {
                let other =
                    if column.form == ReleasedForm::Bounds { ReleasedForm::Label } else { ReleasedForm::Bounds };
                let known = KnownQuasi { form: other, ..column.clone() };
                if known.released_names().iter().all(|name| has(name)) {
                    column.form = other;
                } else {
                    let text = format!(
                        "the release has no column `{}`; name the quasi-identifiers that it shows",
                        column.name
                    );
                    return Err(JobError::new(Kind::BadQuery, text));
                }
            }
        }
        guess_scales(&mut spec, original, release).await?;
        Ok(spec)
    }
}

/// Guesses the scales of columns without a hierarchy that the original does not have.
async fn guess_scales(spec: &mut LabSpec, original: &LabSource, release: &LabSource) -> Result<(), JobError> {
    let is_unknown = |column: &KnownQuasi| {
        let is_typed = original.schema().field_with_name(&column.name).is_ok() && !std::ptr::eq(original, release);
        !is_typed && matches!(&column.scale, QuasiScale::Names(paths) if paths.is_empty())
    };
    let unknown: Vec<usize> = (0..spec.quasi.len()).filter(|at| is_unknown(&spec.quasi[*at])).collect();
    let names: Vec<String> =
        unknown.iter().filter_map(|at| spec.quasi[*at].released_names().first().cloned()).collect();
    if names.is_empty() {
        return Ok(());
    }
    let mut guessed = Vec::new();
    release
        .visit(&names, |batch| {
            guessed = names.iter().filter_map(|name| batch.column_by_name(name)).map(QuasiScale::of_labels).collect();
            Ok(false)
        })
        .await?;
    for (at, scale) in unknown.into_iter().zip(guessed) {
        spec.quasi[at].scale = scale;
    }
    Ok(())
}

fn of_policy(policy: &Policy, schema: &Schema) -> LabSpec {
    let PrivacySettings { k, p, unit, .. } = &policy.privacy;
    let is_series = policy.output.mode == Mode::Series;
    let mut spec = LabSpec { k: *k, p: *p, unit: unit.clone(), is_series, ..LabSpec::default() };
    for (name, role) in &policy.columns.by_name {
        match role {
            Role::Identifier | Role::Pseudonym => {}
            Role::Insensitive => spec.insensitive.push(name.clone()),
            Role::Sensitive(sensitive) => spec.sensitive.push(known_sensitive(name, sensitive)),
            Role::Quasi(quasi) => spec.quasi.push(known_quasi(name, quasi, schema)),
        }
    }
    spec
}

fn known_quasi(name: &str, quasi: &Quasi, schema: &Schema) -> KnownQuasi {
    let form = match quasi.release {
        Some(ColumnRecoding::Bounds) => ReleasedForm::Bounds,
        Some(ColumnRecoding::Mean | ColumnRecoding::Median | ColumnRecoding::Mode) => ReleasedForm::Representative,
        _ => ReleasedForm::Label,
    };
    let by_type = || scale_of(schema.field_with_name(name).ok().map(|field| field.data_type()));
    let scale = match (quasi.hierarchy.as_deref(), quasi.release) {
        (Some(HierarchySpec::Tree(tree)), _) => QuasiScale::Names(paths(tree)),
        (Some(HierarchySpec::Mask(_) | HierarchySpec::MaskOfLength { .. } | HierarchySpec::Flat), _)
        | (None, Some(ColumnRecoding::Set)) => QuasiScale::Names(Vec::new()),
        _ => by_type(),
    };
    KnownQuasi { name: name.to_owned(), form, scale }
}

/// Returns the scale of a type: numbers, dates and times are ordered.
fn scale_of(data_type: Option<&DataType>) -> QuasiScale {
    match data_type {
        Some(DataType::Dictionary(_, value)) => scale_of(Some(value)),
        Some(data_type) if data_type.is_numeric() || data_type.is_temporal() => QuasiScale::Ordered(data_type.clone()),
        _ => QuasiScale::Names(Vec::new()),
    }
}

/// Returns the labels from each value of a hierarchy to its root.
fn paths(tree: &Tree) -> Vec<Vec<String>> {
    let upwards = |leaf: u32| std::iter::successors(Some(tree.leaf_node(leaf)), |node| tree.parent(*node));
    (0..tree.leaf_count() as u32)
        .filter(|leaf| tree.null_leaf() != Some(*leaf))
        .map(|leaf| upwards(leaf).map(|node| tree.label(node).to_owned()).collect())
        .collect()
}

fn known_sensitive(name: &str, sensitive: &Sensitive) -> KnownSensitive {
    let categories = sensitive.categories.as_deref();
    let by_value = |categories: &Categories| {
        let mut names = ValueNames::default();
        for category in &categories.list {
            let named = |text: &String| (text.clone(), category.name.clone());
            names.listed.extend(category.values.iter().map(named));
            names.prefixes.extend(category.prefixes.iter().map(named));
            names.bands.extend(category.bands.iter().map(|band| (band.from, band.below, category.name.clone())));
        }
        names
    };
    let shows_category = sensitive.release == SensitiveRelease::Category;
    let groups = match (categories, sensitive.protection.as_deref()) {
        (Some(categories), _) if !shows_category => Some(by_value(categories)),
        (_, Some(protection)) => branches(protection).map(ValueNames::from),
        _ => None,
    };
    KnownSensitive {
        name: name.to_owned(),
        shown: categories.filter(|_| shows_category).map(by_value),
        groups,
        p: sensitive.p,
    }
}

/// Returns the branch of each value: its ancestor just below the root.
fn branches(protection: &Protection) -> Option<HashMap<String, String>> {
    let HierarchySpec::Tree(tree) = &*protection.hierarchy else { return None };
    let branch = |path: Vec<String>| Some((path.first()?.clone(), path.iter().rev().nth(1)?.clone()));
    Some(paths(tree).into_iter().filter_map(branch).collect())
}

fn named(quasi: &[String], sensitive: &[String], k: u64, p: u64, original: &Schema, release: &Schema) -> LabSpec {
    let known = |name: &String| {
        let has_bounds = release.field_with_name(&format!("{name}_min")).is_ok();
        let form = if has_bounds { ReleasedForm::Bounds } else { ReleasedForm::Label };
        let column = original.field_with_name(name).or_else(|_| release.field_with_name(&format!("{name}_min")));
        KnownQuasi { name: name.clone(), form, scale: scale_of(column.ok().map(|field| field.data_type())) }
    };
    let of_name = |name: &String| KnownSensitive { name: name.clone(), ..KnownSensitive::default() };
    let (quasi, sensitive) = (quasi.iter().map(known).collect(), sensitive.iter().map(of_name).collect());
    LabSpec { quasi, sensitive, k, p, ..LabSpec::default() }
}

/// Joins what is known of two releases: all quasi-identifiers of either, the sensitive columns of both, and the smaller promise.
/// Returns the form of each quasi-identifier in either release, too.
pub(super) fn joined([first, second]: [LabSpec; 2]) -> (LabSpec, [Vec<ReleasedForm>; 2]) {
    let mut quasi = first.quasi.clone();
    for column in &second.quasi {
        match quasi.iter_mut().find(|known| known.name == column.name) {
            None => quasi.push(column.clone()),
            Some(known) => {
                if matches!(&known.scale, QuasiScale::Names(paths) if paths.is_empty()) {
                    known.scale = column.scale.clone();
                }
            }
        }
    }
    let forms = [&first, &second].map(|spec| {
        let form = |column: &KnownQuasi| match spec.quasi.iter().find(|known| known.name == column.name) {
            Some(known) => known.form,
            // What is generalized in one release and shown unchanged in the other is known exactly.
            None if spec.insensitive.contains(&column.name) => ReleasedForm::Label,
            None => ReleasedForm::Absent,
        };
        quasi.iter().map(form).collect()
    });
    let is_shared = |column: &KnownSensitive| second.sensitive.iter().any(|other| other.name == column.name);
    let sensitive = first.sensitive.into_iter().filter(is_shared).collect();
    let (k, p) = (first.k.min(second.k), first.p.min(second.p));
    let unit = if first.unit == second.unit { first.unit } else { Vec::new() };
    (LabSpec { quasi, sensitive, k, p, unit, ..LabSpec::default() }, forms)
}

//! Labels: the released values of one quasi-identifier.
//!
//! A *label* is a distinct released value of a column. Classes with equal labels in every column are one class. Labels
//! are compared by what a reader of the release sees, not by how they were computed: ranges with the same text are one
//! label, with the loss of the widest.

use std::hash::BuildHasher;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, StringArray, StringBuilder, UInt32Array};
use arrow::compute::take;
use arrow::datatypes::{DataType, Field};
use arrow::error::ArrowError;
use hashbrown::HashTable;
use rayon::prelude::*;
use rustc_hash::FxBuildHasher;

use super::label_keys::{ClusterKeys, LabelKeys};
use crate::columns::ColumnRecoding;
use crate::domain::{Domain, DomainKind};
use crate::error::{CoreError, Result, kernel};
use crate::hierarchy::{ROOT, Tree};
use crate::numeric_view::labels as texts;
use crate::table::QuasiColumn;

/// The labels of one quasi-identifier, ordered by position.
#[derive(Clone, Debug)]
pub struct Labels {
    /// The released columns with one entry per label: one column, two for [`ColumnRecoding::Bounds`], or none if it is
    /// hidden.
    pub columns: Vec<(Field, ArrayRef)>,
    /// NCP of a row with this label.
    pub ncp: Vec<f64>,
    /// Information loss of a row with this label [Truta 2007, Def. 9]; empty where it is the NCP.
    pub(super) information_loss: Vec<f64>,
    /// Positions that each label covers: the first and the last, or all if it is a set.
    pub(super) stands_for: LabelKeys,
}

impl Labels {
    /// Returns the labels of clusters with these keys, and the label of each cluster.
    pub(super) fn build(quasi: &QuasiColumn, keys: ClusterKeys) -> Result<(Self, Vec<u32>)> {
        let (keys, mut of_cluster) = keys.into_distinct();
        let mut order: Vec<u32> = (0..keys.len() as u32).collect();
        order.par_sort_unstable_by(|a, b| keys.get(*a as usize).cmp(keys.get(*b as usize)));
        let sorted = SortedKeys { keys: &keys, order: &order };
        let shown = ShownKeys::of(quasi, sorted)?;
        let range = shown_range(&quasi.domain, sorted.iter());
        if are_texts_distinct(quasi) && !quasi.spec.is_hidden() {
            let ncp = sorted.iter().map(|key| losses(&quasi.domain, quasi.spec.release, range, key).0).collect();
            let (mut stands_for, mut places) = (LabelKeys::default(), vec![0; order.len()]);
            sorted.iter().for_each(|key| stands_for.push(key));
            order.iter().zip(0..).for_each(|(number, label)| places[*number as usize] = label);
            of_cluster.iter_mut().for_each(|number| *number = places[*number as usize]);
            let columns = shown_columns(quasi, &shown, None)?;
            return Ok((Self { columns, ncp, information_loss: Vec::new(), stands_for }, of_cluster));
        }
        let hash = |text: Option<&str>| FxBuildHasher.hash_one(text);
        let mut first_seen: HashTable<u32> = HashTable::with_capacity(order.len());
        let (mut kept, mut ncp, mut information_loss) = (Vec::<u32>::new(), Vec::<f64>::new(), Vec::<f64>::new());
        let mut places = vec![0; order.len()];
        for ((index, key), number) in (0_u32..).zip(sorted.iter()).zip(&order) {
            let (key_ncp, key_loss) = match quasi.spec.is_hidden() {
                true => (0.0, 0.0),
                false => losses(&quasi.domain, quasi.spec.release, range, key),
            };
            let text = shown.text(index);
            let known = first_seen.find(hash(text), |label| shown.text(kept[*label as usize]) == text).copied();
            let label = known.unwrap_or_else(|| {
                let label = kept.len() as u32;
                kept.push(index);
                ncp.push(0.0);
                information_loss.push(0.0);
                first_seen.insert_unique(hash(text), label, |label| hash(shown.text(kept[*label as usize])));
                label
            });
            places[*number as usize] = label;
            ncp[label as usize] = ncp[label as usize].max(key_ncp);
            information_loss[label as usize] = information_loss[label as usize].max(key_loss);
        }
        drop(first_seen);
        let mut stands_for = LabelKeys::default();
        kept.iter().for_each(|index| stands_for.push(sorted.get(*index as usize)));
        let are_all_kept = kept.len() == order.len();
        let columns = shown_columns(quasi, &shown, (!are_all_kept).then_some(UInt32Array::from(kept)))?;
        of_cluster.iter_mut().for_each(|number| *number = places[*number as usize]);
        Ok((Self { columns, ncp, information_loss, stands_for }, of_cluster))
    }

    /// Returns the information loss of a row with a label [Truta 2007, Def. 9].
    pub fn information_loss(&self, label: u32) -> f64 {
        let losses = if self.information_loss.is_empty() { &self.ncp } else { &self.information_loss };
        losses[label as usize]
    }

    /// Returns the number of labels.
    pub fn len(&self) -> usize {
        self.ncp.len()
    }

    /// Whether there is no label.
    pub fn is_empty(&self) -> bool {
        self.ncp.is_empty()
    }
}

/// Returns whether no two keys of a column can have the same text, so that labels need not be compared by their texts. Only
/// used for columns whose values are not in memory, because these have many labels.
fn are_texts_distinct(quasi: &QuasiColumn) -> bool {
    let is_exact =
        |data_type: &DataType| data_type.is_integer() || data_type.is_floating() || *data_type == DataType::Date32;
    quasi.domain.slice().is_some() && quasi.domain.null_position().is_none() && is_exact(&quasi.data_type)
}

/// Returns the released columns of the labels: all that are shown, or those at the given places.
fn shown_columns(quasi: &QuasiColumn, shown: &ShownKeys, kept: Option<UInt32Array>) -> Result<Vec<(Field, ArrayRef)>> {
    let names = quasi.spec.released_names().into_iter();
    let column = |(name, column): (String, &ArrayRef)| {
        let column = match &kept {
            None => Arc::clone(column),
            Some(kept) => take(column, kept, None).map_err(kernel("take"))?,
        };
        Ok((Field::new(name, column.data_type().clone(), true), column))
    };
    names.zip(&shown.columns).map(column).collect()
}

/// Returns the released fields of a column; independent of the data.
pub fn released_fields(quasi: &crate::columns::QuasiSpec, data_type: &DataType) -> Vec<Field> {
    let data_type = match (quasi.release, data_type) {
        (ColumnRecoding::Bounds | ColumnRecoding::Mean | ColumnRecoding::Median, DataType::Dictionary(_, value)) => {
            value.as_ref().clone()
        }
        (ColumnRecoding::Bounds | ColumnRecoding::Mean | ColumnRecoding::Median, other) => other.clone(),
        _ => DataType::Utf8,
    };
    quasi.released_names().into_iter().map(|name| Field::new(name, data_type.clone(), true)).collect()
}

/// Returns the loss of the range that all released intervals together cover. Values released as `*` are excluded:
/// losses relative to them would reveal how far out they lie.
fn shown_range<'a>(domain: &Domain, keys: impl Iterator<Item = &'a [u32]>) -> f64 {
    let shown = keys.filter_map(|key| Some((*key.first()?, *key.last()?)));
    let shown = shown.filter(|(lo, _)| Some(*lo) != domain.null_position());
    shown.reduce(|a, b| (a.0.min(b.0), a.1.max(b.1))).map_or(0.0, |(lo, hi)| domain.loss(lo, hi))
}

/// Returns NCP and information loss of a row, computed from the label alone.
fn losses(domain: &Domain, release: ColumnRecoding, range: f64, key: &[u32]) -> (f64, f64) {
    let (Some(lo), Some(hi)) = (key.first().copied(), key.last().copied()) else { return (0.0, 0.0) };
    match domain.kind() {
        DomainKind::Ordered { .. } => {
            let is_hidden = lo < hi && Some(lo) == domain.null_position();
            let width = domain.loss(lo, hi);
            let loss = if is_hidden || width == 0.0 { width } else { width / range };
            (loss, loss)
        }
        DomainKind::Category(tree) => {
            let ncp = match release {
                ColumnRecoding::Set if key.len() == 1 => 0.0,
                ColumnRecoding::Set => key.len() as f64 / tree.leaf_count() as f64,
                _ => domain.loss(lo, hi),
            };
            (ncp, domain.information_loss(lo, hi))
        }
    }
}

/// Label keys in ascending order.
#[derive(Clone, Copy)]
struct SortedKeys<'a> {
    keys: &'a LabelKeys,
    order: &'a [u32],
}

impl<'a> SortedKeys<'a> {
    fn get(&self, index: usize) -> &'a [u32] {
        self.keys.get(self.order[index] as usize)
    }

    fn len(&self) -> usize {
        self.order.len()
    }

    fn iter(&self) -> impl Iterator<Item = &'a [u32]> + use<'a> {
        let Self { keys, order } = *self;
        order.iter().map(|number| keys.get(*number as usize))
    }
}

/// Label keys as rendered in the release.
struct ShownKeys {
    /// Rendered texts, which identify labels.
    texts: StringArray,
    columns: Vec<ArrayRef>,
}

impl ShownKeys {
    /// Returns the text of a key; `None` for null.
    fn text(&self, key: u32) -> Option<&str> {
        self.texts.is_valid(key as usize).then(|| self.texts.value(key as usize))
    }

    fn of(quasi: &QuasiColumn, keys: SortedKeys<'_>) -> Result<Self> {
        if quasi.spec.is_hidden() {
            // The column is hidden from readers, so it does not distinguish classes.
            return Ok(Self { texts: keys.iter().map(|_| Some("")).collect(), columns: Vec::new() });
        }
        match (quasi.domain.kind(), quasi.spec.release) {
            (DomainKind::Ordered { values, has_null }, ColumnRecoding::Bounds) => Self::bounds(values, *has_null, keys),
            (DomainKind::Ordered { values, has_null }, _) => {
                let no_text = |_| CoreError::NoText { column: quasi.spec.name.clone() };
                Ok(Self::texts(intervals(values, *has_null, keys).map_err(no_text)?))
            }
            (DomainKind::Category(tree), ColumnRecoding::Set) => {
                Ok(Self::texts(keys.iter().map(|key| set(tree, key)).collect()))
            }
            (DomainKind::Category(tree), _) => Ok(Self::texts(keys.iter().map(|key| ancestor(tree, key)).collect())),
        }
    }

    fn texts(texts: StringArray) -> Self {
        let column: ArrayRef = Arc::new(texts.clone());
        Self { texts, columns: vec![column] }
    }

    /// A class that mixes null with values gets null bounds: no bounds hold for all of its rows.
    fn bounds(values: &ArrayRef, has_null: bool, keys: SortedKeys<'_>) -> Result<Self> {
        let first = u32::from(has_null);
        let bound = |position: Option<&u32>, key: &[u32]| {
            let from = key.first().copied()?.checked_sub(first)?;
            position.and_then(|position| position.checked_sub(first)).map(|at| at.max(from))
        };
        let lower: UInt32Array = keys.iter().map(|key| bound(key.first(), key)).collect();
        let upper: UInt32Array = keys.iter().map(|key| bound(key.last(), key)).collect();
        let texts =
            lower.iter().zip(upper.iter()).map(|(lower, upper)| Some(format!("{}/{}", lower?, upper?))).collect();
        let columns = [lower, upper].into_iter().map(|at| take(values, &at, None).map_err(kernel("take")));
        Ok(Self { texts, columns: columns.collect::<Result<_>>()? })
    }
}

fn is_calendar(data_type: &DataType) -> bool {
    matches!(data_type, DataType::Date32 | DataType::Date64 | DataType::Timestamp(_, _))
}

/// Number of keys whose texts are rendered at a time.
const RENDERED: usize = 1 << 12;

/// Renders keys as `25`, `[25-39]` or `[2024-01-01/2024-03-31]`; `*` if null is mixed with values; null for null alone.
fn intervals(values: &ArrayRef, has_null: bool, keys: SortedKeys<'_>) -> Result<StringArray, ArrowError> {
    let separator = if is_calendar(values.data_type()) { "/" } else { "-" };
    let value = |position: &u32| position.checked_sub(u32::from(has_null));
    let mut intervals = StringBuilder::with_capacity(keys.len(), 0);
    for first in (0..keys.len()).step_by(RENDERED) {
        let block: Vec<&[u32]> = (first..keys.len().min(first + RENDERED)).map(|index| keys.get(index)).collect();
        // Keys are ascending, so most of the values lie together, and few occur twice.
        let mut used: Vec<u32> =
            block.iter().flat_map(|key| [key.first(), key.last()]).flatten().filter_map(value).collect();
        used.sort_unstable();
        used.dedup();
        let texts = texts(&take(values, &UInt32Array::from(used.clone()), None)?)?;
        let text = |value: u32| texts[used.partition_point(|other| *other < value)].as_str();
        for key in block {
            let ends = key.first().zip(key.last()).map(|(lo, hi)| (value(lo), value(hi)));
            match ends {
                None | Some((None, None)) => intervals.append_null(),
                Some((None, Some(_)) | (Some(_), None)) => intervals.append_value(ROOT),
                Some((Some(lo), Some(hi))) if lo == hi => intervals.append_value(text(lo)),
                Some((Some(lo), Some(hi))) => {
                    intervals.append_value(format!("[{}{separator}{}]", text(lo), text(hi)));
                }
            }
        }
    }
    Ok(intervals.finish())
}

fn ancestor(tree: &Tree, key: &[u32]) -> Option<String> {
    let (lo, hi) = (*key.first()?, *key.last()?);
    if lo == hi && tree.null_leaf() == Some(lo) {
        return None;
    }
    Some(tree.label(tree.common_ancestor(lo, hi)).to_owned())
}

fn set(tree: &Tree, key: &[u32]) -> Option<String> {
    let name = |position: &u32| {
        if tree.null_leaf() == Some(*position) { "null" } else { tree.label(tree.leaf_node(*position)) }
    };
    match key {
        [only] if tree.null_leaf() == Some(*only) => None,
        [only] => Some(name(only).to_owned()),
        many => Some(format!("{{{}}}", many.iter().map(name).collect::<Vec<_>>().join(", "))),
    }
}

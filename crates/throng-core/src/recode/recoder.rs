//! Builds a recoding from the clusters of a table, part by part.
//!
//! Only the label keys and group portions of a cluster are kept, so parts need not be in memory together.

use std::sync::Arc;

use rayon::prelude::*;

use super::aggregate_column::{AggregateColumn, AggregateLosses};
use super::cluster_aggregates::{ClusterAggregate, ClusterSummary, summarize};
use super::label_keys::ClusterKeys;
use super::labels::Labels;
use super::{Recoding, Share, Shares};
use crate::cluster::Class;
use crate::columns::ColumnRecoding;
use crate::domain::DomainKind;
use crate::error::{CoreError, Result};
use crate::table::{QuasiColumn, Table};

/// Memory per distinct label of a column while its labels are built: keys, texts and their index.
const LABEL_BYTES: usize = 128;

/// The same for a column whose domain is a slice, in which most classes have a distinct label.
const SLICED_LABEL_BYTES: usize = 80;

/// Memory per distinct label key of a column: positions and their index.
const KEY_BYTES: usize = 24;

/// Builder of a [`Recoding`] over all parts of a table.
#[derive(Debug)]
pub struct Recoder {
    quasi: Arc<[QuasiColumn]>,
    columns: Vec<RecodedColumn>,
    placed: GroupPortions,
}

/// Assignment of the rows of each group to clusters.
#[derive(Debug)]
struct GroupPortions {
    cluster_rows: Vec<u64>,
    /// Offsets: the portions of group `g` are `portions[first_portion[g] .. first_portion[g + 1]]`, with cluster ids in
    /// place of class ids.
    first_portion: Vec<u32>,
    portions: Vec<Share>,
}

/// The clusters that the rows of each group of some parts go to, until the classes of all parts are known.
#[derive(Debug, PartialEq, Eq)]
pub struct ClusterShares {
    /// Offsets, as in [`Shares`].
    first: Vec<u32>,
    all: Vec<Share>,
}

impl ClusterShares {
    /// Returns the shares as offsets and as pairs of cluster and rows, for storage.
    pub fn into_numbers(self) -> (Vec<u32>, Vec<u32>) {
        (self.first, self.all.into_iter().flat_map(|share| [share.class, share.rows]).collect())
    }

    /// Restores shares from [`ClusterShares::into_numbers`].
    pub fn from_numbers(first: Vec<u32>, pairs: &[u32]) -> Self {
        let all = pairs.as_chunks::<2>().0.iter().map(|[class, rows]| Share { class: *class, rows: *rows });
        Self { first, all: all.collect() }
    }

    /// Returns the shares of classes, given the class of each cluster.
    pub fn in_classes(self, class_of: &[u32]) -> Shares {
        shares(self.first, self.all, class_of)
    }
}

/// The clusters of one part of the table.
#[derive(Clone, Copy)]
struct RecodedPart<'a> {
    table: &'a Table,
    /// The cell of each group.
    cell_of: &'a [u32],
    clusters: &'a [Class],
    /// Cluster-major: the first and last position to release of each column; `None` for an empty cluster.
    ranges: &'a [Option<(u32, u32)>],
}

/// Label keys or aggregates of one column.
#[derive(Debug)]
enum RecodedColumn {
    Generalized(ClusterKeys),
    Aggregated(AggregateColumn),
}

impl RecodedColumn {
    /// Adds the clusters of a part to column `at`; `aggregates` holds one for each of them if the column releases aggregates.
    fn add(
        &mut self,
        part: RecodedPart<'_>,
        at: usize,
        quasi: &QuasiColumn,
        aggregates: &[ClusterAggregate],
    ) -> Result<()> {
        let RecodedPart { table, cell_of, clusters, ranges } = part;
        let ranges = || ranges.iter().skip(at).step_by(table.quasi().len()).copied();
        let whole = &table.quasi()[at].domain;
        let covered = ranges().map(|range| range.map(|(lo, hi)| quasi.domain.covered(lo, hi)));
        refuse_beyond(quasi, covered.filter(|range| is_beyond_limit(quasi, *range)).count())?;
        match self {
            Self::Generalized(keys) => {
                for (class, range) in clusters.iter().zip(ranges()) {
                    match (quasi.spec.release, range) {
                        (ColumnRecoding::Set, Some((lo, hi))) if lo + 1 >= hi && class.cover.is_none() => {
                            keys.push(&[lo, hi][usize::from(lo == hi)..]);
                        }
                        (ColumnRecoding::Set, _) => keys.push_members(table, cell_of, class, at),
                        _ => keys
                            .push_range(shown(quasi, range).map(|(lo, hi)| (whole.in_whole(lo), whole.in_whole(hi)))),
                    }
                }
                Ok(())
            }
            Self::Aggregated(column) => column.add(quasi, aggregates, ranges()),
        }
    }
}

impl GroupPortions {
    /// Records the assignment of rows to clusters. Every row of every group must be assigned exactly once.
    fn add(&mut self, part: &Table, clusters: &[Class], out: &[u32]) -> Result<()> {
        let first_cluster = self.cluster_rows.len() as u32;
        let groups = part.group_count();
        // Counting sort by group: `next` holds counts, then start offsets.
        let mut next = vec![0_u32; groups + 1];
        let mut strange = 0;
        for class in clusters {
            for portion in &class.portions {
                match next.get_mut(portion.group as usize + 1).filter(|_| (portion.group as usize) < groups) {
                    Some(count) => *count += 1,
                    None => strange += 1,
                }
            }
            self.cluster_rows.push(class.portions.iter().map(|portion| u64::from(portion.rows)).sum());
        }
        if strange > 0 {
            return Err(CoreError::Misplaced { groups: strange });
        }
        let base = self.portions.len() as u32;
        let mut end = base;
        for first in &mut next {
            end += *first;
            *first = end;
        }
        self.portions.resize(end as usize, Share { class: 0, rows: 0 });
        let mut placed: Vec<u64> = vec![0; groups];
        for (class, cluster) in clusters.iter().zip(first_cluster..) {
            for portion in &class.portions {
                let at = &mut next[portion.group as usize];
                self.portions[*at as usize] = Share { class: cluster, rows: portion.rows };
                *at += 1;
                placed[portion.group as usize] += u64::from(portion.rows);
            }
        }
        // Each offset has advanced to the start of the next group.
        next.truncate(groups);
        self.first_portion.extend(next);
        let mut is_out = vec![false; groups];
        out.iter().flat_map(|cell| part.groups(*cell)).for_each(|group| is_out[group as usize] = true);
        let expected = |group: usize| if is_out[group] { 0 } else { u64::from(part.group_rows(group as u32)) };
        match (0..groups).filter(|group| placed[*group] != expected(*group)).count() {
            0 => Ok(()),
            groups => Err(CoreError::Misplaced { groups }),
        }
    }
}

impl Recoder {
    /// Creates an empty recoder for `table`, or for any table with the same columns.
    pub fn new(table: &Table) -> Self {
        let quasi = Arc::clone(table.quasi_columns());
        let column = |quasi: &QuasiColumn| match quasi.spec.release.is_aggregate() {
            true => RecodedColumn::Aggregated(AggregateColumn::default()),
            false => RecodedColumn::Generalized(ClusterKeys::default()),
        };
        let columns = quasi.iter().map(column).collect();
        let placed = GroupPortions { cluster_rows: Vec::new(), first_portion: vec![0], portions: Vec::new() };
        Self { quasi, columns, placed }
    }

    /// Adds a part. `clusters` together must contain every row of it exactly once, except the rows of the cells in
    /// `out`, which are suppressed. Its groups are numbered after those of earlier parts.
    pub fn add(&mut self, part: &Table, clusters: &[Class], out: &[u32]) -> Result<()> {
        let Self { quasi, columns, placed } = self;
        let show = || {
            let cell_of = cell_of_group(part);
            let ClusterSummary { ranges, aggregates } = summarize(part, &cell_of, clusters);
            let part = RecodedPart { table: part, cell_of: &cell_of, clusters, ranges: &ranges };
            let columns = columns.par_iter_mut().zip(&quasi[..]).zip(&aggregates).enumerate();
            columns.try_for_each(|(at, ((column, quasi), aggregates))| column.add(part, at, quasi, aggregates))
        };
        let (shown, placed) = rayon::join(show, || placed.add(part, clusters, out));
        shown.and(placed)
    }

    /// Removes the shares of the groups of all parts added since the last call, so that they need not be in memory with
    /// those of other parts. The recoding has no shares of these groups; [`Recoder::finish_with_classes`] returns what
    /// [`ClusterShares::in_classes`] needs.
    pub fn take_shares(&mut self) -> ClusterShares {
        let first = std::mem::replace(&mut self.placed.first_portion, vec![0]);
        ClusterShares { first, all: std::mem::take(&mut self.placed.portions) }
    }

    /// Returns, for each column whose domain is a slice, the positions of the whole domain that labels show, ascending and
    /// without null.
    pub fn shown_positions(&self) -> Vec<(usize, Vec<u32>)> {
        let columns = self.columns.iter().zip(&self.quasi[..]).enumerate();
        let of_column = |(at, (column, quasi)): (usize, (&RecodedColumn, &QuasiColumn))| match column {
            RecodedColumn::Generalized(keys) => {
                let whole = quasi.domain.slice()?.whole();
                let mut positions = keys.positions();
                positions.retain(|position| whole.rank(*position).is_some());
                Some((at, positions))
            }
            RecodedColumn::Aggregated(_) => None,
        };
        columns.filter_map(of_column).collect()
    }

    /// Sets the slice of a column's domain that has all [shown positions](Recoder::shown_positions), given the values at
    /// these positions. Must be called before the recoding is finished, and no part may be added afterwards.
    pub fn set_shown_values(&mut self, column: usize, positions: &[u32], keys: &[u64]) -> Result<()> {
        let mut quasi = self.quasi.to_vec();
        let Some(whole) = quasi[column].domain.slice().map(|slice| Arc::clone(slice.whole())) else { return Ok(()) };
        quasi[column].domain = whole.slice_of_labels(positions, keys)?;
        if let (RecodedColumn::Generalized(keys), Some(slice)) =
            (&mut self.columns[column], quasi[column].domain.slice())
        {
            keys.renumber(|position| slice.in_slice(position));
        }
        self.quasi = quasi.into();
        Ok(())
    }

    /// Returns the quasi-identifiers.
    pub fn quasi(&self) -> &Arc<[QuasiColumn]> {
        &self.quasi
    }

    /// Returns the number of clusters added.
    pub fn clusters(&self) -> usize {
        self.placed.cluster_rows.len()
    }

    /// Returns the memory use in bytes, before the recoding is built.
    pub fn size(&self) -> usize {
        let clusters = self.clusters();
        let column = |column: &RecodedColumn| match column {
            RecodedColumn::Generalized(keys) => keys.distinct() * KEY_BYTES + clusters * size_of::<u32>(),
            RecodedColumn::Aggregated(_) => clusters * (LABEL_BYTES / 2),
        };
        self.columns.iter().map(column).sum::<usize>()
            + clusters * size_of::<u64>()
            + self.placed.portions.len() * 16
            + self.placed.first_portion.len() * 8
    }

    /// Returns the estimated memory use in bytes while the recoding is built.
    pub fn building_size(&self) -> usize {
        // Per cluster: its label in each column and that of its class; rows, order, class and rows of the class.
        let clusters = self.clusters();
        let column = |(column, quasi): (&RecodedColumn, &QuasiColumn)| match (column, quasi.domain.slice()) {
            (RecodedColumn::Generalized(keys), None) => keys.distinct() * LABEL_BYTES + clusters * 8,
            (RecodedColumn::Generalized(keys), Some(_)) => keys.distinct() * SLICED_LABEL_BYTES + clusters * 8,
            (RecodedColumn::Aggregated(_), _) => clusters * (LABEL_BYTES / 2),
        };
        self.columns.iter().zip(&self.quasi[..]).map(column).sum::<usize>()
            + clusters * 24
            + self.placed.portions.len() * 16
            + self.placed.first_portion.len() * 8
    }

    /// Builds the recoding: clusters with equal labels in every column become one class, and classes are ordered by
    /// their labels.
    pub fn finish(self) -> Result<Recoding> {
        Ok(self.finish_with_classes()?.0)
    }

    /// Like [`Recoder::finish`], and returns the class of each cluster, in the order in which clusters were added.
    pub fn finish_with_classes(self) -> Result<(Recoding, Vec<u32>)> {
        let Self { quasi, columns, placed: GroupPortions { cluster_rows, first_portion, portions } } = self;
        let (clusters, width) = (cluster_rows.len(), columns.len());
        let (mut labels, mut of_cluster) = (Vec::with_capacity(width), vec![0; clusters * width]);
        let built = columns.into_par_iter().zip(&quasi[..]).map(|(column, quasi)| match column {
            RecodedColumn::Generalized(keys) => Labels::build(quasi, keys).map(|built| (built, None)),
            RecodedColumn::Aggregated(column) => column.labels(quasi).map(|built| (built, Some(column))),
        });
        let mut aggregated = Vec::with_capacity(width);
        for (at, ((column_labels, numbers), column)) in built.collect::<Result<Vec<_>>>()?.into_iter().enumerate() {
            labels.push(column_labels);
            aggregated.push(column);
            numbers.into_iter().enumerate().for_each(|(cluster, number)| of_cluster[cluster * width + at] = number);
        }
        let tuple = |cluster: u32| &of_cluster[cluster as usize * width..(cluster as usize + 1) * width];
        let mut order: Vec<u32> = (0..clusters as u32).collect();
        order.par_sort_unstable_by(|a, b| tuple(*a).cmp(tuple(*b)));
        let (mut class_of, mut class_rows, mut label_of) = (vec![0; clusters], Vec::new(), Vec::new());
        for alike in order.chunk_by(|a, b| tuple(*a) == tuple(*b)) {
            alike.iter().for_each(|cluster| class_of[*cluster as usize] = class_rows.len() as u32);
            class_rows.push(alike.iter().map(|cluster| cluster_rows[*cluster as usize]).sum());
            label_of.extend_from_slice(tuple(alike[0]));
        }
        let aggregate = |(at, (column, quasi)): (usize, (&Option<AggregateColumn>, &QuasiColumn))| match column {
            None => Ok(None),
            Some(column) => {
                let class_labels: Vec<u32> = label_of.iter().skip(at).step_by(width).copied().collect();
                AggregateLosses::of(quasi, &labels[at], &class_labels, column, &class_of).map(Some)
            }
        };
        let aggregates =
            || aggregated.par_iter().zip(&quasi[..]).enumerate().map(aggregate).collect::<Result<Vec<_>>>();
        let (aggregates, shares) = rayon::join(aggregates, || shares(first_portion, portions, &class_of));
        let aggregates = aggregates?;
        Ok((Recoding { columns: labels, aggregates, label_of, class_rows, shares }, class_of))
    }
}

/// Converts portions of clusters to shares of classes: one share per class and group, the largest last. Works in place,
/// because there are never more shares than portions.
fn shares(mut first: Vec<u32>, mut portions: Vec<Share>, class_of: &[u32]) -> Shares {
    portions.par_iter_mut().for_each(|portion| portion.class = class_of[portion.class as usize]);
    let (mut kept, mut start) = (0, 0);
    for group in 0..first.len().saturating_sub(1) {
        let end = first[group + 1] as usize;
        first[group] = kept as u32;
        if end - start > 1 {
            kept += merge_shares(&mut portions[start..end]);
            portions.copy_within(start..start + kept - first[group] as usize, first[group] as usize);
        } else if end > start {
            portions[kept] = portions[start];
            kept += 1;
        }
        start = end;
    }
    if let Some(end) = first.last_mut() {
        *end = kept as u32;
    }
    portions.truncate(kept);
    Shares { first, all: portions }
}

/// Sorts the shares of one group, merges those of one class and moves the largest to the end; returns their number.
fn merge_shares(shares: &mut [Share]) -> usize {
    shares.sort_unstable();
    let mut last = 0;
    for at in 1..shares.len() {
        if shares[at].class == shares[last].class {
            shares[last].rows += shares[at].rows;
        } else {
            last += 1;
            shares[last] = shares[at];
        }
    }
    let kept = &mut shares[..=last];
    let largest = (0..kept.len()).max_by_key(|at| (kept[*at].rows, std::cmp::Reverse(*at)));
    kept[largest.unwrap_or(0)..].rotate_left(1);
    last + 1
}

/// Whether a cluster is generalized beyond the constraint of its column.
fn is_beyond_limit(quasi: &QuasiColumn, range: Option<(u32, u32)>) -> bool {
    range.is_some_and(|(lo, hi)| quasi.domain.block(lo) != quasi.domain.block(hi))
}

/// Returns the label key of a cluster with this range: the range itself or its cover, or that of the lowest common
/// ancestor.
fn shown(quasi: &QuasiColumn, range: Option<(u32, u32)>) -> Option<(u32, u32)> {
    match quasi.domain.kind() {
        DomainKind::Category(tree) => range.map(|(lo, hi)| tree.leaf_range(tree.common_ancestor(lo, hi))),
        DomainKind::Ordered { .. } => range.map(|(lo, hi)| quasi.domain.covered(lo, hi)),
    }
}

fn refuse_beyond(quasi: &QuasiColumn, classes: usize) -> Result<()> {
    match classes {
        0 => Ok(()),
        classes => Err(CoreError::Beyond { column: quasi.spec.name.clone(), classes }),
    }
}

fn cell_of_group(table: &Table) -> Vec<u32> {
    let mut cell_of = Vec::with_capacity(table.group_count());
    for cell in 0..table.cell_count() as u32 {
        cell_of.resize(table.groups(cell).end as usize, cell);
    }
    cell_of
}

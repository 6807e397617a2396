//! Makes a recoding of clusters, part by part of the table.
//!
//! Of a cluster only what it shows is kept, so that the parts need not be in memory together.

use std::sync::Arc;

use super::aggregate::{Aggregate, AggregateColumn};
use super::keys::{Keys, Members};
use super::labels::Labels;
use super::{Recoding, Share};
use crate::cluster::Class;
use crate::error::{Error, Result};
use crate::table::{QuasiColumn, Table};

/// Collects the clusters of all parts of a table.
#[derive(Debug)]
pub struct Recoder {
    quasi: Arc<[QuasiColumn]>,
    columns: Vec<Column>,
    cluster_rows: Vec<u64>,
    /// Of group `g`: `portions[first_portion[g] .. first_portion[g + 1]]`, with clusters in place of classes.
    first_portion: Vec<u32>,
    portions: Vec<Share>,
}

/// What is shown of one column.
#[derive(Debug)]
enum Column {
    Generalized(Keys),
    Aggregated(AggregateColumn),
}

impl Recoder {
    /// No clusters yet, of a table or of one like it.
    pub fn new(table: &Table) -> Self {
        let quasi = Arc::clone(table.quasi_columns());
        let column = |quasi: &QuasiColumn| match quasi.spec.release.is_aggregate() {
            true => Column::Aggregated(AggregateColumn::default()),
            false => Column::Generalized(Keys::default()),
        };
        let columns = quasi.iter().map(column).collect();
        Self { quasi, columns, cluster_rows: Vec::new(), first_portion: vec![0], portions: Vec::new() }
    }

    /// Adds a part: clusters that together hold every row of it once, but for those of the cells in `out`, which are left
    /// out of the release. Its groups are numbered after those of the parts before.
    pub fn add(&mut self, part: &Table, clusters: &[Class], out: &[u32]) -> Result<()> {
        let cell_of = cell_of_group(part);
        for (at, (column, quasi)) in self.columns.iter_mut().zip(&*self.quasi).enumerate() {
            let members = clusters.iter().map(|class| Members::of(part, &cell_of, class, at));
            match column {
                Column::Generalized(keys) => {
                    let mut beyond = 0;
                    for members in members {
                        beyond += usize::from(is_beyond_limit(quasi, &members));
                        keys.push(quasi, &members);
                    }
                    refuse_beyond(quasi, beyond)?;
                }
                Column::Aggregated(column) => {
                    let members: Vec<Members> = members.collect();
                    refuse_beyond(quasi, members.iter().filter(|members| is_beyond_limit(quasi, members)).count())?;
                    column.add(quasi, &members)?;
                }
            }
        }
        self.place(part, clusters, out)
    }

    /// Notes which rows go where. Every row of every group must be placed exactly once.
    fn place(&mut self, part: &Table, clusters: &[Class], out: &[u32]) -> Result<()> {
        let first_cluster = self.cluster_rows.len() as u32;
        let mut placed: Vec<(u32, Share)> = Vec::new();
        for (class, cluster) in clusters.iter().zip(first_cluster..) {
            let share = |portion: &crate::cluster::Portion| Share { class: cluster, rows: portion.rows };
            placed.extend(class.portions.iter().map(|portion| (portion.group, share(portion))));
            self.cluster_rows.push(class.portions.iter().map(|portion| u64::from(portion.rows)).sum());
        }
        placed.sort_unstable();
        let mut is_out = vec![false; part.group_count()];
        out.iter().flat_map(|cell| part.groups(*cell)).for_each(|group| is_out[group as usize] = true);
        let (mut rest, mut misplaced) = (placed.as_slice(), 0);
        for group in 0..part.group_count() as u32 {
            let here = rest.iter().take_while(|(of, _)| *of == group).count();
            let (here, later) = rest.split_at(here);
            rest = later;
            let rows: u64 = here.iter().map(|(_, share)| u64::from(share.rows)).sum();
            let expected = if is_out[group as usize] { 0 } else { u64::from(part.group_rows(group)) };
            misplaced += usize::from(rows != expected);
            self.portions.extend(here.iter().map(|(_, share)| *share));
            self.first_portion.push(self.portions.len() as u32);
        }
        match misplaced + rest.len() {
            0 => Ok(()),
            groups => Err(Error::Misplaced { groups }),
        }
    }

    /// How many clusters were added.
    pub fn clusters(&self) -> usize {
        self.cluster_rows.len()
    }

    /// What the clusters take of the memory, without their labels.
    pub fn size(&self) -> usize {
        // A range, its end and its label per column; the size; and a portion per group and more.
        self.cluster_rows.len() * (self.columns.len() * 24 + 32)
            + self.portions.len() * 16
            + self.first_portion.len() * 8
    }

    /// Generalizes all clusters: those that show the same in every column are one class, and classes are ordered by what
    /// they show.
    pub fn finish(self) -> Result<Recoding> {
        let Self { quasi, columns, cluster_rows, first_portion, portions } = self;
        let (clusters, width) = (cluster_rows.len(), columns.len());
        let (mut labels, mut of_cluster) = (Vec::with_capacity(width), vec![0; clusters * width]);
        for (at, (column, quasi)) in columns.iter().zip(&*quasi).enumerate() {
            let (column_labels, numbers) = match column {
                Column::Generalized(keys) => Labels::build(quasi, keys)?,
                Column::Aggregated(column) => column.labels(quasi)?,
            };
            labels.push(column_labels);
            numbers.into_iter().enumerate().for_each(|(cluster, number)| of_cluster[cluster * width + at] = number);
        }
        let tuple = |cluster: u32| &of_cluster[cluster as usize * width..(cluster as usize + 1) * width];
        let mut order: Vec<u32> = (0..clusters as u32).collect();
        order.sort_unstable_by(|a, b| tuple(*a).cmp(tuple(*b)));
        let (mut class_of, mut class_rows, mut label_of) = (vec![0; clusters], Vec::new(), Vec::new());
        for alike in order.chunk_by(|a, b| tuple(*a) == tuple(*b)) {
            alike.iter().for_each(|cluster| class_of[*cluster as usize] = class_rows.len() as u32);
            class_rows.push(alike.iter().map(|cluster| cluster_rows[*cluster as usize]).sum());
            label_of.extend_from_slice(tuple(alike[0]));
        }
        let mut aggregates = Vec::with_capacity(width);
        for (at, (column, quasi)) in columns.iter().zip(&*quasi).enumerate() {
            aggregates.push(match column {
                Column::Generalized(_) => None,
                Column::Aggregated(column) => {
                    let class_labels: Vec<u32> = label_of.iter().skip(at).step_by(width).copied().collect();
                    Some(Aggregate::of(quasi, &labels[at], &class_labels, column, &class_of)?)
                }
            });
        }
        let (first_share, shares) = shares(first_portion, portions, &class_of);
        Ok(Recoding { columns: labels, aggregates, label_of, class_rows, first_share, shares })
    }
}

/// Portions of clusters as shares of classes, each class once per group, the largest share last. In place: there are
/// never more shares than portions.
fn shares(mut first: Vec<u32>, mut portions: Vec<Share>, class_of: &[u32]) -> (Vec<u32>, Vec<Share>) {
    portions.iter_mut().for_each(|portion| portion.class = class_of[portion.class as usize]);
    let mut kept: usize = 0;
    for group in 0..first.len().saturating_sub(1) {
        let (start, end) = (first[group] as usize, first[group + 1] as usize);
        portions[start..end].sort_unstable();
        first[group] = kept as u32;
        for at in start..end {
            let share = portions[at];
            match kept
                .checked_sub(1)
                .filter(|last| *last >= first[group] as usize && portions[*last].class == share.class)
            {
                Some(last) => portions[last].rows += share.rows,
                None => {
                    portions[kept] = share;
                    kept += 1;
                }
            }
        }
        let of_group = &mut portions[first[group] as usize..kept];
        let largest = (0..of_group.len()).max_by_key(|at| (of_group[*at].rows, std::cmp::Reverse(*at)));
        if let Some(largest) = largest {
            of_group[largest..].rotate_left(1);
        }
    }
    if let Some(end) = first.last_mut() {
        *end = kept as u32;
    }
    portions.truncate(kept);
    (first, portions)
}

/// Whether a cluster shows more than the limit of its column allows.
fn is_beyond_limit(quasi: &QuasiColumn, members: &Members) -> bool {
    members.range().is_some_and(|(lo, hi)| quasi.domain.block(lo) != quasi.domain.block(hi))
}

fn refuse_beyond(quasi: &QuasiColumn, classes: usize) -> Result<()> {
    match classes {
        0 => Ok(()),
        classes => Err(Error::Beyond { column: quasi.spec.name.clone(), classes }),
    }
}

fn cell_of_group(table: &Table) -> Vec<u32> {
    let cells = 0..table.cell_count() as u32;
    cells.flat_map(|cell| std::iter::repeat_n(cell, table.groups(cell).len())).collect()
}

//! Classes of cells that agree at one level of every column.
//!
//! A *node* has one level per column: of a hierarchy, the ancestors at one height; of a number, one grid of intervals. Nodes
//! are visited in ascending order of their mean loss. At each, the free cells are grouped by their ancestors, and every
//! group that satisfies the models becomes a class. Cells that are free after the last node join the class that was formed
//! last.
//!
//! ```text
//!  nodes by loss     (age, city)   (age, region)   (5 years, city)   (5 years, region)   ...   (*, *)
//!  free cells     ─►  classes  ─►    classes    ─►     classes    ─►      classes     ─►  ─►  the rest
//! ```
//!
//! Greedy clustering of leaves loses more where wide categories dominate: Mondrian separates their values first, and
//! cells that agree in all other columns end up in different leaves. Grouping borrows no rows and knows only the intervals
//! of its grids, so greedy clustering loses less where single rows or numbers matter.

use std::ops::ControlFlow;

use super::{Class, ClusterContext};
use crate::domain::{Domain, DomainKind};
use crate::local_search::rng::SplitMix64;
use crate::loss_tables::LossForm;
use crate::model::Privacy;
use crate::partition::Leaf;
use crate::table::Table;

/// Numbers of intervals of the grids of a number.
const GRIDS: [u32; 4] = [64, 16, 4, 1];

/// Maximum product of nodes and cells. About a tenth of it is looked up, because cells leave with their classes.
const MAX_LOOKUPS: usize = 1 << 28;

/// Maximum number of nodes, which are all in memory at once.
const MAX_NODES: usize = 1 << 16;

/// Maximum number of positions of a column. Beyond it nearly every row has a value of its own.
const MAX_POSITIONS: usize = 1 << 16;

/// Maximum number of positions of all columns, per cell of the region and of a small region: the levels of a region are those
/// of the whole table, and a table may have very many small regions.
const MAX_POSITIONS_PER_CELL: usize = 64;
const MAX_POSITIONS_OF_SMALL: usize = 1 << 16;

/// Random perturbation of the order of nodes, as a share of their loss. Without it, an attacker who knows all rows
/// but one could compute the classes for each candidate of the last row and compare.
const NODE_NOISE: f64 = 0.25;

/// Least and most bits of the buckets in which the rows of groups are counted: about one bucket per free cell.
const MIN_BUCKET_BITS: u32 = 8;
const MAX_BUCKET_BITS: u32 = 16;

/// One level of a column.
struct Level {
    /// Random number of the ancestor of each position.
    ancestors: Vec<u64>,
    /// Loss of the ancestor of each position.
    losses: Vec<f64>,
}

/// A node of the lattice.
struct LatticeNode {
    loss: f64,
    /// Index in the lexicographic order of the levels of all columns.
    index: usize,
}

/// Returns the classes of the leaves of one feasible region, or `None` if numbers dominate, there are too many nodes, the
/// region is small beside the domains, the budget allows fewer proposals than usual, or the run was interrupted. All of the
/// cells together must satisfy the models, which must be closed under adding rows.
pub(crate) fn level_groups(
    leaves: &[Leaf],
    table: &Table,
    privacy: &Privacy,
    seed: u64,
    context: &ClusterContext<'_>,
) -> Option<Vec<Class>> {
    let quasi = table.quasi();
    let numbers = quasi.iter().filter(|quasi| LossForm::is_line(quasi)).count();
    let is_small = quasi.iter().all(|quasi| quasi.domain.len() <= MAX_POSITIONS);
    let is_limited = context.most_proposals() < u32::MAX;
    if 2 * numbers >= quasi.len() || !is_small || is_limited || !privacy.is_closed_under_adding_rows() {
        return None;
    }
    let cells: Vec<u32> = leaves.iter().flat_map(|leaf| leaf.cells.iter().copied()).collect();
    let nodes = quasi.iter().try_fold(1_usize, |nodes, quasi| nodes.checked_mul(level_count(&quasi.domain)))?;
    let positions: usize = quasi.iter().map(|quasi| quasi.domain.len()).sum();
    let is_large = nodes > MAX_NODES || nodes.checked_mul(cells.len())? > MAX_LOOKUPS;
    if is_large || positions > MAX_POSITIONS_OF_SMALL.max(MAX_POSITIONS_PER_CELL * cells.len()) {
        return None;
    }
    let mut draws = SplitMix64::new(seed);
    let columns: Vec<Vec<Level>> = quasi.iter().map(|quasi| levels(&quasi.domain, &mut draws)).collect();
    let mut grouping = Grouping::new(table, privacy, cells);
    let nodes = nodes_by_loss(table, &grouping.free, &columns, &mut draws);
    for node in &nodes {
        if !context.may_search() {
            return None;
        }
        if grouping.visit(&levels_at(&columns, node.index)).is_break() {
            break;
        }
    }
    Some(grouping.finish())
}

/// Returns the number of [levels](levels) of a column.
fn level_count(domain: &Domain) -> usize {
    match domain.kind() {
        DomainKind::Category(tree) => tree.height(tree.root()) as usize + 1,
        DomainKind::Ordered { .. } => 1 + grids(domain).count(),
    }
}

/// Returns the numbers of intervals of the grids of a number.
fn grids(domain: &Domain) -> impl Iterator<Item = u32> {
    let positions = domain.len() as u32;
    GRIDS.into_iter().filter(move |intervals| *intervals == 1 || *intervals < positions)
}

/// Returns the level of each column at a node.
fn levels_at(columns: &[Vec<Level>], index: usize) -> Vec<&Level> {
    let mut rest = index;
    let mut levels: Vec<&Level> = Vec::with_capacity(columns.len());
    for of_column in columns.iter().rev() {
        levels.push(&of_column[rest % of_column.len()]);
        rest /= of_column.len();
    }
    levels.reverse();
    levels
}

/// Returns the levels of a column, the values themselves first.
fn levels(domain: &Domain, draws: &mut SplitMix64) -> Vec<Level> {
    let positions = 0..domain.len() as u32;
    match domain.kind() {
        DomainKind::Category(tree) => {
            let numbers: Vec<u64> = (0..tree.node_count()).map(|_| draws.next()).collect();
            let level = |height: u32| {
                let nodes = positions.clone().map(|position| tree.ancestor(position, height));
                let (ancestors, losses) = nodes.map(|node| (numbers[node.index()], tree.extent(node))).unzip();
                Level { ancestors, losses }
            };
            (0..=tree.height(tree.root())).map(level).collect()
        }
        DomainKind::Ordered { .. } => {
            let single = positions.clone().map(|_| (draws.next(), 0.0)).unzip();
            let mut levels = vec![Level { ancestors: single.0, losses: single.1 }];
            levels.extend(grids(domain).map(|intervals| grid(domain, intervals, draws)));
            levels
        }
    }
}

/// Returns the level of a number with `intervals` intervals of equal width. Null is an interval of its own unless there is only one.
fn grid(domain: &Domain, intervals: u32, draws: &mut SplitMix64) -> Level {
    let null = domain.null_position().filter(|_| intervals > 1);
    let first = u32::from(domain.null_position().is_some());
    let interval = |position: u32| match Some(position) == null {
        true => intervals,
        false => ((domain.loss(first, position.max(first)) * f64::from(intervals)) as u32).min(intervals - 1),
    };
    let positions: Vec<u32> = (0..domain.len() as u32).collect();
    let mut level = Level { ancestors: Vec::new(), losses: Vec::new() };
    for run in positions.chunk_by(|a, b| interval(*a) == interval(*b)) {
        let loss = domain.loss(run[0], run[run.len() - 1]);
        level.ancestors.extend(std::iter::repeat_n(draws.next(), run.len()));
        level.losses.extend(std::iter::repeat_n(loss, run.len()));
    }
    level
}

/// Returns all nodes, ordered by their mean loss over the rows of `cells`, with noise.
fn nodes_by_loss(table: &Table, cells: &[u32], columns: &[Vec<Level>], draws: &mut SplitMix64) -> Vec<LatticeNode> {
    let mut losses = vec![0.0];
    for (column, levels) in columns.iter().enumerate() {
        let weight = table.quasi()[column].spec.weight;
        let loss_at = |level: &Level| {
            let of_cell =
                |cell: &u32| level.losses[table.positions(*cell)[column] as usize] * table.cell_rows(*cell) as f64;
            weight * cells.iter().map(of_cell).sum::<f64>()
        };
        let of_column: Vec<f64> = levels.iter().map(loss_at).collect();
        losses = losses.iter().flat_map(|sum| of_column.iter().map(move |loss| sum + loss)).collect();
    }
    let node = |(index, loss)| LatticeNode { loss: loss * (1.0 + NODE_NOISE * f64::from(draws.share())), index };
    let mut nodes: Vec<LatticeNode> = losses.into_iter().enumerate().map(node).collect();
    nodes.sort_by(|a, b| a.loss.total_cmp(&b.loss).then_with(|| a.index.cmp(&b.index)));
    nodes
}

/// Returns the number of bits of the buckets for the groups of this many free cells.
fn bucket_bits(cells: usize) -> u32 {
    cells.max(1).ilog2().clamp(MIN_BUCKET_BITS, MAX_BUCKET_BITS)
}

/// Classes under construction, and the cells that are in none of them.
struct Grouping<'a> {
    table: &'a Table,
    privacy: &'a Privacy,
    least_rows: u64,
    free: Vec<u32>,
    classes: Vec<Vec<u32>>,
    /// Number of the group of each free cell.
    groups: Vec<u64>,
    /// Rows per bucket of groups: at least those of each group in it.
    bucket_rows: Vec<u64>,
    /// Groups with enough rows, by group.
    large: Vec<(u64, u32)>,
}

impl<'a> Grouping<'a> {
    fn new(table: &'a Table, privacy: &'a Privacy, mut cells: Vec<u32>) -> Self {
        cells.sort_unstable();
        let buckets = 1 << bucket_bits(cells.len());
        Self {
            table,
            privacy,
            least_rows: privacy.least_rows(),
            free: cells,
            classes: Vec::new(),
            groups: Vec::new(),
            bucket_rows: vec![0; buckets],
            large: Vec::new(),
        }
    }

    /// Forms the classes of one node. Breaks if no cell is free any more.
    fn visit(&mut self, levels: &[&Level]) -> ControlFlow<()> {
        let Self { table, free, groups, bucket_rows, large, .. } = self;
        let bits = bucket_bits(free.len());
        let bucket_rows = &mut bucket_rows[..1 << bits];
        let bucket = |group: u64| (group >> (u64::BITS - bits)) as usize;
        let group_of = |cell: &u32| {
            let ancestors = table.positions(*cell).iter().zip(levels);
            ancestors.fold(0_u64, |sum, (position, level)| sum.wrapping_add(level.ancestors[*position as usize]))
        };
        groups.clear();
        groups.extend(free.iter().map(group_of));
        bucket_rows.fill(0);
        for (group, cell) in groups.iter().zip(&*free) {
            bucket_rows[bucket(*group)] += table.cell_rows(*cell);
        }
        let has_rows = |group: &u64| bucket_rows[bucket(*group)] >= self.least_rows;
        large.clear();
        large.extend(
            groups.iter().zip(&*free).filter(|(group, _)| has_rows(group)).map(|(group, cell)| (*group, *cell)),
        );
        large.sort_unstable();
        let formed = self.classes.len();
        for group in self.large.chunk_by(|a, b| a.0 == b.0) {
            let cells = || group.iter().map(|(_, cell)| *cell);
            let rows: u64 = cells().map(|cell| self.table.cell_rows(cell)).sum();
            if rows >= self.least_rows && self.privacy.is_satisfied_by(self.table, cells()) {
                self.classes.push(cells().collect());
            }
        }
        if self.classes.len() > formed {
            let mut taken: Vec<u32> = self.classes[formed..].iter().flatten().copied().collect();
            taken.sort_unstable();
            // Both are ascending.
            let mut taken = taken.into_iter().peekable();
            self.free.retain(|cell| taken.next_if_eq(cell).is_none());
        }
        if self.free.is_empty() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }

    fn finish(mut self) -> Vec<Class> {
        match self.classes.last_mut() {
            Some(last) => last.append(&mut self.free),
            None => self.classes.push(self.free),
        }
        self.classes.iter().map(|cells| Class::of_cells(self.table, cells)).collect()
    }
}

#[cfg(test)]
#[path = "level_groups_tests.rs"]
mod tests;

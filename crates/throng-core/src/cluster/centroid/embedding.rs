//! Cells as points in a flat array, so that the loops over them are tight.
//!
//! The coordinates are those of [`Space`](crate::cluster::space), standardized over all cells that are clustered
//! together: one per number, one more where a number may be null, and one per node of a hierarchy. Coordinates that are
//! the same for all cells are left out.
//!
//! A hierarchy may have more nodes than a flat array should have columns. The [`NODES`] nodes that differ most keep a
//! coordinate of their own; the others share [`SHARED`] coordinates, each with a sign (feature hashing), so that the
//! distance between two cells is right in the mean over the nodes that share.

use rayon::prelude::*;

use super::lanes::padded;
use super::mix;
use crate::cluster::space::{Axis, standardized};
use crate::domain::{Domain, Kind};
use crate::table::Table;

/// So many nodes of a hierarchy have a coordinate of their own.
const NODES: usize = 40;
/// So many coordinates are shared by all other nodes.
const SHARED: usize = 8;

/// Points of a Euclidean space.
#[derive(Debug)]
pub(super) struct Points {
    dimensions: usize,
    /// Point-major, each point padded to whole lanes.
    coordinates: Vec<f32>,
}

impl Points {
    /// The points of some cells of a table, in their order. There is at least one coordinate, if only a zero.
    pub(super) fn of_cells(table: &Table, cells: &[u32]) -> Self {
        let rows: Vec<u64> = cells.par_iter().map(|cell| table.cell_rows(*cell)).collect();
        let heaviest = table.quasi().iter().map(|quasi| quasi.spec.weight).fold(0.0, f64::max);
        let columns: Vec<Vec<Vec<f32>>> = (0..table.quasi().len())
            .into_par_iter()
            .map(|column| {
                let quasi = &table.quasi()[column];
                let positions: Vec<u32> = cells.iter().map(|cell| table.positions(*cell)[column]).collect();
                let weight = quasi.spec.weight / heaviest;
                match quasi.domain.kind() {
                    Kind::Ordered { .. } => line(&quasi.domain, &positions, &rows, weight),
                    Kind::Category(tree) => {
                        let mut distinct = positions.clone();
                        distinct.sort_unstable();
                        distinct.dedup();
                        let dense = |position: &u32| distinct.partition_point(|known| known < position);
                        let dense: Vec<usize> = positions.iter().map(dense).collect();
                        let mut counts = vec![0; distinct.len()];
                        dense.iter().zip(&rows).for_each(|(at, rows)| counts[*at] += rows);
                        nodes(&Axis::tree(tree, &distinct, &counts, weight), &counts, &dense)
                    }
                }
            })
            .collect();
        let axes: Vec<Vec<f32>> = columns.into_iter().flatten().collect();
        let dimensions = axes.len().max(1);
        let width = padded(dimensions);
        let mut coordinates = vec![0.0; cells.len() * width];
        coordinates.par_chunks_mut(width).with_min_len(1024).enumerate().for_each(|(at, point)| {
            point.iter_mut().zip(&axes).for_each(|(coordinate, axis)| *coordinate = axis[at]);
        });
        Self { dimensions, coordinates }
    }

    /// Points whose coordinates are padded already.
    pub(super) fn of_coordinates(dimensions: usize, coordinates: Vec<f32>) -> Self {
        Self { dimensions, coordinates }
    }

    pub(super) fn dimensions(&self) -> usize {
        self.dimensions
    }

    /// A point, padded to whole lanes.
    pub(super) fn get(&self, at: u32) -> &[f32] {
        let width = padded(self.dimensions);
        &self.coordinates[at as usize * width..][..width]
    }
}

/// The coordinates of a number and of its being null, as far as they differ.
fn line(domain: &Domain, positions: &[u32], rows: &[u64], weight: f64) -> Vec<Vec<f32>> {
    let null = domain.null_position();
    let is_null = |position: u32| Some(position) == null;
    let Some(origin) = positions.iter().copied().filter(|position| !is_null(*position)).min() else {
        return Vec::new();
    };
    let value = |position: &u32| if is_null(*position) { 0.0 } else { domain.loss(origin, *position) };
    let values: Vec<f64> = positions.iter().map(value).collect();
    let scale = weight.sqrt();
    if null.is_none() {
        let values = standardized(&values, rows);
        return varying(values.iter().map(|value| (value * scale) as f32).collect());
    }
    let numbers = positions.iter().zip(rows).map(|(position, rows)| if is_null(*position) { 0 } else { *rows });
    let values = standardized(&values, &numbers.collect::<Vec<_>>());
    let at = |(position, value): (&u32, &f64)| if is_null(*position) { 0.0 } else { (value * scale) as f32 };
    let numbers = positions.iter().zip(&values).map(at).collect();
    let marks: Vec<f64> = positions.iter().map(|position| f64::from(u8::from(is_null(*position)))).collect();
    let marks = standardized(&marks, rows).iter().map(|mark| (mark * scale) as f32).collect();
    [varying(numbers), varying(marks)].concat()
}

/// A coordinate, unless it is the same everywhere.
fn varying(axis: Vec<f32>) -> Vec<Vec<f32>> {
    if axis.iter().all(|coordinate| *coordinate == axis[0]) { Vec::new() } else { vec![axis] }
}

/// The coordinates of a category: for each distinct position its rows, for each cell its distinct position.
fn nodes(axis: &Axis, counts: &[u64], cells: &[usize]) -> Vec<Vec<f32>> {
    let Axis::Tree { weights, paths } = axis else { return Vec::new() };
    let total = counts.iter().sum::<u64>() as f64;
    let mut below = vec![0; weights.len()];
    for (path, rows) in paths.iter().zip(counts) {
        path.iter().for_each(|node| below[*node as usize] += rows);
    }
    let variance = |node: &usize| weights[*node] * below[*node] as f64 * (total - below[*node] as f64);
    let mut order: Vec<usize> = (0..weights.len()).filter(|node| variance(node) > 0.0).collect();
    order.sort_by(|a, b| variance(b).total_cmp(&variance(a)).then(a.cmp(b)));
    // Per node its coordinate and what it adds there.
    let mut place = vec![None; weights.len()];
    for (rank, node) in order.iter().enumerate() {
        let scale = weights[*node].sqrt() as f32;
        let hash = mix(*node as u64);
        let is_own = rank < NODES || order.len() <= NODES + SHARED;
        let sign = if is_own || hash & 1 == 0 { scale } else { -scale };
        let at = if is_own { rank } else { NODES + (hash >> 1) as usize % SHARED };
        place[*node] = Some((at, sign));
    }
    let dimensions = order.len().min(NODES + SHARED);
    let point = |path: &Vec<u32>| {
        let mut point = vec![0.0; dimensions];
        path.iter().filter_map(|node| place[*node as usize]).for_each(|(at, value)| point[at] += value);
        point
    };
    let points: Vec<Vec<f32>> = paths.iter().map(point).collect();
    (0..dimensions).map(|at| cells.iter().map(|cell| points[*cell][at]).collect()).collect()
}

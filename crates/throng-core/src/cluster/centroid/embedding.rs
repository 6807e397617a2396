//! Cells as points in a flat array, for tight loops.
//!
//! The coordinates are those of `cluster/euclidean_embedding.rs`, standardized over all cells that are clustered
//! together: one per number, one more if the number may be null, and one per node of a hierarchy. Coordinates that are
//! equal for all cells are omitted.
//!
//! A hierarchy may have more nodes than a flat array should have columns. The [`NODES`] nodes of largest variance have
//! their own coordinate; the others share [`SHARED`] coordinates, each with a random sign (feature hashing), so that
//! distances are unbiased.

use rayon::prelude::*;

use super::lanes::padded;
use super::mix;
use crate::cluster::euclidean_embedding::{EuclideanAxis, Standardization};
use crate::domain::{Domain, DomainKind};
use crate::table::Table;

/// Number of nodes of a hierarchy with their own coordinate.
const NODES: usize = 40;
/// Number of coordinates shared by all other nodes.
const SHARED: usize = 8;

/// Points of a Euclidean space.
#[derive(Debug)]
pub(super) struct Points {
    dimensions: usize,
    /// Point-major, each point padded to whole lanes.
    coordinates: Vec<f32>,
}

impl Points {
    /// Embeds cells of a table, in their order. There is at least one coordinate, possibly a constant zero.
    pub(super) fn of_cells(table: &Table, cells: &[u32]) -> Self {
        let heaviest = table.quasi().iter().map(|quasi| quasi.spec.weight).fold(0.0, f64::max);
        let columns: Vec<EmbeddedColumn<'_>> = extents(table, cells)
            .into_par_iter()
            .enumerate()
            .map(|(at, extent)| EmbeddedColumn::of(table, cells, at, extent, table.quasi()[at].spec.weight / heaviest))
            .collect();
        let dimensions = columns.iter().map(|column| column.axes.dimensions()).sum::<usize>().max(1);
        let width = padded(dimensions);
        let mut coordinates = vec![0.0; cells.len() * width];
        let fill = |(points, cells): (&mut [f32], &[u32])| {
            let mut first = 0;
            let mut fill = |column: &EmbeddedColumn<'_>| {
                first += column.axes.dimensions();
                column.fill(table, cells, points, width, first - column.axes.dimensions())
            };
            columns.iter().map(&mut fill).collect::<Vec<Sums>>()
        };
        let blocks = coordinates.par_chunks_mut(width * BLOCK).zip(cells.par_chunks(BLOCK));
        let sums: Vec<Vec<Sums>> = blocks.map(fill).collect();
        let rows = cells.iter().map(|cell| table.cell_rows(*cell)).sum::<u64>() as f64;
        let factor = |(at, column): (usize, &EmbeddedColumn<'_>)| {
            let sums = sums.iter().fold(Sums::default(), |sum, block| sum.plus(block[at]));
            std::iter::repeat_n(column.factor(sums, rows), column.axes.dimensions())
        };
        let factors: Vec<f32> = columns.iter().enumerate().flat_map(factor).collect();
        coordinates.par_chunks_mut(width).with_min_len(BLOCK).for_each(|point| {
            point.iter_mut().zip(&factors).for_each(|(coordinate, factor)| *coordinate *= factor);
        });
        Self { dimensions, coordinates }
    }

    /// Wraps coordinates that are already padded.
    pub(super) fn of_coordinates(dimensions: usize, coordinates: Vec<f32>) -> Self {
        Self { dimensions, coordinates }
    }

    pub(super) fn dimensions(&self) -> usize {
        self.dimensions
    }

    /// Returns a point, padded to whole lanes.
    pub(super) fn get(&self, at: u32) -> &[f32] {
        let width = padded(self.dimensions);
        &self.coordinates[at as usize * width..][..width]
    }
}

/// Number of cells that are embedded at a time, column by column.
const BLOCK: usize = 1024;

/// A column and its coordinates.
#[derive(Debug)]
struct EmbeddedColumn<'a> {
    at: usize,
    axes: ColumnCoordinates<'a>,
}

#[derive(Debug)]
enum ColumnCoordinates<'a> {
    /// A number that is never null: coordinates by position, taken relative to an estimate of the mean of the cells and
    /// divided by their width. Scaled once all cells are known.
    Line { line: &'a [f64], middle: f64, width: f64, weight: f64 },
    /// Any number of coordinates, indexed by occupied position.
    Tables(OccupiedPositions, Vec<Vec<f32>>),
}

impl ColumnCoordinates<'_> {
    fn dimensions(&self) -> usize {
        match self {
            Self::Line { .. } => 1,
            Self::Tables(_, axes) => axes.len(),
        }
    }
}

/// Sums of a coordinate over rows.
#[derive(Clone, Copy, Debug, Default)]
struct Sums {
    coordinates: f64,
    squares: f64,
}

impl Sums {
    fn plus(self, other: Self) -> Self {
        Self { coordinates: self.coordinates + other.coordinates, squares: self.squares + other.squares }
    }
}

impl<'a> EmbeddedColumn<'a> {
    fn of(table: &'a Table, cells: &[u32], at: usize, (lo, hi): (u32, u32), weight: f64) -> Self {
        let domain = &table.quasi()[at].domain;
        if let Some(line) = domain.line() {
            // Squares of numbers in a narrow part of a wide domain could underflow.
            let width = if lo < hi { line[hi as usize] - line[lo as usize] } else { 0.0 };
            if width == 0.0 {
                return Self { at, axes: ColumnCoordinates::Tables(OccupiedPositions::default(), Vec::new()) };
            }
            let some = cells.iter().step_by(1 + cells.len() / MIDDLE);
            let some = some.map(|cell| line[table.positions(*cell)[at] as usize]);
            let middle = some.clone().sum::<f64>() / some.count() as f64;
            return Self { at, axes: ColumnCoordinates::Line { line, middle, width, weight } };
        }
        let places = OccupiedPositions::of(table, cells, at);
        let axes = match domain.kind() {
            DomainKind::Ordered { .. } => line(domain, &places, weight),
            DomainKind::Category(tree) => {
                nodes(&EuclideanAxis::tree(tree, &places.positions, &places.rows, weight), &places.rows)
            }
        };
        Self { at, axes: ColumnCoordinates::Tables(places, axes) }
    }

    /// Writes the coordinates of cells into their points from axis `first` on, and returns their sums.
    fn fill(&self, table: &Table, cells: &[u32], points: &mut [f32], width: usize, first: usize) -> Sums {
        let mut sums = Sums::default();
        let points = points.chunks_exact_mut(width).zip(cells);
        match &self.axes {
            ColumnCoordinates::Line { line, middle, width, .. } => points.for_each(|(point, cell)| {
                let coordinate = (line[table.positions(*cell)[self.at] as usize] - middle) / width;
                let rows = table.cell_rows(*cell) as f64;
                sums = sums.plus(Sums { coordinates: coordinate * rows, squares: coordinate * coordinate * rows });
                point[first] = coordinate as f32;
            }),
            ColumnCoordinates::Tables(_, axes) if axes.is_empty() => {}
            ColumnCoordinates::Tables(places, axes) => points.for_each(|(point, cell)| {
                let position = table.positions(*cell)[self.at];
                let place = places.positions.partition_point(|known| *known < position);
                point[first..].iter_mut().zip(axes).for_each(|(slot, axis)| *slot = axis[place]);
            }),
        }
        sums
    }

    /// Returns the factor of the coordinates, given their sums over all rows, that makes the standard deviation the
    /// square root of the weight.
    fn factor(&self, sums: Sums, rows: f64) -> f32 {
        let ColumnCoordinates::Line { weight, .. } = self.axes else { return 1.0 };
        let mean = sums.coordinates / rows;
        let deviation = (sums.squares / rows - mean * mean).max(0.0).sqrt();
        if deviation > 0.0 { (weight.sqrt() / deviation) as f32 } else { 0.0 }
    }
}

/// Approximate number of cells from which the mean of a line is estimated.
const MIDDLE: usize = 1024;

/// Returns the first and last position of cells per column.
fn extents(table: &Table, cells: &[u32]) -> Vec<(u32, u32)> {
    let none = || vec![(u32::MAX, 0); table.quasi().len()];
    let with = |mut extents: Vec<(u32, u32)>, cell: &u32| {
        let positions = extents.iter_mut().zip(table.positions(*cell));
        positions.for_each(|(extent, at)| *extent = (extent.0.min(*at), extent.1.max(*at)));
        extents
    };
    let wider = |a: Vec<(u32, u32)>, b: Vec<(u32, u32)>| {
        a.into_iter().zip(b).map(|(a, b)| (a.0.min(b.0), a.1.max(b.1))).collect()
    };
    cells.par_iter().with_min_len(BLOCK).fold(none, with).reduce(none, wider)
}

/// Positions of a column that occur in some cells.
#[derive(Debug, Default)]
struct OccupiedPositions {
    /// Ascending.
    positions: Vec<u32>,
    /// Number of rows at each position.
    rows: Vec<u64>,
}

impl OccupiedPositions {
    fn of(table: &Table, cells: &[u32], column: usize) -> Self {
        let position = |cell: &u32| table.positions(*cell)[column];
        let mut positions: Vec<u32> = cells.iter().map(position).collect();
        positions.sort_unstable();
        positions.dedup();
        let mut rows = vec![0; positions.len()];
        for cell in cells {
            rows[positions.partition_point(|known| *known < position(cell))] += table.cell_rows(*cell);
        }
        Self { positions, rows }
    }
}

/// Returns the coordinate of a number and its null indicator, omitting constant ones, by occupied position.
fn line(domain: &Domain, places: &OccupiedPositions, weight: f64) -> Vec<Vec<f32>> {
    let all = || places.positions.iter().copied().zip(places.rows.iter().copied());
    let null = domain.null_position();
    let is_null = |position: u32| Some(position) == null;
    let Some((origin, _)) = all().find(|(position, _)| !is_null(*position)) else { return Vec::new() };
    let number = |position: u32| if is_null(position) { 0.0 } else { domain.loss(origin, position) };
    let of_number = |position: u32, rows: u64| if is_null(position) { 0 } else { rows };
    let standard = Standardization::of(all().map(|(position, rows)| (number(position), of_number(position, rows))));
    let scale = weight.sqrt();
    let coordinate = |(position, _)| match is_null(position) {
        true => 0.0,
        false => (standard.place(number(position)) * scale) as f32,
    };
    let mark = |position: u32| f64::from(u8::from(is_null(position)));
    let standard_mark = Standardization::of(all().map(|(position, rows)| (mark(position), rows)));
    let marks = all().map(|(position, _)| (standard_mark.place(mark(position)) * scale) as f32);
    [varying(all().map(coordinate).collect()), varying(marks.collect())].concat()
}

/// Returns a coordinate, or nothing if it is constant.
fn varying(axis: Vec<f32>) -> Vec<Vec<f32>> {
    if axis.iter().all(|coordinate| *coordinate == axis[0]) { Vec::new() } else { vec![axis] }
}

/// Returns the coordinates of a category by occupied position. `counts` has the rows of each.
fn nodes(axis: &EuclideanAxis, counts: &[u64]) -> Vec<Vec<f32>> {
    let EuclideanAxis::Tree { weights, paths } = axis else { return Vec::new() };
    let total = counts.iter().sum::<u64>() as f64;
    let mut below = vec![0; weights.len()];
    for (path, rows) in paths.iter().zip(counts) {
        path.iter().for_each(|node| below[*node as usize] += rows);
    }
    let variance = |node: &usize| weights[*node] * below[*node] as f64 * (total - below[*node] as f64);
    let mut order: Vec<usize> = (0..weights.len()).filter(|node| variance(node) > 0.0).collect();
    order.sort_by(|a, b| variance(b).total_cmp(&variance(a)).then(a.cmp(b)));
    // Per node its coordinate and the value it adds there.
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
    (0..dimensions).map(|at| points.iter().map(|point| point[at]).collect()).collect()
}

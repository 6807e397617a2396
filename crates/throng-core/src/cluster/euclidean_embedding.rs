//! Embeds the rows of a leaf into a Euclidean space, in which microaggregation [Solanas 2008] measures distances.
//!
//! Every column contributes coordinates, and rows of one cell are the same point.
//!
//! - A number is standardized: its mean over the rows of the leaf is 0 and its standard deviation is 1. Null is at the
//!   mean, and a second coordinate, a standardized null indicator, separates it from the numbers.
//! - [Solanas 2008] has no categories. Between two of them `d = height(common ancestor) / height(root)`
//!   [Truta 2007, Def. 9] is an ultrametric, and therefore the distance of two points: a leaf of the hierarchy has the
//!   coordinate `sqrt((d_parent^2 - d_node^2) / 2)` at every node on its path below the root, and 0 elsewhere. Two
//!   leaves differ at the nodes below their common ancestor, where the squares add up to `d^2`. The column is scaled so
//!   that two random rows of the leaf are as far apart as in a standardized number.
//! - The weight of a column multiplies its squared distance. A column of one value contributes nothing.
//!
//! [Solanas 2008] standardizes over the table. A leaf is standardized over its own rows, because the classes of a leaf
//! are only compared with each other; this is the same if the table is not partitioned.
//!
//! The squared distance of a cell to any point is one lookup per column, in tables that are filled once per point.

use super::leaf_view::{LeafView, LossMeasure};
use crate::domain::{Domain, DomainKind};
use crate::hierarchy::{Node, Tree};
use crate::table::Table;

/// Cells of a leaf as points.
#[derive(Debug)]
pub(crate) struct EuclideanEmbedding<'a> {
    frame: LeafView<'a>,
    /// One per column.
    axes: Vec<EuclideanAxis>,
}

/// Coordinates of one column, indexed by dense position.
#[derive(Debug)]
pub(crate) enum EuclideanAxis {
    /// A number and its null indicator, both standardized and weighted.
    Line(Vec<[f64; 2]>),
    /// A category: 1 at every node on its path, 0 at all others. Squares are multiplied by the weight of the node.
    Tree {
        /// Weight of each node.
        weights: Vec<f64>,
        /// Per position the nodes from below the root to the leaf, ascending.
        paths: Vec<Vec<u32>>,
    },
}

/// A point of the space, not necessarily that of a row. Coordinates by column.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct EuclideanPoint {
    coordinates: Vec<Vec<f64>>,
}

/// Squared distances from one point, by column and dense position.
#[derive(Debug)]
pub(crate) struct Distances {
    tables: Vec<Vec<f64>>,
}

impl<'a> EuclideanEmbedding<'a> {
    pub(crate) fn new(leaf: &'a [u32], table: &'a Table) -> Self {
        let frame = LeafView::new(leaf, table, LossMeasure::Ncp);
        let axis = |column: usize| {
            let domain = &table.quasi()[column].domain;
            let positions = frame.positions(column);
            let mut rows = vec![0; positions.len()];
            for local in 0..frame.len() {
                rows[frame.dense(local)[column] as usize] += table.cell_rows(frame.cell(local));
            }
            match domain.kind() {
                DomainKind::Ordered { .. } => EuclideanAxis::line(domain, positions, &rows, frame.weight(column)),
                DomainKind::Category(tree) => EuclideanAxis::tree(tree, positions, &rows, frame.weight(column)),
            }
        };
        let axes = (0..table.quasi().len()).map(axis).collect();
        Self { frame, axes }
    }

    pub(crate) fn frame(&self) -> &LeafView<'a> {
        &self.frame
    }

    /// Returns the point of a cell.
    pub(crate) fn point(&self, local: usize) -> EuclideanPoint {
        self.mean(&[(local, 1)])
    }

    /// Returns the mean of rows, given as cells with row counts.
    pub(crate) fn mean(&self, rows: &[(usize, u64)]) -> EuclideanPoint {
        let total = rows.iter().map(|(_, rows)| rows).sum::<u64>().max(1) as f64;
        let mean = |(column, axis): (usize, &EuclideanAxis)| {
            let mut sums = vec![0.0; axis.dimensions()];
            for (local, rows) in rows {
                axis.add(self.frame.dense(*local)[column], *rows as f64, &mut sums);
            }
            sums.iter_mut().for_each(|sum| *sum /= total);
            sums
        };
        EuclideanPoint { coordinates: self.axes.iter().enumerate().map(mean).collect() }
    }

    /// Draws a point from the bounding box of the leaf [Solanas 2008, Algorithm 3]: uniform between the least and the
    /// greatest value of a number, and uniform among the categories that occur. `uniform` draws from 0 to 1.
    pub(crate) fn draw(&self, mut uniform: impl FnMut() -> f64) -> EuclideanPoint {
        EuclideanPoint { coordinates: self.axes.iter().map(|axis| axis.draw(&mut uniform)).collect() }
    }

    pub(crate) fn distances(&self, from: &EuclideanPoint) -> Distances {
        let axes = self.axes.iter().zip(&from.coordinates);
        Distances { tables: axes.map(|(axis, point)| axis.squared_distances(point)).collect() }
    }
}

impl Distances {
    /// Returns the squared distance to a cell.
    pub(crate) fn to(&self, space: &EuclideanEmbedding<'_>, local: usize) -> f64 {
        self.tables.iter().zip(space.frame.dense(local)).map(|(table, position)| table[*position as usize]).sum()
    }
}

impl EuclideanAxis {
    fn line(domain: &Domain, positions: &[u32], rows: &[u64], weight: f64) -> Self {
        let null = domain.null_position();
        let is_null = |position: &u32| Some(*position) == null;
        let origin = positions.iter().copied().find(|position| !is_null(position));
        let value = |position: &u32| match origin {
            Some(origin) if !is_null(position) => domain.loss(origin, *position),
            _ => 0.0,
        };
        let count = |(position, rows): (&u32, &u64)| if is_null(position) { 0 } else { *rows };
        let numbers: Vec<u64> = positions.iter().zip(rows).map(count).collect();
        let values = standardized(&positions.iter().map(value).collect::<Vec<_>>(), &numbers);
        let marks: Vec<f64> = positions.iter().map(|position| f64::from(u8::from(is_null(position)))).collect();
        let marks = standardized(&marks, rows);
        let scale = weight.sqrt();
        let point = |((position, value), mark): ((&u32, f64), f64)| {
            let value = if is_null(position) { 0.0 } else { value };
            [value * scale, mark * scale]
        };
        Self::Line(positions.iter().zip(values).zip(marks).map(point).collect())
    }

    pub(crate) fn tree(tree: &Tree, positions: &[u32], rows: &[u64], weight: f64) -> Self {
        let path = |position: &u32| {
            let upwards = std::iter::successors(Some(tree.leaf_node(*position)), |node| tree.parent(*node));
            upwards.filter(|node| *node != tree.root())
        };
        let mut nodes: Vec<Node> = positions.iter().flat_map(path).collect();
        nodes.sort_unstable();
        nodes.dedup();
        let number = |node: Node| nodes.partition_point(|known| *known < node) as u32;
        // Parents precede their children, so a sorted path descends from the root.
        let sorted = |position: &u32| {
            let mut path: Vec<u32> = path(position).map(number).collect();
            path.sort_unstable();
            path
        };
        let paths: Vec<Vec<u32>> = positions.iter().map(sorted).collect();
        let square = |node: Node| (f64::from(tree.height(node)) / f64::from(tree.height(tree.root()).max(1))).powi(2);
        let drop = |node: &Node| tree.parent(*node).map_or(0.0, |parent| (square(parent) - square(*node)) / 2.0);
        let drops: Vec<f64> = nodes.iter().map(drop).collect();
        let mut below = vec![0_u64; nodes.len()];
        for (path, rows) in paths.iter().zip(rows) {
            path.iter().for_each(|node| below[*node as usize] += rows);
        }
        // Half of the mean squared distance of two random rows: the sum of the variances of the coordinates.
        let total = rows.iter().sum::<u64>().max(1) as f64;
        let variance = |(drop, rows): (&f64, &u64)| drop * (*rows as f64 / total) * (1.0 - *rows as f64 / total);
        let spread: f64 = drops.iter().zip(&below).map(variance).sum();
        let scale = if spread > 0.0 { weight / spread } else { 0.0 };
        Self::Tree { weights: drops.iter().map(|drop| drop * scale).collect(), paths }
    }

    fn dimensions(&self) -> usize {
        match self {
            Self::Line(_) => 2,
            Self::Tree { weights, .. } => weights.len(),
        }
    }

    /// Adds the coordinates of `rows` rows at a dense position to `sums`.
    fn add(&self, position: u32, rows: f64, sums: &mut [f64]) {
        match self {
            Self::Line(points) => {
                sums.iter_mut().zip(points[position as usize]).for_each(|(sum, coordinate)| *sum += coordinate * rows);
            }
            Self::Tree { paths, .. } => {
                paths[position as usize].iter().for_each(|node| sums[*node as usize] += rows);
            }
        }
    }

    /// Returns the squared distances of a point to each dense position. The distance of a position to itself is exactly
    /// 0.
    fn squared_distances(&self, point: &[f64]) -> Vec<f64> {
        match self {
            Self::Line(points) => {
                let square = |at: &[f64; 2]| at.iter().zip(point).map(|(a, b)| (a - b) * (a - b)).sum();
                points.iter().map(square).collect()
            }
            Self::Tree { weights, paths } => {
                // On the path, (1 - c)^2 replaces c^2.
                let norm: f64 = weights.iter().zip(point).map(|(weight, c)| weight * (c * c)).sum();
                let change = |node: &u32| weights[*node as usize] * (1.0 - 2.0 * point[*node as usize]);
                let square = |path: &Vec<u32>| (norm + path.iter().map(change).sum::<f64>()).max(0.0);
                paths.iter().map(square).collect()
            }
        }
    }

    fn draw(&self, uniform: &mut impl FnMut() -> f64) -> Vec<f64> {
        match self {
            Self::Line(points) => {
                let between = |dimension: usize| {
                    let all = || points.iter().map(|point| point[dimension]);
                    let (least, greatest) =
                        (all().fold(f64::INFINITY, f64::min), all().fold(f64::NEG_INFINITY, f64::max));
                    least + uniform() * (greatest - least)
                };
                [0, 1].map(between).to_vec()
            }
            Self::Tree { weights, paths } => {
                let drawn = (uniform() * paths.len() as f64) as usize;
                let mut point = vec![0.0; weights.len()];
                let path = paths.get(drawn.min(paths.len().saturating_sub(1)));
                path.into_iter().flatten().for_each(|node| point[*node as usize] = 1.0);
                point
            }
        }
    }
}

/// Maps numbers, of which the least is 0, to mean 0 and standard deviation 1 over their rows.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Standardization {
    width: f64,
    mean: f64,
    deviation: f64,
}

impl Standardization {
    /// Computes the standardization of numbers with their row counts.
    pub(crate) fn of(numbers: impl Iterator<Item = (f64, u64)> + Clone) -> Self {
        // Squares of numbers in a narrow leaf of a wide table could underflow.
        let (mut width, mut total) = (0.0_f64, 0);
        numbers.clone().for_each(|(number, rows)| (width, total) = (width.max(number), total + rows));
        if width == 0.0 || total == 0 {
            return Self { width: 1.0, mean: 0.0, deviation: 0.0 };
        }
        let shares = || numbers.clone().map(|(number, rows)| (number / width, rows as f64));
        let mean = shares().map(|(number, rows)| number * rows).sum::<f64>() / total as f64;
        let squares = shares().map(|(number, rows)| (number - mean).powi(2) * rows).sum::<f64>();
        Self { width, mean, deviation: (squares / total as f64).sqrt() }
    }

    /// Returns the standardized number; 0 if all numbers are equal.
    pub(crate) fn place(self, number: f64) -> f64 {
        if self.deviation > 0.0 { (number / self.width - self.mean) / self.deviation } else { 0.0 }
    }
}

fn standardized(values: &[f64], rows: &[u64]) -> Vec<f64> {
    let standard = Standardization::of(values.iter().copied().zip(rows.iter().copied()));
    values.iter().map(|value| standard.place(*value)).collect()
}

#[cfg(test)]
#[path = "euclidean_embedding_tests.rs"]
mod tests;

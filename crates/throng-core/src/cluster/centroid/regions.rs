//! Groups neighbouring classes into regions that are searched independently.
//!
//! Regions have different borders in every round, so that no border persists: the variance of each axis is multiplied
//! by a factor from 1/2 to 3/2, and the widest axis is cut near the median, both drawn per round.

use rayon::prelude::*;

use super::cut::{halves, widest_axes};
use super::embedding::Points;
use super::lanes::padded;
use super::mix;
use super::units::Units;

/// Maximum number of units of a region.
const REGION_UNITS: usize = 1024;

/// Sides of cuts of more classes are processed in parallel.
const PARALLEL: usize = 1024;

/// Classes as concatenated lists of units.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct UnitLists {
    units: Vec<u32>,
    ends: Vec<u32>,
}

impl UnitLists {
    pub(super) fn len(&self) -> usize {
        self.ends.len()
    }

    pub(super) fn push(&mut self, class: impl IntoIterator<Item = u32>) {
        self.units.extend(class);
        self.ends.push(self.units.len() as u32);
    }

    pub(super) fn append(&mut self, other: &Self) {
        let first = self.units.len() as u32;
        self.units.extend_from_slice(&other.units);
        self.ends.extend(other.ends.iter().map(|end| first + end));
    }

    pub(super) fn class(&self, class: u32) -> &[u32] {
        let first = class.checked_sub(1).map_or(0, |before| self.ends[before as usize]);
        &self.units[first as usize..self.ends[class as usize] as usize]
    }
}

/// Returns the regions of a round, each a list of classes.
pub(super) fn regions(units: &Units, classes: &UnitLists, round: u32) -> Vec<Vec<u32>> {
    let dimensions = units.dimensions();
    let width = padded(dimensions);
    let mut centroids = vec![0.0_f32; classes.len() * width];
    centroids.par_chunks_mut(width).with_min_len(256).enumerate().for_each(|(class, centroid)| {
        let mut count = 0.0;
        for unit in classes.class(class as u32) {
            let rows = units.rows(*unit) as f32;
            count += rows;
            centroid.iter_mut().zip(units.point(*unit)).for_each(|(sum, coordinate)| *sum += coordinate * rows);
        }
        centroid.iter_mut().for_each(|sum| *sum /= count);
    });
    let map = CentroidMap { classes, centroids: Points::of_coordinates(dimensions, centroids) };
    map.cut((0..classes.len() as u32).collect(), mix(u64::from(round)))
}

#[derive(Debug)]
struct CentroidMap<'a> {
    classes: &'a UnitLists,
    centroids: Points,
}

impl CentroidMap<'_> {
    fn cut(&self, all: Vec<u32>, draw: u64) -> Vec<Vec<u32>> {
        let is_small = || {
            let mut sizes = all.iter().map(|class| self.classes.class(*class).len());
            let mut sum = 0;
            sizes.all(|size| {
                sum += size;
                sum <= REGION_UNITS
            })
        };
        if all.len() <= 3 || is_small() {
            return vec![all];
        }
        let share = |draw: u64| (draw >> 11) as f64 / (1_u64 << 53) as f64;
        let bias = |axis: usize| 0.5 + share(mix(draw ^ axis as u64));
        let point = |at: usize| self.centroids.get(all[at]);
        let axes = widest_axes(self.centroids.dimensions(), all.len(), point, bias);
        let at = ((0.35 + 0.3 * share(draw)) * all.len() as f64) as usize;
        let (left, right) = halves(&all, axes[0], &self.centroids, at.max(1));
        let cut = |side: Vec<u32>, mark: u64| self.cut(side, mix(draw ^ mark));
        let is_large = all.len() > PARALLEL;
        let (mut regions, more) =
            if is_large { rayon::join(|| cut(left, 1), || cut(right, 2)) } else { (cut(left, 1), cut(right, 2)) };
        regions.extend(more);
        regions
    }
}

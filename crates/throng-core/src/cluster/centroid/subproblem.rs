//! A patch of the table: some units with their classes, on which the search works undisturbed.
//!
//! Patches share no unit, so that many are searched at the same time. Points are copied into the patch, where they lie
//! side by side.

use super::lanes::{distance, padded, push_point};
use super::privacy_by_kind::PrivacyByKind;
use super::units::Units;
use crate::model::Tally;

/// Some units and their classes. Units and classes are numbered from 0.
#[derive(Debug)]
pub(super) struct Subproblem<'a> {
    pub(super) rules: &'a PrivacyByKind<'a>,
    pub(super) dimensions: usize,
    /// Coordinates per point, padded to whole lanes.
    width: usize,
    /// Unit-major.
    points: Vec<f32>,
    pub(super) rows: Vec<u32>,
    pub(super) kinds: Vec<u32>,
    /// The class of each unit.
    pub(super) home: Vec<u32>,
    pub(super) classes: Vec<SubproblemClass>,
    /// Class-major: the points of a class, each as often as it has rows.
    sums: Vec<f64>,
    /// Class-major.
    centroids: Vec<f32>,
    /// The same, of each [`ABREAST`] classes first one axis, then the next. A class without units is at infinity.
    axes: Vec<[f32; ABREAST]>,
    /// Per class how far its farthest unit is from its centroid.
    reaches: Vec<f32>,
}

/// A class.
#[derive(Clone, Debug)]
pub(super) struct SubproblemClass {
    pub(super) units: Vec<u32>,
    pub(super) tally: Tally,
}

impl SubproblemClass {
    pub(super) fn rows(&self) -> f64 {
        self.tally.rows() as f64
    }
}

/// Classes that are measured at a time.
const ABREAST: usize = 8;

/// The class of a unit that has none yet.
pub(super) const NOWHERE: u32 = u32::MAX;

impl<'a> Subproblem<'a> {
    /// These units, without classes.
    pub(super) fn of_units(
        units: &Units,
        rules: &'a PrivacyByKind<'a>,
        list: impl Iterator<Item = u32> + Clone,
    ) -> Self {
        let dimensions = units.dimensions();
        let mut points = Vec::with_capacity(list.size_hint().0 * padded(dimensions));
        list.clone().for_each(|unit| push_point(&mut points, units.point(unit)));
        let rows: Vec<u32> = list.clone().map(|unit| units.rows(unit)).collect();
        Self::new(rules, dimensions, points, rows, list.map(|unit| units.kind(unit)).collect())
    }

    fn new(rules: &'a PrivacyByKind<'a>, dimensions: usize, points: Vec<f32>, rows: Vec<u32>, kinds: Vec<u32>) -> Self {
        let home = vec![NOWHERE; rows.len()];
        Self {
            rules,
            dimensions,
            width: padded(dimensions),
            points,
            rows,
            kinds,
            home,
            classes: Vec::new(),
            sums: Vec::new(),
            centroids: Vec::new(),
            axes: Vec::new(),
            reaches: Vec::new(),
        }
    }

    /// A patch of some classes of this one, and which units of this one it has.
    pub(super) fn part(&self, classes: &[u32]) -> (Self, Vec<u32>) {
        let list = || classes.iter().flat_map(|class| self.classes[*class as usize].units.iter());
        let mut points = Vec::new();
        list().for_each(|unit| push_point(&mut points, self.point(*unit)));
        let rows = list().map(|unit| self.rows[*unit as usize]).collect();
        let kinds = list().map(|unit| self.kinds[*unit as usize]).collect();
        (Self::new(self.rules, self.dimensions, points, rows, kinds), list().copied().collect())
    }

    pub(super) fn len(&self) -> usize {
        self.rows.len()
    }

    pub(super) fn point(&self, unit: u32) -> &[f32] {
        &self.points[unit as usize * self.width..][..self.width]
    }

    pub(super) fn centroid(&self, class: u32) -> &[f32] {
        &self.centroids[class as usize * self.width..][..self.width]
    }

    /// How far the farthest unit of a class is from its centroid.
    pub(super) fn reach(&self, class: u32) -> f32 {
        self.reaches[class as usize]
    }

    /// Makes units, which have no class, a class.
    pub(super) fn open(&mut self, units: Vec<u32>) {
        let tally = self.tally(&units);
        self.open_counted(units, tally);
    }

    /// The same where their rows were counted before.
    pub(super) fn open_counted(&mut self, units: Vec<u32>, tally: Tally) {
        let class = self.classes.len() as u32;
        if self.classes.len().is_multiple_of(ABREAST) {
            self.axes.resize(self.axes.len() + self.dimensions, [f32::INFINITY; ABREAST]);
        }
        self.classes.push(SubproblemClass { units: Vec::new(), tally: self.rules.nobody() });
        self.sums.resize(self.sums.len() + self.width, 0.0);
        self.centroids.resize(self.centroids.len() + self.width, 0.0);
        self.reaches.push(0.0);
        self.settle_in(class, SubproblemClass { units, tally });
    }

    /// Makes classes of so many units each, from the first on, and tells which unit comes after them.
    pub(super) fn open_all(&mut self, sizes: impl Iterator<Item = usize>) -> u32 {
        let mut from = 0;
        for size in sizes {
            self.open((from..from + size as u32).collect());
            from += size as u32;
        }
        from
    }

    /// Gives units, which have no class, to a class that has none.
    pub(super) fn fill(&mut self, class: u32, units: Vec<u32>) {
        let tally = self.tally(&units);
        self.settle_in(class, SubproblemClass { units, tally });
    }

    fn settle_in(&mut self, class: u32, block: SubproblemClass) {
        for unit in &block.units {
            self.home[*unit as usize] = class;
            self.shift(*unit, class, f64::from(self.rows[*unit as usize]));
        }
        self.classes[class as usize] = block;
        self.settle(class);
    }

    fn tally(&self, units: &[u32]) -> Tally {
        let mut tally = self.rules.nobody();
        for unit in units {
            self.rules.add(&mut tally, self.kinds[*unit as usize], u64::from(self.rows[*unit as usize]));
        }
        tally
    }

    /// Leaves a class without units, and its units without a class.
    pub(super) fn clear(&mut self, class: u32) {
        let units = std::mem::take(&mut self.classes[class as usize].units);
        units.iter().for_each(|unit| self.home[*unit as usize] = NOWHERE);
        self.classes[class as usize].tally = self.rules.nobody();
        self.sums[class as usize * self.width..][..self.width].fill(0.0);
        self.settle(class);
    }

    /// Takes a unit into a class, from nowhere or from another one.
    pub(super) fn relocate(&mut self, unit: u32, class: u32) {
        let from = self.home[unit as usize];
        if from != NOWHERE {
            self.leave(unit, from);
            self.settle(from);
        }
        self.enter(unit, class);
        self.settle(class);
    }

    fn enter(&mut self, unit: u32, class: u32) {
        let rows = self.rows[unit as usize];
        let block = &mut self.classes[class as usize];
        block.units.push(unit);
        self.rules.add(&mut block.tally, self.kinds[unit as usize], u64::from(rows));
        self.home[unit as usize] = class;
        self.shift(unit, class, f64::from(rows));
    }

    fn leave(&mut self, unit: u32, class: u32) {
        let rows = self.rows[unit as usize];
        let block = &mut self.classes[class as usize];
        block.units.retain(|other| *other != unit);
        self.rules.remove(&mut block.tally, self.kinds[unit as usize], u64::from(rows));
        self.shift(unit, class, -f64::from(rows));
    }

    fn shift(&mut self, unit: u32, class: u32, rows: f64) {
        let sum = &mut self.sums[class as usize * self.width..][..self.width];
        let point = &self.points[unit as usize * self.width..][..self.width];
        sum.iter_mut().zip(point).for_each(|(sum, coordinate)| *sum += f64::from(*coordinate) * rows);
    }

    /// Notes where the centroid of a class is now.
    fn settle(&mut self, class: u32) {
        let block = &self.classes[class as usize];
        let share = if block.units.is_empty() { f64::INFINITY } else { 1.0 / block.rows() };
        let (width, at) = (self.width, class as usize);
        for axis in 0..width {
            // Of a class without units the sum is 0, and the centroid is nowhere.
            let centroid =
                if share.is_finite() { (self.sums[at * width + axis] * share) as f32 } else { f32::INFINITY };
            self.centroids[at * width + axis] = centroid;
            if axis < self.dimensions {
                self.axes[at / ABREAST * self.dimensions + axis][at % ABREAST] = centroid;
            }
        }
        let centroid = self.centroid(class);
        let units = self.classes[at].units.iter();
        let farthest = units.map(|unit| distance(self.point(*unit), centroid)).fold(0.0, f32::max);
        self.reaches[at] = farthest.sqrt();
    }

    /// The squared distance from a unit to the centroid of a class.
    pub(super) fn distance(&self, unit: u32, class: u32) -> f32 {
        distance(self.point(unit), self.centroid(class))
    }

    /// The same in double precision.
    fn exact_distance(&self, unit: u32, class: u32) -> f64 {
        let (share, mut sum) = (1.0 / self.classes[class as usize].rows(), 0.0);
        for (coordinate, total) in self.point(unit).iter().zip(&self.sums[class as usize * self.width..]) {
            sum += (f64::from(*coordinate) - total * share).powi(2);
        }
        sum
    }

    /// What a unit adds to the errors of a class that it joins.
    pub(super) fn joining(&self, unit: u32, class: u32) -> f64 {
        let (rows, count) = (f64::from(self.rows[unit as usize]), self.classes[class as usize].rows());
        self.exact_distance(unit, class) * rows * count / (count + rows)
    }

    /// What a unit takes from the errors of its class, which has others, when it leaves.
    pub(super) fn leaving(&self, unit: u32) -> f64 {
        let class = self.home[unit as usize];
        let (rows, count) = (f64::from(self.rows[unit as usize]), self.classes[class as usize].rows());
        self.exact_distance(unit, class) * rows * count / (count - rows)
    }

    /// By how much the errors of a class fall when one of its units goes and another one, with as many rows, comes.
    pub(super) fn exchanging(&self, class: u32, gone: u32, come: u32) -> f64 {
        let (rows, count) = (f64::from(self.rows[gone as usize]), self.classes[class as usize].rows());
        let (share, mut fall) = (1.0 / count, 0.0);
        let points = self.point(gone).iter().zip(self.point(come));
        for ((gone, come), total) in points.zip(&self.sums[class as usize * self.width..]) {
            let (gone, come) = (f64::from(*gone) - total * share, f64::from(*come) - total * share);
            fall += gone * gone - come * come + (come - gone) * (come - gone) * rows * share;
        }
        fall * rows
    }

    /// The classes that are nearest to a point, the nearest first, without one of them.
    pub(super) fn nearest(&self, point: &[f32], except: u32, near: &mut NearestClasses) {
        near.distances.clear();
        near.distances.extend(self.axes.chunks_exact(self.dimensions).map(|axes| {
            let mut sums = [0.0; ABREAST];
            for (axis, coordinate) in axes.iter().zip(point) {
                for (sum, centroid) in sums.iter_mut().zip(axis) {
                    *sum += (centroid - coordinate) * (centroid - coordinate);
                }
            }
            sums
        }));
        let distances = near.distances.as_flattened_mut();
        if let Some(distance) = distances.get_mut(except as usize) {
            *distance = f32::INFINITY;
        }
        near.best.clear();
        let mut worst = f32::INFINITY;
        for (class, distance) in distances[..self.classes.len()].iter().enumerate() {
            if *distance < worst {
                worst = offer(&mut near.best, near.most, (*distance, class as u32));
            }
        }
    }

    /// The squared errors of a class.
    pub(super) fn class_errors(&self, class: u32) -> f64 {
        let error = |unit: &u32| self.exact_distance(*unit, class) * f64::from(self.rows[*unit as usize]);
        self.classes[class as usize].units.iter().map(error).sum()
    }

    /// The squared errors of all classes.
    pub(super) fn errors(&self) -> f64 {
        (0..self.classes.len() as u32).map(|class| self.class_errors(class)).sum()
    }
}

/// A list of the nearest classes, with memory that is used again.
#[derive(Debug)]
pub(super) struct NearestClasses {
    distances: Vec<[f32; ABREAST]>,
    best: Vec<(f32, u32)>,
    most: usize,
}

impl NearestClasses {
    /// At most so many, and at least one.
    pub(super) fn new(most: usize) -> Self {
        Self { distances: Vec::new(), best: Vec::new(), most: most.max(1) }
    }

    pub(super) fn classes(&self) -> impl Iterator<Item = u32> {
        self.best.iter().map(|(_, class)| *class)
    }

    /// With the squared distance of each.
    pub(super) fn distances(&self) -> impl Iterator<Item = (f32, u32)> {
        self.best.iter().copied()
    }
}

/// Puts a class among the nearest, behind those that are as near; tells how near others must be.
fn offer(best: &mut Vec<(f32, u32)>, most: usize, offered: (f32, u32)) -> f32 {
    if best.len() < most {
        best.push(offered);
    }
    let mut at = best.len() - 1;
    while at > 0 && best[at - 1].0 > offered.0 {
        best[at] = best[at - 1];
        at -= 1;
    }
    best[at] = offered;
    if best.len() == most { best[most - 1].0 } else { f32::INFINITY }
}

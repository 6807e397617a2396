//! A subproblem: some units with their classes, searched independently of all others.
//!
//! Subproblems share no unit, so that many are searched in parallel. Points are copied into the subproblem, where they
//! are contiguous.

use super::lanes::{distance, padded, push_point};
use super::privacy_by_kind::PrivacyByKind;
use super::regions::UnitLists;
use super::units::Units;
use crate::model::Tally;

/// Units and their classes, both numbered from 0.
#[derive(Clone, Debug)]
pub(super) struct Subproblem<'a> {
    pub(super) rules: &'a PrivacyByKind<'a>,
    pub(super) dimensions: usize,
    /// Coordinates per point, padded to whole lanes.
    width: usize,
    /// Unit-major.
    points: Vec<f32>,
    pub(super) rows: Vec<u32>,
    pub(super) kinds: Vec<u32>,
    /// Class of each unit.
    pub(super) home: Vec<u32>,
    pub(super) classes: Vec<SubproblemClass>,
    /// Class-major: sum of the points of a class, weighted by rows.
    sums: Vec<f64>,
    /// Class-major.
    centroids: Vec<f32>,
    /// Centroids in blocks of [`ABREAST`] classes, axis-major within a block. A class without units is at infinity.
    axes: Vec<[f32; ABREAST]>,
    /// Distance of the farthest unit of each class from its centroid.
    reaches: Vec<f32>,
}

/// A class of a subproblem: its units by number, and their tally.
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

/// Number of classes measured at a time.
const ABREAST: usize = 8;

/// Sentinel class of a unit without a class.
pub(super) const NOWHERE: u32 = u32::MAX;

impl<'a> Subproblem<'a> {
    /// Creates a subproblem of these units, without classes.
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

    /// Creates a subproblem of these classes, with all of their units.
    pub(super) fn of_classes(
        units: &Units,
        rules: &'a PrivacyByKind<'a>,
        lists: &UnitLists,
        classes: impl Iterator<Item = u32> + Clone,
    ) -> Self {
        let all: Vec<u32> = classes.clone().flat_map(|class| lists.class(class)).copied().collect();
        let mut patch = Self::of_units(units, rules, all.iter().copied());
        patch.open_all(classes.map(|class| lists.class(class).len()));
        patch
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

    /// Copies the units of some classes, without classes, into a new subproblem. Returns it with the original numbers
    /// of its units.
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

    /// Returns the distance of the farthest unit of a class from its centroid.
    pub(super) fn reach(&self, class: u32) -> f32 {
        self.reaches[class as usize]
    }

    /// Opens a class with these units, which must have no class.
    pub(super) fn open(&mut self, units: Vec<u32>) {
        let tally = self.tally(&units);
        self.open_counted(units, tally);
    }

    /// Same as [`Subproblem::open`] with the tally of the units.
    pub(super) fn open_counted(&mut self, units: Vec<u32>, tally: Tally) {
        let class = self.classes.len() as u32;
        if self.classes.len().is_multiple_of(ABREAST) {
            self.axes.resize(self.axes.len() + self.dimensions, [f32::INFINITY; ABREAST]);
        }
        self.classes.push(SubproblemClass { units: Vec::new(), tally: self.rules.empty_tally() });
        self.sums.resize(self.sums.len() + self.width, 0.0);
        self.centroids.resize(self.centroids.len() + self.width, 0.0);
        self.reaches.push(0.0);
        self.settle_in(class, SubproblemClass { units, tally });
    }

    /// Opens classes of these sizes from consecutive units, starting at the first. Returns the first unit after them.
    pub(super) fn open_all(&mut self, sizes: impl Iterator<Item = usize>) -> u32 {
        let mut from = 0;
        for size in sizes {
            self.open((from..from + size as u32).collect());
            from += size as u32;
        }
        from
    }

    /// Assigns units, which must have no class, to an empty class.
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
        let mut tally = self.rules.empty_tally();
        for unit in units {
            self.rules.add(&mut tally, self.kinds[*unit as usize], u64::from(self.rows[*unit as usize]));
        }
        tally
    }

    /// Removes all units from a class.
    pub(super) fn clear(&mut self, class: u32) {
        let units = std::mem::take(&mut self.classes[class as usize].units);
        units.iter().for_each(|unit| self.home[*unit as usize] = NOWHERE);
        self.classes[class as usize].tally = self.rules.empty_tally();
        self.sums[class as usize * self.width..][..self.width].fill(0.0);
        self.settle(class);
    }

    /// Moves a unit to a class, from another one or from none.
    pub(super) fn relocate(&mut self, unit: u32, class: u32) {
        let from = self.home[unit as usize];
        if from != NOWHERE {
            self.leave(unit, from);
            self.settle(from);
        }
        self.enter(unit, class);
        self.settle(class);
    }

    /// Moves a unit to a class like [`Subproblem::relocate`], but updates only the centroids of both. [`Subproblem::nearest`]
    /// and [`Subproblem::reach`] are right again after [`Subproblem::settle_all`].
    pub(super) fn transfer(&mut self, unit: u32, class: u32) {
        let from = self.home[unit as usize];
        if from != NOWHERE {
            self.leave(unit, from);
            self.recenter(from);
        }
        self.enter(unit, class);
        self.recenter(class);
    }

    /// Updates all that is derived from the units of each class, after [`Subproblem::transfer`].
    pub(super) fn settle_all(&mut self) {
        (0..self.classes.len() as u32).for_each(|class| self.settle(class));
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

    /// Updates the centroid of a class. That of a class without units is at infinity.
    fn recenter(&mut self, class: u32) {
        let (block, from) = (&self.classes[class as usize], class as usize * self.width);
        let centroid = &mut self.centroids[from..from + self.width];
        if block.units.is_empty() {
            return centroid.fill(f32::INFINITY);
        }
        let share = 1.0 / block.rows();
        let sums = &self.sums[from..from + self.width];
        centroid.iter_mut().zip(sums).for_each(|(centroid, sum)| *centroid = (sum * share) as f32);
    }

    /// Updates the centroid and the reach of a class.
    fn settle(&mut self, class: u32) {
        self.recenter(class);
        let at = class as usize;
        for axis in 0..self.dimensions {
            self.axes[at / ABREAST * self.dimensions + axis][at % ABREAST] = self.centroids[at * self.width + axis];
        }
        let centroid = self.centroid(class);
        let units = self.classes[at].units.iter();
        let farthest = units.map(|unit| distance(self.point(*unit), centroid)).fold(0.0, f32::max);
        self.reaches[at] = farthest.sqrt();
    }

    /// Returns the squared distance of a unit to the centroid of a class.
    pub(super) fn distance(&self, unit: u32, class: u32) -> f32 {
        distance(self.point(unit), self.centroid(class))
    }

    /// Same as [`Subproblem::distance`] in double precision.
    fn exact_distance(&self, unit: u32, class: u32) -> f64 {
        let (share, mut sum) = (1.0 / self.classes[class as usize].rows(), 0.0);
        for (coordinate, total) in self.point(unit).iter().zip(&self.sums[class as usize * self.width..]) {
            sum += (f64::from(*coordinate) - total * share).powi(2);
        }
        sum
    }

    /// Returns the increase of the squared errors of a class if a unit joins it.
    pub(super) fn joining(&self, unit: u32, class: u32) -> f64 {
        let (rows, count) = (f64::from(self.rows[unit as usize]), self.classes[class as usize].rows());
        self.exact_distance(unit, class) * rows * count / (count + rows)
    }

    /// Returns the decrease of the squared errors of its class if a unit leaves it. The class must have other units.
    pub(super) fn leaving(&self, unit: u32) -> f64 {
        let class = self.home[unit as usize];
        let (rows, count) = (f64::from(self.rows[unit as usize]), self.classes[class as usize].rows());
        self.exact_distance(unit, class) * rows * count / (count - rows)
    }

    /// Returns the decrease of the squared errors of a class if one of its units is replaced by another with as many
    /// rows.
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

    /// Finds the classes nearest to a point, the nearest first, except one.
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

    /// Returns the squared errors of a class.
    pub(super) fn class_errors(&self, class: u32) -> f64 {
        let error = |unit: &u32| self.exact_distance(*unit, class) * f64::from(self.rows[*unit as usize]);
        self.classes[class as usize].units.iter().map(error).sum()
    }

    /// Returns the squared errors of all classes.
    pub(super) fn errors(&self) -> f64 {
        (0..self.classes.len() as u32).map(|class| self.class_errors(class)).sum()
    }
}

/// List of the nearest classes, with reused buffers.
#[derive(Debug)]
pub(super) struct NearestClasses {
    distances: Vec<[f32; ABREAST]>,
    best: Vec<(f32, u32)>,
    most: usize,
}

impl NearestClasses {
    /// Creates a list of at most `most` classes, and at least one.
    pub(super) fn new(most: usize) -> Self {
        Self { distances: Vec::new(), best: Vec::new(), most: most.max(1) }
    }

    pub(super) fn classes(&self) -> impl Iterator<Item = u32> {
        self.best.iter().map(|(_, class)| *class)
    }

    /// Iterates over the squared distances and the classes.
    pub(super) fn distances(&self) -> impl Iterator<Item = (f32, u32)> {
        self.best.iter().copied()
    }
}

/// Inserts a class into the nearest, after equally near ones. Returns the distance below which others are accepted.
pub(super) fn offer(best: &mut Vec<(f32, u32)>, most: usize, offered: (f32, u32)) -> f32 {
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

//! Loss of bounding boxes over the quasi-identifiers of some cells.

use super::{LANES, Lanes, each, greatest, lanes, least};
use crate::loss_tables::{LossForm, LossGrid, LossSteps, line_coordinate, steps};
use crate::table::{QuasiColumn, Table};

/// The axes of some cells. The coordinates of a point are those of lines, then grids, then steps, then padding up to
/// the stride.
#[derive(Debug, Default)]
pub(crate) struct LossSpace {
    stride: usize,
    lines: usize,
    /// Maximum loss of each line lane: a range with null and numbers loses the whole column. Zero for the lanes of
    /// other columns.
    most: Vec<Lanes>,
    grids: Vec<LossGrid>,
    steps: Vec<LossSteps>,
}

impl LossSpace {
    /// Returns the axes of these cells and their coordinates, cell by cell.
    pub(crate) fn new(table: &Table, cells: impl ExactSizeIterator<Item = u32> + Clone) -> (Self, Vec<f32>) {
        let heaviest = table.quasi().iter().map(|quasi| quasi.spec.weight).fold(0.0, f64::max);
        let mut columns: Vec<(LossForm, usize, Vec<u32>, Vec<f32>)> = Vec::with_capacity(table.quasi().len());
        for (column, quasi) in table.quasi().iter().enumerate() {
            let positions = cells.clone().map(|cell| table.positions(cell)[column]);
            columns.push(match LossForm::is_line(quasi) {
                true => {
                    (LossForm::Line, column, Vec::new(), coordinates(quasi, positions, quasi.spec.weight / heaviest))
                }
                false => {
                    let (known, dense) = dense_positions(positions, quasi.domain.len());
                    (LossForm::of(quasi, known.len()), column, known, dense)
                }
            });
        }
        columns.sort_by_key(|(form, column, ..)| (*form, *column));
        let stride = columns.len().next_multiple_of(LANES);
        let lines = columns.iter().filter(|(form, ..)| *form == LossForm::Line).count();
        let mut axes = Self { stride, lines, ..Self::default() };
        axes.most = vec![[0.0; LANES]; lines.div_ceil(LANES)];
        let mut places = vec![0.0; cells.len() * stride];
        for (lane, (form, column, known, coordinates)) in columns.iter().enumerate() {
            let of_lane = places.iter_mut().skip(lane).step_by(stride);
            of_lane.zip(coordinates).for_each(|(place, at)| *place = *at);
            let quasi = &table.quasi()[*column];
            let weight = quasi.spec.weight / heaviest;
            match form {
                LossForm::Line => axes.most[lane / LANES][lane % LANES] = weight as f32,
                LossForm::Grid => axes.grids.push(LossGrid::new(&steps(quasi, known, weight))),
                LossForm::Steps => axes.steps.push(LossSteps::new(steps(quasi, known, weight))),
            }
        }
        (axes, places)
    }

    /// Returns the number of coordinates per point, padding included.
    pub(crate) fn stride(&self) -> usize {
        self.stride
    }

    /// Returns the number of columns.
    pub(crate) fn width(&self) -> usize {
        self.lines + self.grids.len() + self.steps.len()
    }

    /// Returns the loss per row of a class with this bounding box.
    #[inline]
    pub(crate) fn loss(&self, lo: &[f32], hi: &[f32]) -> f32 {
        self.sum([lo, hi], |[lo, hi]| (lo, hi))
    }

    /// Returns the loss per row of a class with this bounding box once it includes a point.
    #[inline]
    pub(crate) fn loss_with(&self, lo: &[f32], hi: &[f32], at: &[f32]) -> f32 {
        self.sum([lo, hi, at], |[lo, hi, at]| (least(lo, at), greatest(hi, at)))
    }

    /// Returns the pairwise loss of two points.
    #[inline]
    pub(crate) fn loss_of_pair(&self, a: &[f32], b: &[f32]) -> f32 {
        self.sum([a, b], |[a, b]| (least(a, b), greatest(a, b)))
    }

    /// Returns a lower bound of the pairwise loss between a point and any point in a box.
    #[inline]
    pub(crate) fn loss_to(&self, at: &[f32], (lo, hi): (&[f32], &[f32])) -> f32 {
        // From the point to the nearer end of the range; zero inside it.
        self.sum([at, lo, hi], |[at, lo, hi]| (least(at, hi), greatest(at, lo)))
    }

    /// Returns the loss of one column.
    pub(crate) fn column_loss(&self, lane: usize, lo: f32, hi: f32) -> f32 {
        let (grids, steps) = (self.lines, self.lines + self.grids.len());
        match lane {
            lane if lane < grids => (hi - lo).min(self.most[lane / LANES][lane % LANES]),
            lane if lane < steps => self.grids[lane - grids].loss(number(lo), number(hi)),
            lane => self.steps[lane - steps].loss(number(lo), number(hi)),
        }
    }

    /// Returns the pairwise loss in all line columns between a point and each of `COUNT` others, whose coordinates are
    /// stored lane by lane.
    pub(crate) fn line_losses<const COUNT: usize>(&self, at: &[f32], lanes: &[f32]) -> [f32; COUNT] {
        const AT_ONCE: usize = 8;
        let mut losses = [0.0; COUNT];
        let (lines, most) = (&at[..self.lines], self.most.as_flattened());
        for (chunk, losses) in losses.as_chunks_mut::<AT_ONCE>().0.iter_mut().enumerate() {
            let mut sums = [0.0; AT_ONCE];
            for ((lane, at), most) in lanes.chunks_exact(COUNT).zip(lines).zip(most) {
                let others = &lane.as_chunks::<AT_ONCE>().0[chunk];
                sums = std::array::from_fn(|other| sums[other] + least((others[other] - at).abs(), *most));
            }
            *losses = sums;
        }
        losses
    }

    /// Adds to each of `losses` how much the range `after` of a line loses more than `before` once it includes the
    /// coordinate.
    pub(crate) fn add_growth(&self, line: usize, [before, after]: [(f32, f32); 2], at: &[f32], losses: &mut [f32]) {
        let most = self.most[line / LANES][line % LANES];
        let loss = |(lo, hi): (f32, f32), at: f32| least(greatest(hi, at) - least(lo, at), most);
        losses.iter_mut().zip(at).for_each(|(sum, at)| *sum += loss(after, *at) - loss(before, *at));
    }

    /// Sums the losses of the ranges that `range` computes from the coordinates of each column.
    #[inline(always)]
    fn sum<const N: usize>(&self, places: [&[f32]; N], range: impl Fn([f32; N]) -> (f32, f32)) -> f32 {
        let chunks = places.map(|place| lanes(&place[..self.stride]));
        let mut sums = [0.0; LANES];
        for (chunk, most) in self.most.iter().enumerate() {
            let places = chunks.map(|chunks| &chunks[chunk]);
            sums = each(|lane| {
                let (lo, hi) = range(places.map(|place| place[lane]));
                sums[lane] + least(hi - lo, most[lane])
            });
        }
        let mut sum = (sums[0] + sums[2]) + (sums[1] + sums[3]);
        // Slices of equal length, so that indices are checked once.
        let of_grids = places.map(|place| &place[self.lines..][..self.grids.len()]);
        for (at, grid) in self.grids.iter().enumerate() {
            let (lo, hi) = range(of_grids.map(|place| place[at]));
            sum += grid.loss(number(lo), number(hi));
        }
        if self.steps.is_empty() {
            return sum;
        }
        let of_steps = places.map(|place| &place[self.lines + self.grids.len()..][..self.steps.len()]);
        for (at, steps) in self.steps.iter().enumerate() {
            let (lo, hi) = range(of_steps.map(|place| place[at]));
            sum += steps.loss(number(lo), number(hi));
        }
        sum
    }
}

/// Returns the line coordinates of numbers, relative to the least of them.
fn coordinates(quasi: &QuasiColumn, positions: impl Iterator<Item = u32> + Clone, weight: f64) -> Vec<f32> {
    let null = quasi.domain.null_position();
    let origin = positions.clone().filter(|position| Some(*position) != null).min().unwrap_or(0);
    match quasi.domain.line() {
        Some(line) => {
            let first = line.get(origin as usize).copied().unwrap_or(0.0);
            positions.map(|position| ((line[position as usize] - first) * weight) as f32).collect()
        }
        None => positions.map(|position| line_coordinate(quasi, origin, position, weight) as f32).collect(),
    }
}

/// Encodes the dense rank of a category as a float: 1 plus `number` ulps. The order of ranks is kept, and [`number`]
/// decodes the mantissa bits. Ranks are below [`STEPS`].
fn of_number(number: u32) -> f32 {
    f32::from_bits(1.0_f32.to_bits() + number)
}

fn number(coordinate: f32) -> usize {
    (coordinate.to_bits() & (STEPS - 1)) as usize
}

/// Number of floats in [1, 2).
const STEPS: u32 = 1 << (f32::MANTISSA_DIGITS - 1);

/// Returns the distinct positions, ascending, and the encoded dense rank of each position.
fn dense_positions(positions: impl ExactSizeIterator<Item = u32> + Clone, domain: usize) -> (Vec<u32>, Vec<f32>) {
    if domain > 4 * positions.len() {
        let mut known: Vec<u32> = positions.clone().collect();
        known.sort_unstable();
        known.dedup();
        let dense =
            positions.map(|position| of_number(known.partition_point(|other| *other < position) as u32)).collect();
        return (known, dense);
    }
    const ABSENT: u32 = u32::MAX;
    let mut numbers = vec![ABSENT; domain];
    positions.clone().for_each(|position| numbers[position as usize] = 0);
    let known: Vec<u32> = (0..domain as u32).filter(|position| numbers[*position as usize] != ABSENT).collect();
    known.iter().zip(0..).for_each(|(position, number)| numbers[*position as usize] = number);
    (known, positions.map(|position| of_number(numbers[position as usize])).collect())
}

#[cfg(test)]
#[path = "loss_space_tests.rs"]
mod tests;

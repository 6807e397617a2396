//! Prices of the cells of one block, and sweeps that improve them.

use super::axes::{Axis, axes};
use super::ball::{NearestBall, balls};
use super::block::{BlockCells, CountedModels};
use super::boxes::{BoxVisit, Pressure, StopSignal};
use crate::table::Table;

/// With more numeric columns there are too many boxes, and only balls are used.
const MAX_LINES: usize = 4;

/// Maximum factor by which a raising sweep multiplies a price. Boxes that are further from being tight need not be
/// visited.
const MAX_RAISE: f64 = 2.0;

/// Sharpness of the pressure at the beginning and at the end of an epoch: the weight of a box is its tightness to this
/// power.
const FIRST_SHARPNESS: f64 = 30.0;
const LAST_SHARPNESS: f64 = 150.0;

/// Exponents of the pressure and of the repair in a balancing step; the former falls to zero during an epoch.
const PRESSURE_RATE: f64 = 0.1;
const REPAIR_RATE: f64 = 0.5;

/// Maximum factor by which the pressure on a cell changes its price, before the rate is applied.
const MAX_IMBALANCE: f64 = 4.0;

/// Number of parts in which the nearest boxes are found if time is limited, and the least number of cells of a part. What is finished
/// when the time is over counts; boxes that reach into several parts are visited more often.
const NEAREST_PARTS: usize = 32;
const MIN_PART: usize = if cfg!(test) { 4 } else { 1 << 12 };

/// Effect of a sweep on the prices.
#[derive(Clone, Copy, Debug)]
pub(super) enum SweepKind {
    /// Sets them to the nearest boxes.
    Nearest,
    /// Repairs them, which raises them if they satisfied the lemma.
    Raise,
    /// Balances them by pressure, at this share of an epoch.
    Balance { progress: f64 },
}

/// The prices of one block.
pub(super) struct BlockAscent<'a> {
    models: &'a CountedModels,
    block: BlockCells,
    axes: Vec<Axis>,
    balls: Vec<NearestBall>,
    prices: Vec<f64>,
    best: f64,
    /// Whether sweeps can't improve the bound.
    is_done: bool,
}

impl<'a> BlockAscent<'a> {
    pub(super) fn new(
        table: &Table,
        models: &'a CountedModels,
        cells: Vec<u32>,
        kept: &[u32],
        stop: &StopSignal<'_>,
    ) -> Self {
        let block = BlockCells::new(table, models, cells);
        let axes = axes(table, &block, kept);
        let balls = balls(table, models, &block, &axes, stop);
        let prices = balls.iter().map(|ball| ball.least).collect();
        let mut ascent = Self { models, block, axes, balls, prices, best: 0.0, is_done: false };
        ascent.best = ascent.sum(&ascent.prices);
        let lines = ascent.axes.iter().filter(|axis| matches!(axis, Axis::Line(_))).count();
        ascent.is_done = lines > MAX_LINES || ascent.block.is_rich.iter().all(|is_rich| *is_rich);
        ascent
    }

    /// Returns the lower bound of the total loss of the block.
    pub(super) fn best(&self) -> f64 {
        self.best
    }

    pub(super) fn is_done(&self) -> bool {
        self.is_done
    }

    /// Returns the number of cells that have a price.
    pub(super) fn cells(&self) -> u64 {
        if self.is_done { 0 } else { self.block.is_rich.iter().filter(|is_rich| !**is_rich).count() as u64 }
    }

    fn sum(&self, prices: &[f64]) -> f64 {
        prices.iter().zip(&self.block.rows).map(|(price, rows)| price * *rows as f64).sum()
    }

    /// Runs one sweep; returns false if it was stopped, and then leaves the prices as they are.
    pub(super) fn sweep(&mut self, kind: SweepKind, stop: &StopSignal<'_>) -> bool {
        if self.is_done {
            return true;
        }
        match kind {
            SweepKind::Nearest => self.nearest(stop),
            SweepKind::Raise => self.raise(stop),
            SweepKind::Balance { progress } => self.balance(progress, stop),
        }
        .is_some()
    }

    /// Sets the prices to the nearest boxes. If time ends before, the bound has those that were found: each bounds the loss of its own
    /// rows, whatever the others lose.
    fn nearest(&mut self, stop: &StopSignal<'_>) -> Option<()> {
        let price = |is_rich: &bool| if *is_rich { 0.0 } else { 1.0 };
        let equal: Vec<f64> = self.block.is_rich.iter().map(price).collect();
        let most = self.balls.iter().map(|ball| ball.most);
        let part = match stop.is_timed() {
            true => self.block.len().div_ceil(NEAREST_PARTS).max(MIN_PART),
            false => self.block.len().max(1),
        };
        let visit = BoxVisit::new(self.models, &self.block, &self.axes, &equal, most, None, stop);
        let scales = visit.run_in_parts(part);
        let prices: Vec<f64> =
            equal.iter().zip(&scales).map(|(price, scale)| if *price > 0.0 { *scale } else { 0.0 }).collect();
        // Both a ball and the nearest box bound the loss of a single row.
        let nearest: Vec<f64> = prices.iter().zip(&self.balls).map(|(price, ball)| price.max(ball.least)).collect();
        self.best = self.best.max(self.sum(&nearest));
        if !stop.check() {
            return None;
        }
        self.prices = prices;
        Some(())
    }

    fn raise(&mut self, stop: &StopSignal<'_>) -> Option<()> {
        let most = std::iter::repeat(MAX_RAISE);
        let (scales, _) = BoxVisit::new(self.models, &self.block, &self.axes, &self.prices, most, None, stop).run()?;
        self.repair(&scales, 1.0);
        self.best = self.best.max(self.sum(&self.prices));
        Some(())
    }

    fn balance(&mut self, progress: f64, stop: &StopSignal<'_>) -> Option<()> {
        let sharpness = FIRST_SHARPNESS * (LAST_SHARPNESS / FIRST_SHARPNESS).powf(progress);
        let pressure = Some(Pressure { sharpness, unit: self.mean_price() });
        let most = std::iter::repeat(Pressure::MIN_TIGHT);
        let visit = BoxVisit::new(self.models, &self.block, &self.axes, &self.prices, most, pressure, stop);
        let (scales, pressures) = visit.run()?;
        let repaired =
            self.prices.iter().zip(&scales).map(|(price, scale)| if *price > 0.0 { price * scale } else { 0.0 });
        self.best = self.best.max(self.sum(&repaired.collect::<Vec<f64>>()));
        let weighted: Vec<f64> = pressures.iter().zip(&self.prices).map(|(pressure, price)| pressure * price).collect();
        let mean = self.sum(&weighted) / self.sum(&self.prices);
        let rate = PRESSURE_RATE * (1.0 - progress);
        for (price, pressure) in self.prices.iter_mut().zip(pressures).filter(|(price, _)| **price > 0.0) {
            let imbalance = if pressure > 0.0 { mean / pressure } else { MAX_IMBALANCE };
            *price *= imbalance.clamp(1.0 / MAX_IMBALANCE, MAX_IMBALANCE).powf(rate);
        }
        self.repair(&scales, REPAIR_RATE);
        Some(())
    }

    fn repair(&mut self, scales: &[f64], rate: f64) {
        for (price, scale) in self.prices.iter_mut().zip(scales).filter(|(price, _)| **price > 0.0) {
            *price *= if rate == 1.0 { *scale } else { scale.powf(rate) };
        }
    }

    /// Returns the mean price of a row with a price.
    fn mean_price(&self) -> f64 {
        let rows: u64 =
            self.block.rows.iter().zip(&self.prices).filter(|(_, price)| **price > 0.0).map(|(rows, _)| rows).sum();
        self.sum(&self.prices) / rows.max(1) as f64
    }
}

//! Compares a stream with one release of the same rows: loss, time and memory.

use std::time::Instant;

use anyhow::Result;
use arrow::array::UInt32Array;
use arrow::compute::sort_to_indices;
use rustc_hash::FxHashMap;
use throng_core::stream::{Arrivals, DelayLimits, MOST_BOXES, PublishedBoxes};

use crate::classes::{Effort, Former, fingerprint_of_box};
use crate::world::{Resident, World};

/// Maximum number of samples of rows from which a bound is estimated.
const BOUND_SAMPLES: usize = 10;

/// A stream of a census.
#[derive(Clone, Copy, Debug)]
pub struct StreamTrial {
    /// Number of rows.
    pub rows: usize,
    /// Number of rows that may arrive until a row is released.
    pub max_delay: usize,
    /// Least number of rows of a class.
    pub k: u64,
    /// Least number of distinct sensitive values of a class.
    pub p: u64,
    /// Cycles of local search per emission.
    pub cycles: u32,
    /// Maximum number of proposals per cell in a cycle of an emission.
    pub most_proposals: u32,
    /// Whether rows may join classes of earlier emissions, because nobody knows when a row arrived.
    pub joins: bool,
}

/// Outcome of a stream.
#[derive(Clone, Copy, Debug, Default)]
pub struct StreamFigures {
    /// Number of emissions.
    pub emissions: usize,
    /// Number of released rows.
    pub released: usize,
    /// Number of rows that joined a class of an earlier emission.
    pub joined: usize,
    /// Number of suppressed rows.
    pub suppressed: u64,
    /// Maximum number of waiting rows.
    pub held: usize,
    /// Loss of the released rows, over the domains of all rows.
    pub ncp: f64,
    /// Seconds to form the classes.
    pub seconds: f64,
    /// CPU time for the same, in seconds.
    pub cpu_seconds: f64,
    /// Growth of the peak of resident memory while the classes were formed, in MiB.
    pub memory_mib: f64,
}

impl StreamTrial {
    /// Generates the census.
    pub fn world(&self) -> Result<World> {
        World::new(self.rows, 0, 19)
    }

    /// Releases the rows as a stream: in order of arrival, or sorted by a column.
    pub fn stream(&self, world: &World, sorted_by: Option<&str>) -> Result<StreamFigures> {
        let (former, rows) = (Former::new(world, self.k, self.p)?, arrivals(world, sorted_by)?);
        let (mut figures, before, start) = (StreamFigures::default(), peak_mib(), Instant::now());
        let cpu = cpu_seconds();
        let effort = Effort { cycles: self.cycles, most_proposals: self.most_proposals };
        let limits = DelayLimits { rows: Some(self.max_delay as u64), millis: None };
        let (mut waiting, mut arrivals) = (Vec::new(), Arrivals::new(limits));
        let mut boxes = self.joins.then(|| PublishedBoxes::new(MOST_BOXES));
        let mut released: Vec<(Resident, u64)> = Vec::with_capacity(rows.len());
        for (number, row) in rows.iter().enumerate() {
            waiting.push(*row);
            arrivals.push(1, 0);
            let is_last = number + 1 == rows.len();
            if !arrivals.is_due(0) && !is_last {
                continue;
            }
            figures.held = figures.held.max(waiting.len());
            let due = if is_last { waiting.len() } else { arrivals.due(0) };
            let emission = former.emission(world, &waiting, due, boxes.as_ref(), effort)?;
            if let Some(boxes) = &mut boxes {
                let (rows, box_of): (Vec<u32>, Vec<u32>) = emission.joining.iter().copied().unzip();
                boxes.count(&box_of);
                let mut class_of: FxHashMap<u32, u64> = FxHashMap::default();
                for (row, number) in rows.iter().zip(&box_of) {
                    let class = *class_of.entry(*number).or_insert_with(|| fingerprint_of_box(boxes, *number));
                    released.push((waiting[*row as usize], class));
                }
                figures.joined += rows.len();
            }
            let chosen: Vec<Resident> = emission.released.iter().map(|row| waiting[*row as usize]).collect();
            let (classes, _) = former.form_and_publish(world, &chosen, self.k, effort, boxes.as_mut())?;
            if let Some(boxes) = &mut boxes {
                boxes.forget()?;
            }
            for (class, rows) in classes.iter().enumerate() {
                // Where arrivals are known, classes of different emissions are different classes, even with equal labels.
                let of_emission = (figures.emissions as u64 + 1) << 32 | class as u64;
                let class = if self.joins { rows.class } else { of_emission };
                released.extend(rows.rows.iter().map(|row| (chosen[*row as usize], class)));
            }
            figures.emissions += usize::from(!classes.is_empty() || !emission.joining.is_empty());
            figures.suppressed += emission.suppressed;
            waiting = emission.waiting.iter().map(|row| waiting[*row as usize]).collect();
            arrivals.retain(&emission.waiting);
        }
        figures.seconds = start.elapsed().as_secs_f64();
        figures.cpu_seconds = cpu_seconds() - cpu;
        figures.memory_mib = peak_mib() - before;
        figures.released = released.len();
        figures.ncp = former.loss(world, &released, &rows)?.0;
        Ok(figures)
    }

    /// Returns a lower bound of the loss of any stream operator with this delay whose classes leave as a whole, where rows arrive in random
    /// order.
    ///
    /// Each row of a class waits for at most `max_delay` arrivals. So if they leave together, the class of a row is among the rows that
    /// arrive within `max_delay` of it, which are a random sample of `2 max_delay` rows: its expected loss is at least that of
    /// the nearest box in such a sample.
    /// `None` for fewer rows than that.
    pub fn lower_bound(&self, world: &World) -> Result<Option<f64>> {
        let former = Former::new(world, self.k, self.p)?;
        let samples: Vec<_> = world.present().chunks_exact(2 * self.max_delay).take(BOUND_SAMPLES).collect();
        let bounds: Vec<f64> =
            samples.iter().map(|rows| former.nearest_box(world, rows, world.present())).collect::<Result<_>>()?;
        Ok((!bounds.is_empty()).then(|| bounds.iter().sum::<f64>() / bounds.len() as f64))
    }

    /// Releases all rows at once.
    pub fn batch(&self, world: &World) -> Result<StreamFigures> {
        let former = Former::new(world, self.k, self.p)?;
        let (before, cpu, start) = (peak_mib(), cpu_seconds(), Instant::now());
        let (classes, ncp) =
            former.form(world, world.present(), self.k, Effort { cycles: self.cycles, ..Effort::BALANCED })?;
        Ok(StreamFigures {
            emissions: 1,
            released: classes.iter().map(|class| class.rows.len()).sum(),
            joined: 0,
            suppressed: 0,
            held: world.present().len(),
            ncp,
            seconds: start.elapsed().as_secs_f64(),
            cpu_seconds: cpu_seconds() - cpu,
            memory_mib: peak_mib() - before,
        })
    }
}

fn arrivals(world: &World, sorted_by: Option<&str>) -> Result<Vec<Resident>> {
    let rows = world.present();
    let Some(name) = sorted_by else { return Ok(rows.to_vec()) };
    let order: UInt32Array = sort_to_indices(&world.column(name, rows.iter().map(|row| row.person))?, None, None)?;
    Ok(order.values().iter().map(|row| rows[*row as usize]).collect())
}

/// Returns the CPU time of this process, where the system reports it in hundredths of a second.
fn cpu_seconds() -> f64 {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let fields = stat.rsplit_once(')').map_or("", |(_, fields)| fields).split_whitespace();
    fields.skip(11).take(2).filter_map(|ticks| ticks.parse::<f64>().ok()).sum::<f64>() / 100.0
}

/// Returns the peak resident memory of this process, where the system reports it.
fn peak_mib() -> f64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.and_then(|line| line.split_whitespace().next()?.parse::<f64>().ok()).unwrap_or(0.0) / 1024.0
}

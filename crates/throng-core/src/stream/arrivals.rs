//! The waiting rows, by order and time of arrival.

use std::collections::VecDeque;

/// Rows that have waited for all but this fraction of the limit are decided together with those that are due.
pub const SLACK: u64 = 8;

/// Limits on how long a row may wait. A limit that is `None` is never reached.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DelayLimits {
    /// Number of rows that may arrive, counting the row itself, until it is due; at least 1.
    pub rows: Option<u64>,
    /// Number of milliseconds until a row is due.
    pub millis: Option<u64>,
}

/// Arrival of one row.
#[derive(Clone, Copy, Debug)]
struct Arrival {
    /// Number of rows that arrived before it.
    number: u64,
    millis: u64,
}

/// The waiting rows, oldest first.
#[derive(Clone, Debug)]
pub struct Arrivals {
    limits: DelayLimits,
    waiting: VecDeque<Arrival>,
    arrived: u64,
}

impl Arrivals {
    /// Creates an empty buffer.
    pub fn new(limits: DelayLimits) -> Self {
        Self { limits, waiting: VecDeque::new(), arrived: 0 }
    }

    /// Adds rows that arrive at `now`, which never decreases.
    pub fn push(&mut self, rows: usize, now: u64) {
        for _ in 0..rows {
            self.waiting.push_back(Arrival { number: self.arrived, millis: now });
            self.arrived += 1;
        }
    }

    /// Returns the number of rows that have arrived so far.
    pub fn arrived(&self) -> u64 {
        self.arrived
    }

    /// Returns the number of rows that wait.
    pub fn waiting(&self) -> usize {
        self.waiting.len()
    }

    /// Returns how many rows may arrive until a row is due; `None` without a limit of rows.
    pub fn room(&self) -> Option<u64> {
        let limit = self.limits.rows?;
        let oldest = self.waiting.front().map_or(self.arrived, |row| row.number);
        Some(limit.saturating_sub(self.arrived - oldest))
    }

    /// Returns the time at which the oldest row is due; `None` if no row waits, or without a limit of time.
    pub fn deadline(&self) -> Option<u64> {
        Some(self.waiting.front()?.millis.saturating_add(self.limits.millis?))
    }

    /// Whether a row is due.
    pub fn is_due(&self, now: u64) -> bool {
        let is_late = self.deadline().is_some_and(|deadline| deadline <= now);
        !self.waiting.is_empty() && (self.room() == Some(0) || is_late)
    }

    /// Returns how many rows, oldest first, must be decided by an emission at `now`: those that are due, or nearly so.
    pub fn due(&self, now: u64) -> usize {
        let near = |limit: u64| limit - limit / SLACK;
        let is_due = |row: &Arrival| {
            self.limits.rows.is_some_and(|limit| self.arrived - row.number >= near(limit))
                || self.limits.millis.is_some_and(|limit| now.saturating_sub(row.millis) >= near(limit))
        };
        // Older rows have waited longer by both measures.
        self.waiting.partition_point(is_due)
    }

    /// Removes all rows but these, which are indices in ascending order.
    pub fn retain(&mut self, rows: &[u32]) {
        self.waiting = rows.iter().filter_map(|row| self.waiting.get(*row as usize).copied()).collect();
    }
}

//! Recognizes a night on which the same people come under other units.
//!
//! If ids are written in another way than before (with leading zeros, in other letters, by another key), everyone seems to have left and
//! everyone to have come. All would be put into new classes, and a comparison of the two releases would single people out. What
//! gives it away is that the newcomers have the rows of those who left.
//!
//! Rows of different people are equal too, the more so the fewer values are released. If `n` newcomers and as many leavers were drawn
//! from the same population, a row that `c` of the newcomers have would lack a partner about `sqrt(c / π)` times: half of the mean distance
//! of two Poisson variables. A night is refused if more than half of the rows have left, and the newcomers are closer to being the same
//! rows than to such a draw.

use std::f64::consts::PI;

use rustc_hash::{FxHashMap, FxHashSet};
use throng_core::series::{ABSENT, RowKey, SeriesState};

use crate::error::{JobError, Kind};

/// Compares newcomers with the rows that have left since the last release.
pub(super) struct Turnover<'a> {
    /// Units of the newcomers.
    units: &'a FxHashSet<u128>,
    /// How often the newcomers have a row, not counting those that were found among the leavers.
    contents: FxHashMap<u128, u64>,
    newcomers: u64,
    /// Number of newcomers without a partner among as many other people.
    unmatched_by_chance: f64,
    live: u64,
    left: u64,
    matched: u64,
}

impl<'a> Turnover<'a> {
    /// Begins with the keys and units of the newcomers.
    pub(super) fn new(newcomers: &[RowKey], units: &'a FxHashSet<u128>) -> Self {
        let mut contents: FxHashMap<u128, u64> = FxHashMap::default();
        for key in newcomers {
            *contents.entry(key.content).or_default() += 1;
        }
        let unmatched_by_chance = contents.values().map(|count| (*count as f64 / PI).sqrt()).sum();
        Self { units, contents, newcomers: newcomers.len() as u64, unmatched_by_chance, live: 0, left: 0, matched: 0 }
    }

    /// Adds a part of the memory, given which of its rows the input has.
    pub(super) fn add(&mut self, state: &SeriesState, is_present: &[bool]) {
        for (row, is_present) in state.rows.iter().zip(is_present) {
            if row.left_at > 0 || state.last_class(row.block) == ABSENT {
                continue;
            }
            self.live += 1;
            // A row of a unit that is still there has changed.
            if *is_present || self.units.contains(&row.key.unit) {
                continue;
            }
            self.left += 1;
            if let Some(count) = self.contents.get_mut(&row.key.content).filter(|count| **count > 0) {
                *count -= 1;
                self.matched += 1;
            }
        }
    }

    /// Returns an error if the newcomers are those who seem to have left. `unit` has the columns of the unit.
    pub(super) fn check(self, unit: &[String]) -> Result<(), JobError> {
        let (newcomers, matched) = (self.newcomers as f64, self.matched as f64);
        let by_chance = (newcomers - self.unmatched_by_chance).max(0.0);
        let is_half_gone = 2 * self.left > self.live;
        if self.matched == 0 || !is_half_gone || matched < (newcomers + by_chance) / 2.0 {
            return Ok(());
        }
        let columns: Vec<String> = unit.iter().map(|column| format!("`{column}`")).collect();
        let text = format!(
            "{} of the {} rows of the last input seem to have left, and {} of the {} new rows are equal to them in everything but the \
             `unit`; check whether {} has the values of before, written in the same way; if these are other people, begin a new series \
             with `throng run --rebase`, whose releases are not checked against the earlier ones",
            self.left,
            self.live,
            self.matched,
            self.newcomers,
            columns.join(", ")
        );
        Err(JobError::new(Kind::BadPolicy, text))
    }
}

#[cfg(test)]
mod tests {
    use throng_core::series::RememberedRow;

    use super::*;

    /// A small generator (xorshift) of a number below `end`.
    fn draw(state: &mut u64, end: u64) -> u64 {
        *state ^= *state << 13;
        *state ^= *state >> 7;
        *state ^= *state << 17;
        *state % end
    }

    /// Rows of `people` people, each of one of `kinds`.
    fn rows(first: u128, people: u128, kinds: u64, dice: &mut u64) -> Vec<RowKey> {
        (first..first + people).map(|unit| RowKey { unit, content: u128::from(draw(dice, kinds)) }).collect()
    }

    fn check(before: &[RowKey], stayed: usize, newcomers: &[RowKey]) -> Result<(), JobError> {
        let rows = before.iter().map(|key| RememberedRow { key: *key, block: 0, left_at: 0 }).collect();
        let state = SeriesState { releases: 1, remembered: 1, rows, trails: vec![vec![1]], ..SeriesState::default() };
        let is_present: Vec<bool> = (0..before.len()).map(|row| row < stayed).collect();
        let units = newcomers.iter().map(|key| key.unit).collect();
        let mut turnover = Turnover::new(newcomers, &units);
        turnover.add(&state, &is_present);
        turnover.check(&["id".to_owned()])
    }

    #[test]
    fn the_same_people_under_other_units_are_recognized_and_other_people_are_not() {
        let mut dice = 19;
        for kinds in [20, 300, 1_000, 1_000_000] {
            let before = rows(0, 2_000, kinds, &mut dice);
            let renamed: Vec<RowKey> = before.iter().map(|key| RowKey { unit: key.unit + 10_000, ..*key }).collect();
            let error = check(&before, 0, &renamed).unwrap_err();
            assert!(error.kind() == Kind::BadPolicy && error.to_string().contains("`id`"), "{error}");
            // Some of them have really left, and others have come.
            let mut most = renamed[60..].to_vec();
            most.extend(rows(20_000, 60, kinds, &mut dice));
            assert!(check(&before, 0, &most).is_err(), "{kinds}");
            // A smaller part of the units is written in another way than before.
            assert!(check(&before, 1_200, &renamed[1_200..]).is_ok(), "{kinds}");
            let others = rows(20_000, 2_000, kinds, &mut dice);
            assert!(check(&before, 0, &others).is_ok(), "other people, {kinds}");
            assert!(check(&before, 0, &[]).is_ok(), "no newcomers");
            // Everyone has changed, and is still there.
            let changed: Vec<RowKey> = before.iter().map(|key| RowKey { content: key.content + 1, ..*key }).collect();
            assert!(check(&before, 0, &changed).is_ok(), "{kinds}");
        }
    }
}

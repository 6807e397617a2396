//! One night of a series: from the memory and tonight's rows to tonight's classes and the next memory.
//!
//! ```text
//!  SeriesState ─┐                    ┌─ carried: blocks shown again as they were, also rows that have left
//!               ├─► OpenNight ───────┤
//!  tonight ─────┘       │            └─ dropped: rows that have left and may be seen to leave
//!                       ▼ pool: rows that no remembered release showed
//!                 the caller forms classes of the pool
//!                       │
//!                       ▼
//!                 OpenNight::close ─► ClosedNight: classes of tonight, who waits, next SeriesState
//! ```

use rayon::prelude::*;
use rustc_hash::FxHashSet;

use super::crowd::Crowd;
use super::state::{ABSENT, RememberedRow, RowKey, SeriesState, TrailNumbers, WaitingRow};

/// What happens to rows that have left and can't be dropped.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Leavers {
    /// They are shown on, with their whole block.
    #[default]
    ShowOn,
    /// They are dropped with their whole block, whose other rows wait until the block is forgotten.
    DropBlock,
}

/// Rules of a series.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SeriesRules {
    /// Requirements on every block.
    pub crowd: Crowd,
    /// Number of earlier releases that tonight's must be safe with.
    pub remember: usize,
    /// Number of releases that a row may wait for a better class.
    pub max_delay: u64,
    /// Number of rows that may wait for a better class, whose units are not shown.
    pub max_waiting: usize,
    /// What happens to rows that have left.
    pub leavers: Leavers,
}

/// A class that the caller forms of rows of the pool.
#[derive(Clone, Debug, PartialEq)]
pub struct PoolClass {
    /// Tonight's rows.
    pub rows: Vec<u32>,
    /// Fingerprint of the released values of the class, never [`ABSENT`].
    pub class: u64,
    /// Loss of one row.
    pub loss: f64,
}

/// A row that tonight's release shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ShownRow {
    /// A row of an earlier release, as an index into [`SeriesState::rows`].
    Again(u32),
    /// A row of tonight.
    New(u32),
}

/// Counts of one night.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct NightCounts {
    /// Rows of the release.
    pub shown: u64,
    /// Of these, rows that the input no longer has.
    pub shown_on: u64,
    /// Rows that are shown for the first time.
    pub come: u64,
    /// Rows of the last release that are no longer shown.
    pub gone: u64,
    /// Rows of the input that wait, and whose units are not shown.
    pub held: u64,
    /// Rows of the input that wait while an earlier row of their unit is shown.
    pub outdated: u64,
    /// Rows of the input that wait because the releases that showed them are remembered, or for longer than allowed.
    pub suppressed: u64,
}

/// The rows of one night, before the pool has classes.
#[derive(Debug)]
pub struct OpenNight<'a> {
    state: &'a SeriesState,
    rules: &'a SeriesRules,
    keys: &'a [RowKey],
    codes: &'a [u64],
    /// Per remembered row: the first release whose input lacked it.
    left_at: Vec<u64>,
    /// Per remembered row: whether tonight's release shows it.
    is_shown: Vec<bool>,
    pool: Vec<u32>,
    /// Tonight's rows that were shown and dropped, and are not yet forgotten.
    barred: Vec<u32>,
}

/// The end of a night.
#[derive(Clone, Debug)]
pub struct ClosedNight {
    /// Rows of the release and their classes.
    pub shown: Vec<(ShownRow, u64)>,
    /// Memory for the next night.
    pub state: SeriesState,
    /// Counts.
    pub counts: NightCounts,
}

impl<'a> OpenNight<'a> {
    /// Matches tonight's rows, whose keys must be distinct, with the memory. `codes` are those of each row, one after
    /// the other.
    pub fn new(state: &'a SeriesState, rules: &'a SeriesRules, keys: &'a [RowKey], codes: &'a [u64]) -> Self {
        let present = matched(state, keys);
        let number = state.releases + 1;
        let left_at: Vec<u64> = present
            .iter()
            .zip(&state.rows)
            .map(|(tonight, row)| match tonight {
                Some(_) => 0,
                None if row.left_at > 0 => row.left_at,
                None => number,
            })
            .collect();
        let mut barred = Vec::new();
        let mut is_shown: Vec<bool> = state.rows.iter().map(|row| state.last_class(row.block) != ABSENT).collect();
        for rows in state.blocks() {
            let Some(first) = rows.first() else { continue };
            if !is_shown[*first as usize] {
                barred.extend(rows.iter().filter_map(|row| present[*row as usize]));
                continue;
            }
            let (left, stayed): (Vec<u32>, Vec<u32>) = rows.iter().partition(|row| left_at[**row as usize] > 0);
            if left.is_empty() {
                continue;
            }
            let width = rules.crowd.width();
            let satisfies = |rows: &[u32]| {
                let row = |row: &u32| (state.rows[*row as usize].key.unit, state.codes(*row as usize, width));
                rules.crowd.is_satisfied(rows.iter().map(row))
            };
            let can_drop = satisfies(&left) && (stayed.is_empty() || satisfies(&stayed));
            if can_drop {
                left.iter().for_each(|row| is_shown[*row as usize] = false);
            } else if rules.leavers == Leavers::DropBlock {
                rows.iter().for_each(|row| is_shown[*row as usize] = false);
                barred.extend(stayed.iter().filter_map(|row| present[*row as usize]));
            }
        }
        let mut is_known = vec![false; keys.len()];
        present.iter().flatten().for_each(|row| is_known[*row as usize] = true);
        let pool = is_known.iter().zip(0..).filter(|(is_known, _)| !**is_known).map(|(_, row)| row).collect();
        barred.sort_unstable();
        Self { state, rules, keys, codes, left_at, is_shown, pool, barred }
    }

    /// Returns tonight's rows that no remembered release showed.
    pub fn pool(&self) -> &[u32] {
        &self.pool
    }

    /// Returns the remembered rows that tonight's release shows again.
    pub fn carried(&self) -> impl Iterator<Item = u32> {
        self.is_shown.iter().zip(0..).filter(|(is_shown, _)| **is_shown).map(|(_, row)| row)
    }

    /// Ends the night: shows the best classes of the pool, and returns the next memory. Classes that don't satisfy the
    /// requirements on their own are not shown. In the first release no row waits for a better class.
    pub fn close(self, classes: &[PoolClass]) -> ClosedNight {
        let number = self.state.releases + 1;
        let chosen = self.choose(classes, number);
        let width = self.rules.crowd.width();

        let length = self.state.trails.first().map_or(0, Vec::len).max(self.remembered());
        let keep = |mut trail: Vec<u64>, class: u64| {
            trail.push(class);
            let surplus = trail.len().saturating_sub(self.rules.remember.max(1));
            trail.drain(..surplus);
            trail
        };
        let mut numbers = TrailNumbers::default();
        // A block goes on in at most two: the rows that are shown, and those that are not.
        let mut next_blocks: Vec<[Option<Option<u32>>; 2]> = vec![[None; 2]; self.state.trails.len()];
        let mut rows: Vec<RememberedRow> = Vec::with_capacity(self.state.rows.len());
        let mut sources: Vec<ShownRow> = Vec::with_capacity(self.state.rows.len());
        let mut shown = Vec::new();
        let mut counts = NightCounts::default();
        for (index, row) in self.state.rows.iter().enumerate() {
            let last = self.state.last_class(row.block);
            let class = if self.is_shown[index] { last } else { ABSENT };
            if class != ABSENT {
                shown.push((ShownRow::Again(index as u32), class));
                counts.shown_on += u64::from(self.left_at[index] > 0);
            }
            counts.gone += u64::from(class == ABSENT && last != ABSENT);
            let next = &mut next_blocks[row.block as usize][usize::from(class != ABSENT)];
            let block =
                *next.get_or_insert_with(|| numbers.block(keep(self.state.trails[row.block as usize].clone(), class)));
            if let Some(block) = block {
                rows.push(RememberedRow { key: row.key, block, left_at: self.left_at[index] });
                sources.push(ShownRow::Again(index as u32));
            }
        }
        let mut is_new = vec![false; self.keys.len()];
        let mut come: Vec<(RowKey, u32, u32)> = Vec::new();
        for class in chosen {
            let block = numbers.block(keep(vec![ABSENT; length], class.class));
            for row in &class.rows {
                is_new[*row as usize] = true;
                shown.push((ShownRow::New(*row), class.class));
                counts.come += 1;
                come.extend(block.map(|block| (self.keys[*row as usize], block, *row)));
            }
        }
        counts.shown = shown.len() as u64;
        come.sort_unstable_by_key(|(key, _, _)| *key);
        let (rows, sources) = merged(rows, sources, &come);

        let waiting = self.wait(&is_new, number, &mut counts);
        let mut codes = Vec::with_capacity(rows.len() * width);
        for source in sources {
            codes.extend_from_slice(match source {
                ShownRow::Again(row) => self.state.codes(row as usize, width),
                ShownRow::New(row) => &self.codes[row as usize * width..(row as usize + 1) * width],
            });
        }
        let state = SeriesState { releases: number, rows, codes, trails: numbers.into_trails(), waiting };
        ClosedNight { shown, state, counts }
    }

    /// Returns the number of releases that the memory holds.
    fn remembered(&self) -> usize {
        usize::try_from(self.state.releases).unwrap_or(usize::MAX).min(self.rules.remember)
    }

    /// Returns the release since which a row waits.
    fn since(&self, key: &RowKey, number: u64) -> u64 {
        let found = self.state.waiting.binary_search_by_key(key, |row| row.key);
        found.map_or(number, |at| self.state.waiting[at].since)
    }

    /// Chooses the classes of the pool to show: all with a row that has waited long enough, and the ones that lose least
    /// until few enough rows wait.
    fn choose<'c>(&self, classes: &'c [PoolClass], number: u64) -> Vec<&'c PoolClass> {
        let width = self.rules.crowd.width();
        let row = |row: &u32| (self.keys[*row as usize].unit, &self.codes[*row as usize * width..][..width]);
        let mut usable: Vec<&PoolClass> =
            classes.iter().filter(|class| self.rules.crowd.is_satisfied(class.rows.iter().map(row))).collect();
        usable.sort_by(|a, b| a.loss.total_cmp(&b.loss).then_with(|| a.rows.cmp(&b.rows)));
        let shown_units = self.carried_units(self.pool.iter().copied());
        let is_missing = |row: &u32| !shown_units.contains(&self.keys[*row as usize].unit);
        let mut waiting = self.pool.iter().filter(|row| is_missing(row)).count();
        let is_first = self.state.releases == 0;
        let is_due = |row: &u32| number - self.since(&self.keys[*row as usize], number) >= self.rules.max_delay;
        let mut chosen = Vec::new();
        for class in usable {
            let missing = class.rows.iter().filter(|row| is_missing(row)).count();
            if is_first || waiting > self.rules.max_waiting || class.rows.iter().any(is_due) {
                waiting -= missing;
                chosen.push(class);
            }
        }
        chosen
    }

    /// Returns those units of these rows of tonight that are shown again. A set of all units that are shown would be as large as
    /// the memory.
    fn carried_units(&self, rows: impl Iterator<Item = u32>) -> FxHashSet<u128> {
        if self.state.rows.is_empty() {
            return FxHashSet::default();
        }
        let units: FxHashSet<u128> = rows.map(|row| self.keys[row as usize].unit).collect();
        let carried = self.carried().map(|row| self.state.rows[row as usize].key.unit);
        carried.filter(|unit| units.contains(unit)).collect()
    }

    /// Returns the rows that wait, and counts them.
    fn wait(&self, is_new: &[bool], number: u64, counts: &mut NightCounts) -> Vec<WaitingRow> {
        let rows = || self.pool.iter().copied().filter(|row| !is_new[*row as usize]);
        let mut shown = self.carried_units(rows());
        let units: FxHashSet<u128> = rows().map(|row| self.keys[row as usize].unit).collect();
        let new = is_new.iter().zip(self.keys).filter(|(is_new, _)| **is_new).map(|(_, key)| key.unit);
        shown.extend(new.filter(|unit| units.contains(unit)));
        let mut waiting = Vec::new();
        for row in rows() {
            let key = self.keys[row as usize];
            let since = self.since(&key, number);
            waiting.push(WaitingRow { key, since });
            let count = match (number - since >= self.rules.max_delay.max(1), shown.contains(&key.unit)) {
                (true, _) => &mut counts.suppressed,
                (false, true) => &mut counts.outdated,
                (false, false) => &mut counts.held,
            };
            *count += 1;
        }
        counts.suppressed += self.barred.len() as u64;
        waiting.sort_unstable_by_key(|row| row.key);
        waiting
    }
}

/// Returns tonight's row of each remembered one, if the input still has it.
fn matched(state: &SeriesState, keys: &[RowKey]) -> Vec<Option<u32>> {
    let mut order: Vec<u32> = (0..keys.len() as u32).collect();
    order.par_sort_unstable_by_key(|row| keys[*row as usize]);
    let mut tonight = order.into_iter().peekable();
    let matching = |row: &RememberedRow| {
        while tonight.next_if(|at| keys[*at as usize] < row.key).is_some() {}
        tonight.next_if(|at| keys[*at as usize] == row.key)
    };
    state.rows.iter().map(matching).collect()
}

/// Merges remembered rows, in ascending order of their keys, with newcomers in the same order. Returns the rows, and where the codes
/// of each are.
fn merged(
    rows: Vec<RememberedRow>,
    sources: Vec<ShownRow>,
    come: &[(RowKey, u32, u32)],
) -> (Vec<RememberedRow>, Vec<ShownRow>) {
    if come.is_empty() {
        return (rows, sources);
    }
    let length = rows.len() + come.len();
    let (mut all, mut all_sources) = (Vec::with_capacity(length), Vec::with_capacity(length));
    let mut come = come.iter().peekable();
    let mut push = |row: RememberedRow, source: ShownRow| {
        all.push(row);
        all_sources.push(source);
    };
    let newcomer =
        |&(key, block, row): &(RowKey, u32, u32)| (RememberedRow { key, block, left_at: 0 }, ShownRow::New(row));
    for (row, source) in rows.into_iter().zip(sources) {
        while let Some((row, source)) = come.next_if(|(key, _, _)| *key < row.key).map(newcomer) {
            push(row, source);
        }
        push(row, source);
    }
    come.map(newcomer).for_each(|(row, source)| push(row, source));
    (all, all_sources)
}

//! One night of a series: from the memory and tonight's rows to tonight's classes and the next memory.
//!
//! ```text
//!  SeriesState ─┐                    ┌─ carried: blocks shown again as they were, also rows that have left
//!               ├─► CarriedRows ─────┤
//!  who is here ─┘                    └─ dropped: rows that have left and may be seen to leave
//!                 Pool: rows that no remembered release showed ─► the caller forms classes ─► Pool::choose
//!                       │
//!                       ▼
//!                 next_state ─► rows of the release with their classes, and the next SeriesState
//! ```
//!
//! The decision about a block depends on its own rows alone, and two blocks whose trails become equal were last shown in
//! one class. So a memory may be divided by [`SeriesState::class_of`], and each part processed on its own: the parts of
//! the next memory are the same as without the division. [`OpenNight`] processes an undivided memory.

use rayon::prelude::*;
use rustc_hash::FxHashSet;

use super::crowd::Crowd;
use super::state::{ABSENT, RememberedRow, RowKey, SeriesState, TrailNumbers, WaitingRow};

/// What happens to rows that have left and can't be dropped.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Leavers {
    /// They continue to be shown, with their whole block.
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

impl SeriesRules {
    /// Returns the number of remembered releases after a night that remembered this many before it.
    pub fn remembered_after(&self, remembered: usize) -> usize {
        remembered.saturating_add(1).min(self.remember.max(1))
    }
}

/// A class that the caller forms from rows of the pool.
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
    /// Number of these rows that the input no longer has.
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

impl NightCounts {
    /// Adds the counts of another part of the night.
    pub fn add(&mut self, other: &Self) {
        self.shown += other.shown;
        self.shown_on += other.shown_on;
        self.come += other.come;
        self.gone += other.gone;
        self.held += other.held;
        self.outdated += other.outdated;
        self.suppressed += other.suppressed;
    }
}

/// Decision about the remembered rows.
#[derive(Clone, Debug)]
pub struct CarriedRows {
    /// Per remembered row: the first release whose input lacked it.
    left_at: Vec<u64>,
    /// Per remembered row: whether tonight's release shows it.
    is_shown: Vec<bool>,
    /// Tonight's rows that were shown and dropped, and are not yet forgotten.
    barred: u64,
}

impl CarriedRows {
    /// Decides which remembered rows are shown again, given which of them tonight's input has.
    pub fn decide(state: &SeriesState, rules: &SeriesRules, is_present: &[bool]) -> Self {
        let number = state.releases + 1;
        let left_at: Vec<u64> = is_present
            .iter()
            .zip(&state.rows)
            .map(|(is_present, row)| match is_present {
                true => 0,
                false if row.left_at > 0 => row.left_at,
                false => number,
            })
            .collect();
        let present = |rows: &[u32]| rows.iter().filter(|row| is_present[**row as usize]).count() as u64;
        let mut barred = 0;
        let mut is_shown: Vec<bool> = state.rows.iter().map(|row| state.last_class(row.block) != ABSENT).collect();
        for rows in state.blocks() {
            let Some(first) = rows.first() else { continue };
            if !is_shown[*first as usize] {
                barred += present(&rows);
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
            // The rows that stay must be labelled as the block was, which is certain only if all of its rows are equal.
            let quasi = |row: &u32| state.rows[*row as usize].key.quasi();
            let keeps_label = stayed.is_empty() || rows.iter().all(|row| quasi(row) == quasi(first));
            let can_drop = keeps_label && satisfies(&left) && (stayed.is_empty() || satisfies(&stayed));
            if can_drop {
                left.iter().for_each(|row| is_shown[*row as usize] = false);
            } else if rules.leavers == Leavers::DropBlock {
                rows.iter().for_each(|row| is_shown[*row as usize] = false);
                barred += present(&stayed);
            }
        }
        Self { left_at, is_shown, barred }
    }

    /// Returns which of `units` are shown again. Returning all shown units would take as much space as the memory.
    pub fn shown_units<'a>(
        &'a self,
        state: &'a SeriesState,
        units: &'a FxHashSet<u128>,
    ) -> impl Iterator<Item = u128> + 'a {
        let shown = self.is_shown.iter().zip(&state.rows).filter(|(is_shown, _)| **is_shown);
        shown.map(|(_, row)| row.key.unit).filter(|unit| units.contains(unit))
    }
}

/// Tonight's rows that no remembered release showed.
#[derive(Debug)]
pub struct Pool<'a> {
    /// Rules of the series.
    pub rules: &'a SeriesRules,
    /// Number of earlier releases.
    pub releases: u64,
    /// Rows that waited in the last release, in ascending order of their keys.
    pub waiting: &'a [WaitingRow],
    /// Keys of all rows of tonight.
    pub keys: &'a [RowKey],
    /// Codes of each of them, one after the other.
    pub codes: &'a [u64],
    /// The rows of the pool.
    pub rows: &'a [u32],
    /// Units of the pool that are shown again.
    pub shown_units: &'a FxHashSet<u128>,
}

impl Pool<'_> {
    /// Returns the units of rows of tonight.
    pub fn units_of(keys: &[RowKey], rows: impl IntoIterator<Item = u32>) -> FxHashSet<u128> {
        rows.into_iter().map(|row| keys[row as usize].unit).collect()
    }

    /// Returns the release since which a row waits.
    fn since(&self, key: &RowKey) -> u64 {
        let found = self.waiting.binary_search_by_key(key, |row| row.key);
        found.map_or(self.releases + 1, |at| self.waiting[at].since)
    }

    /// Chooses the classes of the pool to show: all classes with a row that has waited long enough, and then those that
    /// lose least, until few enough rows wait. Classes that don't satisfy the requirements on their own are not shown.
    /// In the first release no row waits for a better class.
    pub fn choose<'c>(&self, classes: &'c [PoolClass]) -> Vec<&'c PoolClass> {
        let (width, number) = (self.rules.crowd.width(), self.releases + 1);
        let row = |row: &u32| (self.keys[*row as usize].unit, &self.codes[*row as usize * width..][..width]);
        let mut usable: Vec<&PoolClass> =
            classes.iter().filter(|class| self.rules.crowd.is_satisfied(class.rows.iter().map(row))).collect();
        usable.sort_by(|a, b| a.loss.total_cmp(&b.loss).then_with(|| a.rows.cmp(&b.rows)));
        let is_missing = |row: &u32| !self.shown_units.contains(&self.keys[*row as usize].unit);
        let mut waiting = self.rows.iter().filter(|row| is_missing(row)).count();
        let is_first = self.releases == 0;
        let is_due = |row: &u32| number - self.since(&self.keys[*row as usize]) >= self.rules.max_delay;
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

    /// Returns the rows that wait, in ascending order of their keys, and counts them. `is_new` marks tonight's rows
    /// that are shown for the first time.
    pub fn wait(&self, is_new: &[bool], counts: &mut NightCounts) -> Vec<WaitingRow> {
        let number = self.releases + 1;
        let rows = || self.rows.iter().copied().filter(|row| !is_new[*row as usize]);
        let units = Self::units_of(self.keys, rows());
        let new = is_new.iter().zip(self.keys).filter(|(is_new, _)| **is_new).map(|(_, key)| key.unit);
        let new: FxHashSet<u128> = new.filter(|unit| units.contains(unit)).collect();
        let mut waiting = Vec::new();
        for row in rows() {
            let key = self.keys[row as usize];
            let since = self.since(&key);
            waiting.push(WaitingRow { key, since });
            let is_unit_shown = self.shown_units.contains(&key.unit) || new.contains(&key.unit);
            let count = match (number - since >= self.rules.max_delay.max(1), is_unit_shown) {
                (true, _) => &mut counts.suppressed,
                (false, true) => &mut counts.outdated,
                (false, false) => &mut counts.held,
            };
            *count += 1;
        }
        waiting.sort_unstable_by_key(|row| row.key);
        waiting
    }
}

/// Rows that are shown for the first time.
#[derive(Clone, Copy, Debug)]
pub struct Newcomers<'a> {
    /// Key and class of each, in ascending order of their keys.
    pub rows: &'a [(RowKey, u64)],
    /// Codes of each, one after the other.
    pub codes: &'a [u64],
}

/// The result of a night, for a memory or a part of it.
#[derive(Clone, Debug)]
pub struct ClosedNight {
    /// Rows of the release and their classes; a new one as an index into the newcomers. Remembered rows come first.
    pub shown: Vec<(ShownRow, u64)>,
    /// Memory for the next night. For a part it has no waiting rows.
    pub state: SeriesState,
    /// Counts.
    pub counts: NightCounts,
}

/// Returns the rows of the release, and the next memory.
pub fn next_state(
    state: &SeriesState,
    rules: &SeriesRules,
    carried: &CarriedRows,
    newcomers: Newcomers<'_>,
) -> ClosedNight {
    let number = state.releases + 1;
    let width = rules.crowd.width();
    let remembered = rules.remembered_after(state.remembered);
    let surplus = state.remembered + 1 - remembered;
    let keep = |mut trail: Vec<u64>, class: u64| {
        trail.push(class);
        trail.drain(..surplus);
        trail
    };
    let mut numbers = TrailNumbers::default();
    // A block splits into at most two: the rows that are shown, and those that are not.
    let mut next_blocks: Vec<[Option<Option<u32>>; 2]> = vec![[None; 2]; state.trails.len()];
    let mut rows: Vec<RememberedRow> = Vec::with_capacity(state.rows.len());
    let mut sources: Vec<ShownRow> = Vec::with_capacity(state.rows.len());
    let mut shown = Vec::new();
    let mut counts = NightCounts { suppressed: carried.barred, ..NightCounts::default() };
    for (index, row) in state.rows.iter().enumerate() {
        let last = state.last_class(row.block);
        let class = if carried.is_shown[index] { last } else { ABSENT };
        if class != ABSENT {
            shown.push((ShownRow::Again(index as u32), class));
            counts.shown_on += u64::from(carried.left_at[index] > 0);
        }
        counts.gone += u64::from(class == ABSENT && last != ABSENT);
        let next = &mut next_blocks[row.block as usize][usize::from(class != ABSENT)];
        let block = *next.get_or_insert_with(|| numbers.block(keep(state.trails[row.block as usize].clone(), class)));
        if let Some(block) = block {
            rows.push(RememberedRow { key: row.key, block, left_at: carried.left_at[index] });
            sources.push(ShownRow::Again(index as u32));
        }
    }
    let mut come: Vec<(RowKey, u32, u32)> = Vec::with_capacity(newcomers.rows.len());
    for (row, (key, class)) in (0..).zip(newcomers.rows) {
        let block = numbers.block(keep(vec![ABSENT; state.remembered], *class));
        shown.push((ShownRow::New(row), *class));
        counts.come += 1;
        come.extend(block.map(|block| (*key, block, row)));
    }
    counts.shown = shown.len() as u64;
    let (rows, sources) = merged(rows, sources, &come);
    let mut codes = Vec::with_capacity(rows.len() * width);
    for source in sources {
        codes.extend_from_slice(match source {
            ShownRow::Again(row) => state.codes(row as usize, width),
            ShownRow::New(row) => &newcomers.codes[row as usize * width..(row as usize + 1) * width],
        });
    }
    let trails = numbers.into_trails();
    let state = SeriesState { releases: number, remembered, rows, codes, trails, waiting: Vec::new() };
    ClosedNight { shown, state, counts }
}

/// The rows of one night and an undivided memory, before the pool has classes.
#[derive(Debug)]
pub struct OpenNight<'a> {
    state: &'a SeriesState,
    rules: &'a SeriesRules,
    keys: &'a [RowKey],
    codes: &'a [u64],
    carried: CarriedRows,
    pool: Vec<u32>,
}

impl<'a> OpenNight<'a> {
    /// Matches tonight's rows, whose keys must be distinct, with the memory. `codes` are those of each row, one after
    /// the other.
    pub fn new(state: &'a SeriesState, rules: &'a SeriesRules, keys: &'a [RowKey], codes: &'a [u64]) -> Self {
        let present = matched(state, keys);
        let is_present: Vec<bool> = present.iter().map(Option::is_some).collect();
        let carried = CarriedRows::decide(state, rules, &is_present);
        let mut is_known = vec![false; keys.len()];
        present.iter().flatten().for_each(|row| is_known[*row as usize] = true);
        let pool = is_known.iter().zip(0..).filter(|(is_known, _)| !**is_known).map(|(_, row)| row).collect();
        Self { state, rules, keys, codes, carried, pool }
    }

    /// Returns tonight's rows that no remembered release showed.
    pub fn pool(&self) -> &[u32] {
        &self.pool
    }

    /// Ends the night: shows the best classes of the pool, and returns the next memory.
    pub fn close(self, classes: &[PoolClass]) -> ClosedNight {
        let Self { state, rules, keys, codes, carried, pool } = self;
        let units = Pool::units_of(keys, pool.iter().copied());
        let shown_units = carried.shown_units(state, &units).collect();
        let (releases, waiting) = (state.releases, state.waiting.as_slice());
        let pool = Pool { rules, releases, waiting, keys, codes, rows: &pool, shown_units: &shown_units };
        let mut is_new = vec![false; keys.len()];
        let mut come: Vec<(RowKey, u64, u32)> = Vec::new();
        for class in pool.choose(classes) {
            class.rows.iter().for_each(|row| is_new[*row as usize] = true);
            come.extend(class.rows.iter().map(|row| (keys[*row as usize], class.class, *row)));
        }
        come.sort_unstable_by_key(|(key, _, _)| *key);
        let rows: Vec<(RowKey, u64)> = come.iter().map(|(key, class, _)| (*key, *class)).collect();
        let width = rules.crowd.width();
        let of_row = |(_, _, row): &(RowKey, u64, u32)| &codes[*row as usize * width..][..width];
        let new_codes: Vec<u64> = come.iter().flat_map(of_row).copied().collect();
        let mut closed = next_state(state, rules, &carried, Newcomers { rows: &rows, codes: &new_codes });
        // From newcomers to rows of tonight.
        for (shown, _) in &mut closed.shown {
            if let ShownRow::New(row) = shown {
                *row = come[*row as usize].2;
            }
        }
        closed.state.waiting = pool.wait(&is_new, &mut closed.counts);
        closed
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

/// Merges remembered rows, in ascending order of their keys, with newcomers in the same order. Returns the rows, and the location of
/// the codes of each.
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

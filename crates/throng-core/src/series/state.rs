//! The memory of a series: which rows the remembered releases showed, and in which classes.

use rustc_hash::FxHashMap;

/// Sentinel for "not in this release" in a trail.
pub const ABSENT: u64 = 0;

/// Identity of a row across the releases of a series.
///
/// `unit` is a keyed pseudonym of the unit. `content` holds keyed hashes of the row: of its quasi-identifiers, of its
/// sensitive values, and of all that is released of it. A row whose quasi-identifiers or sensitive values change counts as a
/// different row. The last hash distinguishes rows of a unit that are equal in these; the caller must number
/// rows that are equal altogether. Where the 32 bits of two rows of a unit collide, a row that changed may count as unchanged, and is
/// shown with the values that it had.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct RowKey {
    /// Pseudonym of the unit.
    pub unit: u128,
    /// From the highest bit: 32 bits of the quasi-identifiers, 32 of the sensitive values, and 64 of all that is released.
    pub content: u128,
}

impl RowKey {
    /// Combines hashes of a row.
    pub fn new(unit: u128, quasi: u128, sensitive: u128, released: u128) -> Self {
        let values = (quasi >> 96) << 32 | sensitive >> 96;
        Self { unit, content: values << 64 | released >> 64 }
    }

    /// Returns the hash of the quasi-identifiers.
    pub fn quasi(&self) -> u32 {
        (self.content >> 96) as u32
    }

    /// Returns the unit, and the hash of quasi-identifiers and sensitive values. Rows that agree in these look the same to
    /// every model.
    pub fn values(&self) -> (u128, u64) {
        (self.unit, (self.content >> 64) as u64)
    }

    /// Returns the key of the `number`-th of several equal rows of a unit.
    pub fn numbered(&self, number: u64) -> Self {
        // An odd factor keeps the numbers of one row distinct.
        let released = (self.content as u64).wrapping_add(number.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        Self { content: self.content >> 64 << 64 | u128::from(released), ..*self }
    }
}

/// A row that a remembered release showed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RememberedRow {
    /// The row.
    pub key: RowKey,
    /// Its block, as an index into [`SeriesState::trails`].
    pub block: u32,
    /// Number of the first release whose input lacked the row; 0 while the input has it.
    pub left_at: u64,
}

/// A row of the input that no remembered release showed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WaitingRow {
    /// The row.
    pub key: RowKey,
    /// Number of the first release that it was not shown in.
    pub since: u64,
}

/// The memory of a series.
///
/// Rows with equal *trails* (the classes that they were shown in, release by release) form a *block*. Blocks are the
/// finest sets that can be singled out by intersecting and subtracting classes of the remembered releases.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SeriesState {
    /// Number of releases so far.
    pub releases: u64,
    /// Number of remembered releases: the length of every trail. It grows by one release a night, up to
    /// [`remember`](super::SeriesRules::remember), also after that was raised: what was forgotten stays forgotten.
    pub remembered: usize,
    /// Rows of the remembered releases, in ascending order of their keys.
    pub rows: Vec<RememberedRow>,
    /// Codes of the sensitive values of each row, one after the other.
    pub codes: Vec<u64>,
    /// Trail of each block: its class in each remembered release, oldest first, or [`ABSENT`].
    pub trails: Vec<Vec<u64>>,
    /// Rows that wait, in ascending order of their keys.
    pub waiting: Vec<WaitingRow>,
}

impl SeriesState {
    /// Returns the codes of a row.
    pub fn codes(&self, row: usize, width: usize) -> &[u64] {
        &self.codes[row * width..(row + 1) * width]
    }

    /// Returns the class of a block in the last release, or [`ABSENT`].
    pub fn last_class(&self, block: u32) -> u64 {
        self.trails[block as usize].last().copied().unwrap_or(ABSENT)
    }

    /// Returns the class that a block was last shown in. A memory may be divided by it, since it never changes: blocks are
    /// shown in the class that they were in, or not at all.
    pub fn class_of(&self, block: u32) -> u64 {
        let shown = self.trails[block as usize].iter().rev().find(|class| **class != ABSENT);
        shown.copied().unwrap_or(ABSENT)
    }

    /// Returns the rows of each block.
    pub fn blocks(&self) -> Vec<Vec<u32>> {
        let mut blocks = vec![Vec::new(); self.trails.len()];
        for (row, remembered) in (0..).zip(&self.rows) {
            blocks[remembered.block as usize].push(row);
        }
        blocks
    }

    /// Returns the number of rows of the last release.
    pub fn shown(&self) -> usize {
        self.rows.iter().filter(|row| self.last_class(row.block) != ABSENT).count()
    }
}

/// Numbers blocks by their trails.
#[derive(Debug, Default)]
pub(super) struct TrailNumbers {
    numbers: FxHashMap<Vec<u64>, u32>,
    trails: Vec<Vec<u64>>,
}

impl TrailNumbers {
    /// Returns the block of a trail; `None` if nothing in it is remembered.
    pub(super) fn block(&mut self, trail: Vec<u64>) -> Option<u32> {
        if trail.iter().all(|class| *class == ABSENT) {
            return None;
        }
        if let Some(block) = self.numbers.get(&trail) {
            return Some(*block);
        }
        let block = self.trails.len() as u32;
        self.trails.push(trail.clone());
        self.numbers.insert(trail, block);
        Some(block)
    }

    pub(super) fn into_trails(self) -> Vec<Vec<u64>> {
        self.trails
    }
}

//! Checks a release against the memory of its series, using only which row was shown in which class.

use rayon::prelude::*;

use super::crowd::Crowd;
use super::state::{ABSENT, RowKey, SeriesState};

/// Rows in sets that releases single out together, and that don't satisfy the models.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AuditFindings {
    /// Number of blocks, over the remembered releases and this one.
    pub blocks: u64,
    /// Blocks that don't satisfy the models.
    pub broken_blocks: u64,
    /// Rows of these blocks.
    pub broken_rows: u64,
}

impl AuditFindings {
    /// Whether every block satisfies the models.
    pub fn holds(&self) -> bool {
        self.broken_blocks == 0
    }
}

/// A row of a block: its block in the remembered releases, if any, tonight's class, and the location of the row.
type BlockMember = (Option<u32>, u64, RowPlace);

/// A row, as an index into the memory or into the release.
#[derive(Clone, Copy)]
enum RowPlace {
    Remembered(u32),
    Released(u32),
}

/// Recomputes the blocks of the remembered releases and a new one, and checks each. `release` has every row of the new
/// release once, with its codes and its class.
pub fn audit<'a>(
    state: &SeriesState,
    crowd: &Crowd,
    release: impl IntoIterator<Item = (RowKey, &'a [u64], u64)>,
) -> AuditFindings {
    let mut tonight: Vec<(RowKey, &[u64], u64)> = release.into_iter().collect();
    tonight.par_sort_unstable_by_key(|(key, _, _)| *key);
    let mut members: Vec<BlockMember> = Vec::with_capacity(state.rows.len());
    let mut rest = (0..).zip(&tonight).peekable();
    let newcomer = |(at, (_, _, class)): (u32, &(RowKey, &[u64], u64))| (None, *class, RowPlace::Released(at));
    for (index, row) in (0..).zip(&state.rows) {
        while let Some(new) = rest.next_if(|(_, (key, _, _))| *key < row.key) {
            members.push(newcomer(new));
        }
        let class = rest.next_if(|(_, (key, _, _))| *key == row.key).map_or(ABSENT, |(_, (_, _, class))| *class);
        members.push((Some(row.block), class, RowPlace::Remembered(index)));
    }
    members.extend(rest.map(newcomer));
    members.par_sort_unstable_by_key(|(block, class, _)| (*block, *class));
    let row = |(_, _, place): &BlockMember| match *place {
        RowPlace::Remembered(row) => (state.rows[row as usize].key.unit, state.codes(row as usize, crowd.width())),
        RowPlace::Released(row) => {
            let (key, codes, _) = tonight[row as usize];
            (key.unit, codes)
        }
    };
    let mut findings = AuditFindings::default();
    for rows in members.chunk_by(|a, b| (a.0, a.1) == (b.0, b.1)) {
        findings.blocks += 1;
        if !crowd.is_satisfied(rows.iter().map(row)) {
            findings.broken_blocks += 1;
            findings.broken_rows += rows.len() as u64;
        }
    }
    findings
}

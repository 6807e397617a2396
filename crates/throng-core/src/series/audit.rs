//! Checks a release against the memory of its series, from who was shown in which class alone.

use rustc_hash::FxHashMap;

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

/// The unit of a row, and its codes.
type BlockMember<'a> = (u128, &'a [u64]);

/// Recomputes the blocks of the remembered releases and a new one, and checks each. `release` has every row of the new
/// release once, with its codes and its class.
pub fn audit<'a>(
    state: &SeriesState,
    crowd: &Crowd,
    release: impl IntoIterator<Item = (RowKey, &'a [u64], u64)>,
) -> AuditFindings {
    let mut tonight: FxHashMap<RowKey, (&[u64], u64)> =
        release.into_iter().map(|(key, codes, class)| (key, (codes, class))).collect();
    // A block is a trail of the remembered releases, by its number, and a class of tonight.
    let mut blocks: FxHashMap<(Option<u32>, u64), Vec<BlockMember<'_>>> = FxHashMap::default();
    for (index, row) in state.rows.iter().enumerate() {
        let class = tonight.remove(&row.key).map_or(ABSENT, |(_, class)| class);
        let member = (row.key.unit, state.codes(index, crowd.width()));
        blocks.entry((Some(row.block), class)).or_default().push(member);
    }
    for (key, (codes, class)) in tonight {
        blocks.entry((None, class)).or_default().push((key.unit, codes));
    }
    let mut findings = AuditFindings::default();
    for rows in blocks.values() {
        findings.blocks += 1;
        if !crowd.is_satisfied(rows.iter().copied()) {
            findings.broken_blocks += 1;
            findings.broken_rows += rows.len() as u64;
        }
    }
    findings
}

//! Deals the rows of a shared group to its classes.
//!
//! Rows of one group are interchangeable for the promise, and yet which of them goes where must not be foreseeable: who
//! could compute it from the release would know that a row in a generalized class can't have been borrowed, and so whom
//! the class hides. The rows are therefore dealt by a hash whose key depends on all original quasi-identifiers, which no
//! reader of the release has. The same input and seed still give the same release.

use arrow::array::Array;
use arrow::row::{RowConverter, SortField};
use rayon::prelude::*;
use sha2::{Digest, Sha256};

use super::Recoding;
use crate::domain::Kind;
use crate::error::{Result, kernel};
use crate::survey::SUPPRESSED;
use crate::table::Table;

/// The key by which rows are dealt.
#[derive(Clone)]
pub struct DealKey([u8; 32]);

impl std::fmt::Debug for DealKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("DealKey(..)")
    }
}

impl DealKey {
    /// The key of a table: a digest of all its cells and groups, their original values included, and the seed.
    pub fn new(table: &Table, seed: u64) -> Result<Self> {
        let mut dealing = Dealing::new(table, seed)?;
        dealing.add(table);
        Ok(dealing.key())
    }

    /// A key that was made elsewhere.
    pub fn from_bytes(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    /// The key, for somebody who deals other rows of the same table. Whoever has it can tell borrowed rows from others.
    pub fn to_bytes(&self) -> [u8; 32] {
        self.0
    }

    /// The place of a row among those of its group, given the hash of its content.
    pub fn place(&self, content: u128) -> u128 {
        let digest: [u8; 32] = Sha256::new().chain_update(self.0).chain_update(content.to_le_bytes()).finalize().into();
        digest.iter().take(16).fold(0, |place, byte| place << 8 | u128::from(*byte))
    }
}

/// About so many bytes are digested at a time.
const DIGESTED_BYTES: usize = 1 << 14;
/// So many values are digested at a time.
const DIGESTED_VALUES: usize = 1 << 11;

/// Makes a key, part by part of the table.
#[derive(Clone, Debug)]
pub struct Dealing(Sha256);

impl Dealing {
    /// No part yet, of a table or of one like it.
    pub fn new(table: &Table, seed: u64) -> Result<Self> {
        let mut digest = Sha256::new();
        digest.update(seed.to_le_bytes());
        let mut bytes = Vec::with_capacity(2 * DIGESTED_BYTES);
        for quasi in table.quasi() {
            let Kind::Ordered { values, .. } = quasi.domain.kind() else { continue };
            let converter =
                RowConverter::new(vec![SortField::new(values.data_type().clone())]).map_err(kernel("rows"))?;
            for first in (0..values.len()).step_by(DIGESTED_VALUES) {
                let some = values.slice(first, DIGESTED_VALUES.min(values.len() - first));
                let rows = converter.convert_columns(&[some]).map_err(kernel("rows"))?;
                rows.iter().for_each(|value| bytes.extend_from_slice(value.data()));
                digest.update(&bytes);
                bytes.clear();
            }
        }
        Ok(Self(digest))
    }

    /// Adds the cells and groups of a part.
    pub fn add(&mut self, part: &Table) {
        let mut bytes = Vec::with_capacity(2 * DIGESTED_BYTES);
        for cell in 0..part.cell_count() as u32 {
            add(&mut bytes, part.positions(cell));
            for group in part.groups(cell) {
                add(&mut bytes, &[part.group_rows(group)]);
                add(&mut bytes, part.codes(group));
            }
            if bytes.len() >= DIGESTED_BYTES {
                self.0.update(&bytes);
                bytes.clear();
            }
        }
        self.0.update(&bytes);
    }

    /// The key of all parts.
    pub fn key(self) -> DealKey {
        DealKey(self.0.finalize().into())
    }
}

fn add(bytes: &mut Vec<u8>, numbers: &[u32]) {
    bytes.extend(numbers.iter().flat_map(|number| number.to_le_bytes()));
}

/// The class of each row.
pub(super) fn deal(recoding: &Recoding, groups: &[u32], content: &[u128], key: &DealKey) -> Vec<u32> {
    let shares = |group: u32| if group == SUPPRESSED { &[][..] } else { recoding.shares(group) };
    let only = |group: &u32| if let [only] = shares(*group) { only.class } else { SUPPRESSED };
    let mut class_of: Vec<u32> = groups.par_iter().map(only).collect();
    let shared = (0..groups.len() as u32).into_par_iter().filter(|row| shares(groups[*row as usize]).len() > 1);
    let place = |row: u32| (groups[row as usize], key.place(content[row as usize]), row);
    let mut shared: Vec<(u32, u128, u32)> = shared.map(place).collect();
    shared.par_sort_unstable();
    for rows in shared.chunk_by(|a, b| a.0 == b.0) {
        let classes =
            recoding.shares(rows[0].0).iter().flat_map(|share| std::iter::repeat_n(share.class, share.rows as usize));
        for ((_, _, row), class) in rows.iter().zip(classes) {
            class_of[*row as usize] = class;
        }
    }
    class_of
}

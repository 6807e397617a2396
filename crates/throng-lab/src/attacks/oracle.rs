//! Oracle: guess what is unknown, run the anonymizer on it, and compare.
//!
//! The intruder knows the whole table except which of two people of one class has which sensitive value, and has the anonymizer, but not
//! the secret of its owner. Both tables are anonymized; the one whose release has more classes in common with the published one is
//! believed. `prior` is one half, `original` is 1. A release that depends on a secret, or that does not depend on who has which value,
//! gives nothing away. The caller runs the anonymizer, as a separate process.

use arrow::array::RecordBatch;
use rustc_hash::FxHashMap;

use super::outcome::{AttackOutcome, Success};
use crate::error::LabError;
use crate::extent::Code;
use crate::lexicon::Lexicon;
use crate::random::LabRandom;
use crate::table::ReleasedTable;

/// Name of the attack.
const NAME: &str = "oracle";

/// Releases of one trial.
#[derive(Debug)]
pub struct OracleTrial {
    /// Release of the true table, by the intruder.
    pub truth: ReleasedTable,
    /// Release of the table with two values exchanged, by the intruder.
    pub exchanged: ReleasedTable,
}

/// Number of rows that are tried to find someone with another value in the same class.
const TRIES: usize = 20_000;

/// Returns pairs of rows of an original that are in the same class of the release, with different quasi-identifiers and different values
/// of the first sensitive column. The release looks the same whichever of the two has which value.
pub fn oracle_pairs(
    lexicon: &mut Lexicon,
    original: &RecordBatch,
    release: &ReleasedTable,
    count: usize,
    seed: u64,
) -> Result<Vec<[usize; 2]>, LabError> {
    let failed = |column: &str| LabError::Type { table: crate::table::ORIGINAL, column: column.to_owned() };
    let column = |name: &str| {
        let missing = || LabError::NoColumn { table: crate::table::ORIGINAL, column: name.to_owned() };
        original.column_by_name(name).ok_or_else(missing)
    };
    let mut codes = Vec::new();
    for (domain, known) in lexicon.quasi.iter_mut().zip(&lexicon.spec.quasi) {
        codes.push(domain.codes(column(&known.name)?).map_err(|_| failed(&known.name))?);
    }
    let Some(known) = lexicon.spec.sensitive.first() else { return Ok(Vec::new()) };
    let values = lexicon.sensitive[0].codes_of(column(&known.name)?, known.shown.as_ref());
    let values = values.map_err(|_| failed(&known.name))?;
    let mut random = LabRandom::new(seed, "exchanged people");
    let (rows, mut pairs) = (original.num_rows(), Vec::new());
    let tuple = |row: usize| -> Vec<Code> { codes.iter().map(|codes| codes[row]).collect() };
    // The only class that a person can be in.
    let class_of = |row: usize| match release.covering(&tuple(row))[..] {
        [class] => Some(class),
        _ => None,
    };
    let mut tries = 0;
    while pairs.len() < count && tries < TRIES {
        tries += 1;
        let first = random.below(rows);
        let Some(class) = class_of(first) else { continue };
        let is_alike = |row: usize| {
            let is_inside = || release.extents(class).zip(&codes).all(|(extent, codes)| extent.contains(codes[row]));
            values[row] != values[first] && is_inside() && tuple(row) != tuple(first) && class_of(row) == Some(class)
        };
        let second = (0..TRIES).map(|_| random.below(rows)).find(|row| is_alike(*row));
        pairs.extend(second.map(|second| [first, second]));
    }
    Ok(pairs)
}

/// Compares the releases of an intruder with the published one. All tables were read with the same lexicon.
pub fn oracle(published: &ReleasedTable, trials: &[OracleTrial], seed: u64) -> Option<AttackOutcome> {
    let known = classes(published);
    let in_common = |other: &ReleasedTable| -> u64 {
        classes(other).iter().map(|(class, rows)| known.get(class).map_or(0, |known| u64::from(known == rows))).sum()
    };
    let successes: Vec<Success> = trials
        .iter()
        .map(|trial| {
            let release = match in_common(&trial.truth).cmp(&in_common(&trial.exchanged)) {
                std::cmp::Ordering::Greater => 1.0,
                std::cmp::Ordering::Equal => 0.5,
                std::cmp::Ordering::Less => 0.0,
            };
            Success::new(0.5, release, 1.0)
        })
        .collect();
    AttackOutcome::of(NAME, None, "a guess by chance", &successes, seed)
}

/// Returns the classes of a release by their labels and histograms.
fn classes(table: &ReleasedTable) -> FxHashMap<String, u64> {
    let key = |class: u32| {
        let extents: Vec<_> = table.extents(class).collect();
        let values: Vec<_> = table.tallies.iter().map(|tallies| tallies.of(class)).collect();
        format!("{extents:?} {values:?}")
    };
    (0..table.classes() as u32).map(|class| (key(class), table.class_rows[class as usize])).collect()
}

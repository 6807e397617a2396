//! Order: does the order of the released rows reveal that of the original, or the values that labels hide?
//!
//! The intruder compares two neighbouring rows of one class, and guesses that the first of them was the first in the original, or has
//! the smaller hidden value. The lab knows the truth for rows whose unchanged values are unique, by which they are found in both
//! tables. The most successful of these guesses is reported, in either direction. `prior` is one half: a row is first or it is not. A
//! release that was written in a random order within classes gains nothing.

use rustc_hash::FxHashMap;

use super::{AttackOutcome, Attempts, Intruder, Success};
use crate::extent::code_number;
use crate::table::TracedRow;

/// Minimum number of pairs of rows for a guess.
const MIN_PAIRS: usize = 100;

pub(super) fn attack(intruder: &Intruder<'_>) -> Attempts {
    let (original, release) = (intruder.input.original, intruder.input.release);
    let known: FxHashMap<u64, &TracedRow> = original.traced.iter().map(|row| (row.content, row)).collect();
    let mut rows: Vec<(&TracedRow, &TracedRow)> =
        release.traced.iter().filter_map(|row| Some((row, *known.get(&row.content)?))).collect();
    rows.sort_unstable_by_key(|(released, _)| (released.group, released.position));
    let pairs: Vec<_> = rows.windows(2).filter(|pair| pair[0].0.group == pair[1].0.group).collect();
    if pairs.len() < MIN_PAIRS {
        return Err("too few rows can be found in both tables by their unchanged values");
    }
    // Possible sort keys: the position in the original, or a hidden value.
    let mut guesses: Vec<(String, Vec<bool>)> = Vec::new();
    let by_position = pairs.iter().map(|pair| pair[0].1.position < pair[1].1.position).collect();
    guesses.push(("the order of the original".to_owned(), by_position));
    for (column, domain) in intruder.input.lexicon.quasi.iter().enumerate().filter(|(_, domain)| domain.is_ordered()) {
        let value = |row: &TracedRow| code_number(original.cell(row.group)[column]);
        let ordered = |pair: &&[(&TracedRow, &TracedRow)]| {
            let (a, b) = (value(pair[0].1)?, value(pair[1].1)?);
            (a != b).then_some(a < b)
        };
        let _ = domain;
        let name = format!("the hidden values of `{}`", intruder.input.lexicon.spec.quasi[column].name);
        guesses.push((name, pairs.iter().filter_map(ordered).collect()));
    }
    let share = |guess: &[bool]| guess.iter().filter(|right| **right).count() as f64 / guess.len().max(1) as f64;
    let best = guesses
        .into_iter()
        .filter(|(_, guess)| guess.len() >= MIN_PAIRS)
        .max_by(|a, b| (share(&a.1) - 0.5).abs().total_cmp(&(share(&b.1) - 0.5).abs()));
    let Some((what, guess)) = best else { return Err("too few rows differ in what their order could follow") };
    let is_ascending = share(&guess) >= 0.5;
    let trials: Vec<Success> =
        guess.iter().map(|right| Success::new(0.5, f64::from(u8::from(*right == is_ascending)), 1.0)).collect();
    let outcome = AttackOutcome::of("order", None, "a guess by chance", &trials, intruder.input.seed);
    Ok(outcome.map(|outcome| outcome.with("follows", what)).into_iter().collect())
}

//! Serializable summaries of verifiers, as lists of numbers.
//!
//! Verifiers of disjoint classes of one release, on any machine, are combined by an empty verifier that takes their
//! summaries in any order. All rows of a class must go to the same verifier.

use super::frequency_totals::FrequencyTotals;
use super::totals::{LeastReached, Totals};
use super::{Findings, Verifier};

/// The numbers are not a summary of the same promise.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("what a verifier found could not be understood")]
pub struct Unreadable;

impl Verifier {
    /// Returns the summary of all rows seen, which must contain each of their classes completely.
    pub fn summary(&self) -> Vec<u64> {
        let labels = self.sensitive.iter().filter_map(|column| column.labels.as_ref());
        let mut numbers: Vec<u64> = std::iter::once(self.rows).chain(labels.map(|labels| labels.mismatches)).collect();
        write(&self.totals(), &mut numbers);
        numbers
    }

    /// Combines summaries into findings.
    pub fn conclude<'a>(mut self, summaries: impl IntoIterator<Item = &'a [u64]>) -> Result<Findings, Unreadable> {
        let mut totals = Totals::new(&self.promise);
        for summary in summaries {
            let mut numbers = summary.iter().copied();
            self.rows += numbers.next().ok_or(Unreadable)?;
            for labels in self.sensitive.iter_mut().filter_map(|column| column.labels.as_mut()) {
                labels.mismatches += numbers.next().ok_or(Unreadable)?;
            }
            let found = read(Totals::new(&self.promise), &mut numbers).ok_or(Unreadable)?;
            if numbers.next().is_some() {
                return Err(Unreadable);
            }
            totals.merge(&found, &self.promise);
        }
        Ok(self.findings(&totals))
    }
}

fn write(totals: &Totals, numbers: &mut Vec<u64>) {
    let reached = |reached: &LeastReached| [reached.least, reached.failing];
    numbers.extend([totals.classes, totals.sum_of_squares, totals.homogeneity.to_bits()]);
    numbers.extend(reached(&totals.sizes));
    numbers.push(totals.class_sizes.len() as u64);
    numbers.extend(totals.class_sizes.iter().flat_map(|(size, classes)| [*size, *classes]));
    for column in &totals.sensitive {
        numbers.extend(reached(&column.distinct));
        numbers.extend(reached(&column.weight));
        column.frequencies.write(numbers);
        numbers.extend([
            column.sum,
            column.disclosures,
            column.largest_share.to_bits(),
            column.by_distinct.len() as u64,
        ]);
        numbers.extend(column.by_distinct.iter().flat_map(|(distinct, (classes, rows))| [*distinct, *classes, *rows]));
    }
    numbers.extend(totals.beyond.iter().flat_map(|(rows, classes)| [*rows, *classes]));
}

/// Decodes into totals that have as many columns and constraints as the promise.
fn read(mut totals: Totals, numbers: &mut impl Iterator<Item = u64>) -> Option<Totals> {
    let mut next = || numbers.next();
    let reached = |next: &mut dyn FnMut() -> Option<u64>| Some(LeastReached { least: next()?, failing: next()? });
    totals.classes = next()?;
    totals.sum_of_squares = next()?;
    totals.homogeneity = f64::from_bits(next()?);
    totals.sizes = reached(&mut next)?;
    for _ in 0..next()? {
        totals.class_sizes.insert(next()?, next()?);
    }
    for column in &mut totals.sensitive {
        column.distinct = reached(&mut next)?;
        column.weight = reached(&mut next)?;
        column.frequencies = FrequencyTotals::read(&mut next)?;
        column.sum = next()?;
        column.disclosures = next()?;
        column.largest_share = f64::from_bits(next()?);
        for _ in 0..next()? {
            column.by_distinct.insert(next()?, (next()?, next()?));
        }
    }
    for beyond in &mut totals.beyond {
        *beyond = (next()?, next()?);
    }
    Some(totals)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow::array::{ArrayRef, RecordBatch, StringArray};
    use proptest::prelude::*;

    use super::super::{Promise, SensitivePromise};
    use super::*;

    fn release(rows: &[(u8, u8)]) -> RecordBatch {
        let column = |of: &dyn Fn(&(u8, u8)) -> u8| -> ArrayRef {
            Arc::new(rows.iter().map(|row| Some(of(row).to_string())).collect::<StringArray>())
        };
        RecordBatch::try_from_iter([("age", column(&|row| row.0)), ("illness", column(&|row| row.1))]).unwrap()
    }

    fn verifier(batch: &RecordBatch) -> Verifier {
        let promise = Promise {
            k: 3,
            quasi: vec!["age".into()],
            sensitive: vec![SensitivePromise::plain("illness", 2)],
            limits: Vec::new(),
            unit: None,
        };
        Verifier::new(promise, &batch.schema()).unwrap()
    }

    proptest! {
        #[test]
        fn classes_that_were_seen_apart_are_found_together(
            rows in proptest::collection::vec((0_u8..6, 0_u8..4), 1..60),
            parts in proptest::collection::vec(0_usize..3, 6),
        ) {
            let whole = release(&rows);
            let mut at_once = verifier(&whole);
            at_once.push(&whole).unwrap();
            let summary = |part: usize| {
                let here: Vec<(u8, u8)> =
                    rows.iter().filter(|(class, _)| parts[usize::from(*class)] == part).copied().collect();
                let mut one = verifier(&whole);
                one.push(&release(&here)).unwrap();
                one.summary()
            };
            let summaries: Vec<Vec<u64>> = (0..3).map(summary).collect();
            let together = verifier(&whole).conclude(summaries.iter().map(Vec::as_slice)).unwrap();
            prop_assert_eq!(together, at_once.finish());
        }
    }

    #[test]
    fn numbers_that_are_missing_or_too_many_are_refused() {
        let whole = release(&[(1, 1), (1, 2), (1, 1)]);
        let mut one = verifier(&whole);
        one.push(&whole).unwrap();
        let summary = one.summary();
        for length in 0..summary.len() {
            assert_eq!(verifier(&whole).conclude([&summary[..length]]), Err(Unreadable), "{length}");
        }
        let longer = [summary.as_slice(), &[0]].concat();
        assert_eq!(verifier(&whole).conclude([longer.as_slice()]), Err(Unreadable));
        assert!(verifier(&whole).conclude([summary.as_slice()]).unwrap().holds());
    }
}

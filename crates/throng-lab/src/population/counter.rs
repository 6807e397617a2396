//! Counts the people in each box, in one pass over their rows.

use arrow::array::{Array, RecordBatch};
use arrow::datatypes::Schema;
use rayon::prelude::*;
use rustc_hash::FxHashMap;

use super::boxes::ReleasedBoxes;
use crate::error::LabError;
use crate::extent::Code;
use crate::lexicon::{Lexicon, numbers_of};
use crate::table::{POPULATION, place_of};

/// Number of distinct tuples that are looked up together.
const PENDING: usize = 1 << 16;

/// Number of distinct tuples whose boxes are buffered before they are counted.
const AT_ONCE: usize = 1 << 12;

/// The people in each box.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct BoxCounts {
    /// Rows in the box of each class.
    pub rows: Vec<u64>,
    /// People whom these rows stand for: the rows themselves, or the sum of their weights.
    pub people: Vec<f64>,
    /// All people of the table.
    pub total: f64,
    /// People who are in no box.
    pub outside: f64,
    /// Rows of the table.
    pub total_rows: u64,
}

/// Counts the people of one table.
#[derive(Debug)]
pub struct PeopleCounter<'a> {
    boxes: &'a ReleasedBoxes,
    quasi: Vec<usize>,
    weight: Option<(usize, String)>,
    /// Rows and people by tuple, since the last look-up.
    pending: FxHashMap<Box<[Code]>, (u64, f64)>,
    counts: BoxCounts,
}

impl<'a> PeopleCounter<'a> {
    /// Creates a counter for batches with this schema. A row stands for the number of people in the column `weight`, or for
    /// one.
    pub fn new(
        boxes: &'a ReleasedBoxes,
        lexicon: &Lexicon,
        schema: &Schema,
        weight: Option<&str>,
    ) -> Result<Self, LabError> {
        let place = |name: &str| place_of(schema, name, POPULATION);
        let classes = boxes.classes();
        Ok(Self {
            boxes,
            quasi: lexicon.spec.quasi.iter().map(|column| place(&column.name)).collect::<Result<_, _>>()?,
            weight: weight.map(|name| Ok((place(name)?, name.to_owned()))).transpose()?,
            pending: FxHashMap::default(),
            counts: BoxCounts { rows: vec![0; classes], people: vec![0.0; classes], ..BoxCounts::default() },
        })
    }

    /// Counts the rows of a batch.
    pub fn push(&mut self, lexicon: &mut Lexicon, batch: &RecordBatch) -> Result<(), LabError> {
        let mut quasi = Vec::with_capacity(self.quasi.len());
        for ((place, domain), known) in self.quasi.iter().zip(&mut lexicon.quasi).zip(&lexicon.spec.quasi) {
            let codes = domain.codes(batch.column(*place));
            quasi.push(codes.map_err(|_| LabError::Type { table: POPULATION, column: known.name.clone() })?);
        }
        let weights = self.weight.as_ref().map(|(place, name)| {
            let column = batch.column(*place);
            let numbers = column.data_type().is_numeric().then(|| numbers_of(column).ok()).flatten();
            numbers.ok_or_else(|| LabError::Type { table: POPULATION, column: name.clone() })
        });
        let weights = weights.transpose()?;
        let mut tuple: Vec<Code> = vec![0; quasi.len()];
        for row in 0..batch.num_rows() {
            let people = match &weights {
                None => 1.0,
                Some(weights) => {
                    let weight = if weights.is_valid(row) { weights.value(row) } else { f64::NAN };
                    if !(weight.is_finite() && weight > 0.0) {
                        let column = self.weight.as_ref().map(|(_, name)| name.clone()).unwrap_or_default();
                        return Err(LabError::Weight { column });
                    }
                    weight
                }
            };
            tuple.iter_mut().zip(&quasi).for_each(|(code, codes)| *code = codes[row]);
            match self.pending.get_mut(tuple.as_slice()) {
                Some((rows, known)) => {
                    *rows += 1;
                    *known += people;
                }
                None => {
                    self.pending.insert(tuple.as_slice().into(), (1, people));
                }
            }
        }
        if self.pending.len() >= PENDING {
            self.look_up(lexicon);
        }
        Ok(())
    }

    /// Returns the counts of all rows.
    pub fn finish(mut self, lexicon: &Lexicon) -> BoxCounts {
        self.look_up(lexicon);
        self.counts
    }

    /// Returns the approximate memory of the counter in bytes, without its boxes.
    pub fn size(&self) -> usize {
        let entry = size_of::<(Box<[Code]>, (u64, f64))>() + self.quasi.len() * size_of::<Code>();
        2 * PENDING * entry + 16 * self.counts.rows.len()
    }

    /// Counts the pending tuples in their boxes, in the order of the tuples, so that rounding of sums of weights is
    /// deterministic.
    fn look_up(&mut self, lexicon: &Lexicon) {
        let mut tuples: Vec<_> = self.pending.drain().collect();
        tuples.par_sort_unstable_by(|a, b| a.0.cmp(&b.0));
        for tuples in tuples.chunks(AT_ONCE) {
            let held: Vec<Vec<u32>> = tuples.par_iter().map(|(tuple, _)| self.boxes.holding(tuple, lexicon)).collect();
            for ((_, (rows, people)), classes) in tuples.iter().zip(held) {
                self.counts.total_rows += rows;
                self.counts.total += people;
                if classes.is_empty() {
                    self.counts.outside += people;
                }
                for class in classes {
                    self.counts.rows[class as usize] += rows;
                    self.counts.people[class as usize] += people;
                }
            }
        }
    }
}

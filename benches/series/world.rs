//! People who come, change and go, night after night.

use anyhow::Result;
use arrow::array::{ArrayRef, RecordBatch, UInt32Array};
use arrow::compute::{concat_batches, take};
use throng_synthetic::{CensusBatches, census_schema};

/// A small generator of random numbers (xorshift*), for histories only.
#[derive(Clone, Debug)]
pub struct Dice(u64);

impl Dice {
    /// Creates a generator.
    pub fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    /// Returns a number below `end`.
    pub fn below(&mut self, end: usize) -> usize {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 33) as usize % end
    }
}

/// A person's row tonight.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Resident {
    /// The person, a row of the population.
    pub person: u32,
    /// The row of the population whose sensitive value the person has.
    pub secret_of: u32,
    /// Number of changes so far.
    pub version: u32,
}

impl Resident {
    /// Returns a number for this row of the person.
    pub fn row(self) -> u64 {
        u64::from(self.person) << 16 | u64::from(self.version)
    }
}

/// Changes of one night.
#[derive(Clone, Copy, Debug)]
pub struct Churn {
    /// Share of people who leave.
    pub leave: f64,
    /// Share of people who come.
    pub come: f64,
    /// Share of people whose sensitive value changes.
    pub change: f64,
}

/// A population, some of which is present.
#[derive(Debug)]
pub struct World {
    people: RecordBatch,
    present: Vec<Resident>,
    next: u32,
    dice: Dice,
}

impl World {
    /// Generates a census; the first `present` people are present in the first night.
    pub fn new(present: usize, reserve: usize, seed: u64) -> Result<Self> {
        let batches: Vec<RecordBatch> = CensusBatches::new((present + reserve) as u64, seed).collect();
        let people = concat_batches(&census_schema(), &batches)?;
        let resident = |person| Resident { person, secret_of: person, version: 0 };
        let next = present as u32;
        Ok(Self { people, present: (0..next).map(resident).collect(), next, dice: Dice::new(seed) })
    }

    /// Returns tonight's people.
    pub fn present(&self) -> &[Resident] {
        &self.present
    }

    /// Advances by one day.
    pub fn pass(&mut self, churn: Churn) {
        let count = |share: f64| (self.present.len() as f64 * share).round() as usize;
        let (leave, come, change) = (count(churn.leave), count(churn.come), count(churn.change));
        for _ in 0..leave {
            let at = self.dice.below(self.present.len());
            self.present.swap_remove(at);
        }
        for _ in 0..change {
            let at = self.dice.below(self.present.len());
            let other = self.dice.below(self.people.num_rows());
            self.present[at].secret_of = other as u32;
            self.present[at].version += 1;
        }
        for _ in 0..come {
            if (self.next as usize) < self.people.num_rows() {
                self.present.push(Resident { person: self.next, secret_of: self.next, version: 0 });
                self.next += 1;
            }
        }
    }

    /// Returns a column of the population.
    pub fn column(&self, name: &str, rows: impl Iterator<Item = u32>) -> Result<ArrayRef> {
        let at = self.people.schema().index_of(name)?;
        Ok(take(self.people.column(at), &UInt32Array::from_iter_values(rows), None)?)
    }

    /// Returns the schema of the population.
    pub fn schema(&self) -> arrow::datatypes::SchemaRef {
        self.people.schema()
    }
}

//! Reads the original: its cells, a sample of people to attack, and a sample of rows to trace.

use std::collections::BTreeMap;

use arrow::array::{Array, RecordBatch};
use arrow::datatypes::Schema;

use super::groups::{TupleGroups, ValueTallies};
use super::rows::{TracedRow, TracedRows, combine, value_hashes};
use super::{NO_VALUE, ORIGINAL, POPULATION, place_of, sensitive_codes};
use crate::error::LabError;
use crate::extent::Code;
use crate::lexicon::Lexicon;
use crate::random::{LabRandom, mix};

/// An original table, as counts of its cells.
#[derive(Debug)]
pub struct OriginalTable {
    /// Number of rows over all cells.
    pub(crate) rows: u64,
    /// Codes of the quasi-identifiers, cell by cell.
    codes: Vec<Code>,
    columns: usize,
    pub(crate) cell_rows: Vec<u64>,
    pub(crate) tallies: Vec<ValueTallies>,
    pub(crate) targets: Vec<Target>,
    pub(crate) traced: Vec<TracedRow>,
}

/// A person of the original whom an intruder is interested in.
#[derive(Clone, Debug)]
pub(crate) struct Target {
    pub(crate) cell: u32,
    /// Code of each sensitive column.
    pub(crate) values: Box<[u32]>,
    /// Rows of this person in the cell; 1 where every row is a person.
    pub(crate) rows: u32,
}

impl OriginalTable {
    /// Returns the number of rows.
    pub fn rows(&self) -> u64 {
        self.rows
    }

    pub(crate) fn cells(&self) -> usize {
        self.cell_rows.len()
    }

    /// Returns the codes of the quasi-identifiers of a cell.
    pub(crate) fn cell(&self, cell: u32) -> &[Code] {
        &self.codes[cell as usize * self.columns..][..self.columns]
    }
}

/// Reads an original batch by batch.
#[derive(Debug)]
pub struct OriginalReader {
    quasi: Vec<usize>,
    sensitive: Vec<usize>,
    insensitive: Vec<usize>,
    cells: TupleGroups<Code>,
    /// Indices of the columns that identify a person; empty if every row is a person.
    unit: Vec<usize>,
    targets: Vec<Target>,
    drawn: DrawnPeople,
    wanted: usize,
    random: LabRandom,
    traced: TracedRows,
    rows: u64,
}

impl OriginalReader {
    /// Creates a reader for batches with this schema, which draws `targets` people by the seed.
    pub fn new(lexicon: &Lexicon, schema: &Schema, targets: usize, seed: u64) -> Result<Self, LabError> {
        let spec = &lexicon.spec;
        let place = |name: &str| place_of(schema, name, ORIGINAL);
        Ok(Self {
            quasi: spec.quasi.iter().map(|column| place(&column.name)).collect::<Result<_, _>>()?,
            sensitive: spec.sensitive.iter().map(|column| place(&column.name)).collect::<Result<_, _>>()?,
            insensitive: spec.insensitive.iter().map(|name| place(name)).collect::<Result<_, _>>()?,
            cells: TupleGroups::new(spec.sensitive.len()),
            unit: spec.unit.iter().map(|name| place(name)).collect::<Result<_, _>>()?,
            targets: Vec::new(),
            drawn: DrawnPeople::default(),
            wanted: targets,
            random: LabRandom::new(seed, "targets"),
            traced: TracedRows::default(),
            rows: 0,
        })
    }

    /// Creates a reader for people of whom only the quasi-identifiers are known.
    pub fn of_population(lexicon: &Lexicon, schema: &Schema, targets: usize, seed: u64) -> Result<Self, LabError> {
        let place = |name: &str| place_of(schema, name, POPULATION);
        Ok(Self {
            quasi: lexicon.spec.quasi.iter().map(|column| place(&column.name)).collect::<Result<_, _>>()?,
            sensitive: Vec::new(),
            insensitive: Vec::new(),
            cells: TupleGroups::new(0),
            unit: Vec::new(),
            targets: Vec::new(),
            drawn: DrawnPeople::default(),
            wanted: targets,
            random: LabRandom::new(seed, "population"),
            traced: TracedRows::default(),
            rows: 0,
        })
    }

    /// Reads a batch.
    pub fn push(&mut self, lexicon: &mut Lexicon, batch: &RecordBatch) -> Result<(), LabError> {
        lexicon.has_original = true;
        let mut quasi = Vec::with_capacity(self.quasi.len());
        for ((place, domain), known) in self.quasi.iter().zip(&mut lexicon.quasi).zip(&lexicon.spec.quasi) {
            let codes = domain.codes(batch.column(*place));
            quasi.push(codes.map_err(|_| LabError::Type { table: ORIGINAL, column: known.name.clone() })?);
        }
        let sensitive = sensitive_codes(lexicon, batch, &self.sensitive, ORIGINAL)?;
        let mut hashes = Vec::with_capacity(self.insensitive.len());
        for (place, name) in self.insensitive.iter().zip(&lexicon.spec.insensitive) {
            let read = value_hashes(batch.column(*place));
            hashes.push(read.map_err(|_| LabError::Type { table: ORIGINAL, column: name.clone() })?);
        }
        let people = self.people(lexicon, batch)?;
        let mut tuple = vec![0; quasi.len()];
        for row in 0..batch.num_rows() {
            tuple.iter_mut().zip(&quasi).for_each(|(code, codes)| *code = codes[row]);
            let values = || sensitive.iter().map(|codes| codes[row]);
            let cell = self.cells.add(&tuple, values());
            let target = || Target { cell, values: values().collect(), rows: 1 };
            match &people {
                Some(people) => self.drawn.add(people[row], self.wanted, target),
                None => self.draw(target),
            }
            let shown = values().map(u64::from).chain(hashes.iter().map(|hashes| hashes[row]));
            self.traced.add(TracedRow { content: combine(shown), position: self.rows, group: cell });
            self.rows += 1;
        }
        Ok(())
    }

    /// Returns a random number per row, which the rows of one person share. A row without a person counts as a separate
    /// person.
    fn people(&mut self, lexicon: &Lexicon, batch: &RecordBatch) -> Result<Option<Vec<u64>>, LabError> {
        if self.unit.is_empty() {
            return Ok(None);
        }
        let seed = self.drawn.seed(&mut self.random);
        let mut parts = Vec::with_capacity(self.unit.len());
        for (place, name) in self.unit.iter().zip(&lexicon.spec.unit) {
            let read = value_hashes(batch.column(*place));
            parts.push(read.map_err(|_| LabError::Type { table: ORIGINAL, column: name.clone() })?);
        }
        let person = |row: usize| {
            let is_missing = self.unit.iter().any(|place| batch.column(*place).is_null(row));
            let own = is_missing.then_some(self.rows + row as u64);
            mix(seed ^ combine(parts.iter().map(|part| part[row]).chain(own)))
        };
        Ok(Some((0..batch.num_rows()).map(person).collect()))
    }

    /// Draws a uniform sample of the rows seen so far.
    fn draw(&mut self, target: impl FnOnce() -> Target) {
        if self.targets.len() < self.wanted {
            self.targets.push(target());
        } else if self.wanted > 0 {
            let place = self.random.below(self.rows as usize + 1);
            if place < self.wanted {
                self.targets[place] = target();
            }
        }
    }

    /// Returns the table of all rows that were added. Fails if there are none.
    pub fn finish(self) -> Result<OriginalTable, LabError> {
        if self.rows == 0 {
            return Err(LabError::NoRows { table: ORIGINAL });
        }
        let columns = self.quasi.len();
        let (codes, cell_rows, tallies) = self.cells.finish();
        let drawn = if self.unit.is_empty() { self.targets } else { self.drawn.finish(self.random) };
        let (targets, traced) = (drawn, self.traced.finish());
        Ok(OriginalTable { rows: self.rows, codes, columns, cell_rows, tallies, targets, traced })
    }
}

/// A uniform sample of people with all their rows: those with the lowest random numbers.
#[derive(Debug, Default)]
struct DrawnPeople {
    rows_of: BTreeMap<u64, Vec<Target>>,
    seed: Option<u64>,
}

impl DrawnPeople {
    /// Returns the seed of the random numbers of people.
    fn seed(&mut self, random: &mut LabRandom) -> u64 {
        *self.seed.get_or_insert_with(|| random.next())
    }

    /// Adds a row of a person. The number of a person never changes, so a person who is in the final sample was never
    /// left out.
    fn add(&mut self, person: u64, wanted: usize, target: impl FnOnce() -> Target) {
        let is_full = self.rows_of.len() >= wanted;
        if is_full && self.rows_of.last_key_value().is_none_or(|(last, _)| person > *last) {
            return;
        }
        self.rows_of.entry(person).or_default().push(target());
        if self.rows_of.len() > wanted {
            self.rows_of.pop_last();
        }
    }

    /// Returns one row of each person, with the number of that person's rows in the same cell.
    fn finish(self, mut random: LabRandom) -> Vec<Target> {
        let one = |rows: Vec<Target>| {
            let drawn = rows[random.below(rows.len())].clone();
            let alike = rows.iter().filter(|other| other.cell == drawn.cell).count() as u32;
            Target { rows: alike, ..drawn }
        };
        self.rows_of.into_values().map(one).collect()
    }
}

impl Target {
    /// Returns the value of a sensitive column, if the person has one.
    pub(crate) fn value(&self, sensitive: usize) -> Option<u32> {
        Some(self.values[sensitive]).filter(|value| *value != NO_VALUE)
    }
}

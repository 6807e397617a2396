//! Reads the original: its cells, a sample of people to attack, and a sample of rows to trace.

use arrow::array::RecordBatch;
use arrow::datatypes::Schema;

use super::groups::{TupleGroups, ValueTallies};
use super::rows::{TracedRow, TracedRows, combine, value_hashes};
use super::{NO_VALUE, ORIGINAL, POPULATION, place_of, sensitive_codes};
use crate::error::LabError;
use crate::extent::Code;
use crate::lexicon::Lexicon;
use crate::random::LabRandom;

/// An original table, as counts of its cells.
#[derive(Debug)]
pub struct OriginalTable {
    /// Number of rows.
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
    targets: Vec<Target>,
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
            targets: Vec::new(),
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
            targets: Vec::new(),
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
        let mut tuple = vec![0; quasi.len()];
        for row in 0..batch.num_rows() {
            tuple.iter_mut().zip(&quasi).for_each(|(code, codes)| *code = codes[row]);
            let values = || sensitive.iter().map(|codes| codes[row]);
            let cell = self.cells.add(&tuple, values());
            self.draw(cell, values());
            let shown = values().map(u64::from).chain(hashes.iter().map(|hashes| hashes[row]));
            self.traced.add(TracedRow { content: combine(shown), position: self.rows, group: cell });
            self.rows += 1;
        }
        Ok(())
    }

    /// Draws a uniform sample of the rows seen so far.
    fn draw(&mut self, cell: u32, values: impl Iterator<Item = u32>) {
        if self.targets.len() < self.wanted {
            self.targets.push(Target { cell, values: values.collect() });
        } else if self.wanted > 0 {
            let place = self.random.below(self.rows as usize + 1);
            if place < self.wanted {
                self.targets[place] = Target { cell, values: values.collect() };
            }
        }
    }

    /// Returns the table.
    pub fn finish(self) -> Result<OriginalTable, LabError> {
        if self.rows == 0 {
            return Err(LabError::NoRows { table: ORIGINAL });
        }
        let columns = self.quasi.len();
        let (codes, cell_rows, tallies) = self.cells.finish();
        let (targets, traced) = (self.targets, self.traced.finish());
        Ok(OriginalTable { rows: self.rows, codes, columns, cell_rows, tallies, targets, traced })
    }
}

impl Target {
    /// Returns the value of a sensitive column, if the person has one.
    pub(crate) fn value(&self, sensitive: usize) -> Option<u32> {
        Some(self.values[sensitive]).filter(|value| *value != NO_VALUE)
    }
}

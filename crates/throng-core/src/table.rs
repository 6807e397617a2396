//! The in-memory table that the algorithms read: cells with their sensitive histograms, ordered by content.

use std::ops::Range;
use std::sync::{Arc, OnceLock};

use arrow::datatypes::DataType;
use rayon::prelude::*;

use crate::columns::QuasiSpec;
use crate::domain::Domain;
use crate::hierarchy::CodeTree;
use crate::model::TallyShape;
use crate::survey::Domains;

/// A quasi-identifier column of a table.
#[derive(Clone, Debug)]
pub struct QuasiColumn {
    /// Specification from the policy.
    pub spec: QuasiSpec,
    /// Type in the input.
    pub data_type: DataType,
    /// Domain that encodes values as positions.
    pub domain: Domain,
}

/// A sensitive column of a table under one [`crate::columns::SensitiveCoding`]. Values are encoded as codes.
#[derive(Clone, Debug)]
pub struct SensitiveColumn {
    /// Column name in the input.
    pub name: String,
    /// What a code stands for: values, strong values or categories.
    pub counted: &'static str,
    /// Number of codes, without null. Some of them may not occur.
    pub distinct: u32,
    /// Number behind each code, for numbers and dates whose codes are values.
    pub numbers: Option<Arc<[f64]>>,
    /// Hierarchy of the codes, for columns whose values are compared by a hierarchy.
    pub tree: Option<Arc<CodeTree>>,
    /// Elements of each code, ascending, for columns of lists.
    pub elements: Option<Arc<[Arc<[u32]>]>>,
    /// Whether the codes are units of privacy, which are counted and never released.
    pub is_unit: bool,
}

/// Cells and groups. A cell is a distinct quasi-identifier tuple, encoded as positions; a group is a cell with one
/// tuple of sensitive codes.
///
/// Both are ordered by content, and the groups of a cell are contiguous.
#[derive(Clone, Debug)]
pub struct Table {
    quasi: Arc<[QuasiColumn]>,
    sensitive: Arc<[SensitiveColumn]>,
    positions: Vec<u32>,
    /// The groups of cell `c` are `first_group[c]..first_group[c + 1]`.
    first_group: Vec<u32>,
    codes: Vec<u32>,
    group_rows: Vec<u32>,
    cell_rows: Vec<u64>,
    rows: u64,
    /// The cell of each group, once it was asked for.
    cell_of_group: OnceLock<Vec<u32>>,
}

/// Builds a table from groups in ascending order.
#[derive(Debug)]
pub(crate) struct TableBuilder(Table);

impl TableBuilder {
    pub(crate) fn new(domains: &Domains) -> Self {
        Self(Table {
            quasi: Arc::clone(&domains.quasi),
            sensitive: Arc::clone(&domains.sensitive),
            positions: Vec::new(),
            first_group: Vec::new(),
            codes: Vec::new(),
            group_rows: Vec::new(),
            cell_rows: Vec::new(),
            rows: 0,
            cell_of_group: OnceLock::new(),
        })
    }

    /// Appends a group: positions followed by sensitive codes, and its number of rows.
    pub(crate) fn push(&mut self, tuple: &[u32], rows: u32) {
        let Self(table) = self;
        let width = table.quasi.len();
        let (positions, codes) = tuple.split_at(width);
        let known = table.positions.len().checked_sub(width).is_some_and(|at| &table.positions[at..] == positions);
        if table.cell_rows.is_empty() || !known {
            self.push_cell(positions.iter().copied());
        }
        self.push_group(codes.iter().copied(), rows);
    }

    /// Starts a cell with these positions.
    pub(crate) fn push_cell(&mut self, positions: impl Iterator<Item = u32>) {
        let Self(table) = self;
        table.positions.extend(positions);
        table.first_group.push(table.group_rows.len() as u32);
        table.cell_rows.push(0);
    }

    /// Appends a group with these codes to the last cell.
    pub(crate) fn push_group(&mut self, codes: impl Iterator<Item = u32>, rows: u32) {
        let Self(table) = self;
        table.codes.extend(codes);
        table.group_rows.push(rows);
        if let Some(last) = table.cell_rows.last_mut() {
            *last += u64::from(rows);
        }
        table.rows += u64::from(rows);
    }

    pub(crate) fn build(self) -> Table {
        let Self(mut table) = self;
        table.first_group.push(table.group_rows.len() as u32);
        table
    }
}

/// Disjoint slice of the buffers of a [`Table`], filled cell by cell.
#[derive(Debug)]
pub(crate) struct TablePiece<'a> {
    positions: &'a mut [u32],
    first_group: &'a mut [u32],
    codes: &'a mut [u32],
    group_rows: &'a mut [u32],
    cell_rows: &'a mut [u64],
    /// Number of groups in the preceding pieces.
    groups_before: u32,
    widths: (usize, usize),
    cells: usize,
    groups: usize,
}

impl TablePiece<'_> {
    /// Starts a cell with these positions.
    pub(crate) fn push_cell(&mut self, positions: impl Iterator<Item = u32>) {
        let slots = &mut self.positions[self.cells * self.widths.0..][..self.widths.0];
        slots.iter_mut().zip(positions).for_each(|(slot, position)| *slot = position);
        self.first_group[self.cells] = self.groups_before + self.groups as u32;
        self.cells += 1;
    }

    /// Appends a group with these codes to the last cell.
    pub(crate) fn push_group(&mut self, codes: impl Iterator<Item = u32>, rows: u32) {
        let slots = &mut self.codes[self.groups * self.widths.1..][..self.widths.1];
        slots.iter_mut().zip(codes).for_each(|(slot, code)| *slot = code);
        self.group_rows[self.groups] = rows;
        self.cell_rows[self.cells - 1] += u64::from(rows);
        self.groups += 1;
    }
}

/// Splits the first `count` elements off `rest`.
fn cut_off<'a, T>(rest: &mut &'a mut [T], count: usize) -> &'a mut [T] {
    let (first, others) = std::mem::take(rest).split_at_mut(count);
    *rest = others;
    first
}

impl Table {
    /// Builds a table from pieces that `fill` writes in parallel. `sizes` has the number of cells and of groups of each
    /// piece; `fill` receives the index of the piece.
    pub(crate) fn filled(
        domains: &Domains,
        sizes: &[(usize, usize)],
        fill: impl Fn(usize, &mut TablePiece<'_>) + Sync,
    ) -> Self {
        let (cells, groups) = sizes.iter().fold((0, 0), |sum, size| (sum.0 + size.0, sum.1 + size.1));
        let mut table = Self::empty(domains);
        let widths = (table.quasi.len(), table.sensitive.len());
        table.positions = vec![0; cells * widths.0];
        table.first_group = vec![groups as u32; cells + 1];
        table.codes = vec![0; groups * widths.1];
        table.group_rows = vec![0; groups];
        table.cell_rows = vec![0; cells];
        let (mut positions, mut first_group) = (&mut table.positions[..], &mut table.first_group[..]);
        let (mut codes, mut group_rows) = (&mut table.codes[..], &mut table.group_rows[..]);
        let (mut cell_rows, mut groups_before) = (&mut table.cell_rows[..], 0);
        let piece = |(cells, groups): &(usize, usize)| {
            let piece = TablePiece {
                positions: cut_off(&mut positions, cells * widths.0),
                first_group: cut_off(&mut first_group, *cells),
                codes: cut_off(&mut codes, groups * widths.1),
                group_rows: cut_off(&mut group_rows, *groups),
                cell_rows: cut_off(&mut cell_rows, *cells),
                groups_before,
                widths,
                cells: 0,
                groups: 0,
            };
            groups_before += *groups as u32;
            piece
        };
        let pieces: Vec<TablePiece<'_>> = sizes.iter().map(piece).collect();
        pieces.into_par_iter().enumerate().for_each(|(number, mut piece)| fill(number, &mut piece));
        table.rows = table.cell_rows.iter().sum();
        table
    }

    /// Returns a table without rows.
    pub fn empty(domains: &Domains) -> Self {
        TableBuilder::new(domains).build()
    }

    /// Replaces the quasi-identifiers of a table without rows by the same columns with other slices of their domains.
    pub fn with_columns(self, quasi: Arc<[QuasiColumn]>) -> Self {
        Self { quasi, ..self }
    }

    /// Returns the positions of a cell in the whole domains of the quasi-identifiers.
    pub(crate) fn whole_positions(&self, cell: u32) -> impl Iterator<Item = u32> {
        self.quasi.iter().zip(self.positions(cell)).map(|(quasi, position)| quasi.domain.in_whole(*position))
    }

    /// Returns the quasi-identifiers.
    pub fn quasi(&self) -> &[QuasiColumn] {
        &self.quasi
    }

    /// Returns the quasi-identifiers as a shared slice.
    pub(crate) fn quasi_columns(&self) -> &Arc<[QuasiColumn]> {
        &self.quasi
    }

    /// Returns the sensitive columns, one entry per sensitive coding.
    pub fn sensitive(&self) -> &[SensitiveColumn] {
        &self.sensitive
    }

    /// Returns the sensitive columns as a shared slice.
    pub(crate) fn sensitive_columns(&self) -> &Arc<[SensitiveColumn]> {
        &self.sensitive
    }

    /// Returns which columns the tallies of this table count.
    pub fn tally_shape(&self) -> TallyShape {
        TallyShape { columns: self.sensitive.len(), unit: self.sensitive.iter().position(|column| column.is_unit) }
    }

    /// Returns the number of rows.
    pub fn rows(&self) -> u64 {
        self.rows
    }

    /// Returns the number of cells.
    pub fn cell_count(&self) -> usize {
        self.cell_rows.len()
    }

    /// Returns the number of groups.
    pub fn group_count(&self) -> usize {
        self.group_rows.len()
    }

    /// Returns the positions of a cell, one per quasi-identifier.
    pub fn positions(&self, cell: u32) -> &[u32] {
        let width = self.quasi.len();
        &self.positions[cell as usize * width..(cell as usize + 1) * width]
    }

    /// Returns the number of rows of a cell.
    pub fn cell_rows(&self, cell: u32) -> u64 {
        self.cell_rows[cell as usize]
    }

    /// Returns the groups of a cell.
    pub fn groups(&self, cell: u32) -> Range<u32> {
        self.first_group[cell as usize]..self.first_group[cell as usize + 1]
    }

    /// Returns the cell of each group.
    pub(crate) fn cells_of_groups(&self) -> &[u32] {
        // On one thread: a thread that waits for others may begin another task, which asks for the same.
        self.cell_of_group.get_or_init(|| {
            let mut cell_of = Vec::with_capacity(self.group_count());
            (0..self.cell_count() as u32).for_each(|cell| cell_of.resize(self.groups(cell).end as usize, cell));
            cell_of
        })
    }

    /// Returns the cell of a group.
    pub(crate) fn cell_of(&self, group: u32) -> u32 {
        self.first_group.partition_point(|first| *first <= group) as u32 - 1
    }

    /// Returns the sensitive codes of a group, one per sensitive column; [`crate::domain::NULL`] for null.
    pub fn codes(&self, group: u32) -> &[u32] {
        let width = self.sensitive.len();
        &self.codes[group as usize * width..(group as usize + 1) * width]
    }

    /// Returns the number of rows of a group.
    pub fn group_rows(&self, group: u32) -> u32 {
        self.group_rows[group as usize]
    }
}

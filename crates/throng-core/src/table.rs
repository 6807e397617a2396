//! The table that the algorithms see: cells with their sensitive histograms, in the order of their content.

use std::ops::Range;
use std::sync::Arc;

use arrow::datatypes::DataType;

use crate::columns::QuasiSpec;
use crate::domain::Domain;
use crate::survey::Domains;

/// One quasi-identifier of a table.
#[derive(Clone, Debug)]
pub struct QuasiColumn {
    /// What the policy says of it.
    pub spec: QuasiSpec,
    /// Its type in the input.
    pub data_type: DataType,
    /// Its values as positions.
    pub domain: Domain,
}

/// A sensitive column of a table under one facet ([`crate::columns::Facet`]). Its values are codes.
#[derive(Clone, Debug)]
pub struct SensitiveColumn {
    /// The name of the column in the input.
    pub name: String,
    /// What codes stand for: values, strong values or categories.
    pub counted: &'static str,
    /// How many codes there are, without null. Not all of them need occur.
    pub distinct: u32,
}

/// Cells and groups. A cell is a distinct tuple of positions; a group is a cell with one tuple of sensitive codes.
///
/// Both are ordered by content, and the groups of a cell lie side by side.
#[derive(Clone, Debug)]
pub struct Table {
    quasi: Arc<[QuasiColumn]>,
    sensitive: Arc<[SensitiveColumn]>,
    positions: Vec<u32>,
    /// Groups of cell `c`: `first_group[c] .. first_group[c + 1]`.
    first_group: Vec<u32>,
    codes: Vec<u32>,
    group_rows: Vec<u32>,
    cell_rows: Vec<u64>,
    rows: u64,
}

/// Makes a table of groups in ascending order.
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
        })
    }

    /// The same with room for so many groups, each of them in a cell of its own.
    pub(crate) fn with_room_for(groups: usize, domains: &Domains) -> Self {
        let Self(mut table) = Self::new(domains);
        table.reserve(groups, groups);
        Self(table)
    }

    /// Tables whose cells come one after the other, as one.
    pub(crate) fn joined(parts: Vec<Self>, domains: &Domains) -> Self {
        let cells = parts.iter().map(|Self(part)| part.cell_rows.len()).sum();
        let groups = parts.iter().map(|Self(part)| part.group_rows.len()).sum();
        let Self(mut whole) = Self::new(domains);
        whole.reserve(cells, groups);
        for Self(part) in parts {
            let first = whole.group_rows.len() as u32;
            whole.positions.extend(part.positions);
            whole.first_group.extend(part.first_group.iter().map(|group| first + group));
            whole.codes.extend(part.codes);
            whole.group_rows.extend(part.group_rows);
            whole.cell_rows.extend(part.cell_rows);
            whole.rows += part.rows;
        }
        Self(whole)
    }

    /// Adds a group: a tuple of positions followed by sensitive codes, and how many rows have it.
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

    /// Begins a cell with these positions.
    pub(crate) fn push_cell(&mut self, positions: impl Iterator<Item = u32>) {
        let Self(table) = self;
        table.positions.extend(positions);
        table.first_group.push(table.group_rows.len() as u32);
        table.cell_rows.push(0);
    }

    /// Adds a group with these codes to the last cell.
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

impl Table {
    fn reserve(&mut self, cells: usize, groups: usize) {
        self.positions.reserve(cells * self.quasi.len());
        self.first_group.reserve(cells + 1);
        self.codes.reserve(groups * self.sensitive.len());
        self.group_rows.reserve(groups);
        self.cell_rows.reserve(cells);
    }

    /// A table without rows.
    pub fn empty(domains: &Domains) -> Self {
        TableBuilder::new(domains).build()
    }

    /// The quasi-identifiers.
    pub fn quasi(&self) -> &[QuasiColumn] {
        &self.quasi
    }

    /// The quasi-identifiers, to be shared.
    pub(crate) fn quasi_columns(&self) -> &Arc<[QuasiColumn]> {
        &self.quasi
    }

    /// The sensitive columns, each as often as it has facets.
    pub fn sensitive(&self) -> &[SensitiveColumn] {
        &self.sensitive
    }

    /// The sensitive columns, to be shared.
    pub(crate) fn sensitive_columns(&self) -> &Arc<[SensitiveColumn]> {
        &self.sensitive
    }

    /// How many rows there are.
    pub fn rows(&self) -> u64 {
        self.rows
    }

    /// How many cells there are.
    pub fn cell_count(&self) -> usize {
        self.cell_rows.len()
    }

    /// How many groups there are.
    pub fn group_count(&self) -> usize {
        self.group_rows.len()
    }

    /// The positions of a cell, one per quasi-identifier.
    pub fn positions(&self, cell: u32) -> &[u32] {
        let width = self.quasi.len();
        &self.positions[cell as usize * width..(cell as usize + 1) * width]
    }

    /// How many rows a cell has.
    pub fn cell_rows(&self, cell: u32) -> u64 {
        self.cell_rows[cell as usize]
    }

    /// The groups of a cell.
    pub fn groups(&self, cell: u32) -> Range<u32> {
        self.first_group[cell as usize]..self.first_group[cell as usize + 1]
    }

    /// The sensitive codes of a group, one per sensitive column; [`crate::domain::NULL`] for null.
    pub fn codes(&self, group: u32) -> &[u32] {
        let width = self.sensitive.len();
        &self.codes[group as usize * width..(group as usize + 1) * width]
    }

    /// How many rows a group has.
    pub fn group_rows(&self, group: u32) -> u32 {
        self.group_rows[group as usize]
    }
}

//! Tuples of numbers with their row counts: groups, before and after columns are encoded by merged domains.

/// Tuples of equal width, each with a row count.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CountedTuples {
    width: usize,
    numbers: Vec<u32>,
    rows: Vec<u32>,
}

impl CountedTuples {
    /// Creates an empty list of tuples of this width.
    pub fn new(width: usize) -> Self {
        Self { width, numbers: Vec::new(), rows: Vec::new() }
    }

    /// Returns the number of columns of a tuple.
    pub fn width(&self) -> usize {
        self.width
    }

    /// Returns the number of tuples.
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Returns whether there is no tuple.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Returns the tuple at `index`.
    pub fn tuple(&self, index: usize) -> &[u32] {
        &self.numbers[index * self.width..(index + 1) * self.width]
    }

    /// Returns the number of rows of the tuple at `index`.
    pub fn rows(&self, index: usize) -> u32 {
        self.rows[index]
    }

    /// Appends a tuple.
    pub fn push(&mut self, tuple: &[u32], rows: u32) {
        self.numbers.extend_from_slice(tuple);
        self.rows.push(rows);
    }

    /// Iterates over the tuples and their row counts.
    pub fn iter(&self) -> impl Iterator<Item = (&[u32], u32)> {
        (0..self.len()).map(|index| (self.tuple(index), self.rows[index]))
    }

    /// Returns the tuples as one list of numbers, each tuple followed by its row count.
    pub fn to_numbers(&self) -> Vec<u32> {
        let mut numbers = Vec::with_capacity(self.len() * (self.width + 1));
        for (tuple, rows) in self.iter() {
            numbers.extend_from_slice(tuple);
            numbers.push(rows);
        }
        numbers
    }

    /// Returns the memory of the tuples, in bytes.
    pub fn size(&self) -> usize {
        (self.numbers.capacity() + self.rows.capacity()) * size_of::<u32>()
    }
}

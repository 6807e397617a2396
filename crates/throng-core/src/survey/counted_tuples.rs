//! Tuples of numbers with their row counts: groups, before and after their columns are merged.

/// Tuples of one width, each with a count of rows.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CountedTuples {
    width: usize,
    numbers: Vec<u32>,
    rows: Vec<u32>,
}

impl CountedTuples {
    /// No tuples of this width.
    pub fn new(width: usize) -> Self {
        Self { width, numbers: Vec::new(), rows: Vec::new() }
    }

    /// How many numbers a tuple has.
    pub fn width(&self) -> usize {
        self.width
    }

    /// How many tuples there are.
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Whether there is no tuple.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// One tuple.
    pub fn tuple(&self, index: usize) -> &[u32] {
        &self.numbers[index * self.width..(index + 1) * self.width]
    }

    /// How many rows have a tuple.
    pub fn rows(&self, index: usize) -> u32 {
        self.rows[index]
    }

    /// One more tuple.
    pub fn push(&mut self, tuple: &[u32], rows: u32) {
        self.numbers.extend_from_slice(tuple);
        self.rows.push(rows);
    }

    /// The tuples with their rows.
    pub fn iter(&self) -> impl Iterator<Item = (&[u32], u32)> {
        (0..self.len()).map(|index| (self.tuple(index), self.rows[index]))
    }

    /// What the tuples take of the memory.
    pub fn size(&self) -> usize {
        (self.numbers.capacity() + self.rows.capacity()) * size_of::<u32>()
    }
}

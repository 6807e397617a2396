//! How many classes and rows there are of each size.

use super::class_sizes::ClassSizes;

/// The least size of each band.
const BEGINS: [u64; 10] = [1, 2, 3, 5, 10, 20, 50, 100, 500, 1000];

/// Classes of about the same size.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SizeBand {
    /// The least number of rows.
    pub from: u64,
    /// The greatest number of rows; none where there is no end.
    pub to: Option<u64>,
    /// Classes of this size.
    pub classes: u64,
    /// Rows in them.
    pub rows: u64,
}

impl SizeBand {
    /// All bands, also those without a class.
    pub(super) fn of(sizes: &ClassSizes) -> Vec<Self> {
        let end = |index: usize| BEGINS.get(index + 1).map(|next| next - 1);
        let band = |(index, from): (usize, u64)| Self { from, to: end(index), classes: 0, rows: 0 };
        let mut bands: Vec<Self> = BEGINS.into_iter().enumerate().map(band).collect();
        for (size, classes) in sizes.iter() {
            let index = BEGINS.partition_point(|from| *from <= size);
            if let Some(band) = index.checked_sub(1).and_then(|index| bands.get_mut(index)) {
                band.classes += classes;
                band.rows += size * classes;
            }
        }
        bands
    }
}

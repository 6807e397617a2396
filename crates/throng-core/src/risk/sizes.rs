//! Classes and rows by band of class size.

use super::class_sizes::ClassSizes;

/// Lower bounds of the bands.
const BEGINS: [u64; 10] = [1, 2, 3, 5, 10, 20, 50, 100, 500, 1000];

/// A band of class sizes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SizeBand {
    /// Smallest size.
    pub from: u64,
    /// Largest size; `None` for the last band.
    pub to: Option<u64>,
    /// Number of classes whose size is in the band.
    pub classes: u64,
    /// Number of rows in these classes.
    pub rows: u64,
}

impl SizeBand {
    /// Returns all bands, empty ones included.
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

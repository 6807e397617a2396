//! Where a release is cut into buckets whose rows each fit into memory.
//!
//! Class sizes are known before any row is moved, so buckets are cut by size, and a release is its buckets one after the
//! other.

/// Lower bounds of buckets: a class, or a row hash within a large class.
#[derive(Debug, PartialEq, Eq)]
pub struct BucketBorders {
    /// First class and lowest row hash of each bucket, ascending.
    first: Vec<(u32, u128)>,
}

impl BucketBorders {
    /// Cuts a release into buckets of about `bucket_rows` rows, and at least one, given the number of rows of each class.
    pub fn new(class_rows: &[u64], bucket_rows: u64) -> Self {
        let bucket_rows = bucket_rows.max(1);
        let mut first = Vec::new();
        let mut filled = u64::MAX;
        for (class, rows) in (0_u32..).zip(class_rows) {
            if *rows > bucket_rows {
                // Row hashes are uniform, so equal ranges hold about equally many rows.
                let pieces = u128::from(rows.div_ceil(bucket_rows));
                let step = u128::MAX / pieces;
                first.extend((0..pieces).map(|piece| (class, piece * step)));
                filled = u64::MAX;
            } else if filled.saturating_add(*rows) > bucket_rows {
                first.push((class, 0));
                filled = *rows;
            } else {
                filled += rows;
            }
        }
        Self { first }
    }

    /// Returns the number of buckets.
    pub fn len(&self) -> usize {
        self.first.len()
    }

    /// Returns whether there is no bucket.
    pub fn is_empty(&self) -> bool {
        self.first.is_empty()
    }

    /// Returns the bucket of a row, given its class and row hash.
    #[inline]
    pub fn bucket(&self, class: u32, hash: u128) -> u32 {
        self.first.partition_point(|first| *first <= (class, hash)) as u32 - 1
    }
}

#[cfg(test)]
#[path = "bucket_borders_tests.rs"]
mod tests;

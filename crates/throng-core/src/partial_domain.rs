//! Slices of a domain that has too many values for memory.
//!
//! Positions of the whole domain are ranks of all values, which are found on disk. A table of some of the rows has a slice of
//! the domain instead: the values of these rows, in ascending order. Order, distances and losses within a slice are those of
//! the whole domain, so classes of its rows are formed as they would be in the whole domain.

use std::sync::Arc;

use arrow::datatypes::DataType;

use crate::domain::Domain;
use crate::error::{CoreError, Result};
use crate::numeric_view::NumericView;
use crate::survey::order_keys;

/// Facts about a domain whose values are not in memory.
#[derive(Clone, Debug)]
pub struct WholeDomain {
    column: String,
    data_type: DataType,
    distinct: u32,
    /// Keys of the first and the last value.
    ends: Option<(u64, u64)>,
    has_null: bool,
}

/// The mapping of a slice to its whole domain.
#[derive(Clone, Debug)]
pub struct PartialDomain {
    whole: Arc<WholeDomain>,
    /// Position in the whole domain of each position, ascending.
    positions: Arc<[u32]>,
}

impl WholeDomain {
    /// Creates the domain of a column with `distinct` values, whose first and last keys are `ends`.
    pub(crate) fn new(
        column: &str,
        data_type: &DataType,
        distinct: u32,
        ends: Option<(u64, u64)>,
        has_null: bool,
    ) -> Arc<Self> {
        Arc::new(Self { column: column.to_owned(), data_type: data_type.clone(), distinct, ends, has_null })
    }

    /// Returns the number of positions.
    pub fn len(&self) -> usize {
        self.distinct as usize + usize::from(self.has_null)
    }

    /// Returns whether the domain has no position.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the position of the value with this rank.
    pub fn position(&self, rank: u32) -> u32 {
        rank + u32::from(self.has_null)
    }

    /// Returns the rank of the value at a position; `None` for null.
    pub fn rank(&self, position: u32) -> Option<u32> {
        position.checked_sub(u32::from(self.has_null))
    }

    /// Returns the slice of the values with these positions and keys, both ascending. Null is in every slice of a domain
    /// with nulls, and not in the lists.
    pub fn slice(self: &Arc<Self>, positions: &[u32], keys: &[u64]) -> Result<Domain> {
        self.sliced(positions, keys, true)
    }

    /// Like [`WholeDomain::slice`], for the values shown by the labels of all classes, which may be many: takes a third of
    /// the memory, but losses are slower to compute.
    pub fn slice_of_labels(self: &Arc<Self>, positions: &[u32], keys: &[u64]) -> Result<Domain> {
        self.sliced(positions, keys, false)
    }

    fn sliced(self: &Arc<Self>, positions: &[u32], keys: &[u64], are_losses_looked_up: bool) -> Result<Domain> {
        let unsupported = || CoreError::Type {
            column: self.column.clone(),
            data_type: self.data_type.to_string(),
            role: "quasi-identifier with intervals",
        };
        // Distances are measured from the first value, in units of the whole range.
        let (first, last) = self.ends.unwrap_or_default();
        let with_ends = [first].into_iter().chain(keys.iter().copied()).chain([last]);
        let with_ends = order_keys::values(with_ends, &self.data_type)?.ok_or_else(unsupported)?;
        let numbers = NumericView::of(&with_ends).ok_or_else(unsupported)?;
        let null = self.has_null.then_some(0).into_iter();
        let slice =
            PartialDomain { whole: Arc::clone(self), positions: null.chain(positions.iter().copied()).collect() };
        let values = with_ends.slice(1, keys.len());
        Ok(Domain::of_slice(values, self.has_null, numbers, are_losses_looked_up, slice))
    }
}

impl PartialDomain {
    /// Returns the whole domain.
    pub fn whole(&self) -> &Arc<WholeDomain> {
        &self.whole
    }

    /// Converts a position of the slice to one of the whole domain.
    pub fn in_whole(&self, position: u32) -> u32 {
        self.positions[position as usize]
    }

    /// Converts a position of the whole domain, which must be in the slice, to one of the slice.
    pub fn in_slice(&self, position: u32) -> u32 {
        self.positions.partition_point(|other| *other < position) as u32
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::domain::{DistinctValues, DomainKind};
    use crate::survey::order_keys::keys;
    use crate::test_tables::{floats, interval, ints};

    #[test]
    fn a_slice_has_the_distances_of_the_whole_domain() {
        let arrays = [ints(&[-7, 0, 3, 1 << 40, 1 << 60]), floats(&[-1e300, -0.5, 0.0, 0.1, 1e300])];
        for values in arrays {
            for has_null in [false, true] {
                let spec = interval("x");
                let distinct = DistinctValues { values: &values, rows: None, has_null };
                let (expected, positions) = Domain::build(&spec, distinct).unwrap();
                let of_values = keys(&values).unwrap().unwrap();
                let whole = WholeDomain::new("x", values.data_type(), 5, Some((of_values[0], of_values[4])), has_null);
                assert_eq!((whole.len(), whole.position(2)), (expected.len(), positions[2]));
                let some = [1, 3, 4];
                let (places, of_some) = (some.map(|at| positions[at]), some.map(|at| of_values[at]));
                let slice = whole.slice(&places, &of_some).unwrap();
                let of_labels = whole.slice_of_labels(&places, &of_some).unwrap();
                let nulls = u32::from(has_null);
                assert_eq!(slice.len(), some.len() + nulls as usize);
                assert_eq!((slice.whole_len(), slice.null_position()), (expected.len(), expected.null_position()));
                for a in 0..slice.len() as u32 {
                    for b in a..slice.len() as u32 {
                        let (lo, hi) = (slice.in_whole(a), slice.in_whole(b));
                        assert_eq!(slice.loss(a, b), expected.loss(lo, hi));
                        assert_eq!(of_labels.loss(a, b), expected.loss(lo, hi));
                        assert_eq!(slice.slice().unwrap().in_slice(lo), a);
                    }
                }
                let DomainKind::Ordered { values: of_slice, .. } = slice.kind() else { panic!("a category") };
                let taken = arrow::compute::take(&values, &arrow::array::UInt32Array::from(vec![1, 3, 4]), None);
                assert_eq!(of_slice, &Arc::clone(&taken.unwrap()));
            }
        }
    }
}

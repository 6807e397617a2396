//! Pass-through columns in memory, with random access to rows.

use std::sync::Arc;

use datafusion::arrow::array::{Array, ArrayRef, UInt32Array};
use datafusion::arrow::compute::{cast, concat, interleave, take};
use datafusion::arrow::datatypes::DataType;
use throng_core::global_dictionary::GlobalDictionary;

use crate::AnonymizeError;

/// One pass-through column of all rows, in arrival order.
pub(super) enum KeptColumn {
    /// One array: values of fixed width, or keys of a global dictionary.
    Flat(ArrayRef),
    /// One array per batch: values that may be too large for one array.
    Pieces(Vec<ArrayRef>),
}

/// Rows to take: by row number, and by batch and row within it.
pub(super) struct Wanted<'a> {
    pub(super) rows: &'a UInt32Array,
    pub(super) places: &'a (dyn Fn() -> Vec<(usize, usize)> + Sync),
}

impl KeptColumn {
    /// Concatenates the batches of a column. With a `lexicon`, strings are replaced by its keys.
    pub(super) fn new(
        mut pieces: Vec<ArrayRef>,
        lexicon: Option<&mut GlobalDictionary>,
    ) -> Result<Self, AnonymizeError> {
        if let Some(lexicon) = lexicon {
            return Ok(Self::Flat(Arc::new(lexicon.numbers(&pieces)?)));
        }
        let Some(data_type) = pieces.first().map(|piece| piece.data_type().clone()) else {
            return Ok(Self::Pieces(pieces));
        };
        if data_type.is_primitive() || data_type == DataType::Boolean {
            let arrays: Vec<&dyn Array> = pieces.iter().map(AsRef::as_ref).collect();
            return Ok(Self::Flat(concat(&arrays).map_err(|source| AnonymizeError::Kernel("concat", source))?));
        }
        if let DataType::Dictionary(_, _) = data_type {
            // Views share the dictionary's strings instead of copying them per row.
            for piece in &mut pieces {
                *piece = cast(piece, &DataType::Utf8View).map_err(|source| AnonymizeError::Kernel("cast", source))?;
            }
        }
        Ok(Self::Pieces(pieces))
    }

    /// Gathers rows.
    pub(super) fn take(&self, wanted: &Wanted<'_>) -> Result<ArrayRef, AnonymizeError> {
        match self {
            Self::Flat(column) => {
                take(column, wanted.rows, None).map_err(|source| AnonymizeError::Kernel("take", source))
            }
            Self::Pieces(pieces) => {
                let arrays: Vec<&dyn Array> = pieces.iter().map(AsRef::as_ref).collect();
                interleave(&arrays, &(wanted.places)()).map_err(|source| AnonymizeError::Kernel("interleave", source))
            }
        }
    }
}

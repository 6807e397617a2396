//! The kept columns of rows that are in memory, so that any of them can be taken in any order.

use std::sync::Arc;

use datafusion::arrow::array::{Array, ArrayRef, UInt32Array};
use datafusion::arrow::compute::{cast, concat, interleave, take};
use datafusion::arrow::datatypes::DataType;
use throng_core::global_dictionary::GlobalDictionary;

use crate::AnonymizeError;

/// One kept column of all rows, in the order of their arrival.
pub(super) enum KeptColumn {
    /// In one piece: numbers, or the numbers of strings in a lexicon.
    Flat(ArrayRef),
    /// In the pieces in which it came: what may be too large for one.
    Pieces(Vec<ArrayRef>),
}

/// Which rows are wanted, by their numbers, and by piece and row there.
pub(super) struct Wanted<'a> {
    pub(super) rows: &'a UInt32Array,
    pub(super) places: &'a (dyn Fn() -> Vec<(usize, usize)> + Sync),
}

impl KeptColumn {
    /// Puts the pieces of a column together. Strings become their numbers where there is a lexicon of them.
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
            // Views into the dictionary: a string is not copied for each row that has it.
            for piece in &mut pieces {
                *piece = cast(piece, &DataType::Utf8View).map_err(|source| AnonymizeError::Kernel("cast", source))?;
            }
        }
        Ok(Self::Pieces(pieces))
    }

    /// Some rows.
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

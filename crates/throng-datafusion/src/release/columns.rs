//! Pass-through columns in memory, with random access to rows.

use std::sync::Arc;

use datafusion::arrow::array::{Array, ArrayRef, UInt32Array};
use datafusion::arrow::compute::{cast, interleave, take};
use datafusion::arrow::datatypes::DataType;
use throng_core::global_dictionary::GlobalDictionary;

use crate::AnonymizeError;

/// One pass-through column of all rows, in arrival order.
pub(super) enum KeptColumn {
    /// Keys of a global dictionary.
    Numbers(ArrayRef),
    /// The original arrays of the batches: a value is copied once, when its row is released.
    Pieces(Vec<ArrayRef>),
}

/// Rows to take: by row number, and by batch and row within it.
pub(super) struct Wanted<'a> {
    pub(super) rows: &'a UInt32Array,
    pub(super) places: &'a [(usize, usize)],
}

impl KeptColumn {
    /// Keeps the batches of a column. With a `lexicon`, strings are replaced by its keys.
    pub(super) fn new(
        mut pieces: Vec<ArrayRef>,
        lexicon: Option<&mut GlobalDictionary>,
    ) -> Result<Self, AnonymizeError> {
        if let Some(lexicon) = lexicon {
            return Ok(Self::Numbers(Arc::new(lexicon.numbers(&pieces)?)));
        }
        for piece in &mut pieces {
            if let DataType::Dictionary(_, _) = piece.data_type() {
                // Views share the dictionary's strings instead of copying them per row.
                *piece = cast(piece, &DataType::Utf8View).map_err(|source| AnonymizeError::Kernel("cast", source))?;
            }
        }
        Ok(Self::Pieces(pieces))
    }

    /// Whether values may need views in addition to the memory of their batches.
    pub(super) fn is_scattered(&self) -> bool {
        let is_flat = |kind: &DataType| kind.is_primitive() || *kind == DataType::Boolean;
        matches!(self, Self::Pieces(pieces) if !pieces.iter().all(|piece| is_flat(piece.data_type())))
    }

    /// Gathers rows.
    pub(super) fn take(&self, wanted: &Wanted<'_>) -> Result<ArrayRef, AnonymizeError> {
        let taken = |column: &ArrayRef| {
            take(column, wanted.rows, None).map_err(|source| AnonymizeError::Kernel("take", source))
        };
        match self {
            Self::Numbers(keys) => taken(keys),
            Self::Pieces(pieces) => match &pieces[..] {
                [column] => taken(column),
                pieces => {
                    let arrays: Vec<&dyn Array> = pieces.iter().map(AsRef::as_ref).collect();
                    interleave(&arrays, wanted.places).map_err(|source| AnonymizeError::Kernel("interleave", source))
                }
            },
        }
    }
}

//! Pass-through columns of a release: insensitive and sensitive values, categories of the latter, and pseudonyms.

use std::sync::Arc;

use datafusion::arrow::array::{Array, ArrayRef, AsArray, RecordBatch};
use datafusion::arrow::datatypes::{DataType, Field, Schema};
use throng_core::CoreError;
use throng_core::columns::Categories;
use throng_core::dictionary_encode::{DictionaryEncoder, dictionary_type, is_text};
use throng_core::sensitive_coding::category_names;
use throng_policy::{Binding, BoundColumn, BoundSensitive, SensitiveRelease, UNIT_COLUMN};

use crate::borrowed_rows::borrowed_text;
use crate::canonical_types::fits_canonical;
use crate::unit_column::unit_source;
use crate::{AnonymizeError, to_canonical_array, to_canonical_field};

/// Text is borrowed if it has more distinct strings than rows divided by this.
const MOSTLY_DISTINCT: usize = 2;

/// A pass-through column and the input column that it comes from.
#[derive(Clone, Debug)]
pub(crate) struct PassthroughColumn {
    pub(crate) name: String,
    pub(crate) source: BoundColumn,
    /// Categories whose names replace the values.
    categories: Option<Arc<Categories>>,
}

/// Returns the names of the released pass-through columns, in release order.
pub(crate) fn passthrough_names(binding: &Binding) -> Vec<String> {
    passthrough_columns(binding).into_iter().map(|kept| kept.name).filter(|name| name != UNIT_COLUMN).collect()
}

/// Returns the pass-through columns in input order. The category of a value follows the value. The unit of privacy comes
/// last.
pub(crate) fn passthrough_columns(binding: &Binding) -> Vec<PassthroughColumn> {
    let as_it_is = |column: &BoundColumn| PassthroughColumn {
        name: column.name.clone(),
        source: column.clone(),
        categories: None,
    };
    let insensitive = binding.insensitive.iter().map(as_it_is);
    let sensitive = binding.sensitive.iter().flat_map(|BoundSensitive { column, categories, release, .. }| {
        let category =
            |name: String| PassthroughColumn { name, source: column.clone(), categories: categories.clone() };
        match release {
            SensitiveRelease::Value => vec![as_it_is(column)],
            SensitiveRelease::Category => vec![category(column.name.clone())],
            SensitiveRelease::Both => vec![as_it_is(column), category(SensitiveRelease::category_name(&column.name))],
        }
    });
    let pseudonym = binding.pseudonym.iter().map(as_it_is);
    let mut kept: Vec<PassthroughColumn> = insensitive.chain(sensitive).chain(pseudonym).collect();
    kept.sort_by_key(|kept| kept.source.index);
    kept.extend(binding.unit.as_ref().map(|_| as_it_is(&unit_source())));
    kept
}

impl PassthroughColumn {
    /// Returns the values to buffer for an input column. String columns must be dictionary-encoded, and remain so.
    pub(crate) fn of(&self, column: &ArrayRef, compactor: &mut DictionaryEncoder) -> Result<ArrayRef, AnonymizeError> {
        match &self.categories {
            Some(categories) => {
                let names = category_names(categories, &self.source.name, column)?;
                compactor.compact(&names).map_err(|source| AnonymizeError::Kernel("compact", source))
            }
            None if is_text(column.data_type()) => Ok(Arc::clone(column)),
            None if fits_canonical(column) => match to_canonical_array(column)? {
                // Strings that were run-end encoded.
                text if is_text(text.data_type()) => {
                    compactor.compact(&text).map_err(|source| AnonymizeError::Kernel("compact", source))
                }
                plain => Ok(plain),
            },
            None => Err(CoreError::OutOfRange {
                column: self.source.name.clone(),
                data_type: self.source.data_type.to_string(),
            }
            .into()),
        }
    }

    /// Returns the text of the input column in place of its dictionary-encoded copy, if the copy has most of it: few strings repeat.
    pub(crate) fn borrowed(&self, encoded: &ArrayRef, input: &RecordBatch) -> Option<ArrayRef> {
        let entries = encoded.as_any_dictionary_opt()?.values().len();
        let text = input.column_by_name(&self.source.name).filter(|_| self.categories.is_none())?;
        if entries * MOSTLY_DISTINCT > encoded.len() { borrowed_text(text) } else { None }
    }

    /// Returns the released field.
    pub(crate) fn field(&self, input: &Schema) -> Field {
        match &self.categories {
            Some(_) => Field::new(&self.name, DataType::Utf8, true),
            None => match input.fields().get(self.source.index) {
                Some(field) => to_canonical_field(field),
                None => Field::new(&self.name, self.source.data_type.clone(), true),
            },
        }
    }

    /// Returns the buffered type: that of the release, but dictionaries for strings.
    pub(crate) fn data_type(&self) -> DataType {
        match &self.categories {
            Some(_) => dictionary_type(),
            None => {
                let plain = to_canonical_field(&Field::new(&self.name, self.source.data_type.clone(), true));
                if is_text(plain.data_type()) { dictionary_type() } else { plain.data_type().clone() }
            }
        }
    }
}

//! Types that a policy declares for its columns, so that a delivery with other types is refused.

use arrow::datatypes::{DataType, Schema};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::policy::{Columns, Policy};

/// The type of a column, whatever its width and encoding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(rename = "Type")]
pub enum DeclaredType {
    /// Whole numbers.
    Integer,
    /// Numbers, whole ones included.
    Number,
    /// Text.
    Text,
    /// Dates without a time of day.
    Date,
    /// Dates with a time of day.
    Timestamp,
    /// True or false.
    Boolean,
}

impl DeclaredType {
    /// All types, in the order of the enumeration.
    pub const ALL: [Self; 6] = [Self::Integer, Self::Number, Self::Text, Self::Date, Self::Timestamp, Self::Boolean];

    /// Returns the narrowest declared type of a column type; `None` for times of day, nested and binary types.
    pub fn of(data_type: &DataType) -> Option<Self> {
        match data_type {
            DataType::Dictionary(_, values) => Self::of(values),
            DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => Some(Self::Text),
            DataType::Boolean => Some(Self::Boolean),
            DataType::Date32 | DataType::Date64 => Some(Self::Date),
            DataType::Timestamp(..) => Some(Self::Timestamp),
            number if number.is_integer() => Some(Self::Integer),
            number if number.is_numeric() => Some(Self::Number),
            _ => None,
        }
    }

    /// Returns whether a column of this type satisfies the declaration.
    pub fn accepts(self, data_type: &DataType) -> bool {
        match (self, Self::of(data_type)) {
            (Self::Number, Some(Self::Integer)) => true,
            (declared, found) => found == Some(declared),
        }
    }

    /// Returns the name of the type in the policy file.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Integer => "integer",
            Self::Number => "number",
            Self::Text => "text",
            Self::Date => "date",
            Self::Timestamp => "timestamp",
            Self::Boolean => "boolean",
        }
    }
}

/// Returns a column type in the terms of the policy file, without the encodings of the engine.
pub fn describe_type(data_type: &DataType) -> &'static str {
    match (DeclaredType::of(data_type), data_type) {
        (Some(known), _) => known.as_str(),
        (None, DataType::Dictionary(_, values)) => describe_type(values),
        (None, DataType::Null) => "null",
        (None, DataType::Time32(_) | DataType::Time64(_)) => "time of day",
        (None, DataType::Duration(_) | DataType::Interval(_)) => "duration",
        (None, list) if list.is_list() => "list",
        (None, DataType::Struct(_)) => "struct",
        (None, DataType::Map(..)) => "map",
        (None, binary) if binary.is_binary() => "binary",
        (None, _) => "other",
    }
}

/// A column whose type is not the one that the policy declares.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TypeMismatch {
    /// Name of the column in the input.
    pub column: String,
    /// The type that the policy declares.
    pub declared: DeclaredType,
    /// Its type in the input, in the terms of the policy file.
    pub found: &'static str,
}

impl Policy {
    /// Returns the columns of a schema that have another type than the policy declares. Missing columns are not
    /// reported.
    pub fn type_mismatches(&self, schema: &Schema) -> Vec<TypeMismatch> {
        mismatches(&self.columns, schema)
    }
}

/// Returns the columns of a schema that have another type than declared.
pub(crate) fn mismatches(columns: &Columns, schema: &Schema) -> Vec<TypeMismatch> {
    let mismatch = |(name, declared): &(String, DeclaredType)| {
        let field = schema.field_with_name(name).ok().filter(|field| !declared.accepts(field.data_type()))?;
        Some(TypeMismatch { column: name.clone(), declared: *declared, found: describe_type(field.data_type()) })
    };
    columns.types.iter().filter_map(mismatch).collect()
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow::datatypes::{Field, TimeUnit};

    use super::*;

    #[test]
    fn every_width_and_encoding_of_a_type_is_accepted() {
        let dictionary = |values| DataType::Dictionary(Box::new(DataType::Int32), Box::new(values));
        let types = [
            (DeclaredType::Integer, DataType::Int8),
            (DeclaredType::Integer, DataType::UInt64),
            (DeclaredType::Number, DataType::Float32),
            (DeclaredType::Number, DataType::Decimal128(10, 2)),
            (DeclaredType::Number, DataType::Int64),
            (DeclaredType::Text, DataType::Utf8View),
            (DeclaredType::Text, dictionary(DataType::Utf8)),
            (DeclaredType::Date, DataType::Date32),
            (DeclaredType::Timestamp, DataType::Timestamp(TimeUnit::Second, None)),
            (DeclaredType::Boolean, DataType::Boolean),
        ];
        for (declared, data_type) in types {
            assert!(declared.accepts(&data_type), "{declared:?} {data_type}");
            let others = DeclaredType::ALL.into_iter().filter(|other| other.accepts(&data_type));
            let integers = usize::from(data_type.is_integer());
            assert_eq!(others.count(), 1 + integers, "{data_type}");
        }
        assert!(!DeclaredType::Integer.accepts(&DataType::Float64) && !DeclaredType::Integer.accepts(&DataType::Utf8));
    }

    #[test]
    fn types_are_described_without_encodings() {
        let list = DataType::List(Arc::new(Field::new("element", DataType::Utf8, true)));
        let types = [DataType::Utf8View, DataType::Int16, list, DataType::Binary, DataType::Null];
        assert_eq!(types.map(|data_type| describe_type(&data_type)), ["text", "integer", "list", "binary", "null"]);
    }
}

//! Classifies column types by the generalizations that they support.

use arrow::datatypes::DataType;

/// Kinds of types that can be generalized or counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TypeKind {
    /// An integer of any width, signed or not.
    Integer,
    /// A float or decimal.
    Fraction,
    /// A date or timestamp.
    Date,
    /// A time of day.
    Time,
    /// Text in any encoding, dictionaries included.
    Text,
    /// True or false.
    Boolean,
}

impl TypeKind {
    /// Returns the kind of a type, or `None` for nested and binary types, which have no order or label to generalize
    /// by.
    pub fn of(data_type: &DataType) -> Option<Self> {
        match data_type {
            DataType::Int8
            | DataType::Int16
            | DataType::Int32
            | DataType::Int64
            | DataType::UInt8
            | DataType::UInt16
            | DataType::UInt32
            | DataType::UInt64 => Some(TypeKind::Integer),
            DataType::Float16
            | DataType::Float32
            | DataType::Float64
            | DataType::Decimal32(..)
            | DataType::Decimal64(..)
            | DataType::Decimal128(..)
            | DataType::Decimal256(..) => Some(TypeKind::Fraction),
            DataType::Date32 | DataType::Date64 | DataType::Timestamp(..) => Some(TypeKind::Date),
            DataType::Time32(_) | DataType::Time64(_) => Some(TypeKind::Time),
            DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => Some(TypeKind::Text),
            DataType::Boolean => Some(TypeKind::Boolean),
            DataType::Dictionary(_, values) if !matches!(**values, DataType::Dictionary(..)) => TypeKind::of(values),
            _ => None,
        }
    }

    /// Returns whether intervals of values are meaningful.
    pub fn is_ordered(self) -> bool {
        matches!(self, TypeKind::Integer | TypeKind::Fraction | TypeKind::Date | TypeKind::Time)
    }

    /// Returns whether values have an order and differences, as numbers and dates have.
    pub fn has_differences(self) -> bool {
        self.is_number() || self == TypeKind::Date
    }

    /// Returns whether the values are numbers.
    pub fn is_number(self) -> bool {
        matches!(self, TypeKind::Integer | TypeKind::Fraction)
    }
}

/// Returns whether the mean of an ordered type can be represented in that type; sums of the widest decimals overflow.
pub fn has_mean(data_type: &DataType) -> bool {
    match data_type {
        DataType::Dictionary(_, values) => has_mean(values),
        other => !matches!(other, DataType::Decimal256(..)),
    }
}

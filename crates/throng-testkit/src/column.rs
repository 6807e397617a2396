//! Kinds of columns, and the mapping of numbers to their values.

use std::sync::Arc;

use arrow::array::{
    ArrayRef, BooleanArray, Date32Array, Decimal128Array, DictionaryArray, Float64Array, Int32Array, Int64Array,
    StringArray, TimestampMicrosecondArray, UInt8Array,
};
use arrow::datatypes::Int32Type;
use throng_core::columns::{ColumnRecoding, DEFAULT_WEIGHT, Nulls, QuasiSpec};
use throng_core::hierarchy::{DatePart, HierarchySpec, MaskSide, Tree};

/// Numbers below this map to distinct values, except in [`ColumnKind::Bool`].
pub(crate) const VALUES: u32 = 256;

/// Type of the values of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ColumnKind {
    Int,
    SmallInt,
    Float,
    Money,
    Date,
    Instant,
    Text,
    Code,
    Dictionary,
    Bool,
}

/// Kinds with a recoding and a hierarchy that fit them.
pub(crate) const QUASI: [(ColumnKind, ColumnRecoding, Rule); 27] = [
    (ColumnKind::Int, ColumnRecoding::Interval, Rule::Flat),
    (ColumnKind::Int, ColumnRecoding::Bounds, Rule::Flat),
    (ColumnKind::Int, ColumnRecoding::Ancestor, Rule::Intervals),
    (ColumnKind::SmallInt, ColumnRecoding::Interval, Rule::Flat),
    (ColumnKind::Float, ColumnRecoding::Interval, Rule::Flat),
    (ColumnKind::Float, ColumnRecoding::Bounds, Rule::Flat),
    (ColumnKind::Float, ColumnRecoding::Ancestor, Rule::Intervals),
    (ColumnKind::Money, ColumnRecoding::Interval, Rule::Flat),
    (ColumnKind::Date, ColumnRecoding::Interval, Rule::Flat),
    (ColumnKind::Date, ColumnRecoding::Ancestor, Rule::Dates),
    (ColumnKind::Instant, ColumnRecoding::Bounds, Rule::Flat),
    (ColumnKind::Instant, ColumnRecoding::Interval, Rule::Flat),
    (ColumnKind::Text, ColumnRecoding::Ancestor, Rule::Flat),
    (ColumnKind::Text, ColumnRecoding::Ancestor, Rule::Tree),
    (ColumnKind::Text, ColumnRecoding::Set, Rule::Tree),
    (ColumnKind::Code, ColumnRecoding::Ancestor, Rule::Mask),
    (ColumnKind::Dictionary, ColumnRecoding::Ancestor, Rule::Tree),
    (ColumnKind::Dictionary, ColumnRecoding::Set, Rule::Flat),
    (ColumnKind::Bool, ColumnRecoding::Ancestor, Rule::Flat),
    (ColumnKind::Bool, ColumnRecoding::Set, Rule::Flat),
    (ColumnKind::Int, ColumnRecoding::Mean, Rule::Flat),
    (ColumnKind::Float, ColumnRecoding::Mean, Rule::Flat),
    (ColumnKind::Money, ColumnRecoding::Mean, Rule::Flat),
    (ColumnKind::Date, ColumnRecoding::Median, Rule::Flat),
    (ColumnKind::Text, ColumnRecoding::Mode, Rule::Tree),
    (ColumnKind::Int, ColumnRecoding::Ancestor, Rule::MeanDifference),
    (ColumnKind::Float, ColumnRecoding::Ancestor, Rule::MeanDifference),
];

/// Kinds of sensitive columns.
pub(crate) const SENSITIVE: [ColumnKind; 5] =
    [ColumnKind::Text, ColumnKind::Int, ColumnKind::Float, ColumnKind::Dictionary, ColumnKind::Bool];

/// Source of the hierarchy of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Rule {
    Flat,
    Tree,
    Intervals,
    Dates,
    Mask,
    MeanDifference,
}

pub(crate) fn spec(name: String, release: ColumnRecoding, rule: Rule, weight: f64, nulls: Nulls) -> QuasiSpec {
    let hierarchy = match rule {
        Rule::Flat => HierarchySpec::Flat,
        Rule::Tree => HierarchySpec::Tree(Arc::new(tree())),
        Rule::Intervals => HierarchySpec::Intervals { origin: 0.0, widths: vec![5.0, 10.0, 50.0] },
        Rule::Dates => HierarchySpec::DateParts(vec![DatePart::Month, DatePart::Quarter, DatePart::Decade]),
        Rule::Mask => HierarchySpec::Mask(MaskSide::Right),
        Rule::MeanDifference => HierarchySpec::MeanDifference,
    };
    QuasiSpec {
        name,
        release,
        weight: weight * DEFAULT_WEIGHT,
        nulls,
        hierarchy: Arc::new(hierarchy),
        limit: None,
        cover: None,
    }
}

/// A hierarchy of all texts, with groups of unequal size; `other` skips a level.
fn tree() -> Tree {
    let path = |number: u32| match number {
        7 => vec![text(7), "other".to_owned(), "other".to_owned(), "*".to_owned()],
        _ => vec![text(number), format!("town {}", number % 11), format!("land {}", number % 11 / 4), "*".to_owned()],
    };
    Tree::from_paths(&(0..VALUES).map(path).collect::<Vec<_>>()).unwrap()
}

fn text(number: u32) -> String {
    format!("t{number}")
}

/// Builds a column from numbers; `None` becomes null.
pub(crate) fn array(kind: ColumnKind, numbers: &[Option<u32>]) -> ArrayRef {
    let signed = |number: u32| i64::from(number) - 100;
    let rows = || numbers.iter().copied();
    match kind {
        ColumnKind::Int => Arc::new(rows().map(|n| n.map(signed)).collect::<Int64Array>()),
        ColumnKind::SmallInt => Arc::new(rows().map(|n| n.map(|n| n as u8)).collect::<UInt8Array>()),
        ColumnKind::Float => Arc::new(rows().map(|n| n.map(|n| signed(n) as f64 * 0.75)).collect::<Float64Array>()),
        ColumnKind::Money => {
            let cents: Decimal128Array = rows().map(|n| n.map(|n| i128::from(signed(n)) * 125)).collect();
            Arc::new(cents.with_precision_and_scale(12, 2).unwrap())
        }
        ColumnKind::Date => Arc::new(rows().map(|n| n.map(|n| signed(n) as i32 * 17)).collect::<Date32Array>()),
        ColumnKind::Instant => {
            let micros = |n: u32| signed(n) * 3_600_000_001;
            Arc::new(rows().map(|n| n.map(micros)).collect::<TimestampMicrosecondArray>())
        }
        ColumnKind::Text => Arc::new(rows().map(|n| n.map(text)).collect::<StringArray>()),
        ColumnKind::Code => Arc::new(rows().map(|n| n.map(|n| (n * 37).to_string())).collect::<StringArray>()),
        ColumnKind::Dictionary => {
            // Every text has an entry, used or not, unsorted.
            let entries: StringArray = (0..VALUES).map(|entry| Some(text(entry * 101 % VALUES))).collect();
            // Inverse permutation: 101 * 109 is 1 modulo 256.
            let keys: Int32Array = rows().map(|n| n.map(|n| (n * 109 % VALUES) as i32)).collect();
            Arc::new(DictionaryArray::<Int32Type>::new(keys, Arc::new(entries)))
        }
        ColumnKind::Bool => Arc::new(rows().map(|n| n.map(|n| n % 2 == 1)).collect::<BooleanArray>()),
    }
}

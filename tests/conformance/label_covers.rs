//! Whether released values cover the original ones. Compares texts and numbers only, never positions.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, StringArray, UInt32Array};
use arrow::compute::{cast, take};
use arrow::datatypes::{DataType, Float64Type, Int32Type, Int64Type};
use throng_core::columns::ColumnRecoding;
use throng_core::hierarchy::{HierarchySpec, Tree, build_tree};
use throng_testkit::RandomTable;

use crate::{Released, texts};

/// Converts the values of a column to numbers.
fn numbers(column: &ArrayRef) -> Vec<Option<f64>> {
    let plain = match column.data_type() {
        DataType::Date32 => cast(column, &DataType::Int32).unwrap(),
        DataType::Timestamp(_, _) => cast(column, &DataType::Int64).unwrap(),
        _ => column.clone(),
    };
    match plain.data_type() {
        DataType::Int32 => plain.as_primitive::<Int32Type>().iter().map(|n| n.map(f64::from)).collect(),
        DataType::Int64 => plain.as_primitive::<Int64Type>().iter().map(|n| n.map(|n| n as f64)).collect(),
        _ => cast(&plain, &DataType::Float64).unwrap().as_primitive::<Float64Type>().iter().collect(),
    }
}

/// Returns the first quasi-identifier whose released values do not cover the original ones.
pub fn not_covered(table: &RandomTable, released: &Released) -> Option<String> {
    for (spec, original) in &table.quasi {
        let columns: Vec<&ArrayRef> =
            spec.released_names().iter().map(|name| released.batch.column_by_name(name).unwrap()).collect();
        let holds: Vec<bool> = match spec.release {
            ColumnRecoding::Interval => {
                let (text, number) = (texts(original), numbers(original));
                let known: HashMap<&str, f64> =
                    text.iter().flatten().map(String::as_str).zip(number.iter().flatten().copied()).collect();
                let shown = texts(columns[0]);
                // The ends of a cover need not be values of the table.
                let end = |text: &str| known.get(text).copied().or_else(|| parsed(text, original.data_type()));
                let in_interval =
                    |(at, row): (usize, &u32)| in_interval(number[*row as usize], shown[at].as_deref(), &end);
                released.rows.iter().enumerate().map(in_interval).collect()
            }
            ColumnRecoding::Bounds => {
                let (number, lower, upper) = (numbers(original), numbers(columns[0]), numbers(columns[1]));
                let between = |(at, row): (usize, &u32)| match (lower[at], number[*row as usize], upper[at]) {
                    (Some(lower), Some(number), Some(upper)) => lower <= number && number <= upper,
                    (lower, _, upper) => lower.is_none() && upper.is_none(),
                };
                released.rows.iter().enumerate().map(between).collect()
            }
            ColumnRecoding::Ancestor if matches!(*spec.hierarchy, HierarchySpec::MeanDifference) => {
                let (number, shown) = (numbers(original), texts(columns[0]));
                let inside = |(at, row): (usize, &u32)| in_grid(number[*row as usize], shown[at].as_deref());
                released.rows.iter().enumerate().map(inside).collect()
            }
            ColumnRecoding::Ancestor => {
                let (text, shown) = (texts(original), texts(columns[0]));
                let paths = Paths::of(&spec.hierarchy, original);
                let above =
                    |(at, row): (usize, &u32)| paths.above(text[*row as usize].as_deref(), shown[at].as_deref());
                released.rows.iter().enumerate().map(above).collect()
            }
            ColumnRecoding::Set => {
                let (text, shown) = (texts(original), texts(columns[0]));
                let listed = |(at, row): (usize, &u32)| in_set(text[*row as usize].as_deref(), shown[at].as_deref());
                released.rows.iter().enumerate().map(listed).collect()
            }
            ColumnRecoding::Mean => {
                let (number, shown) = (numbers(original), numbers(columns[0]));
                let exact = class_means(released, &number);
                // Rounded to the resolution of the type: whole units, and a relative error for doubles.
                let unit = if original.data_type().is_floating() { 1e-9 } else { unit(original.data_type()) };
                let is_mean = |at: usize| match (shown[at], exact[at]) {
                    (Some(shown), Some(mean)) => (shown - mean).abs() <= unit * 0.500_001 + mean.abs() * 1e-9,
                    (shown, mean) => shown.is_none() && mean.is_none(),
                };
                (0..released.rows.len()).map(is_mean).collect()
            }
            ColumnRecoding::Median | ColumnRecoding::Mode => {
                let (text, shown) = (texts(original), texts(columns[0]));
                let text: Vec<Option<&str>> = released.rows.iter().map(|row| text[*row as usize].as_deref()).collect();
                let holds = |members: &[usize]| match spec.release {
                    ColumnRecoding::Mode => is_mode(members, &text, shown[members[0]].as_deref()),
                    _ => is_median(members, &numbers(original), released, numbers(columns[0])[members[0]]),
                };
                let classes = classes(released);
                classes.values().map(|members| holds(members)).collect()
            }
        };
        if holds.contains(&false) {
            return Some(spec.name.clone());
        }
    }
    None
}

/// Parses the end of an interval.
fn parsed(text: &str, data_type: &DataType) -> Option<f64> {
    let text: ArrayRef = Arc::new(StringArray::from(vec![text]));
    numbers(&cast(&text, data_type).ok()?)[0]
}

/// `25`, `[25-39]`, `[2024-01-01/2024-03-31]`, `*`, or null.
fn in_interval(number: Option<f64>, shown: Option<&str>, end: &impl Fn(&str) -> Option<f64>) -> bool {
    match (number, shown) {
        (_, Some("*")) => true,
        (number, None) => number.is_none(),
        (None, Some(_)) => false,
        (Some(number), Some(text)) => {
            let Some(inside) = text.strip_prefix('[').and_then(|text| text.strip_suffix(']')) else {
                return end(text) == Some(number);
            };
            let ends = inside
                .match_indices(['-', '/'])
                .filter_map(|(at, _)| Some((end(&inside[..at])?, end(&inside[at + 1..])?)));
            ends.into_iter().any(|(lower, upper)| lower <= number && number <= upper)
        }
    }
}

/// `25`, `[20-24]`, `[20-25)`, `<22`, `>62`, `*`, or null.
fn in_grid(number: Option<f64>, shown: Option<&str>) -> bool {
    let (Some(number), Some(text)) = (number, shown) else { return shown.is_none_or(|text| text == "*") };
    if let Some(border) = text.strip_prefix('<') {
        return number < border.parse().unwrap();
    }
    if let Some(border) = text.strip_prefix('>') {
        return number > border.parse().unwrap();
    }
    let Some(inside) = text.strip_prefix('[') else { return text == "*" || text.parse() == Ok(number) };
    let is_open = inside.ends_with(')');
    let inside = &inside[..inside.len() - 1];
    let ends = inside
        .match_indices('-')
        .filter_map(|(at, _)| Some((inside[..at].parse::<f64>().ok()?, inside[at + 1..].parse::<f64>().ok()?)));
    ends.into_iter().any(|(lower, upper)| lower <= number && (number < upper || (!is_open && number == upper)))
}

/// `A`, `{A, B}`, or null. No value of a random table has a comma.
fn in_set(text: Option<&str>, shown: Option<&str>) -> bool {
    let Some(shown) = shown else { return text.is_none() };
    let text = text.unwrap_or("null");
    match shown.strip_prefix('{').and_then(|shown| shown.strip_suffix('}')) {
        Some(list) => list.split(", ").any(|member| member == text),
        None => shown == text,
    }
}

/// Paths from the values of a column to the root of its hierarchy.
struct Paths(HashMap<String, Vec<String>>);

impl Paths {
    fn of(hierarchy: &HierarchySpec, column: &ArrayRef) -> Self {
        let plain = match column.data_type() {
            DataType::Dictionary(_, value) => cast(column, value).unwrap(),
            _ => column.clone(),
        };
        let mut seen = HashMap::new();
        let text = texts(&plain);
        for (row, text) in text.iter().enumerate() {
            if let Some(text) = text {
                seen.entry(text.clone()).or_insert(row as u32);
            }
        }
        let mut first: Vec<u32> = seen.values().copied().collect();
        first.sort_unstable();
        let distinct = take(&plain, &UInt32Array::from(first.clone()), None).unwrap();
        let (tree, positions) = build_tree(hierarchy, &distinct).unwrap();
        let path = |position: u32| {
            let up = std::iter::successors(Some(tree.leaf_node(position)), |node| tree.parent(*node));
            up.map(|node| Tree::label(&tree, node).to_owned()).collect::<Vec<_>>()
        };
        let named = first.iter().zip(positions).map(|(row, at)| (text[*row as usize].clone().unwrap(), path(at)));
        Self(named.collect())
    }

    fn above(&self, text: Option<&str>, shown: Option<&str>) -> bool {
        match (text, shown) {
            (None, shown) => matches!(shown, None | Some("*")),
            (Some(_), None) => false,
            (Some(text), Some(shown)) => self.0[text].iter().any(|label| label == shown),
        }
    }
}

/// Returns the rows of each class of a release.
fn classes(released: &Released) -> BTreeMap<Vec<Option<String>>, Vec<usize>> {
    let quasi: Vec<Vec<Option<String>>> = released.batch.columns()[..released.quasi].iter().map(texts).collect();
    let mut classes: BTreeMap<Vec<Option<String>>, Vec<usize>> = BTreeMap::new();
    for at in 0..released.rows.len() {
        classes.entry(quasi.iter().map(|column| column[at].clone()).collect()).or_default().push(at);
    }
    classes
}

/// Returns the mean of each released row's class; `None` where a row of the class has no number.
fn class_means(released: &Released, numbers: &[Option<f64>]) -> Vec<Option<f64>> {
    let mut means = vec![None; released.rows.len()];
    for members in classes(released).values() {
        let values: Option<Vec<f64>> = members.iter().map(|at| numbers[released.rows[*at] as usize]).collect();
        let mean = values.map(|values| values.iter().sum::<f64>() / values.len() as f64);
        for at in members {
            means[*at] = mean;
        }
    }
    means
}

/// Returns the smallest step of a type, in the scale of [`numbers`].
fn unit(data_type: &DataType) -> f64 {
    match data_type {
        DataType::Decimal128(_, scale) => 10_f64.powi(-i32::from(*scale)),
        _ => 1.0,
    }
}

/// Whether the released text is a most frequent one of the class.
fn is_mode(members: &[usize], text: &[Option<&str>], shown: Option<&str>) -> bool {
    let mut counts: HashMap<Option<&str>, usize> = HashMap::new();
    for at in members {
        *counts.entry(text[*at]).or_default() += 1;
    }
    counts.get(&shown).is_some_and(|count| Some(count) == counts.values().max())
}

/// Whether at least half of the class lies on either side of the released value; it must be absent where a number is
/// missing.
fn is_median(members: &[usize], numbers: &[Option<f64>], released: &Released, shown: Option<f64>) -> bool {
    let values: Option<Vec<f64>> = members.iter().map(|at| numbers[released.rows[*at] as usize]).collect();
    match (values, shown) {
        (Some(values), Some(shown)) => {
            let low = values.iter().filter(|value| **value <= shown).count();
            let high = values.iter().filter(|value| **value >= shown).count();
            2 * low >= values.len() && 2 * high >= values.len()
        }
        (values, shown) => values.is_none() && shown.is_none(),
    }
}

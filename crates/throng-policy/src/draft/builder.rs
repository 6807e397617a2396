//! Suggests the generalization of a quasi-identifier, with a reason.
//!
//! Interval widths are round numbers derived from the spread between two quantiles, never from minimum and maximum, so
//! that a draft contains no value of a person.

use arrow::datatypes::DataType;
use throng_core::profile::{Profile, TextShape, ValueKind};

use super::names::has_word;

/// Suggested generalization of a column: its lines in the policy, and the reason.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Builder {
    pub(super) why: String,
    /// Fields with their values; none if the default of the type is right.
    pub(super) lines: Vec<String>,
}

/// Maximum number of characters of a code.
const LONGEST_CODE: usize = 16;
/// Maximum number of distinct values of a column that is released as sets.
const SET: u64 = 20;
/// Minimum share of values that look like codes.
const NEARLY_ALL: f64 = 0.95;
/// Spread in days above which decades are suggested.
const DECADES: f64 = 20.0 * 365.25;

/// Returns the generalization that suits a column. Bounds are suggested only if they `can_be_named`: the table has no column of
/// their names.
pub(super) fn builder(name: &str, profile: &Profile, data_type: &DataType, can_be_named: bool) -> Builder {
    let is_postal = has_word(name, &["zip", "zipcode", "postcode", "postal", "plz"]);
    match profile.kind() {
        ValueKind::Date | ValueKind::Timestamp => calendar(profile, data_type, can_be_named),
        ValueKind::Integer if is_postal => {
            mask("a postal code says less from the right on; as a number it has lost leading zeros")
        }
        ValueKind::Integer | ValueKind::Fraction => numbers(profile, data_type, can_be_named),
        ValueKind::Text if is_postal && profile.longest() <= LONGEST_CODE => {
            mask("a postal code says less from the right on")
        }
        ValueKind::Text if is_code(profile) && profile.distinct() > SET => {
            mask("its values look like codes, whose last characters say least")
        }
        ValueKind::Text if profile.distinct() > SET => Builder {
            why: format!(
                "without a hierarchy {} values become `*` together: write a file with a line for each value, from the value to \
                 coarser and coarser groups (`value;group;*`), check it with `throng hierarchy check`, and name it here: \
                 hierarchy = \"file.csv\"",
                profile.distinct()
            ),
            lines: Vec::new(),
        },
        ValueKind::Text | ValueKind::Boolean => Builder {
            why: "few values: a class shows the set of those that occur in it, such as {a, b}".to_owned(),
            lines: vec!["release = \"set\"".to_owned()],
        },
        ValueKind::Time | ValueKind::Other => Builder { why: "shown as intervals".to_owned(), lines: Vec::new() },
    }
}

fn is_code(profile: &Profile) -> bool {
    let is_shaped = |shape| profile.shape_share(shape) >= NEARLY_ALL;
    profile.longest() <= LONGEST_CODE
        && (is_shaped(TextShape::CODE) || is_shaped(TextShape::DIGITS) || is_shaped(TextShape::DATE))
}

fn mask(why: &str) -> Builder {
    Builder { why: why.to_owned(), lines: vec!["hierarchy = { mask = \"right\" }".to_owned()] }
}

fn calendar(profile: &Profile, data_type: &DataType, can_be_named: bool) -> Builder {
    // A date has no finer level than the day.
    let (cover, finest) = match profile.kind() {
        ValueKind::Timestamp => ("day", "\"day\", "),
        _ => ("month", ""),
    };
    let is_long = profile.spread(data_type).is_some_and(|days| days > DECADES);
    let decade = if is_long { ", \"decade\"" } else { "" };
    let hierarchy = format!("hierarchy = {{ date = [{finest}\"month\", \"quarter\", \"year\"{decade}] }}");
    if !can_be_named {
        return Builder { why: "parts of the calendar, as readers know them".to_owned(), lines: vec![hierarchy] };
    }
    // A time with a zone is a moment, and moments are counted in UTC.
    let zone = if matches!(data_type, DataType::Timestamp(_, Some(_))) { " in UTC" } else { "" };
    Builder {
        why: format!(
            "{}, from the beginning of a {cover} to the end of one{zone}; for parts of the calendar as text, such as 1999-02, take \
             instead of both lines: {hierarchy}",
            two_columns("dates")
        ),
        lines: vec!["release = \"bounds\"".to_owned(), format!("cover = \"{cover}\"")],
    }
}

fn two_columns(of: &str) -> String {
    format!("two columns of {of}, the least and the greatest of a class, which are easy to compute with")
}

fn numbers(profile: &Profile, data_type: &DataType, can_be_named: bool) -> Builder {
    let release = if can_be_named { "bounds" } else { "interval" };
    let is_whole = profile.kind() == ValueKind::Integer;
    let mut why = match can_be_named {
        true => format!(
            "{}; release = \"interval\" gives one column of text instead, such as [25-39]",
            two_columns("numbers")
        ),
        false => "intervals such as [25-39], whose borders follow from the classes".to_owned(),
    };
    if is_whole && profile.distinct() <= SET {
        why += "; if the numbers are codes and no amounts, take release = \"set\"";
    }
    let width = profile.spread(data_type).and_then(|spread| round_width(spread, is_whole));
    if let Some(width) = width {
        let widths = [width, 2.0 * width, 4.0 * width].map(|width| width.to_string()).join(", ");
        why += &format!(
            "; for round ends add: cover = {width}; for intervals that do not overlap take instead of release: hierarchy = \
             {{ intervals = [{widths}] }}"
        );
    }
    Builder { why, lines: vec![format!("release = \"{release}\"")] }
}

/// Returns about a sixteenth of the spread, as 1, 2 or 5 times a power of ten, and at least 1 for integers.
fn round_width(spread: f64, is_whole: bool) -> Option<f64> {
    let wanted = spread / 16.0;
    if !wanted.is_finite() || wanted <= 0.0 || wanted.log10().abs() > 15.0 {
        return None;
    }
    let power = 10_f64.powi(wanted.log10().floor() as i32);
    let width = [1.0, 2.0, 5.0, 10.0].into_iter().find(|step| step * power >= wanted).unwrap_or(10.0) * power;
    Some(if is_whole { width.max(1.0) } else { width })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn widths_are_round() {
        let widths = |spread| round_width(spread, true);
        assert_eq!(
            [widths(60.0), widths(99.0), widths(7.0), widths(120_000.0)],
            [Some(5.0), Some(10.0), Some(1.0), Some(10_000.0)]
        );
        assert_eq!(round_width(3.0, false), Some(0.2));
        assert_eq!([round_width(0.0, false), round_width(f64::INFINITY, false), round_width(-1.0, true)], [None; 3]);
    }
}

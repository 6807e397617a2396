//! The levels of rule-based hierarchies, as a reader of the release would number them.

use chrono::{DateTime, Datelike, NaiveDate};

use super::promise::LevelRule;
use super::reader::symbol_of_text;
use crate::hierarchy::{DatePart, MaskSide};

/// Distance from a border, relative to the numbers, that rounding may cause.
const ROUNDING: f64 = 4.0 * f64::EPSILON;

/// Returns the number of levels between values and root. That of a mask depends on the values.
pub(super) fn count(rule: &LevelRule) -> usize {
    match rule {
        LevelRule::Mask(_) => 0,
        LevelRule::Intervals { widths, .. } => widths.len(),
        LevelRule::DateParts(parts) => parts.len(),
    }
}

/// Returns the nodes above a number or a day since 1970, from the coarsest to the finest.
pub(super) fn downwards(rule: &LevelRule, number: f64) -> Vec<u64> {
    match rule {
        LevelRule::Mask(_) => Vec::new(),
        LevelRule::Intervals { origin, widths } => {
            let Some(finest) = widths.first() else { return Vec::new() };
            let steps = (number - origin) / finest;
            // A number within rounding of a border lies on the border.
            let is_single = number.fract() != 0.0 && f64::from(number as f32) == number;
            let rounding = if is_single { f64::from(f32::EPSILON) } else { ROUNDING };
            let slack = (rounding * (number.abs() + origin.abs()) / finest).min(0.01);
            let step = if (steps - steps.round()).abs() <= slack { steps.round() } else { steps.floor() };
            let node = |width: &f64| (step / (width / finest).round()).floor().to_bits();
            widths.iter().rev().map(node).collect()
        }
        LevelRule::DateParts(parts) => match calendar_day(number) {
            Some(day) => parts.iter().rev().map(|part| node_of_day(day, *part)).collect(),
            None => parts.iter().map(|_| u64::MAX).collect(),
        },
    }
}

/// Returns the nodes above a masked code, from the one with a single visible character to the one with all.
pub(super) fn visible_parts(side: MaskSide, text: &str) -> Vec<u64> {
    let ends = text.char_indices().map(|(at, mark)| match side {
        MaskSide::Right => &text[..at + mark.len_utf8()],
        MaskSide::Left => &text[at..],
    });
    let mut parts: Vec<u64> = ends.map(symbol_of_text).collect();
    if side == MaskSide::Left {
        parts.reverse();
    }
    parts
}

fn calendar_day(days: f64) -> Option<NaiveDate> {
    let seconds = days.floor() * 86_400.0;
    (seconds.abs() < 1e15).then(|| DateTime::from_timestamp(seconds as i64, 0)).flatten().map(|time| time.date_naive())
}

fn node_of_day(day: NaiveDate, part: DatePart) -> u64 {
    let year = i64::from(day.year());
    let number = match part {
        DatePart::Day => i64::from(day.num_days_from_ce()),
        DatePart::Month => 12 * year + i64::from(day.month0()),
        DatePart::Quarter => 4 * year + i64::from(day.month0() / 3),
        DatePart::Year => year,
        DatePart::Decade => year.div_euclid(10),
    };
    number.cast_unsigned()
}

//! A distribution before and after: columns for the release, and a line across each for the input.

use super::{Caption, Percent, svg};
use crate::markup::Markup;

/// A part of the axis, from the end of the one before to its own.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Column {
    pub(crate) end: f64,
    pub(crate) before: f64,
    pub(crate) after: f64,
}

/// The height of the tallest column.
const HEIGHT: f64 = 64.0;
/// Room for the words below the axis.
const FOOT: usize = 18;

/// Columns whose areas are shares, with words at both ends of the axis.
pub(crate) fn slices(markup: &mut Markup, caption: Caption<'_>, columns: &[Column], ends: (&str, &str)) {
    let starts = [0.0].into_iter().chain(columns.iter().map(|column| column.end));
    let density = |share: f64, width: f64| if width > 0.0 { share / width } else { 0.0 };
    let drawn: Vec<(f64, f64, f64, f64)> = starts
        .zip(columns)
        .map(|(start, column)| {
            let width = column.end - start;
            (start, width, density(column.before, width), density(column.after, width))
        })
        .collect();
    let tallest = drawn.iter().map(|(_, _, before, after)| before.max(*after)).fold(f64::MIN_POSITIVE, f64::max);
    let axis = HEIGHT + 4.0;
    svg(markup, caption, axis as usize + FOOT, |svg| {
        for (start, width, before, after) in drawn {
            let (x, across) = (Percent(start), Percent(width));
            let height = after / tallest * HEIGHT;
            let top = format!("{:.1}", axis - height);
            if height > 0.0 {
                let tall = format!("{height:.1}");
                svg.empty(
                    "rect",
                    &[("class", &"column"), ("x", &x), ("y", &top), ("width", &across), ("height", &tall)],
                );
            }
            let (to, level) = (Percent(start + width), format!("{:.1}", axis - before / tallest * HEIGHT));
            svg.empty("line", &[("class", &"was"), ("x1", &x), ("x2", &to), ("y1", &level), ("y2", &level)]);
        }
        svg.empty("line", &[("class", &"axis"), ("x1", &0), ("x2", &"100%"), ("y1", &axis), ("y2", &axis)]);
        let below = axis + 13.0;
        svg.element("text", &[("class", &"note"), ("x", &0), ("y", &below)], ends.0);
        svg.element("text", &[("class", &"note"), ("x", &"100%"), ("y", &below), ("text-anchor", &"end")], ends.1);
    });
}

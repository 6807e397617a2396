//! A distribution before and after: columns for the release, and a line across each for the input.

use maud::{Markup, html};

use super::{Caption, Percent, Pixels, svg};

/// A slice of the axis, from the end of the previous slice to `end`.
#[derive(Clone, Copy, Debug)]
pub struct SliceBar {
    /// Upper end, as a share of the axis.
    pub end: f64,
    /// Share of the input.
    pub before: f64,
    /// Share of the release.
    pub after: f64,
}

/// Height of the tallest column.
const HEIGHT: f64 = 64.0;
/// Height of the labels below the axis.
const FOOT: usize = 18;

/// Draws columns whose areas are proportional to the shares, with labels at both ends of the axis.
pub fn slices(caption: Caption<'_>, columns: &[SliceBar], ends: (&str, &str)) -> Markup {
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
    let drawn = html! {
        @for (start, width, before, after) in drawn {
            @let x = Percent(start);
            @let height = after / tallest * HEIGHT;
            @let level = Pixels(axis - before / tallest * HEIGHT);
            @if height > 0.0 {
                rect class="column" x=(x) y=(Pixels(axis - height)) width=(Percent(width)) height=(Pixels(height)) {}
            }
            line class="was" x1=(x) x2=(Percent(start + width)) y1=(level) y2=(level) {}
        }
        line class="axis" x1="0" x2="100%" y1=(axis) y2=(axis) {}
        text class="note" x="0" y=(axis + 13.0) { (ends.0) }
        text class="note" x="100%" y=(axis + 13.0) text-anchor="end" { (ends.1) }
    };
    svg(caption, axis as usize + FOOT, &drawn)
}

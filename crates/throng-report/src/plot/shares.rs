//! Stacked bars of shares of a whole.

use maud::{Markup, html};

use super::{Caption, Percent, bar_label, svg};

/// A labelled stacked bar.
#[derive(Clone, Debug)]
pub struct ShareBar {
    /// Text above the bar.
    pub label: String,
    /// Text at the right end of the label line.
    pub value: String,
    /// Shares in the order of the legend.
    pub shares: Vec<f64>,
}

const ROW: usize = 42;

/// Draws stacked bars in the colours `step-0`, `step-1` and so on.
pub fn shares(caption: Caption<'_>, rows: &[ShareBar]) -> Markup {
    let drawn = html! {
        @for (at, row) in rows.iter().enumerate() {
            (bar_label(at * ROW, &row.label, &row.value))
            (steps(at * ROW + 20, &row.shares))
        }
    };
    svg(caption, rows.len() * ROW, &drawn)
}

fn steps(top: usize, shares: &[f64]) -> Markup {
    let ends = shares.iter().scan(0.0, |end, share| {
        *end += share.max(0.0);
        Some(*end)
    });
    let starts = [0.0].into_iter().chain(ends);
    html! {
        @for (step, (start, share)) in starts.zip(shares).enumerate() {
            @if *share > 0.0 {
                rect class={ "step step-" (step) } x=(Percent(start)) y=(top) width=(Percent(*share)) height="14" {}
            }
        }
    }
}

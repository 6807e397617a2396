//! Bars that are divided into shares of a whole.

use super::{Caption, Percent, svg};
use crate::markup::Markup;

/// A labelled bar of shares.
#[derive(Clone, Debug)]
pub(crate) struct Shares {
    pub(crate) label: String,
    pub(crate) value: String,
    /// In the order of the steps of the legend.
    pub(crate) shares: Vec<f64>,
}

const ROW: usize = 42;

/// Whole bars in the colours `step-0`, `step-1` and so on.
pub(crate) fn shares(markup: &mut Markup, caption: Caption<'_>, rows: &[Shares]) {
    svg(markup, caption, rows.len() * ROW, |svg| {
        for (at, row) in rows.iter().enumerate() {
            let top = at * ROW;
            svg.element("text", &[("class", &"label"), ("x", &0), ("y", &(top + 13))], &row.label);
            let value: crate::markup::Attributes<'_> =
                &[("class", &"value"), ("x", &"100%"), ("y", &(top + 13)), ("text-anchor", &"end")];
            svg.element("text", value, &row.value);
            let mut from = 0.0;
            for (step, share) in row.shares.iter().enumerate().filter(|(_, share)| **share > 0.0) {
                let class = format!("step step-{step}");
                let (x, width) = (Percent(from), Percent(*share));
                svg.empty(
                    "rect",
                    &[("class", &class), ("x", &x), ("y", &(top + 20)), ("width", &width), ("height", &14)],
                );
                from += share;
            }
        }
    });
}

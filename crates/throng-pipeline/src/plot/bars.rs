//! Horizontal bars, one below the other, with their labels above them.

use super::{Caption, Percent, svg};
use crate::markup::Markup;

/// A labelled bar.
#[derive(Clone, Debug)]
pub(crate) struct Bar {
    pub(crate) label: String,
    /// What is written at the end of the line.
    pub(crate) value: String,
    /// The length of the bar as a share of the width.
    pub(crate) length: f64,
}

/// Two bars under one label.
#[derive(Clone, Debug)]
pub(crate) struct PairedBar {
    pub(crate) label: String,
    pub(crate) value: String,
    pub(crate) before: f64,
    pub(crate) after: f64,
}

const ROW: usize = 36;
const PAIRED_ROW: usize = 44;

/// Bars from the left.
pub(crate) fn bars(markup: &mut Markup, caption: Caption<'_>, bars: &[Bar]) {
    svg(markup, caption, bars.len() * ROW, |svg| {
        for (at, bar) in bars.iter().enumerate() {
            let top = at * ROW;
            label(svg, top, &bar.label, &bar.value);
            track(svg, top + 20, 8);
            line(svg, "bar", top + 20, 8, bar.length);
        }
    });
}

/// Pairs of bars: a thin one for before and a thick one for after.
pub(crate) fn paired_bars(markup: &mut Markup, caption: Caption<'_>, bars: &[PairedBar]) {
    svg(markup, caption, bars.len() * PAIRED_ROW, |svg| {
        for (at, bar) in bars.iter().enumerate() {
            let top = at * PAIRED_ROW;
            label(svg, top, &bar.label, &bar.value);
            track(svg, top + 20, 14);
            line(svg, "bar before", top + 20, 4, bar.before);
            line(svg, "bar", top + 26, 8, bar.after);
        }
    });
}

fn label(svg: &mut Markup, top: usize, label: &str, value: &str) {
    svg.element("text", &[("class", &"label"), ("x", &0), ("y", &(top + 13))], label);
    svg.element("text", &[("class", &"value"), ("x", &"100%"), ("y", &(top + 13)), ("text-anchor", &"end")], value);
}

fn track(svg: &mut Markup, top: usize, height: usize) {
    svg.empty(
        "rect",
        &[("class", &"track"), ("x", &0), ("y", &top), ("width", &"100%"), ("height", &height), ("rx", &2)],
    );
}

/// A bar that is not nothing is seen, however short.
fn line(svg: &mut Markup, class: &'static str, top: usize, height: usize, length: f64) {
    if length > 0.0 {
        let length = Percent(length.max(0.004));
        svg.empty(
            "rect",
            &[("class", &class), ("x", &0), ("y", &top), ("width", &length), ("height", &height), ("rx", &2)],
        );
    }
}

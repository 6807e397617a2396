//! Horizontal bars with their labels above them.

use maud::{Markup, html};

use super::{Caption, Percent, bar_label, svg};

/// A labelled bar.
#[derive(Clone, Debug)]
pub struct Bar {
    /// Text above the bar.
    pub label: String,
    /// Text at the right end of the label line.
    pub value: String,
    /// Length of the bar as a share of the width.
    pub length: f64,
}

/// Two bars under one label.
#[derive(Clone, Debug)]
pub struct PairedBar {
    /// Text above the bars.
    pub label: String,
    /// Text at the right end of the label line.
    pub value: String,
    /// Length of the thin bar as a share of the width.
    pub before: f64,
    /// Length of the thick bar as a share of the width.
    pub after: f64,
}

const ROW: usize = 36;
const PAIRED_ROW: usize = 44;

/// Draws one bar per label.
pub fn bars(caption: Caption<'_>, bars: &[Bar]) -> Markup {
    let drawn = html! {
        @for (at, bar) in bars.iter().enumerate() {
            @let top = at * ROW;
            (bar_label(top, &bar.label, &bar.value))
            (track(top + 20, 8))
            (line("bar", top + 20, 8, bar.length))
        }
    };
    svg(caption, bars.len() * ROW, &drawn)
}

/// Draws two bars per label: a thin one for before and a thick one for after.
pub fn paired_bars(caption: Caption<'_>, bars: &[PairedBar]) -> Markup {
    let drawn = html! {
        @for (at, bar) in bars.iter().enumerate() {
            @let top = at * PAIRED_ROW;
            (bar_label(top, &bar.label, &bar.value))
            (track(top + 20, 14))
            (line("bar before", top + 20, 4, bar.before))
            (line("bar", top + 26, 8, bar.after))
        }
    };
    svg(caption, bars.len() * PAIRED_ROW, &drawn)
}

fn track(top: usize, height: usize) -> Markup {
    html! { rect class="track" x="0" y=(top) width="100%" height=(height) rx="2" {} }
}

/// Draws a bar; a length above zero is always visible.
fn line(class: &str, top: usize, height: usize, length: f64) -> Markup {
    html! {
        @if length > 0.0 {
            rect class=(class) x="0" y=(top) width=(Percent(length.max(0.004))) height=(height) rx="2" {}
        }
    }
}

//! Plots as inline SVG, legible at any width.
//!
//! Horizontal lengths are percentages and all others are pixels, so a plot fills its column and its text keeps its size
//! on a phone. Every plot has a title and a description, takes its colours from the page, and encodes by shape or
//! position whatever it encodes by colour.

mod bars;
mod frontier;
mod shares;
mod slices;

use std::fmt::Write;

pub use bars::{Bar, PairedBar, bars, paired_bars};
pub use frontier::{Frontier, FrontierPoint, LOSS_AXIS, SHAPES, frontier};
use maud::{Markup, Render, html};
pub use shares::{ShareBar, shares};
pub use slices::{SliceBar, slices};

/// Title and textual description of a plot.
#[derive(Clone, Copy, Debug)]
pub struct Caption<'a> {
    /// Unique on the page.
    pub id: &'a str,
    /// Title of the plot.
    pub title: &'a str,
    /// Description of the plot, for readers who can't see it.
    pub description: &'a str,
}

/// Share of the width.
#[derive(Clone, Copy, Debug)]
struct Percent(f64);

impl Render for Percent {
    fn render_to(&self, buffer: &mut String) {
        let percent = if self.0.is_finite() { (self.0 * 100.0).clamp(0.0, 100.0) } else { 0.0 };
        // Writing to a string can't fail.
        let _ = write!(buffer, "{percent:.2}%");
    }
}

/// Pixels with one decimal place.
#[derive(Clone, Copy, Debug)]
struct Pixels(f64);

impl Render for Pixels {
    fn render_to(&self, buffer: &mut String) {
        let _ = write!(buffer, "{:.1}", self.0);
    }
}

/// Renders an SVG of the given height with a title and a description.
fn svg(caption: Caption<'_>, height: usize, content: &Markup) -> Markup {
    let (title, description) = (format!("{}-title", caption.id), format!("{}-description", caption.id));
    html! {
        svg class="plot" role="img" aria-labelledby={ (title) " " (description) } width="100%" height=(height) {
            title id=(title) { (caption.title) }
            desc id=(description) { (caption.description) }
            (content)
        }
    }
}

/// Renders the line above a bar: a label on the left and a value on the right.
fn bar_label(top: usize, label: &str, value: &str) -> Markup {
    html! {
        text class="label" x="0" y=(top + 13) { (label) }
        text class="value" x="100%" y=(top + 13) text-anchor="end" { (value) }
    }
}

#[cfg(test)]
#[path = "plot_tests.rs"]
mod tests;

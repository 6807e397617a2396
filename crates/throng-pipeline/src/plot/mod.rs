//! Plots as inline SVG that read well at any width.
//!
//! Lengths along the page are percentages and all others are pixels, so that a plot fills its column and its text keeps
//! its size on a phone. Every plot has a title and a description, takes its colours from the page, and tells by shape or
//! place whatever it tells by colour.

mod bars;
mod frontier;
mod shares;
mod slices;

use std::fmt;

pub(crate) use bars::{Bar, PairedBar, bars, paired_bars};
pub(crate) use frontier::{Frontier, Point, SHAPES, frontier};
pub(crate) use shares::{Shares, shares};
pub(crate) use slices::{Column, slices};

use crate::markup::Markup;

/// What a plot is called, and what it shows in words.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Caption<'a> {
    /// Unique on the page.
    pub(crate) id: &'a str,
    pub(crate) title: &'a str,
    pub(crate) description: &'a str,
}

/// A share of the width.
#[derive(Clone, Copy, Debug)]
struct Percent(f64);

impl fmt::Display for Percent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let percent = if self.0.is_finite() { (self.0 * 100.0).clamp(0.0, 100.0) } else { 0.0 };
        write!(f, "{percent:.2}%")
    }
}

/// An SVG of this height with a title and a description.
fn svg(markup: &mut Markup, caption: Caption<'_>, height: usize, content: impl FnOnce(&mut Markup)) {
    let (title, description) = (format!("{}-title", caption.id), format!("{}-description", caption.id));
    let labelled_by = format!("{title} {description}");
    let attributes: crate::markup::Attributes<'_> = &[
        ("class", &"plot"),
        ("role", &"img"),
        ("aria-labelledby", &labelled_by),
        ("width", &"100%"),
        ("height", &height),
    ];
    markup.within("svg", attributes, |svg| {
        svg.element("title", &[("id", &title)], caption.title);
        svg.element("desc", &[("id", &description)], caption.description);
        content(svg);
    });
}

#[cfg(test)]
#[path = "plot_tests.rs"]
mod tests;

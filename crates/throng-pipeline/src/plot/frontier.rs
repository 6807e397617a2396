//! Risk over loss: a point for every policy that was tried, and the line of those that no other beats.

use super::{Caption, Percent, svg};
use crate::markup::Markup;

/// A policy that was tried.
#[derive(Clone, Debug)]
pub(crate) struct Point {
    /// What it loses, from 0 to 1.
    pub(crate) loss: f64,
    /// The highest risk of a row, greater than zero.
    pub(crate) risk: f64,
    /// Which of the shapes it has.
    pub(crate) shape: usize,
    /// What is written beside it, where it is on the line.
    pub(crate) label: Option<String>,
}

/// What is drawn.
#[derive(Clone, Debug)]
pub(crate) struct Frontier {
    pub(crate) points: Vec<Point>,
    /// A loss that must not be exceeded.
    pub(crate) budget: Option<f64>,
}

/// The shapes of points, drawn around the origin.
pub(crate) const SHAPES: [&str; 5] = [
    "M-5 0A5 5 0 1 0 5 0A5 5 0 1 0 -5 0Z",
    "M-4.5 -4.5H4.5V4.5H-4.5Z",
    "M0 -5.5L5.5 4.5H-5.5Z",
    "M0 -6L6 0L0 6L-6 0Z",
    "M-5.5 -4.5H5.5L0 5.5Z",
];

/// The axis of losses reaches so far at least.
const LEAST_LOSS: f64 = 0.01;

const TOP: f64 = 14.0;
const HEIGHT: f64 = 260.0;
const FOOT: f64 = 44.0;
/// Room for what is written left of the axis, and for the last label.
const LEFT: f64 = 0.12;
const RIGHT: f64 = 0.96;

/// Risks that are good to read, of which those within the plot are marked.
const RISKS: [f64; 11] = [1.0, 0.5, 0.333_333, 0.2, 0.1, 0.05, 0.033_333, 0.02, 0.01, 0.005, 0.002];

/// Draws policies by their loss and, on a logarithmic scale, by their risk.
pub(crate) fn frontier(markup: &mut Markup, caption: Caption<'_>, drawn: &Frontier) {
    let most = drawn.points.iter().map(|point| point.loss).chain(drawn.budget).fold(LEAST_LOSS, f64::max);
    let step = nice(most / 4.0);
    let widest = (most / step).ceil().max(1.0) * step;
    let risks = || drawn.points.iter().map(|point| point.risk);
    let (low, high) = (risks().fold(1.0, f64::min) / 1.25, (risks().fold(0.0, f64::max) * 1.25).min(1.0));
    let x = |loss: f64| LEFT + (loss / widest).clamp(0.0, 1.0) * (RIGHT - LEFT);
    let y = |risk: f64| TOP + (high.ln() - risk.ln()) / (high.ln() - low.ln()).max(f64::MIN_POSITIVE) * HEIGHT;
    svg(markup, caption, (TOP + HEIGHT + FOOT) as usize, |svg| {
        let (left, right) = (Percent(LEFT), Percent(RIGHT));
        for risk in RISKS.into_iter().filter(|risk| (low..=high).contains(risk)) {
            let at = format!("{:.1}", y(risk));
            svg.empty("line", &[("class", &"grid"), ("x1", &left), ("x2", &right), ("y1", &at), ("y2", &at)]);
            let (beside, words) = (Percent(LEFT - 0.015), format!("{}%", trimmed(risk * 100.0)));
            let place: crate::markup::Attributes<'_> =
                &[("class", &"note"), ("x", &beside), ("y", &at), ("dy", &4), ("text-anchor", &"end")];
            svg.element("text", place, words);
        }
        let bottom = TOP + HEIGHT;
        for number in 0..=(widest / step).round() as usize {
            let loss = number as f64 * step;
            let at = Percent(x(loss));
            svg.empty("line", &[("class", &"grid"), ("x1", &at), ("x2", &at), ("y1", &TOP), ("y2", &bottom)]);
            let place: crate::markup::Attributes<'_> =
                &[("class", &"note"), ("x", &at), ("y", &(bottom + 16.0)), ("text-anchor", &"middle")];
            svg.element("text", place, format!("{}%", trimmed(loss * 100.0)));
        }
        let middle = Percent((LEFT + RIGHT) / 2.0);
        let place: crate::markup::Attributes<'_> =
            &[("class", &"label"), ("x", &middle), ("y", &(bottom + 36.0)), ("text-anchor", &"middle")];
        svg.element("text", place, "information lost (NCP)");
        if let Some(budget) = drawn.budget {
            let at = Percent(x(budget));
            svg.empty("line", &[("class", &"budget"), ("x1", &at), ("x2", &at), ("y1", &TOP), ("y2", &bottom)]);
        }
        let line: Vec<&Point> = best(&drawn.points);
        for pair in line.windows(2) {
            let (x1, x2) = (Percent(x(pair[0].loss)), Percent(x(pair[1].loss)));
            let (y1, y2) = (format!("{:.1}", y(pair[0].risk)), format!("{:.1}", y(pair[1].risk)));
            svg.empty("line", &[("class", &"best"), ("x1", &x1), ("x2", &x2), ("y1", &y1), ("y2", &y1)]);
            svg.empty("line", &[("class", &"best"), ("x1", &x2), ("x2", &x2), ("y1", &y1), ("y2", &y2)]);
        }
        for point in &drawn.points {
            let (at, height) = (Percent(x(point.loss)), format!("{:.1}", y(point.risk)));
            let is_best = line.iter().any(|best| std::ptr::eq(*best, point));
            svg.within("svg", &[("x", &at), ("y", &height), ("overflow", &"visible")], |place| {
                let class = if is_best { "point on-line" } else { "point" };
                place.empty("path", &[("class", &class), ("d", &SHAPES[point.shape % SHAPES.len()])]);
                if let (true, Some(label)) = (is_best, &point.label) {
                    let is_right = x(point.loss) > 0.75;
                    let (dx, anchor) = if is_right { (-9, "end") } else { (9, "start") };
                    place.element(
                        "text",
                        &[("class", &"note"), ("x", &dx), ("y", &-11), ("text-anchor", &anchor)],
                        label,
                    );
                }
            });
        }
    });
}

/// The points that no other beats, by ascending loss: whatever loses less has a higher risk.
fn best(points: &[Point]) -> Vec<&Point> {
    let mut sorted: Vec<&Point> = points.iter().collect();
    sorted.sort_by(|a, b| a.loss.total_cmp(&b.loss).then(a.risk.total_cmp(&b.risk)));
    let mut line: Vec<&Point> = Vec::new();
    for point in sorted {
        if line.last().is_none_or(|last| point.risk < last.risk) {
            line.push(point);
        }
    }
    line
}

/// The next of 1, 2, 5, 10, 20 ... times a power of ten.
fn nice(step: f64) -> f64 {
    let power = 10_f64.powf(step.max(1e-6).log10().floor());
    let factor = [1.0, 2.0, 5.0].into_iter().find(|factor| factor * power >= step);
    factor.unwrap_or(10.0) * power
}

fn trimmed(number: f64) -> String {
    let text = format!("{number:.2}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

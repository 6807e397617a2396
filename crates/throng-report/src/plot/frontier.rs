//! Risk over what it costs, a loss or an error: a point per policy, and the Pareto frontier.

use maud::{Markup, html};

use super::{Caption, Percent, Pixels, svg};

/// A policy of the sweep.
#[derive(Clone, Debug)]
pub struct FrontierPoint {
    /// Loss or error, from 0 on.
    pub cost: f64,
    /// Maximum risk of a row, greater than zero.
    pub risk: f64,
    /// Index into [`SHAPES`], modulo their number.
    pub shape: usize,
    /// Text next to the point, if it is on the frontier.
    pub label: Option<String>,
}

/// The content of the plot.
#[derive(Clone, Debug)]
pub struct Frontier {
    /// The policies.
    pub points: Vec<FrontierPoint>,
    /// Upper limit of the cost.
    pub budget: Option<f64>,
    /// Label of the axis of the cost.
    pub axis: &'static str,
}

/// Label of an axis of losses.
pub const LOSS_AXIS: &str = "information lost (NCP)";

/// Point shapes as SVG paths around the origin.
pub const SHAPES: [&str; 5] = [
    "M-5 0A5 5 0 1 0 5 0A5 5 0 1 0 -5 0Z",
    "M-4.5 -4.5H4.5V4.5H-4.5Z",
    "M0 -5.5L5.5 4.5H-5.5Z",
    "M0 -6L6 0L0 6L-6 0Z",
    "M-5.5 -4.5H5.5L0 5.5Z",
];

/// Minimum upper end of the axis of the cost.
const MIN_COST: f64 = 0.001;

const TOP: f64 = 14.0;
const HEIGHT: f64 = 260.0;
const FOOT: f64 = 44.0;
/// Horizontal bounds of the plot area, which leave room for the axis labels.
const LEFT: f64 = 0.12;
const RIGHT: f64 = 0.96;

/// Candidate tick marks of the risk axis.
const RISKS: [f64; 11] = [1.0, 0.5, 0.333_333, 0.2, 0.1, 0.05, 0.033_333, 0.02, 0.01, 0.005, 0.002];

/// Draws policies by cost and, on a logarithmic scale, by risk.
pub fn frontier(caption: Caption<'_>, drawn: &Frontier) -> Markup {
    let most = drawn.points.iter().map(|point| point.cost).chain(drawn.budget).fold(MIN_COST, f64::max);
    let step = nice(most / 4.0);
    let widest = (most / step).ceil().max(1.0) * step;
    let risks = || drawn.points.iter().map(|point| point.risk);
    let (low, high) = (risks().fold(1.0, f64::min) / 1.25, (risks().fold(0.0, f64::max) * 1.25).min(1.0));
    let x = |cost: f64| Percent(LEFT + (cost / widest).clamp(0.0, 1.0) * (RIGHT - LEFT));
    let y = |risk: f64| Pixels(TOP + (high.ln() - risk.ln()) / (high.ln() - low.ln()).max(f64::MIN_POSITIVE) * HEIGHT);
    let bottom = TOP + HEIGHT;
    let line: Vec<&FrontierPoint> = best(&drawn.points);
    let plot = html! {
        @for risk in RISKS.into_iter().filter(|risk| (low..=high).contains(risk)) {
            line class="grid" x1=(Percent(LEFT)) x2=(Percent(RIGHT)) y1=(y(risk)) y2=(y(risk)) {}
            text class="note" x=(Percent(LEFT - 0.015)) y=(y(risk)) dy="4" text-anchor="end" { (trimmed(risk * 100.0)) "%" }
        }
        @for number in 0..=(widest / step).round() as usize {
            @let cost = number as f64 * step;
            line class="grid" x1=(x(cost)) x2=(x(cost)) y1=(TOP) y2=(bottom) {}
            text class="note" x=(x(cost)) y=(bottom + 16.0) text-anchor="middle" { (trimmed(cost * 100.0)) "%" }
        }
        text class="label" x=(Percent((LEFT + RIGHT) / 2.0)) y=(bottom + 36.0) text-anchor="middle" {
            (drawn.axis)
        }
        @if let Some(budget) = drawn.budget {
            line class="budget" x1=(x(budget)) x2=(x(budget)) y1=(TOP) y2=(bottom) {}
        }
        @for pair in line.windows(2) {
            @let (x1, x2) = (x(pair[0].cost), x(pair[1].cost));
            @let (y1, y2) = (y(pair[0].risk), y(pair[1].risk));
            line class="best" x1=(x1) x2=(x2) y1=(y1) y2=(y1) {}
            line class="best" x1=(x2) x2=(x2) y1=(y1) y2=(y2) {}
        }
        @for point in &drawn.points {
            @let is_best = line.iter().any(|best| std::ptr::eq(*best, point));
            svg x=(x(point.cost)) y=(y(point.risk)) overflow="visible" {
                path class=(if is_best { "point on-line" } else { "point" }) d=(SHAPES[point.shape % SHAPES.len()]) {}
                @if let (true, Some(label)) = (is_best, &point.label) {
                    @let (dx, anchor) = if x(point.cost).0 > 0.75 { (-9, "end") } else { (9, "start") };
                    text class="note" x=(dx) y="-11" text-anchor=(anchor) { (label) }
                }
            }
        }
    };
    svg(caption, (TOP + HEIGHT + FOOT) as usize, &plot)
}

/// Returns the Pareto frontier by ascending cost: every point with a lower cost has a higher risk.
fn best(points: &[FrontierPoint]) -> Vec<&FrontierPoint> {
    let mut sorted: Vec<&FrontierPoint> = points.iter().collect();
    sorted.sort_by(|a, b| a.cost.total_cmp(&b.cost).then(a.risk.total_cmp(&b.risk)));
    let mut line: Vec<&FrontierPoint> = Vec::new();
    for point in sorted {
        if line.last().is_none_or(|last| point.risk < last.risk) {
            line.push(point);
        }
    }
    line
}

/// Rounds up to 1, 2 or 5 times a power of ten.
fn nice(step: f64) -> f64 {
    let power = 10_f64.powf(step.max(1e-6).log10().floor());
    let factor = [1.0, 2.0, 5.0].into_iter().find(|factor| factor * power >= step);
    factor.unwrap_or(10.0) * power
}

fn trimmed(number: f64) -> String {
    let text = format!("{number:.2}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

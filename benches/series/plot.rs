//! A plot of the nights of a series.

use std::fmt::Write;

use crate::simulation::NightFigures;

const WIDTH: f64 = 640.0;
const HEIGHT: f64 = 300.0;
const LEFT: f64 = 50.0;
const BOTTOM: f64 = 40.0;
const TOP: f64 = 16.0;

/// Draws shares of the rows of the input, night by night: shown on, and not shown.
pub fn svg(nights: &[NightFigures]) -> String {
    let share = |count: u64, night: &NightFigures| 100.0 * count as f64 / night.rows as f64;
    let shown_on: Vec<f64> = nights.iter().map(|night| share(night.counts.shown_on, night)).collect();
    let missing = |night: &NightFigures| night.counts.held + night.counts.outdated + night.counts.suppressed;
    let waiting: Vec<f64> = nights.iter().map(|night| share(missing(night), night)).collect();
    let top = shown_on.iter().chain(&waiting).fold(1.0, |top: f64, share| top.max(*share)).ceil();
    let x = |at: usize| LEFT + (WIDTH - LEFT - 10.0) * at as f64 / (nights.len().max(2) - 1) as f64;
    let y = |share: f64| HEIGHT - BOTTOM - (HEIGHT - BOTTOM - TOP) * share / top;
    let line = |shares: &[f64]| -> String {
        let points = shares.iter().enumerate().map(|(at, share)| format!("{:.1},{:.1}", x(at), y(*share)));
        points.collect::<Vec<_>>().join(" ")
    };
    let mut text = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" font-family=\"sans-serif\" font-size=\"12\">\n\
         <title>Rows shown on and rows that wait, in percent of the input, night by night</title>\n\
         <rect width=\"{WIDTH}\" height=\"{HEIGHT}\" fill=\"white\"/>\n"
    );
    for step in 0..=4 {
        let share = top * f64::from(step) / 4.0;
        let _ = writeln!(
            text,
            "<path d=\"M{LEFT} {y:.1}H{}\" stroke=\"#ddd\"/><text x=\"{}\" y=\"{:.1}\" text-anchor=\"end\">{share:.0} %</text>",
            WIDTH - 10.0,
            LEFT - 6.0,
            y(share) + 4.0,
            y = y(share),
        );
    }
    for (at, night) in nights.iter().enumerate().filter(|(_, night)| night.night == 1 || night.night % 5 == 0) {
        let _ = writeln!(
            text,
            "<text x=\"{:.1}\" y=\"{}\" text-anchor=\"middle\">{}</text>",
            x(at),
            HEIGHT - BOTTOM + 16.0,
            night.night
        );
    }
    let middle = f64::midpoint(LEFT, WIDTH);
    let _ = writeln!(text, "<text x=\"{middle}\" y=\"{}\" text-anchor=\"middle\">night</text>", HEIGHT - 6.0);
    for (shares, colour, name, rise) in [
        (&shown_on, "#b35806", "left the input, shown on", -8.0),
        (&waiting, "#2166ac", "in the input, not shown", -8.0),
    ] {
        let last = shares.last().copied().unwrap_or(0.0);
        let _ = writeln!(
            text,
            "<polyline points=\"{}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"2\"/>\n\
             <text x=\"{}\" y=\"{:.1}\" text-anchor=\"end\" fill=\"{colour}\">{name}</text>",
            line(shares),
            WIDTH - 90.0,
            y(last) + rise,
        );
    }
    text.push_str("</svg>\n");
    text
}

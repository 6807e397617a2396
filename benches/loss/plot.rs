//! Plots loss over time: one mark and label per algorithm, time on a logarithmic axis, and the lower bound as a line.

use crate::trial::{Outcome, Trial};

const WIDTH: f64 = 860.0;
const HEIGHT: f64 = 520.0;
const LEFT: f64 = 70.0;
/// Space for labels beside the last mark.
const RIGHT: f64 = 210.0;
const TOP: f64 = 50.0;
const BOTTOM: f64 = 60.0;
const LINES: u32 = 5;
/// Minimum distance of labels.
const LABEL_HEIGHT: f64 = 12.0;

/// Returns the plot as SVG. `bound` is a lower bound of the loss of any release, if there is one.
pub fn svg(title: &str, trials: &[Trial], highlighted: &str, bound: Option<f64>) -> String {
    let mut points: Vec<(f64, f64, &str)> = trials.iter().filter_map(point).collect();
    points.sort_by(|a, b| a.1.total_cmp(&b.1));
    let seconds = || points.iter().map(|point| point.0);
    let (first, last) = (seconds().fold(f64::INFINITY, f64::min), seconds().fold(0.0, f64::max));
    let (first, last) = (first.log10().floor(), last.log10().ceil().max(first.log10().floor() + 1.0));
    let most = points.iter().map(|point| point.1).fold(0.0, f64::max).max(1e-6) * 1.1;
    let x = |seconds: f64| LEFT + (seconds.log10() - first) / (last - first) * (WIDTH - LEFT - RIGHT);
    let y = |ncp: f64| HEIGHT - BOTTOM - ncp / most * (HEIGHT - TOP - BOTTOM);
    let (axis_end, floor) = (WIDTH - RIGHT, HEIGHT - BOTTOM);

    let mut text = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" font-family=\"sans-serif\" \
         font-size=\"11\">\n<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n\
         <text x=\"{LEFT}\" y=\"28\" font-size=\"15\">{}</text>\n",
        escaped(title)
    );
    if points.is_empty() {
        return text + "</svg>\n";
    }
    for line in 0..=LINES {
        let ncp = most * f64::from(line) / f64::from(LINES);
        let at = y(ncp);
        text.push_str(&format!(
            "<line x1=\"{LEFT}\" y1=\"{at:.1}\" x2=\"{axis_end}\" y2=\"{at:.1}\" stroke=\"#ddd\"/>\
             <text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\">{ncp:.3}</text>\n",
            LEFT - 6.0,
            at + 4.0
        ));
    }
    for power in first as i32..=last as i32 {
        let at = x(10_f64.powi(power));
        text.push_str(&format!(
            "<line x1=\"{at:.1}\" y1=\"{TOP}\" x2=\"{at:.1}\" y2=\"{floor}\" stroke=\"#ddd\"/>\
             <text x=\"{at:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{} s</text>\n",
            floor + 16.0,
            10_f64.powi(power)
        ));
    }
    text.push_str(&format!(
        "<text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"middle\">time (partition and clustering)</text>\n\
         <text x=\"18\" y=\"{:.1}\" text-anchor=\"middle\" transform=\"rotate(-90 18 {:.1})\">mean NCP</text>\n",
        (LEFT + axis_end) / 2.0,
        HEIGHT - 18.0,
        (TOP + floor) / 2.0,
        (TOP + floor) / 2.0
    ));
    if let Some(bound) = bound {
        let at = y(bound);
        text.push_str(&format!(
            "<line x1=\"{LEFT}\" y1=\"{at:.1}\" x2=\"{axis_end}\" y2=\"{at:.1}\" stroke=\"#2e7d32\" stroke-dasharray=\"6 3\"/>\
             <text x=\"{:.1}\" y=\"{:.1}\" fill=\"#2e7d32\">no release is below {bound:.4}</text>\n",
            LEFT + 6.0,
            at + 14.0
        ));
    }
    // From bottom to top: a label that would overlap one below it moves up.
    let mut labels: Vec<(f64, f64)> = Vec::new();
    for (seconds, ncp, name) in points {
        let (at, height) = (x(seconds), y(ncp));
        let near = |other: &&(f64, f64)| (other.0 - at).abs() < RIGHT;
        let lowest = labels.iter().filter(near).map(|other| other.1 - LABEL_HEIGHT).fold(f64::INFINITY, f64::min);
        let label = (height + 4.0).min(lowest);
        labels.push((at, label));
        let color = if name == highlighted { "#c0392b" } else { "#2c5d8f" };
        text.push_str(&format!(
            "<circle cx=\"{at:.1}\" cy=\"{height:.1}\" r=\"4\" fill=\"{color}\"/>\
             <text x=\"{:.1}\" y=\"{label:.1}\" fill=\"{color}\">{}</text>\n",
            at + 7.0,
            escaped(name)
        ));
    }
    text + "</svg>\n"
}

fn point(trial: &Trial) -> Option<(f64, f64, &str)> {
    match &trial.outcome {
        Outcome::Measured(utility, time) => Some((time.as_secs_f64().max(1e-6), utility.ncp, trial.name.as_str())),
        Outcome::Skipped(_) => None,
    }
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;")
}

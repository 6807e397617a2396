//! The page of a sweep: the frontier of risk and loss, that of risk and errors, and a table of all policies.

use maud::{Markup, html};

use super::{Attempt, Figures, SweepReport};
use crate::numbers::{cell, count, counted, figure, percent, time};
use crate::page::{captioned, head, page, unpublished_footer};
use crate::plot::{Caption, Frontier, FrontierPoint, LOSS_AXIS, SHAPES, frontier};

/// Renders the page of a sweep.
pub fn sweep_page(swept: &SweepReport) -> String {
    let kept = swept.attempts.iter().filter(|attempt| attempt.outcome.is_ok()).count() as u64;
    let sentence = format!(
        "{} tried on {}; {} can be kept.",
        counted(swept.attempts.len() as u64, "policy was", "policies were"),
        counted(swept.rows, "row", "rows"),
        count(kept)
    );
    let body = html! {
        header {
            h1 { "Risk and loss" }
            p class="promise" { (sentence) }
            @if let Some(advice) = swept.advice() { p id="advice" { (capitalized(&advice)) "." } }
        }
        section {
            h2 { "The frontier" }
            p {
                "Less risk costs detail. The line goes through the policies that no other beats: whatever loses less has a \
                 higher risk. Every point was computed from recoded classes, and every class was checked against its policy."
            }
            (plot(swept, &LOSS))
        }
        @if swept.has_count_errors() {
            section {
                h2 { "Errors of counts" }
                p {
                    "What the loss does to an analysis: random questions with one to three conditions, such as how many women from \
                     30 to 44 are married, were put to each release and to the input. Values inside of a label count \
                     as evenly spread. The error is relative to the true count."
                }
                (plot(swept, &ERRORS))
            }
        }
        section {
            h2 { "All policies" }
            (table(swept))
        }
        (unpublished_footer())
    };
    page("Risk and loss", &body)
}

/// What a frontier shows on its horizontal axis.
struct Cost {
    id: &'static str,
    title: &'static str,
    words: &'static str,
    axis: &'static str,
    /// Words before the figure of a policy.
    verb: &'static str,
    of: fn(&Figures) -> Option<f64>,
    /// Whether the loss budget limits it.
    has_budget: bool,
}

const LOSS: Cost = Cost {
    id: "frontier",
    title: "Risk over loss",
    words: "The highest risk of a row, on a logarithmic scale, over the information that is lost.",
    axis: LOSS_AXIS,
    verb: "loses",
    of: |figures| Some(figures.ncp),
    has_budget: true,
};

const ERRORS: Cost = Cost {
    id: "errors",
    title: "Risk over error",
    words: "The highest risk of a row, on a logarithmic scale, over the median error of a count.",
    axis: "median error of a count",
    verb: "errs by",
    of: |figures| figures.count_errors.map(|errors| errors.median),
    has_budget: false,
};

fn plot(swept: &SweepReport, cost: &Cost) -> Markup {
    let mut kinds: Vec<u64> = swept.attempts.iter().map(|attempt| attempt.p).collect();
    kinds.sort_unstable();
    kinds.dedup();
    let has_algorithms = swept.attempts.iter().any(|attempt| attempt.algorithm != swept.attempts[0].algorithm);
    let point = |attempt: &Attempt| {
        let figures = attempt.outcome.as_ref().ok()?;
        let algorithm = if has_algorithms { format!(", {}", attempt.algorithm) } else { String::new() };
        Some(FrontierPoint {
            cost: (cost.of)(figures)?,
            risk: figures.highest_risk,
            shape: kinds.iter().position(|p| *p == attempt.p).unwrap_or(0),
            label: Some(format!("k {}, p {}{algorithm}", attempt.k, attempt.p)),
        })
    };
    let points: Vec<FrontierPoint> = swept.attempts.iter().filter_map(point).collect();
    let line = |point: &FrontierPoint| {
        let (label, value, risk) =
            (point.label.as_deref().unwrap_or_default(), percent(point.cost), percent(point.risk));
        format!("{label}: {} {value}, highest risk {risk}", cost.verb)
    };
    let lines: Vec<String> = points.iter().map(line).collect();
    let description = format!("{} {}.", cost.words, lines.join("; "));
    let caption = Caption { id: cost.id, title: cost.title, description: &description };
    let budget = swept.budget.map(|(loss, _)| loss).filter(|_| cost.has_budget);
    let drawn = Frontier { points, budget, axis: cost.axis };
    captioned(caption.title, cost.words, &html! { (legend(&kinds, budget.is_some())) (frontier(caption, &drawn)) })
}

fn legend(kinds: &[u64], has_budget: bool) -> Markup {
    html! {
        ul class="legend" {
            @for (shape, p) in kinds.iter().enumerate() {
                li {
                    svg width="14" height="14" viewBox="-7 -7 14 14" aria-hidden="true" {
                        path class="point" d=(SHAPES[shape % SHAPES.len()]) {}
                    }
                    "p = " (p)
                }
            }
            li { "filled: no other beats it" }
            @if has_budget { li { "dashed: the loss budget" } }
        }
    }
}

fn table(swept: &SweepReport) -> Markup {
    let mut columns = vec![("Policy", false), ("Lost", true), ("Highest risk", true), ("Average risk", true)];
    if swept.has_count_errors() {
        columns.extend([("Median error", true), ("95% below", true)]);
    }
    html! {
        table id="grid" {
            (head("Policies in the order in which they were asked for", &columns))
            tbody { @for (at, attempt) in swept.attempts.iter().enumerate() { (row(at, attempt, columns.len() - 1)) } }
        }
    }
}

/// Renders a policy with `width` figures.
fn row(at: usize, attempt: &Attempt, width: usize) -> Markup {
    let key = |field: &str| format!("trials.{at}.{field}");
    let rate = |field: &str, share: f64| cell(&key(field), share, percent(share));
    html! {
        tr {
            th scope="row" {
                span class="whole" { "k = " (attempt.k) ", p = " (attempt.p) }
                span class="words" {
                    (attempt.algorithm)
                    @if let Ok(figures) = &attempt.outcome {
                        ", " (figure(&key("classes"), figures.classes, count(figures.classes)))
                        @if figures.classes == 1 { " class, " } @else { " classes, " }
                        (time(figures.milliseconds))
                        @if let Some(gap) = figures.gap {
                            "; within " (figure(&key("gap"), gap, percent(gap))) " of the best possible"
                            @if figures.has_weights() { " by the weighted loss" }
                        }
                    }
                }
            }
            @match &attempt.outcome {
                Ok(figures) => {
                    (rate("ncp", figures.ncp))
                    (rate("highest_risk", figures.highest_risk))
                    (rate("average_risk", figures.average_risk))
                    @if let Some(errors) = figures.count_errors {
                        (rate("count_queries.median_error", errors.median))
                        (rate("count_queries.p95_error", errors.p95))
                    }
                }
                Err(why) => { td colspan=(width) { span class="fails" { "can't be kept: " } (why) } }
            }
        }
    }
}

fn capitalized(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}

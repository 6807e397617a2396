//! The page of a sweep: the frontier of risk and loss, and a table of all policies.

use maud::{Markup, html};

use super::{Attempt, SweepReport};
use crate::numbers::{cell, count, counted, figure, percent, time};
use crate::page::{captioned, head, page, unpublished_footer};
use crate::plot::{Caption, Frontier, FrontierPoint, SHAPES, frontier};

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
                 higher risk. Every point was computed from recoded classes, and every class was held against its policy."
            }
            (plot(swept))
        }
        section {
            h2 { "All policies" }
            (table(swept))
        }
        (unpublished_footer())
    };
    page("Risk and loss", &body)
}

fn plot(swept: &SweepReport) -> Markup {
    let mut kinds: Vec<u64> = swept.attempts.iter().map(|attempt| attempt.p).collect();
    kinds.sort_unstable();
    kinds.dedup();
    let has_algorithms = swept.attempts.iter().any(|attempt| attempt.algorithm != swept.attempts[0].algorithm);
    let point = |attempt: &Attempt| {
        let figures = attempt.outcome.as_ref().ok()?;
        let algorithm = if has_algorithms { format!(", {}", attempt.algorithm) } else { String::new() };
        Some(FrontierPoint {
            loss: figures.ncp,
            risk: figures.highest_risk,
            shape: kinds.iter().position(|p| *p == attempt.p).unwrap_or(0),
            label: Some(format!("k {}, p {}{algorithm}", attempt.k, attempt.p)),
        })
    };
    let points: Vec<FrontierPoint> = swept.attempts.iter().filter_map(point).collect();
    let line = |point: &FrontierPoint| {
        let (label, loss, risk) =
            (point.label.as_deref().unwrap_or_default(), percent(point.loss), percent(point.risk));
        format!("{label}: loses {loss}, highest risk {risk}")
    };
    let lines: Vec<String> = points.iter().map(line).collect();
    let words = "The highest risk of a row, on a logarithmic scale, over the information that is lost.";
    let description = format!("{words} {}.", lines.join("; "));
    let caption = Caption { id: "frontier", title: "Risk over loss", description: &description };
    let drawn = Frontier { points, budget: swept.budget.map(|(loss, _)| loss) };
    captioned(caption.title, words, &html! { (legend(&kinds, swept.budget.is_some())) (frontier(caption, &drawn)) })
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
    let columns = [("Policy", false), ("Lost", true), ("Highest risk", true), ("Average risk", true)];
    html! {
        table id="grid" {
            (head("Policies in the order in which they were asked for", &columns))
            tbody { @for (at, attempt) in swept.attempts.iter().enumerate() { (row(at, attempt)) } }
        }
    }
}

fn row(at: usize, attempt: &Attempt) -> Markup {
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
                    }
                }
            }
            @match &attempt.outcome {
                Ok(figures) => {
                    (rate("ncp", figures.ncp))
                    (rate("highest_risk", figures.highest_risk))
                    (rate("average_risk", figures.average_risk))
                }
                Err(why) => { td colspan="3" { span class="fails" { "can't be kept: " } (why) } }
            }
        }
    }
}

fn capitalized(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}

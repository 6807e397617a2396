//! The live figures: risk before and after, loss by column, class sizes, sensitive columns.

use maud::{Markup, html};
use throng::Risk;
use throng::throng_core::risk::share;
use throng_report::document::UtilityFacts;
use throng_report::numbers::{count, counted, percent};
use throng_report::plot::{Bar, Caption, bars};

use super::{figure, rounded};
use crate::answer::LiveAnswer;
use crate::project::Project;

/// Renders the live figures.
pub(super) fn answers(project: &Project) -> Markup {
    let live = &project.live;
    let answer = live.exact.as_deref().or(live.sample.as_deref());
    html! {
        div class=(if live.is_outdated { "headline outdated" } else { "headline" }) {
            h2 { "What comes of it" }
            p class="basis" aria-live="polite" { (basis(project, answer)) }
        }
        @if let Some(why) = &live.refusal { p class="error refusal" role="alert" { (why) } }
        @if live.risk.is_some() || answer.is_some() {
            dl class="key" { (key_figures(live.risk.as_deref(), answer)) }
            @if let Some(sidecar) = answer.and_then(|answer| answer.sidecar.as_deref()) { (gap(&sidecar.utility)) }
        }
        @if let Some(answer) = answer {
            div class="thirds" {
                figure {
                    figcaption { strong { "Detail lost by column" } "Mean share of the column's range that a released value covers" }
                    (losses(answer))
                }
                figure {
                    figcaption { strong { "Class sizes" } "Share of the rows by the size of their class" }
                    (sizes(answer))
                }
                figure {
                    figcaption { strong { "Sensitive columns" } "Largest share of one value in a class, and the fewest values" }
                    (sensitive(answer))
                }
            }
        }
    }
}

/// Renders the data basis of the figures.
fn basis(project: &Project, answer: Option<&LiveAnswer>) -> Markup {
    let doing = project.live.doing;
    html! {
        @match answer {
            Some(_) if project.live.is_outdated => { span class="pill old" { "Of the policy before this change" } }
            Some(LiveAnswer { sampled: None, rows, .. }) => {
                span class="pill exact" { "Exact: all " (counted(*rows, "row", "rows")) }
            }
            Some(LiveAnswer { sampled: Some(sampled), rows, .. }) => {
                span class="pill" { "On a sample: " (count(*sampled)) " of " (counted(*rows, "row", "rows")) }
            }
            None => {}
        }
        @if let Some(doing) = doing { " " span class="busy" { "computing " (doing) } }
    }
}

fn key_figures(risk: Option<&Risk>, answer: Option<&LiveAnswer>) -> Markup {
    let exact = answer.is_some_and(|answer| answer.sidecar.is_some());
    // On a sample a figure has no path in a document.
    let after = |key: &str, value: f64, text: String| match exact {
        true => figure("metrics", key, value, text),
        false => html! { "≈ " (text) },
    };
    let before = |key: &str, value: f64| figure("risk", key, rounded(value), percent(rounded(value)));
    html! {
        (change(
            "Highest risk",
            risk.map(|risk| before("prosecutor.highest", risk.highest())),
            answer.map(|answer| after("risk.after.prosecutor.highest", answer.risk.0, percent(answer.risk.0)))
        ))
        (change(
            "Average risk",
            risk.map(|risk| before("prosecutor.average", risk.average())),
            answer.map(|answer| after("risk.after.prosecutor.average", answer.risk.1, percent(answer.risk.1)))
        ))
        (change(
            "Rows alone in their class",
            risk.map(|risk| figure("risk", "uniques", risk.uniques, percent(share(risk.uniques, risk.rows)))),
            answer.map(|_| html! { "none" })
        ))
        @if let Some(answer) = answer {
            (single("Detail lost (NCP)", &after("utility.ncp", answer.ncp, percent(answer.ncp))))
            (single("Classes", &after("utility.classes", answer.classes as f64, count(answer.classes))))
            // The number of suppressed rows is exact on a sample too.
            @let suppressed = match exact {
                true => figure("metrics", "output.suppressed_rows", answer.suppressed, count(answer.suppressed)),
                false => html! { (count(answer.suppressed)) },
            };
            (single("Rows left out", &suppressed))
        }
    }
}

/// Renders how far the release is from the best possible one, if the policy requests a bound.
fn gap(utility: &UtilityFacts) -> Markup {
    let Some(bound) = utility.lower_bound else { return html! {} };
    html! {
        p class="gap" {
            "No release under this policy can lose less than " (figure("metrics", "utility.lower_bound", bound, percent(bound))) ": "
            @match utility.gap {
                Some(gap) => { "this one is at most " (figure("metrics", "utility.gap", gap, percent(gap))) " above the best there is." }
                None => { "the bound says nothing about how good this one is." }
            }
        }
    }
}

fn change(name: &str, before: Option<Markup>, after: Option<Markup>) -> Markup {
    html! {
        div {
            dt { (name) }
            dd {
                @if let Some(before) = before {
                    span class="before" { (before) }
                    span class="arrow" aria-hidden="true" { "→" } span class="hidden" { "before, after: " }
                }
                @match after { Some(after) => (after), None => { span class="soft" { "…" } } }
            }
        }
    }
}

fn single(name: &str, value: &Markup) -> Markup {
    html! { div { dt { (name) } dd { (value) } } }
}

fn losses(answer: &LiveAnswer) -> Markup {
    let mut columns: Vec<&(String, f64)> = answer.columns.iter().collect();
    columns.sort_by(|a, b| b.1.total_cmp(&a.1));
    let drawn: Vec<Bar> =
        columns.iter().map(|(name, ncp)| Bar { label: name.clone(), value: percent(*ncp), length: *ncp }).collect();
    let described: Vec<String> = columns.iter().map(|(name, ncp)| format!("{name} {}", percent(*ncp))).collect();
    let description = format!("Detail lost: {}.", described.join(", "));
    html! {
        (bars(Caption { id: "loss", title: "Detail lost by column", description: &description }, &drawn))
        @if answer.sidecar.is_some() {
            span class="hidden" {
                @for (name, ncp) in &answer.columns {
                    (figure("metrics", &format!("utility.columns/{name}/ncp"), ncp, percent(*ncp))) " "
                }
            }
        }
    }
}

fn sizes(answer: &LiveAnswer) -> Markup {
    let label = |from: u64, to: u64| if from == to { count(from) } else { format!("{} to {}", count(from), count(to)) };
    let drawn: Vec<Bar> = answer
        .sizes
        .iter()
        .map(|(from, to, share)| Bar { label: label(*from, *to), value: percent(*share), length: *share })
        .collect();
    let described: Vec<String> = answer
        .sizes
        .iter()
        .map(|(from, to, share)| format!("{} rows: {}", label(*from, *to), percent(*share)))
        .collect();
    let description = format!("Share of the rows by class size: {}.", described.join(", "));
    html! {
        (bars(Caption { id: "sizes", title: "Class sizes", description: &description }, &drawn))
        @if let Some(sidecar) = &answer.sidecar {
            span class="hidden" {
                @for (at, bin) in sidecar.utility.class_sizes.iter().enumerate() {
                    (figure("metrics", &format!("utility.class_sizes.{at}.rows"), bin.rows, counted(bin.rows, "row", "rows"))) " "
                }
            }
        }
    }
}

fn sensitive(answer: &LiveAnswer) -> Markup {
    if answer.sensitive.is_empty() {
        return html! { p class="soft" { "No column is sensitive." } };
    }
    let text =
        |fewest: u64, largest: f64| format!("{}, at least {}", percent(largest), counted(fewest, "value", "values"));
    let drawn: Vec<Bar> = answer
        .sensitive
        .iter()
        .map(|column| Bar {
            label: column.column.clone(),
            value: text(column.fewest, column.largest_share),
            length: column.largest_share,
        })
        .collect();
    let described: Vec<String> = drawn.iter().map(|bar| format!("{} {}", bar.label, bar.value)).collect();
    let description = format!("Largest share of one value in a class: {}.", described.join("; "));
    html! {
        (bars(Caption { id: "sensitive", title: "Sensitive columns", description: &description }, &drawn))
        @if answer.sidecar.is_some() {
            span class="hidden" {
                @for (at, column) in answer.sensitive.iter().enumerate() {
                    (figure("metrics", &format!("privacy.sensitive.{at}.largest_share"), column.largest_share, percent(column.largest_share))) " "
                    (figure("metrics", &format!("privacy.sensitive.{at}.fewest"), column.fewest, column.fewest)) " "
                }
            }
        }
    }
}

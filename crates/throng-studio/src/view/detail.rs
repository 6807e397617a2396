//! Before and after in detail: distributions, pairs of columns, and the classes that lose most.

use maud::{Markup, html};
use throng_report::document::ColumnFacts;
use throng_report::numbers::{count, percent};
use throng_report::plot::{Caption, PairedBar, SliceBar, paired_bars, slices};

use super::figure;
use crate::answer::{ClassShape, LiveAnswer, ReleaseShapes};
use crate::project::Project;

/// Number of pairs that are drawn.
const MAX_PAIRS: usize = 8;

/// Renders the details.
pub(super) fn detail(project: &Project) -> Markup {
    let exact = project.live.exact.as_deref().and_then(|answer| answer.sidecar.as_deref());
    let sample = project.live.sample.as_deref().and_then(|answer| Some((answer, answer.shapes.as_deref()?)));
    if exact.is_none() && sample.is_none() {
        return html! {};
    }
    html! {
        h2 { "Before and after" }
        @if let Some(sidecar) = exact {
            ul class="legend" {
                li { span class="swatch before" {} "the table" }
                li { span class="swatch" {} "the release, its labels spread evenly" }
            }
            div class="thirds" {
                @for (at, (name, column)) in sidecar.utility.columns.iter().enumerate() { (distribution(at, name, column)) }
            }
        }
        @if let Some((answer, shapes)) = sample {
            div class="pair uneven" {
                (pairs(answer, shapes))
                (worst(answer, shapes))
            }
        }
    }
}

fn distribution(at: usize, name: &str, column: &ColumnFacts) -> Markup {
    let Some(change) = column.distribution.as_ref().filter(|change| !change.slices.is_empty()) else { return html! {} };
    let drawn: Vec<SliceBar> = change
        .slices
        .iter()
        .map(|slice| SliceBar { end: slice.end, before: slice.before, after: slice.after })
        .collect();
    let description =
        format!("{name}: {} of the rows would be taken for another part of the range.", percent(change.distance));
    let (id, title) = (format!("distribution-{at}"), format!("Distribution of {name}"));
    html! {
        figure {
            figcaption {
                strong { (name) }
                (figure("metrics", &format!("utility.columns/{name}/distribution/distance"), change.distance, percent(change.distance)))
                " of the rows shift"
            }
            (slices(Caption { id: &id, title: &title, description: &description }, &drawn, ("start of the range", "end")))
        }
    }
}

fn pairs(answer: &LiveAnswer, shapes: &ReleaseShapes) -> Markup {
    if shapes.pairs.is_empty() {
        return html! {};
    }
    let drawn: Vec<PairedBar> = shapes
        .pairs
        .iter()
        .take(MAX_PAIRS)
        .map(|pair| PairedBar {
            label: format!("{} and {}", pair.columns.0, pair.columns.1),
            value: format!("{:.2} → {:.2}", pair.before, pair.after),
            before: pair.before,
            after: pair.after,
        })
        .collect();
    let described: Vec<String> = drawn.iter().map(|bar| format!("{} {}", bar.label, bar.value)).collect();
    let description = format!("Association before and after: {}.", described.join("; "));
    html! {
        figure {
            figcaption {
                strong { "How columns go together" }
                "Association of pairs (Cramér's V), strongest first: 0 is none, 1 is all. On " (sampled(answer)) "."
            }
            (paired_bars(Caption { id: "pairs", title: "Association of pairs", description: &description }, &drawn))
        }
    }
}

fn worst(answer: &LiveAnswer, shapes: &ReleaseShapes) -> Markup {
    html! {
        figure {
            figcaption {
                strong { "Classes that lose most" }
                "Each by its shape: how much of each column's range it covers. On " (sampled(answer)) "."
            }
            div class="scroll" tabindex="0" role="group" aria-label="Classes that lose most" {
                table class="grid shapes" {
                    caption { "Share of the range that the class covers" }
                    thead {
                        tr {
                            th scope="col" class="n" { "Rows" }
                            @for name in &shapes.quasi { th scope="col" class="n" { (name) } }
                        }
                    }
                    tbody { @for class in &shapes.worst { (shape(class)) } }
                }
            }
        }
    }
}

fn shape(class: &ClassShape) -> Markup {
    html! {
        tr {
            th scope="row" class="n" { (count(class.rows)) }
            @for (at, loss) in class.losses.iter().enumerate() {
                td class="n" {
                    (percent(*loss))
                    meter min="0" max="1" value=(loss) { (percent(*loss)) }
                    @if let Some(label) = class.labels.as_ref().and_then(|labels| labels.get(at)) { span class="words" { (label) } }
                }
            }
        }
    }
}

fn sampled(answer: &LiveAnswer) -> String {
    let sampled = answer.sampled.unwrap_or(answer.rows);
    format!("{} of {} rows", count(sampled), count(answer.rows))
}

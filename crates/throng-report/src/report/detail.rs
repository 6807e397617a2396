//! Utility of the release: loss, detail and distribution of each quasi-identifier.

use maud::{Markup, html};

use crate::document::{ColumnFacts, DistributionFacts, Sidecar, UtilityFacts};
use crate::numbers::{cell, count, figure, list, percent};
use crate::page::{captioned, head, row_head};
use crate::plot::{Bar, Caption, ShareBar, SliceBar, bars, shares, slices};

/// Labels of the detail steps.
const STEPS: [&str; 6] =
    ["exactly as it was", "up to 5% of the range", "up to 20%", "up to 50%", "more than 50%", "nothing"];

/// A quasi-identifier and its figures.
type Named<'a> = (&'a String, &'a ColumnFacts);

pub(super) fn section(sidecar: &Sidecar) -> Markup {
    let columns: Vec<Named<'_>> = sidecar.utility.columns.iter().collect();
    html! {
        section {
            h2 { "What the release still shows" }
            p {
                "To hide people, values became less exact. A value loses the share of its column's range that the released \
                 value covers: nothing where it is exact, everything where it could be any (NCP)."
            }
            @let ranges = ranges(sidecar);
            @if !ranges.is_empty() {
                p {
                    "Do not count rows by the middle of an interval, or by a mean, in parts of the range of " (list(&ranges)) ", such \
                     as decades: a class can reach over several of them, and all of its rows would fall into one. Of an interval, \
                     count in each part the share that lies in it."
                }
            }
            @let questions = questions(&sidecar.algorithm.workload);
            @if !questions.is_empty() {
                p id="workload" {
                    "The classes were formed for questions about " (list(&questions)) ": a quasi-identifier that is in more of them \
                     than others keeps more detail, and others less."
                }
            }
            (loss(&columns))
            (detail(&columns))
            (distributions(&columns))
            (table(&sidecar.utility, &columns))
        }
    }
}

/// Returns the questions of a workload: `age × sex`.
fn questions(workload: &[Vec<String>]) -> Vec<String> {
    workload.iter().map(|query| query.join(" × ")).collect()
}

/// Returns the columns that show numbers or dates less exactly.
fn ranges(sidecar: &Sidecar) -> Vec<String> {
    let released = sidecar.columns.iter().flat_map(|columns| &columns.released);
    let is_range = |form: &str| ["interval", "bounds", "mean", "median"].contains(&form);
    released.filter(|of| of.release.as_deref().is_some_and(is_range)).map(|of| of.column.clone()).collect()
}

fn loss(columns: &[Named<'_>]) -> Markup {
    let mut sorted = columns.to_vec();
    sorted.sort_by(|a, b| b.1.ncp.total_cmp(&a.1.ncp));
    let most = sorted.first().map_or(0.0, |(_, column)| column.ncp).max(f64::MIN_POSITIVE);
    let bar = |(name, column): &Named<'_>| Bar {
        label: (*name).clone(),
        value: match column.sse_sst {
            Some(share) => format!("{} lost, {} of the variance", percent(column.ncp), percent(share)),
            None => format!("{} lost", percent(column.ncp)),
        },
        length: column.ncp / most,
    };
    let drawn: Vec<Bar> = sorted.iter().map(bar).collect();
    let words = "On average over rows. The longest bar is the column that loses most.";
    let description = describe(words, drawn.iter().map(|bar| format!("{}: {}", bar.label, bar.value)));
    let caption = Caption { id: "loss", title: "Loss of each column", description: &description };
    captioned(caption.title, words, &bars(caption, &drawn))
}

fn detail(columns: &[Named<'_>]) -> Markup {
    let row = |(name, column): &Named<'_>| {
        let rows: u64 = column.detail.iter().map(|step| step.rows).sum();
        let share = |rows_of: u64| rows_of as f64 / rows.max(1) as f64;
        let exact = column.detail.first().map_or(0.0, |step| share(step.rows));
        ShareBar {
            label: (*name).clone(),
            value: format!("{} exact", percent(exact)),
            shares: column.detail.iter().map(|step| share(step.rows)).collect(),
        }
    };
    let drawn: Vec<ShareBar> = columns.iter().filter(|(_, column)| !column.detail.is_empty()).map(row).collect();
    if drawn.is_empty() {
        return Markup::default();
    }
    let words = "All rows, by how much of the column's range their released value covers: from exact on the left to nothing \
                 on the right.";
    let description = describe(words, drawn.iter().map(|row| format!("{}: {}", row.label, row.value)));
    let caption = Caption { id: "detail", title: "Detail that is left", description: &description };
    captioned(caption.title, words, &html! { (legend()) (shares(caption, &drawn)) })
}

fn legend() -> Markup {
    html! {
        ul class="legend" {
            @for (step, words) in STEPS.iter().enumerate() {
                li {
                    svg width="12" height="12" aria-hidden="true" {
                        rect class={ "step-" (step) } width="12" height="12" {}
                    }
                    (words)
                }
            }
        }
    }
}

fn distributions(columns: &[Named<'_>]) -> Markup {
    let known: Vec<(&String, &DistributionFacts)> = columns
        .iter()
        .filter_map(|(name, column)| Some((*name, column.distribution.as_ref()?)))
        .filter(|(_, distribution)| !distribution.slices.is_empty())
        .collect();
    if known.is_empty() {
        return Markup::default();
    }
    html! {
        h3 { "How distributions changed" }
        p class="soft" {
            "Columns show the release as a reader sees it, when every row is spread evenly over what its value covers; the \
             lines across them show the original. Both are shown in steps of at least k rows and at least one in a hundred, \
             so that no small group shows. Values are left out: numbers go from the lowest to the highest, categories in the \
             order of their hierarchy."
        }
        div class="pair" {
            @for (at, (name, distribution)) in known.iter().enumerate() { (change(at, name, distribution)) }
        }
    }
}

fn change(at: usize, name: &str, distribution: &DistributionFacts) -> Markup {
    let slice =
        |slice: &crate::document::SliceFacts| SliceBar { end: slice.end, before: slice.before, after: slice.after };
    let columns: Vec<SliceBar> = distribution.slices.iter().map(slice).collect();
    let lines = columns.iter().map(|column| {
        let (end, before, after) = (percent(column.end), percent(column.before), percent(column.after));
        format!("up to {end} of the range {before} before and {after} after")
    });
    let (id, title) = (format!("distribution-{at}"), format!("Distribution of {name}"));
    let description = describe("Shares of the rows before and after.", lines);
    let plot = slices(Caption { id: &id, title: &title, description: &description }, &columns, ("first", "last"));
    captioned(name, &format!("{} of the rows seem to lie elsewhere", percent(distribution.distance)), &plot)
}

fn table(utility: &UtilityFacts, columns: &[Named<'_>]) -> Markup {
    let names = [("Column", false), ("Lost (NCP)", true), ("Exact rows", true), ("Moved", true)];
    html! {
        details {
            summary { "As a table" }
            table data-table="utility.columns" {
                (head("Loss, detail and distribution of each column", &names))
                tbody { @for (name, column) in columns { (row(name, column)) } }
            }
            p {
                "Over all columns: NCP " (figure("utility.ncp", utility.ncp, utility.ncp))
                ", with the weights of the policy "
                (figure("utility.weighted_ncp", utility.weighted_ncp, utility.weighted_ncp))
                ", total information loss "
                (figure("utility.information_loss", utility.information_loss, utility.information_loss))
                ", discernibility " (figure("utility.dm", utility.dm, count(utility.dm)))
                ", average class size over k " (figure("utility.avg", utility.avg, utility.avg)) "."
            }
        }
    }
}

fn row(name: &str, column: &ColumnFacts) -> Markup {
    let key = |field: &str| format!("utility.columns.{name}.{field}");
    html! {
        tr {
            (row_head(name, ""))
            (cell(&key("ncp"), column.ncp, percent(column.ncp)))
            @match column.detail.first() {
                Some(step) => { (cell(&key("detail.0.rows"), step.rows, count(step.rows))) }
                None => { td class="n" { "stand-ins" } }
            }
            @match &column.distribution {
                Some(known) => { (cell(&key("distribution.distance"), known.distance, percent(known.distance))) }
                None => { td class="n" { "–" } }
            }
        }
    }
}

fn describe(words: &str, lines: impl Iterator<Item = String>) -> String {
    format!("{words} {}.", lines.collect::<Vec<_>>().join("; "))
}

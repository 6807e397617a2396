//! The series that a release belongs to.

use maud::{Markup, html};

use crate::document::Sidecar;
use crate::numbers::{cell, count};
use crate::page::{head, row_head};

pub(super) fn section(sidecar: &Sidecar) -> Markup {
    let Some(series) = &sidecar.series else { return Markup::default() };
    let lines = [
        ("releases of the series", "releases", series.releases),
        ("earlier releases that this one was checked against", "remembered", series.remembered),
        ("units above k of a new class", "reserve", series.reserve),
        ("rows shown for the first time", "come", series.come),
        ("rows no longer shown", "gone", series.gone),
        ("rows of the input that wait for a class", "held", series.held),
        ("rows of the input that wait while an earlier row of their unit is shown", "outdated", series.outdated),
        ("rows of the input that are not shown otherwise", "suppressed", series.suppressed),
        ("rows that the input no longer has, and that are shown on", "shown_on", series.shown_on),
    ];
    html! {
        section {
            h2 { "The series" }
            p {
                "Together with the earlier releases that it was checked against, this release singles out no set of rows that does \
                 not satisfy every requirement: what stayed in a class, what has left one and what has come to one are as large \
                 and as diverse as a class must be. Rows that have left the input are shown on until enough of their class have \
                 left. Counts of rows are rounded up to the next multiple of k."
            }
            table id="series" {
                (head("Rows of the series", &[("What", false), ("How many", true)]))
                tbody {
                    @for (words, field, number) in lines {
                        tr { (row_head(words, "")) (cell(&format!("series.{field}"), number, count(number))) }
                    }
                }
            }
        }
    }
}

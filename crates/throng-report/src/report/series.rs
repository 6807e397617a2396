//! The series that a release belongs to.

use maud::{Markup, html};

use crate::document::Sidecar;
use crate::page::count_table;

pub(super) fn section(sidecar: &Sidecar) -> Markup {
    let Some(series) = &sidecar.series else { return Markup::default() };
    let lines = [
        ("releases of the series", "series.releases", series.releases),
        ("earlier releases that this one was checked against", "series.remembered", series.remembered),
        ("units above k of a new class", "series.reserve", series.reserve),
        ("rows shown for the first time", "series.come", series.come),
        ("rows no longer shown", "series.gone", series.gone),
        ("rows of the input that wait for a class", "series.held", series.held),
        ("rows of the input that wait while an earlier row of their unit is shown", "series.outdated", series.outdated),
        ("rows of the input that are not shown otherwise", "series.suppressed", series.suppressed),
        ("rows that the input no longer has, and that are shown on", "series.shown_on", series.shown_on),
        ("units that are shown in more than one class", "series.in_several_classes", series.in_several_classes),
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
            (count_table("series", "Rows of the series", &lines))
        }
    }
}

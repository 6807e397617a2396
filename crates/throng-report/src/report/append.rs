//! The appends that a release consists of.

use maud::{Markup, html};

use crate::document::Sidecar;
use crate::page::count_table;

pub(super) fn section(sidecar: &Sidecar) -> Markup {
    let Some(append) = &sidecar.append else { return Markup::default() };
    let mut lines = vec![
        ("appends", "append.appends", append.appends),
        ("input files", "append.input_files", append.input_files),
        ("rows released", "append.rows", append.rows),
        ("files", "append.files", append.files),
    ];
    if let Some(totals) = &append.totals {
        lines.extend([
            ("rows read", "append.input_rows", totals.input_rows),
            ("rows suppressed", "append.suppressed_rows", totals.suppressed_rows),
            ("classes, each append on its own", "append.classes", totals.classes),
        ]);
    }
    html! {
        section {
            h2 { "All appends" }
            p {
                "Rows are added to this release as they come, and the rows of each append satisfy every requirement on their own. The \
                 other parts of this page describe the rows that the last append added; these are the sums over all of them."
            }
            (count_table("append", "Sums over all appends", &lines))
        }
    }
}

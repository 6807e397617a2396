//! The appends that a release consists of.

use maud::{Markup, html};

use crate::document::Sidecar;
use crate::numbers::{cell, count};
use crate::page::{head, row_head};

pub(super) fn section(sidecar: &Sidecar) -> Markup {
    let Some(append) = &sidecar.append else { return Markup::default() };
    let mut lines = vec![
        ("appends", "appends", append.appends),
        ("input files", "input_files", append.input_files),
        ("rows released", "rows", append.rows),
        ("files", "files", append.files),
    ];
    if let Some(totals) = &append.totals {
        lines.extend([
            ("rows read", "input_rows", totals.input_rows),
            ("rows suppressed", "suppressed_rows", totals.suppressed_rows),
            ("classes, each append on its own", "classes", totals.classes),
        ]);
    }
    html! {
        section {
            h2 { "All appends" }
            p {
                "Rows are added to this release as they come, and the rows of each append satisfy every requirement on their own. The \
                 other parts of this page describe the rows that the last append added; these are the sums over all of them."
            }
            table id="append" {
                (head("Sums over all appends", &[("What", false), ("How many", true)]))
                tbody {
                    @for (words, field, number) in lines {
                        tr { (row_head(words, "")) (cell(&format!("append.{field}"), number, count(number))) }
                    }
                }
            }
        }
    }
}

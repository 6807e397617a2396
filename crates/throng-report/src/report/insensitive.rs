//! Exposure by columns that are released as they are.

use maud::{Markup, html};

use crate::document::{DeterminedFacts, InsensitiveFacts, Sidecar};
use crate::numbers::{cell, percent};
use crate::page::{head, row_head};

pub(super) fn section(sidecar: &Sidecar) -> Markup {
    let Some(facts) = &sidecar.privacy.insensitive else { return Markup::default() };
    html! {
        section {
            h2 { "Columns that are released as they are" }
            p {
                "The policy calls these columns insensitive. Anyone who knows their values of a person can use them to find the row, \
                 so it was counted in the release how many rows they single out."
                @if facts.estimated { " Shares are estimated from a sample." }
            }
            (table(facts))
            @if !facts.determined.is_empty() { (determined(&facts.determined)) }
        }
    }
}

fn table(facts: &InsensitiveFacts) -> Markup {
    let path = |field: &str| format!("privacy.insensitive.{field}");
    html! {
        table id="insensitive" {
            (head("Rows that insensitive columns single out", &[("Columns", false), ("Share of the rows", true)]))
            tbody {
                @for (at, column) in facts.columns.iter().enumerate() {
                    @let key = path(&format!("columns.{at}.singled_out"));
                    tr {
                        (row_head(&column.column, "by itself"))
                        (cell(&key, column.singled_out, percent(column.singled_out)))
                    }
                }
                tr {
                    (row_head("all of them", ""))
                    (cell(&path("singled_out"), facts.singled_out, percent(facts.singled_out)))
                }
                tr {
                    (row_head("all of them, with the quasi-identifiers", ""))
                    (cell(
                        &path("singled_out_with_quasi"),
                        facts.singled_out_with_quasi,
                        percent(facts.singled_out_with_quasi)
                    ))
                }
            }
        }
    }
}

fn determined(pairs: &[DeterminedFacts]) -> Markup {
    let columns = [("Column", false), ("Guessed right with it", true), ("Without it", true)];
    html! {
        table id="determined" {
            (head("Insensitive columns that nearly determine a sensitive one", &columns))
            tbody {
                @for (at, pair) in pairs.iter().enumerate() {
                    @let path = |field: &str| format!("privacy.insensitive.determined.{at}.{field}");
                    tr {
                        (row_head(format!("{} for {}", pair.column, pair.sensitive), ""))
                        (cell(&path("right"), pair.right, percent(pair.right)))
                        (cell(&path("right_without"), pair.right_without, percent(pair.right_without)))
                    }
                }
            }
        }
    }
}

//! Conditions of the delivery and of the release beyond the promise.

use maud::{Markup, html};

use crate::document::Sidecar;
use crate::numbers::{cell, count, percent};
use crate::page::{head, row_head};

pub(super) fn section(sidecar: &Sidecar) -> Markup {
    let Some(guards) = &sidecar.privacy.guards else { return Markup::default() };
    let path = |field: &str| format!("privacy.guards.{field}");
    let shares = [
        ("most that the number of rows may differ from the release before", "max_rows_change", guards.max_rows_change),
        ("most detail that may be lost (NCP)", "loss_limit", guards.loss_limit),
        ("most rows that insensitive columns may single out", "insensitive_uniqueness", guards.insensitive_uniqueness),
    ];
    html! {
        section {
            h2 { "Guards" }
            p { "A delivery that does not satisfy these conditions is refused, and the release before it stays. This one does." }
            table id="guards" {
                (head("Guards of the policy", &[("Condition", false), ("Limit", true)]))
                tbody {
                    @if let Some(rows) = guards.min_rows {
                        tr { (row_head("fewest rows of the input", "")) (cell(&path("min_rows"), rows, count(rows))) }
                    }
                    @for (words, field, share) in shares {
                        @if let Some(share) = share {
                            tr { (row_head(words, "")) (cell(&path(field), share, percent(share))) }
                        }
                    }
                }
            }
        }
    }
}

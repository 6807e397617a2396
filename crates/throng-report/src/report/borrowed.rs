//! People who hide among rows borrowed by their class.

use maud::{Markup, html};

use crate::document::Sidecar;
use crate::numbers::{count, figure};

pub(super) fn section(sidecar: &Sidecar) -> Markup {
    let Some(borrowed) = &sidecar.privacy.borrowed else { return Markup::default() };
    let number = |field: &str, value: u64| figure(&format!("privacy.borrowed.{field}"), value, count(value));
    html! {
        section {
            h2 { "Borrowed rows" }
            p {
                "A class that lacks rows borrows some of a group that can spare them. Someone who has the quasi-identifiers of \
                 everyone in the table may work out how many rows of a class are borrowed. Up to "
                (number("classes", borrowed.classes)) " classes have borrowed rows; up to "
                (number("own_rows", borrowed.own_rows)) " people hide in them, with at least "
                (number("effective_k", borrowed.effective_k)) " of their own in each"
                @if let Some(effective_p) = borrowed.effective_p {
                    ", who have at least " (number("effective_p", effective_p)) " different values"
                }
                ". For up to " (number("own_rows_without_diversity", borrowed.own_rows_without_diversity))
                " of them, the values of their own group alone would not be as diverse as required. Which values are theirs \
                 can't be worked out: borrowed rows are drawn at random, by a secret."
            }
        }
    }
}

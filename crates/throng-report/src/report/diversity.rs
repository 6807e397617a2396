//! Distinct sensitive values per class.

use maud::{Markup, html};

use super::classes::{figures, histogram};
use crate::document::{SensitiveFacts, Sidecar};
use crate::numbers::{figure, percent};
use crate::page::captioned;

pub(super) fn section(sidecar: &Sidecar) -> Markup {
    let columns = &sidecar.privacy.sensitive;
    if columns.is_empty() {
        return Markup::default();
    }
    html! {
        section {
            h2 { "What the members of a class have in common" }
            p {
                "Anyone who finds the class of a person learns what all of its members share. The more different sensitive \
                 values a class has, the less that is. Nulls do not count."
            }
            @for (at, column) in columns.iter().enumerate() { (diversity(at, column)) }
        }
    }
}

fn diversity(at: usize, column: &SensitiveFacts) -> Markup {
    let key = |field: &str| format!("privacy.sensitive.{at}.{field}");
    let title = format!("Different {} of {}", column.reading, column.column);
    html! {
        h3 { (column.column) }
        p {
            "Every class has at least " (figure(&key("fewest"), column.fewest, column.fewest))
            " different " (column.reading) ", on average "
            (figure(&key("mean"), column.mean, format_args!("{:.1}", column.mean))) "; "
            (figure(&key("disclosures"), column.disclosures, column.disclosures))
            " classes give away what all of their members have."
            @if let Some(share) = column.largest_share {
                " In some class, " (figure(&key("largest_share"), share, percent(share)))
                " of the rows have the same: so often a guess of that value is right there."
            }
        }
        @if !column.diversity.is_empty() {
            @let unit = ("different value", "different values");
            @let plot = histogram(&format!("diversity-{at}"), &title, &column.diversity, unit);
            (captioned(&title, "Rows by how many the class has that they are in.", &plot))
            (figures(&key("diversity"), "Different values in a class", &column.diversity))
        }
    }
}

//! Sizes of the equivalence classes.

use maud::{Markup, html};

use crate::document::{Bin, Sidecar};
use crate::numbers::{cell, count, counted};
use crate::page::{captioned, head};
use crate::plot::{Bar, Caption, bars};

pub(super) fn section(sidecar: &Sidecar) -> Markup {
    let bins = &sidecar.utility.class_sizes;
    if bins.is_empty() {
        return Markup::default();
    }
    let plot = histogram("class-sizes", "Class sizes", bins, ("row", "rows"));
    html! {
        section {
            h2 { "The crowds that people hide in" }
            p {
                "A class is all rows that show the same quasi-identifiers. Small classes keep more detail; no class is \
                 smaller than k."
            }
            (captioned("Class sizes", "Rows by the size of the class that they are in.", &plot))
            (figures("utility.class_sizes", "Rows in a class", bins))
        }
    }
}

/// Draws a bar per bin, proportional to its rows.
pub(super) fn histogram(id: &str, title: &str, bins: &[Bin], unit: (&str, &str)) -> Markup {
    let most = bins.iter().map(|bin| bin.rows).max().unwrap_or(1).max(1);
    let bar = |bin: &Bin| Bar {
        label: match bin.from == bin.to {
            true => counted(bin.from, unit.0, unit.1),
            false => format!("{} to {}", count(bin.from), counted(bin.to, unit.0, unit.1)),
        },
        value: format!("{} in {}", counted(bin.rows, "row", "rows"), counted(bin.classes, "class", "classes")),
        length: bin.rows as f64 / most as f64,
    };
    let drawn: Vec<Bar> = bins.iter().map(bar).collect();
    let lines: Vec<String> = drawn.iter().map(|bar| format!("{}: {}", bar.label, bar.value)).collect();
    let description = format!("Bars as long as the number of rows. {}.", lines.join("; "));
    bars(Caption { id, title, description: &description }, &drawn)
}

/// Renders the bins as a table.
pub(super) fn figures(key: &str, caption: &str, bins: &[Bin]) -> Markup {
    let columns = [("From", true), ("To", true), ("Classes", true), ("Rows", true)];
    let fields = |bin: &Bin| [("from", bin.from), ("to", bin.to), ("classes", bin.classes), ("rows", bin.rows)];
    html! {
        details {
            summary { "As a table" }
            table data-table=(key) {
                (head(caption, &columns))
                tbody {
                    @for (at, bin) in bins.iter().enumerate() {
                        tr {
                            @for (field, number) in fields(bin) {
                                (cell(&format!("{key}.{at}.{field}"), number, count(number)))
                            }
                        }
                    }
                }
            }
        }
    }
}

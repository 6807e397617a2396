//! How many people share a class.

use super::numbers::{count, counted, figure};
use super::page::{captioned, head};
use crate::markup::Markup;
use crate::plot::{Bar, Caption, bars};
use crate::sidecar::{Bin, Sidecar};

pub(super) fn write(body: &mut Markup, sidecar: &Sidecar) {
    let bins = &sidecar.utility.class_sizes;
    if bins.is_empty() {
        return;
    }
    body.within("section", &[], |section| {
        section.element("h2", &[], "The crowds that people hide in");
        section.element(
            "p",
            &[],
            "A class is all rows that show the same quasi-identifiers. Small classes keep more detail; no class is \
             smaller than k.",
        );
        let words = "Rows by the size of the class that they are in.";
        captioned(section, "Class sizes", words, |figure| {
            histogram(figure, "class-sizes", "Class sizes", bins, ("row", "rows"));
        });
        figures(section, "utility.class_sizes", "Rows in a class", bins);
    });
}

/// Bars as long as the rows of each bin.
pub(super) fn histogram(markup: &mut Markup, id: &str, title: &str, bins: &[Bin], unit: (&str, &str)) {
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
    let told: Vec<String> = drawn.iter().map(|bar| format!("{}: {}", bar.label, bar.value)).collect();
    let description = format!("Bars as long as the number of rows. {}.", told.join("; "));
    bars(markup, Caption { id, title, description: &description }, &drawn);
}

/// The same as a table.
pub(super) fn figures(section: &mut Markup, key: &str, what: &str, bins: &[Bin]) {
    section.within("details", &[], |details| {
        details.element("summary", &[], "As a table");
        details.within("table", &[("data-table", &key)], |table| {
            head(table, what, &[("From", true), ("To", true), ("Classes", true), ("Rows", true)]);
            table.within("tbody", &[], |rows| {
                for (at, bin) in bins.iter().enumerate() {
                    let cells = [("from", bin.from), ("to", bin.to), ("classes", bin.classes), ("rows", bin.rows)];
                    rows.within("tr", &[], |row| {
                        for (field, number) in cells {
                            let key = format!("{key}.{at}.{field}");
                            row.within("td", &[("class", &"n")], |cell| figure(cell, &key, number, count(number)));
                        }
                    });
                }
            });
        });
    });
}

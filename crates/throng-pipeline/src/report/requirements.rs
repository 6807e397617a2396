//! What was required, and what was reached.

use throng_core::verify::CONSTRAINED;

use super::numbers::figure;
use super::page::head;
use crate::markup::Markup;
use crate::sidecar::{Quantity, Requirement, Sidecar};

pub(super) fn write(body: &mut Markup, sidecar: &Sidecar) {
    body.within("section", &[], |section| {
        section.element("h2", &[], "What was promised, and what was reached");
        section.element(
            "p",
            &[],
            "The released files were read back before anybody could see them, by code that shares nothing with the code \
             that formed the classes. The figures are those of the worst class.",
        );
        section.within("table", &[("id", &"requirements")], |table| {
            head(table, "Requirements", &[("Requirement", false), ("Required", true), ("Reached", true), ("Holds", false)]);
            table.within("tbody", &[], |rows| {
                for (at, requirement) in sidecar.privacy.requirements.iter().enumerate() {
                    rows.within("tr", &[], |row| write_row(row, at, requirement));
                }
            });
        });
    });
}

fn write_row(row: &mut Markup, at: usize, requirement: &Requirement) {
    let holds = holds(requirement);
    row.within("th", &[("scope", &"row")], |name| {
        name.text(&requirement.model);
        if let Some(column) = &requirement.column {
            name.text(format_args!(" of {column}"));
        }
        name.element("span", &[("class", &"words")], words(requirement));
    });
    for (field, quantity) in [("required", requirement.required), ("achieved", requirement.achieved)] {
        let key = format!("privacy.requirements.{at}.{field}");
        row.within("td", &[("class", &"n")], |cell| figure(cell, &key, quantity, quantity));
    }
    let (class, text) = if holds { ("holds", "✓ yes") } else { ("fails", "✗ no") };
    row.within("td", &[("class", &"whole")], |cell| cell.element("span", &[("class", &class)], text));
}

fn words(requirement: &Requirement) -> &'static str {
    match &*requirement.model {
        "k-anonymity" => "rows in the smallest class: people who can't be told apart",
        "p-sensitivity" => "different values in every class, nulls not counted",
        "extended p-sensitivity" => "different values in every class, where all below a protected value are one",
        "p+-sensitivity" => "different categories in every class",
        "alpha-weight" => "total weight of the categories in every class; the least sensitive weigh most",
        CONSTRAINED => "rows that are generalized beyond the limit of the policy",
        _ => "as the policy asks",
    }
}

fn holds(requirement: &Requirement) -> bool {
    let number = |quantity: Quantity| match quantity {
        Quantity::Count(count) => count as f64,
        Quantity::Weight(weight) => weight,
    };
    let (required, achieved) = (number(requirement.required), number(requirement.achieved));
    // A weight is rounded to six digits.
    if requirement.model == CONSTRAINED { achieved <= required } else { achieved + 1e-6 >= required }
}

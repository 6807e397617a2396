//! Required and achieved values, one row per requirement.

use std::borrow::Cow;

use maud::{Markup, html};
use throng_core::model::{Bound, bound_of, describe_requirement};
use throng_core::verify::CONSTRAINED;

use crate::document::{PrivacyFacts, PrivacyUnit, Quantity, Requirement, Sidecar};
use crate::numbers::cell;
use crate::page::head;

const COLUMNS: [(&str, bool); 4] = [("Requirement", false), ("Required", true), ("Reached", true), ("Holds", false)];

const FILES: &str = "The released files were read back before they were published";

/// For a release that is held by its host and has no files yet.
const ROWS: &str = "All rows of the release were read before the first was given";

pub(super) fn section(sidecar: &Sidecar) -> Markup {
    html! {
        section {
            h2 { "What was promised, and what was reached" }
            p {
                (if sidecar.output.files > 0 { FILES } else { ROWS })
                ", by code that shares nothing with the code that formed the classes. The figures are those of the worst class."
            }
            table id="requirements" {
                (head("Requirements", &COLUMNS))
                tbody {
                    @for (at, requirement) in sidecar.privacy.requirements.iter().enumerate() {
                        (row(at, requirement, &sidecar.privacy))
                    }
                }
            }
        }
    }
}

fn row(at: usize, requirement: &Requirement, privacy: &PrivacyFacts) -> Markup {
    let key = |field: &str| format!("privacy.requirements.{at}.{field}");
    html! {
        tr {
            th scope="row" {
                (requirement.model)
                @if let Some(column) = &requirement.column { " of " (column) }
                span class="words" { (words(requirement, privacy)) }
            }
            (cell(&key("required"), requirement.required, requirement.required))
            (cell(&key("achieved"), requirement.achieved, requirement.achieved))
            td class="whole" {
                @if holds(requirement) { span class="holds" { "✓ yes" } } @else { span class="fails" { "✗ no" } }
            }
        }
    }
}

fn words(requirement: &Requirement, privacy: &PrivacyFacts) -> Cow<'static, str> {
    let counts_units = privacy.counts == PrivacyUnit::Units;
    let words = match &*requirement.model {
        "k-anonymity" if counts_units => "units, such as people, with rows in the smallest class",
        "p-sensitivity" if counts_units => {
            "different values in every class that as many different units carry, nulls not counted"
        }
        "k-anonymity" if privacy.repeating_identifiers > 0 => {
            "rows in the smallest class; several of them may belong to one person"
        }
        "k-anonymity" => "rows in the smallest class",
        "p-sensitivity" => "different values in every class, nulls not counted",
        "extended p-sensitivity" => "different values in every class, where all below a protected value are one",
        "p+-sensitivity" => "different categories in every class",
        "alpha-weight" => "total weight of the categories in every class; the least sensitive weigh most",
        CONSTRAINED => "rows that are generalized beyond the limit of the policy",
        other => {
            let column = requirement.column.as_deref().unwrap_or_default();
            return describe_requirement(other, column, requirement.required).into();
        }
    };
    words.into()
}

fn holds(requirement: &Requirement) -> bool {
    let number = |quantity: Quantity| match quantity {
        Quantity::Count(count) => count as f64,
        Quantity::Weight(weight) => weight,
    };
    let (required, achieved) = (number(requirement.required), number(requirement.achieved));
    // Measures are rounded to six digits.
    match bound_of(&requirement.model) {
        _ if requirement.model == CONSTRAINED => achieved <= required,
        Bound::AtMost => achieved <= required + 1e-6,
        Bound::AtLeast => achieved + 1e-6 >= required,
    }
}

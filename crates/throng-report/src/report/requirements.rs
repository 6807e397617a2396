//! Required and achieved values, one row per requirement.

use std::borrow::Cow;

use maud::{Markup, html};
use throng_core::model::{K_ANONYMITY, LimitKind, P_SENSITIVITY, caption_of, describe_requirement, limit_kind_of};

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
        K_ANONYMITY if counts_units => Some("units, such as people, with rows in the smallest class"),
        P_SENSITIVITY if counts_units => {
            Some("different values in every class that as many different units carry, nulls not counted")
        }
        K_ANONYMITY if privacy.repeating_identifiers > 0 => {
            Some("rows in the smallest class; several of them may belong to one person")
        }
        model => caption_of(model),
    };
    words.map(Cow::Borrowed).unwrap_or_else(|| {
        let column = requirement.column.as_deref().unwrap_or_default();
        describe_requirement(&requirement.model, column, requirement.required).into()
    })
}

fn holds(requirement: &Requirement) -> bool {
    let number = |quantity: Quantity| match quantity {
        Quantity::Count(count) => count as f64,
        Quantity::Weight(weight) => weight,
    };
    let (required, achieved) = (number(requirement.required), number(requirement.achieved));
    // Measures are rounded to six digits.
    match limit_kind_of(&requirement.model) {
        LimitKind::AtMost => achieved <= required + 1e-6,
        LimitKind::AtLeast => achieved + 1e-6 >= required,
    }
}

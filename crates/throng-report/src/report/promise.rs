//! The promise of the release in one sentence, and the key figures.

use maud::{Markup, html};
use throng_core::model::describe_requirement;
use throng_core::verify::CONSTRAINED;

use crate::document::{PrivacyUnit, Quantity, Requirement, Sidecar};
use crate::numbers::{count, counted, figure, list, percent};
use crate::page::key_entry;

pub(super) fn section(sidecar: &Sidecar) -> Markup {
    let (output, utility) = (&sidecar.output, &sidecar.utility);
    let entry = |name: &str, path: &str, value: f64, text: String| key_entry(name, &figure(path, value, text));
    let number = |name: &str, path: &str, value: u64| key_entry(name, &figure(path, value, count(value)));
    html! {
        header {
            h1 { "Release report" }
            p class="promise" { (sentence(sidecar)) }
            @if sidecar.privacy.satisfied {
                p class="verdict" { "✓ Verified in the released " (if output.files > 0 { "files" } else { "rows" }) }
            } @else {
                p class="verdict fails" { "✗ A promise does not hold" }
            }
            dl class="key" {
                (number("rows released", "output.rows", output.rows))
                (number("classes of people who look alike", "utility.classes", utility.classes))
                @if let Some(risk) = &sidecar.risk {
                    @let highest = risk.after.prosecutor.highest;
                    (entry("highest risk of being found", "risk.after.prosecutor.highest", highest, percent(highest)))
                }
                (entry("of the detail lost (NCP)", "utility.ncp", utility.ncp, percent(utility.ncp)))
                @if let Some(gap) = utility.gap {
                    @let within = format!("within {} of", percent(gap));
                    (entry("the best possible release", "utility.gap", gap, within))
                }
                (number("rows left out", "output.suppressed_rows", output.suppressed_rows))
            }
        }
    }
}

/// Returns the promise of the release in words.
fn sentence(sidecar: &Sidecar) -> String {
    let requirements = &sidecar.privacy.requirements;
    let k =
        requirements.iter().find(|requirement| requirement.column.is_none()).map(|requirement| requirement.required);
    let columns: Vec<String> = sidecar.utility.columns.keys().cloned().collect();
    let rows = match (k, sidecar.privacy.counts) {
        (Some(Quantity::Count(k)), PrivacyUnit::Rows) => format!("at least {}", counted(k, "row", "rows")),
        (Some(Quantity::Count(k)), PrivacyUnit::Units) => {
            format!("rows of at least {} (people, or what the policy names)", counted(k, "unit", "different units"))
        }
        _ => "some rows".to_owned(),
    };
    let mut sentence = format!("Anyone who knows the {} of a person finds {rows} that could be theirs", list(&columns));
    let (limits, diverse): (Vec<&Requirement>, Vec<&Requirement>) =
        requirements.iter().filter(|requirement| requirement.column.is_some()).partition(|of| of.model == CONSTRAINED);
    let diverse: Vec<String> = diverse.into_iter().map(diversity).collect();
    if !diverse.is_empty() {
        sentence.push_str(&format!(", and among them {}", list(&diverse)));
    }
    let limits: Vec<String> = limits.into_iter().filter_map(|limit| limit.column.clone()).collect();
    if !limits.is_empty() {
        sentence.push_str(&format!("; no value of {} is generalized beyond its limit", list(&limits)));
    }
    sentence + "."
}

/// Describes a requirement on a sensitive column.
fn diversity(requirement: &Requirement) -> String {
    describe_requirement(&requirement.model, requirement.column.as_deref().unwrap_or_default(), requirement.required)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_requirement_is_left_out_of_the_sentence() {
        let requirement = |model: &'static str, required| Requirement {
            model: model.into(),
            column: Some("illness".to_owned()),
            required,
            achieved: required,
        };
        assert_eq!(
            diversity(&requirement("alpha-weight", Quantity::Weight(1.5))),
            "categories of illness that weigh at least 1.5 together"
        );
        assert_eq!(
            diversity(&requirement("a model of tomorrow", Quantity::Count(4))),
            "illness with a model of tomorrow of at least 4"
        );
    }
}

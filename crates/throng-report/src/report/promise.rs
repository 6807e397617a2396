//! The promise of the release in one sentence, and the key figures.

use maud::{Markup, html};

use crate::document::{Quantity, Sidecar};
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
                p class="verdict" { "✓ Verified in the released files" }
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
    let rows = match k {
        Some(Quantity::Count(k)) => counted(k, "row", "rows"),
        _ => "some rows".to_owned(),
    };
    let mut sentence =
        format!("Whoever knows the {} of a person finds at least {rows} that could be theirs", list(&columns));
    let diverse = requirements.iter().filter_map(|requirement| {
        let (column, Quantity::Count(p)) = (requirement.column.as_ref()?, requirement.required) else { return None };
        let kind = match &*requirement.model {
            "p-sensitivity" => "values",
            "extended p-sensitivity" => "values (those below a protected one count as one)",
            "p+-sensitivity" => "categories",
            _ => return None,
        };
        Some(format!("at least {p} different {kind} of {column}"))
    });
    let diverse: Vec<String> = diverse.collect();
    if !diverse.is_empty() {
        sentence.push_str(&format!(", and among them {}", list(&diverse)));
    }
    sentence + "."
}

//! The promise in one sentence, and the figures that matter most.

use super::numbers::{count, counted, figure, list, percent};
use crate::markup::Markup;
use crate::sidecar::{Quantity, Sidecar};

pub(super) fn write(body: &mut Markup, sidecar: &Sidecar) {
    body.within("header", &[], |header| {
        header.element("h1", &[], "Release report");
        header.element("p", &[("class", &"promise")], sentence(sidecar));
        match sidecar.privacy.satisfied {
            true => header.element("p", &[("class", &"verdict")], "✓ Verified in the released files"),
            false => header.element("p", &[("class", &"verdict fails")], "✗ A promise does not hold"),
        }
        header.within("dl", &[("class", &"key")], |key| {
            let mut entry = |name: &str, path: &str, value: String, text: String| {
                key.within("div", &[], |entry| {
                    entry.element("dt", &[], name);
                    entry.within("dd", &[], |dd| figure(dd, path, value, text));
                });
            };
            let (output, utility) = (&sidecar.output, &sidecar.utility);
            entry("rows released", "output.rows", output.rows.to_string(), count(output.rows));
            entry(
                "classes of people who look alike",
                "utility.classes",
                utility.classes.to_string(),
                count(utility.classes),
            );
            if let Some(risk) = &sidecar.risk {
                let highest = risk.after.prosecutor.highest;
                entry(
                    "highest risk of being found",
                    "risk.after.prosecutor.highest",
                    highest.to_string(),
                    percent(highest),
                );
            }
            entry("of the detail lost (NCP)", "utility.ncp", utility.ncp.to_string(), percent(utility.ncp));
            let suppressed = output.suppressed_rows;
            entry("rows left out", "output.suppressed_rows", suppressed.to_string(), count(suppressed));
        });
    });
}

/// What the release promises, for people.
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

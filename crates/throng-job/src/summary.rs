//! Summaries of a published release.

use serde_json::{Value, json};
use throng_core::model::limit_kind_of;
use throng_core::verify::CONSTRAINED;
use throng_report::document::{PresenceFacts, PrivacyUnit, TableFacts};

use crate::job::PublishedRelease;
use crate::plural::plural;

impl PublishedRelease {
    /// Returns a summary of a few lines, for the command line.
    pub fn to_text(&self) -> String {
        let sidecar = &self.sidecar;
        let mut lines = vec![format!(
            "released {} in {} to {}",
            plural(sidecar.output.rows, "row"),
            plural(sidecar.utility.classes, "class"),
            self.location
        )];
        if sidecar.output.suppressed_rows > 0 {
            lines.push(format!("  {} suppressed", plural(sidecar.output.suppressed_rows, "row")));
        }
        for requirement in &sidecar.privacy.requirements {
            let column = requirement.column.as_ref().map(|column| format!(" of `{column}`")).unwrap_or_default();
            let (model, required, achieved) = (&*requirement.model, requirement.required, requirement.achieved);
            lines.push(match model {
                CONSTRAINED => format!("  {model}{column}: {} beyond the limit", plural(achieved, "row")),
                _ => {
                    let limit = limit_kind_of(model).as_str();
                    let unit = match (sidecar.privacy.counts, requirement.column.is_none()) {
                        (PrivacyUnit::Units, true) => " units",
                        _ => "",
                    };
                    format!("  {model}{column}: {limit} {achieved}{unit} in every class ({required} required)")
                }
            });
        }
        let population = sidecar.risk.as_ref().and_then(|risk| risk.population.as_ref());
        if let Some(matched) = population.and_then(|population| population.matched.as_ref()) {
            let required = matched.k_map.map(|k_map| format!(" ({k_map} required)")).unwrap_or_default();
            let about = if matched.source == "table" { "" } else { "about " };
            lines.push(format!(
                "  k-map: at least {about}{} people of the population in every class{required}",
                matched.fewest
            ));
            if let Some(PresenceFacts { least, most, .. }) = &matched.presence {
                lines.push(format!(
                    "  delta-presence: {:.0} to {:.0} % of the people whom a class matches are in the input",
                    100.0 * least,
                    100.0 * most
                ));
            }
        }
        lines.push(format!("  information lost (NCP): {:.4}", sidecar.utility.ncp));
        if let (Some(bound), Some(gap)) = (sidecar.utility.lower_bound, sidecar.utility.gap) {
            lines.push(format!(
                "  no release loses less than {bound:.4}: within {:.1} % of the best possible",
                100.0 * gap
            ));
        }
        for (name, column) in &sidecar.utility.columns {
            let variance = column.sse_sst.map(|share| format!(", SSE/SST {share:.4}")).unwrap_or_default();
            lines.push(format!("    {name}: {:.4}{variance}", column.ncp));
        }
        for table in sidecar.tables.iter().skip(1) {
            lines.push(format!(
                "  and {} in {} of table `{}`, {} suppressed, NCP {:.4}",
                plural(table.rows, "row"),
                plural(table.classes, "class"),
                table.name,
                plural(table.suppressed_rows, "row"),
                table.ncp
            ));
        }
        lines.extend(self.warnings.iter().map(|warning| format!("warning: {warning}")));
        lines.join("\n")
    }

    /// Returns a summary as JSON, for scripts.
    pub fn to_json(&self) -> Value {
        let sidecar = &self.sidecar;
        let mut json = json!({
            "outcome": "released",
            "run_id": sidecar.run_id,
            "output": self.location,
            "rows": sidecar.output.rows,
            "suppressed_rows": sidecar.output.suppressed_rows,
            "classes": sidecar.utility.classes,
            "ncp": sidecar.utility.ncp,
            "files": sidecar.output.files,
            "bytes": sidecar.output.bytes,
            "satisfied": sidecar.privacy.satisfied,
            "total_ms": sidecar.timing_ms.get("total"),
        });
        if !self.warnings.is_empty() {
            json["warnings"] = json!(self.warnings);
        }
        if !sidecar.tables.is_empty() {
            let table = |table: &TableFacts| {
                json!({
                    "name": table.name,
                    "rows": table.rows,
                    "suppressed_rows": table.suppressed_rows,
                    "classes": table.classes,
                    "ncp": table.ncp,
                })
            };
            json["tables"] = sidecar.tables.iter().map(table).collect();
        }
        if let Some(bound) = sidecar.utility.lower_bound {
            json["weighted_ncp"] = sidecar.utility.weighted_ncp.into();
            json["lower_bound"] = bound.into();
            json["gap"] = sidecar.utility.gap.into();
        }
        json
    }
}

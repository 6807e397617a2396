//! `throng verify --against` and `--ledger`

use serde_json::json;
use throng_job::{Kind, SeriesComparison, SeriesFindings, plural};

use crate::outcome::Outcome;

/// Adds the findings about a series to those about a release.
pub(super) fn with_series(outcome: Outcome, compared: &[SeriesComparison], ledger: Option<&SeriesFindings>) -> Outcome {
    let failure = |holds: bool| (!holds).then(|| Kind::Verification.exit_code());
    let outcome = match compared {
        [] => outcome,
        compared => {
            let lines: Vec<String> = compared.iter().map(line).collect();
            let holds = compared.iter().all(SeriesComparison::holds);
            let json = compared.iter().map(|found| {
                json!({
                    "previous": found.previous,
                    "satisfied": found.holds(),
                    "stayed": found.stayed,
                    "moved": found.moved,
                    "left": found.left,
                    "come": found.come,
                    "rows_below_k": found.rows_below_k,
                    "rows_below_p": found.rows_below_p,
                })
            });
            outcome.with_finding(&lines.join("\n"), "against", json.collect(), failure(holds))
        }
    };
    match ledger {
        None => outcome,
        Some(found) => {
            let json = json!({
                "satisfied": found.holds(),
                "releases": found.releases,
                "rows": found.rows,
                "blocks": found.blocks,
                "broken_blocks": found.broken_blocks,
                "unknown_rows": found.unknown_rows,
            });
            let text = match found.holds() {
                true => format!(
                    "ledger: {} of {} single out {}, and each satisfies the policy",
                    "the remembered releases",
                    found.releases,
                    plural(found.blocks, "set")
                ),
                false => format!(
                    "error: ledger: {} do not satisfy the policy; {} of the release and the ledger differ",
                    plural(found.broken_blocks, "set"),
                    plural(found.unknown_rows, "row")
                ),
            };
            outcome.with_finding(&text, "ledger", json, failure(found.holds()))
        }
    }
}

fn line(found: &SeriesComparison) -> String {
    let SeriesComparison { previous, stayed, moved, left, come, rows_below_k, rows_below_p } = found;
    let counts = format!("{stayed} rows stayed, {moved} moved, {left} left, {come} came");
    match found.holds() {
        true => format!("against {previous}: {counts}; together they single out no smaller set"),
        false => format!(
            "error: against {previous}: {counts}; {rows_below_k} of them in sets of fewer than k rows, {rows_below_p} in sets with fewer than p values"
        ),
    }
}

//! `throng verify`

use serde_json::json;
use throng_core::verify::{Findings, Promise};
use throng_pipeline::{JobError, JobOptions, Kind, promise_of, verify_release};
use throng_policy::{Overrides, Policy};

use crate::args::VerifyArgs;
use crate::outcome::Outcome;

pub(super) async fn verify(args: &VerifyArgs, job: &JobOptions) -> Result<Outcome, JobError> {
    let (promise, columns) = match &args.policy {
        Some(policy) => {
            let (promise, columns) = promise_of(&Policy::load(policy, &Overrides::default())?);
            (promise, Some(columns))
        }
        None => {
            let (quasi, sensitive) = (args.quasi.clone(), args.sensitive.clone());
            (Promise { quasi, sensitive, k: args.k.unwrap_or(1), p: args.p.unwrap_or(1) }, None)
        }
    };
    let locations = [args.path.clone()];
    let findings = verify_release(&locations, promise.clone(), columns.as_deref(), job).await?;
    Ok(outcome(&findings, &promise))
}

/// What was found, against what was promised.
pub(super) fn outcome(findings: &Findings, promise: &Promise) -> Outcome {
    let holds = findings.holds();
    let mut lines = vec![format!("{} rows in {} classes", findings.rows, findings.classes)];
    lines.push(line("k-anonymity", findings.smallest_class, promise.k, findings.classes_below_k));
    for column in &findings.sensitive {
        let model = format!("p-sensitivity of `{}`", column.column);
        lines.push(line(&model, column.fewest, promise.p, column.classes_below_p));
    }
    lines.push(if holds { "verified" } else { "error: the promise does not hold" }.to_owned());
    let sensitive = findings.sensitive.iter().map(|column| {
        json!({ "column": column.column, "fewest": column.fewest, "required": promise.p, "classes_below": column.classes_below_p })
    });
    let json = json!({
        "outcome": if holds { "verified" } else { "refused" },
        "satisfied": holds,
        "rows": findings.rows,
        "classes": findings.classes,
        "smallest_class": findings.smallest_class,
        "k": promise.k,
        "classes_below_k": findings.classes_below_k,
        "sensitive": sensitive.collect::<Vec<_>>(),
    });
    match holds {
        true => Outcome::success(lines.join("\n"), json),
        false => Outcome::failure_with(Kind::Verification.exit_code(), lines.join("\n"), json),
    }
}

fn line(model: &str, achieved: u64, required: u64, below: u64) -> String {
    let verdict = if below == 0 { "holds".to_owned() } else { format!("broken by {below} classes") };
    format!("  {model}: at least {achieved} in every class, {required} required: {verdict}")
}

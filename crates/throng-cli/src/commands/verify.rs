//! `throng verify`

use serde_json::{Value, json};
use throng_core::verify::{Amount, CONSTRAINED, Findings, Promise, RequirementFindings, SensitivePromise};
use throng_job::{JobError, JobOptions, Kind, plural, verify_release_with};
use throng_policy::{Overrides, Policy, Store};

use crate::args::VerifyArgs;
use crate::outcome::Outcome;

pub(super) async fn verify(args: &VerifyArgs, job: &JobOptions) -> Result<Outcome, JobError> {
    let (promise, columns, store) = match &args.policy {
        Some(policy) => {
            let policy = Policy::load(policy, &Overrides::default())?;
            let (promise, columns) = policy.promise();
            (promise, Some(columns), policy.store)
        }
        None => {
            let sensitive = args.sensitive.iter().map(|name| SensitivePromise::plain(name, args.p.unwrap_or(1)));
            let (quasi, sensitive) = (args.quasi.clone(), sensitive.collect());
            (Promise { quasi, k: args.k.unwrap_or(1), sensitive, limits: Vec::new() }, None, Store::default())
        }
    };
    let locations = [args.path.clone()];
    let findings = verify_release_with(&locations, promise.clone(), columns.as_deref(), &store, job).await?;
    Ok(outcome(&findings, &promise))
}

/// Compares findings with the promise.
pub(super) fn outcome(findings: &Findings, promise: &Promise) -> Outcome {
    let holds = findings.holds();
    let mut lines = vec![format!("{} in {}", plural(findings.rows, "row"), plural(findings.classes, "class"))];
    lines.extend(findings.requirements.iter().map(line));
    for labels in findings.labels.iter().filter(|labels| labels.mismatches > 0) {
        lines.push(format!(
            "  `{}` shows another category than that of the value: {}",
            labels.column,
            plural(labels.mismatches, "row")
        ));
    }
    lines.push(if holds { "verified" } else { "error: the promise does not hold" }.to_owned());
    let sensitive = findings.requirements.iter().filter(|found| found.column.is_some()).map(|found| {
        json!({
            "column": found.column,
            "model": found.model,
            "fewest": number(found.achieved),
            "required": number(found.required),
            "classes_below": found.failing_classes,
        })
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

fn number(amount: Amount) -> Value {
    match amount {
        Amount::Count(count) => count.into(),
        Amount::Weight(weight) => weight.into(),
    }
}

fn line(found: &RequirementFindings) -> String {
    let (achieved, required, failing) = (found.achieved, found.required, found.failing_classes);
    let column = found.column.as_ref().map(|column| format!(" of `{column}`")).unwrap_or_default();
    let verdict = if failing == 0 { "holds".to_owned() } else { format!("broken by {}", plural(failing, "class")) };
    match found.model {
        CONSTRAINED => format!("  {CONSTRAINED}{column}: {} beyond the limit: {verdict}", plural(achieved, "row")),
        model => format!("  {model}{column}: at least {achieved} in every class, {required} required: {verdict}"),
    }
}

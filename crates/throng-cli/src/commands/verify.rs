//! `throng verify`

use serde_json::{Value, json};
use throng_core::model::limit_kind_of;
use throng_core::verify::{Amount, CONSTRAINED, Findings, Promise, RequirementFindings, SensitivePromise};
use throng_job::{
    JobError, JobOptions, Kind, LinkedFindings, plural, verify_against, verify_ledger, verify_linked,
    verify_release_with,
};
use throng_policy::{Overrides, Policy, Store, delta_table};

use crate::args::VerifyArgs;
use crate::outcome::Outcome;

pub(super) async fn verify(args: &VerifyArgs, job: &JobOptions) -> Result<Outcome, JobError> {
    // The ledger is that of the verified release.
    let output = args.ledger.then(|| delta_table(&args.path).unwrap_or(&args.path).to_owned());
    let overrides = Overrides { output, ..Overrides::default() };
    let policy = args.policy.as_ref().map(|policy| Policy::load(policy, &overrides)).transpose()?;
    let promised = match &policy {
        Some(policy) => Promised::of_policy(policy),
        None => {
            let sensitive = args.sensitive.iter().map(|name| SensitivePromise::plain(name, args.p.unwrap_or(1)));
            let (quasi, sensitive) = (args.quasi.clone(), sensitive.collect());
            let (k, unit) = (args.k.unwrap_or(1), args.unit.clone());
            Promised::of_columns(Promise { quasi, k, sensitive, limits: Vec::new(), unit })
        }
    };
    verify_location(&args.path, &promised, &args.against, args.ledger, job).await
}

/// The promise that a release is verified against.
pub struct Promised<'a> {
    policy: Option<&'a Policy>,
    promise: Promise,
    /// Names that the release may have, if a policy gives them.
    columns: Option<Vec<String>>,
    store: Store,
}

impl<'a> Promised<'a> {
    /// The promise of a policy.
    pub fn of_policy(policy: &'a Policy) -> Self {
        let (promise, columns) = policy.promise();
        Self { policy: Some(policy), promise, columns: Some(columns), store: policy.store.clone() }
    }

    /// A promise without a policy.
    pub fn of_columns(promise: Promise) -> Self {
        Self { policy: None, promise, columns: None, store: Store::default() }
    }
}

/// Verifies the release at a location as `throng verify` does, and returns the outcome as JSON.
pub async fn verify_location_json(
    path: &str,
    promised: &Promised<'_>,
    against: &[String],
    ledger: bool,
    job: &JobOptions,
) -> Result<Value, JobError> {
    Ok(verify_location(path, promised, against, ledger, job).await?.into_json())
}

/// Verifies a table of the host, or several locations as one table, and returns the findings as JSON.
pub async fn verify_table_json(
    locations: &[String],
    promised: &Promised<'_>,
    job: &JobOptions,
) -> Result<Value, JobError> {
    let Promised { promise, columns, store, .. } = promised;
    let findings = verify_release_with(locations, promise.clone(), columns.as_deref(), store, job).await?;
    Ok(json(&findings, promise))
}

async fn verify_location(
    path: &str,
    promised: &Promised<'_>,
    against: &[String],
    ledger: bool,
    job: &JobOptions,
) -> Result<Outcome, JobError> {
    let Promised { policy, promise, columns, store } = promised;
    if let Some(policy) = policy.filter(|policy| policy.has_tables()) {
        return verify_tables(path, policy, job).await;
    }
    let findings = verify_release_with(&[path.to_owned()], promise.clone(), columns.as_deref(), store, job).await?;
    let linked = match policy {
        Some(policy) => verify_linked(path, policy, job).await?,
        None => None,
    };
    let compared = verify_against(path, against, promise, store, job).await?;
    let ledger = match policy {
        Some(policy) if ledger => Some(verify_ledger(policy, job).await?),
        _ => None,
    };
    let outcome = with_linked(outcome(&findings, promise), linked);
    Ok(super::verify_series::with_series(outcome, &compared, ledger.as_ref()))
}

/// Verifies each table of a release, and the rows that pseudonyms link over all of them.
async fn verify_tables(path: &str, policy: &Policy, job: &JobOptions) -> Result<Outcome, JobError> {
    let linked = verify_linked(path, policy, job).await?;
    let (mut first, mut lines, mut tables, mut failure) = (None, Vec::new(), Vec::new(), None);
    for (name, policy) in policy.linked_tables() {
        let name = name.unwrap_or_default();
        let ((promise, columns), location) = (policy.promise(), format!("{}/{name}", path.trim_end_matches('/')));
        let findings = verify_release_with(&[location], promise.clone(), Some(&columns), &policy.store, job).await?;
        if !findings.holds() {
            failure = Some(Kind::Verification.exit_code());
        }
        lines.push(format!(
            "  table `{name}`: {} in {}: {}",
            plural(findings.rows, "row"),
            plural(findings.classes, "class"),
            if findings.holds() { "holds" } else { "broken" }
        ));
        let mut described = json(&findings, &promise);
        described["name"] = name.into();
        tables.push(described);
        first = first.or_else(|| Some(outcome(&findings, &promise)));
    }
    let first = first.ok_or_else(|| JobError::new(Kind::Internal, "no table was verified"))?;
    Ok(with_linked(first.with_finding(&lines.join("\n"), "tables", tables.into(), failure), linked))
}

/// Adds the findings about people whose rows are linked.
fn with_linked(outcome: Outcome, linked: Option<(LinkedFindings, Option<&'static str>)>) -> Outcome {
    let Some((found, fault)) = linked else { return outcome };
    let json = json!({ "people": found.people, "profiles": found.profiles, "smallest_profile": found.smallest });
    let text = format!(
        "  linked rows: {} with {}, each of at least {}: {}",
        plural(found.people, "pseudonym"),
        plural(found.profiles, "profile"),
        found.smallest,
        fault.unwrap_or("holds")
    );
    outcome.with_finding(&text, "linked", json, fault.map(|_| Kind::Verification.exit_code()))
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
    let json = json(findings, promise);
    match holds {
        true => Outcome::success(lines.join("\n"), json),
        false => Outcome::failure_with(Kind::Verification.exit_code(), lines.join("\n"), json),
    }
}

/// Formats findings as JSON.
pub fn json(findings: &Findings, promise: &Promise) -> Value {
    let sensitive = findings.requirements.iter().filter(|found| found.column.is_some()).map(|found| {
        json!({
            "column": found.column,
            "model": found.model,
            "fewest": number(found.achieved),
            "required": number(found.required),
            "classes_below": found.failing_classes,
        })
    });
    json!({
        "outcome": if findings.holds() { "verified" } else { "refused" },
        "satisfied": findings.holds(),
        "rows": findings.rows,
        "classes": findings.classes,
        "smallest_class": findings.smallest_class,
        "k": promise.k,
        "classes_below_k": findings.classes_below_k,
        "sensitive": sensitive.collect::<Vec<_>>(),
    })
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
        model => {
            let limit = limit_kind_of(model).as_str();
            format!("  {model}{column}: {limit} {achieved} in every class, {required} required: {verdict}")
        }
    }
}

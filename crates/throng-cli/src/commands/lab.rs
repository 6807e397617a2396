//! `throng utility`, `throng attack` and `throng diff`

use std::path::Path;

use serde_json::{Value, json};
use throng_job::{AttackRequest, DiffRequest, JobError, JobOptions, Kind, LabColumns, UtilityRequest, plural};
use throng_policy::{Overrides, Policy};

use super::text_table::TextTable;
use crate::args::{AttackArgs, DiffArgs, RoleArgs, UtilityArgs};
use crate::outcome::Outcome;

/// Default of k and p if neither a policy nor a flag sets them.
const LEAST: u64 = 2;

fn columns(roles: &RoleArgs, k: Option<u64>, p: Option<u64>) -> Result<LabColumns, JobError> {
    Ok(match &roles.policy {
        Some(policy) => of_policy(policy, k, p)?,
        None => LabColumns::Named {
            quasi: roles.quasi.clone(),
            sensitive: roles.sensitive.clone(),
            k: k.unwrap_or(LEAST),
            p: p.unwrap_or(LEAST),
        },
    })
}

fn of_policy(policy: &Path, k: Option<u64>, p: Option<u64>) -> Result<LabColumns, JobError> {
    let overrides = Overrides { k, p, ..Overrides::default() };
    Ok(LabColumns::Policy(Box::new(Policy::load(policy, &overrides)?)))
}

/// Returns the document of a report of the lab.
pub fn measured(report: &impl serde::Serialize) -> Result<Value, JobError> {
    let mut json = json!({ "outcome": "measured" });
    let report =
        serde_json::to_value(report).map_err(|_| JobError::new(Kind::Internal, "a report can't be written"))?;
    if let (Some(json), Value::Object(report)) = (json.as_object_mut(), report) {
        json.extend(report);
    }
    Ok(json)
}

pub(super) async fn utility(args: &UtilityArgs, job: &JobOptions) -> Result<Outcome, JobError> {
    let request = UtilityRequest {
        release: args.release.clone().into(),
        original: args.original.clone().into(),
        columns: columns(&args.roles, None, None)?,
        target: args.target.clone(),
        queries: args.queries as usize,
        seed: args.seed,
    };
    let report = throng_job::utility(&request, job).await?;
    let percent = |share: f64| format!("{:.2} %", 100.0 * share);
    let queries = &report.count_queries;
    let mut errors = TextTable::new(&["conditions of a count", "median error", "95 % below"]);
    let lines = [("one", queries.one), ("two", queries.two), ("three", queries.three)];
    for (name, of) in lines.into_iter().filter(|(_, of)| of.queries > 0) {
        errors.row([name.to_owned(), percent(of.median_error), percent(of.p95_error)]);
    }
    if let Some(of) = queries.workload {
        errors.row(["those of [workload]".to_owned(), percent(of.median_error), percent(of.p95_error)]);
    }
    let mut marginals = TextTable::new(&["column", "total variation"]);
    for column in &report.marginals {
        marginals.row([column.column.clone(), format!("{:.4}", column.total_variation)]);
    }
    let mut lines = vec![errors.to_string(), marginals.to_string()];
    lines.push(format!(
        "association of pairs of columns: differs by {:.4} on average, by {:.4} at most",
        report.association.mean_difference, report.association.largest_difference
    ));
    if let Some(models) = &report.models {
        let mut table =
            TextTable::new(&[&format!("prediction of `{}`", models.column), "original", "release", "majority"]);
        for (name, score) in
            [("logistic regression", models.logistic_regression), ("decision tree", models.decision_tree)]
        {
            let figures = [score.original_accuracy, score.release_accuracy, models.majority_accuracy];
            table.row([&[name.to_owned()], &figures.map(percent)[..]].concat());
        }
        lines.push(table.to_string());
        lines.push(format!("overlap of the coefficients' intervals: {}", percent(models.coefficient_overlap)));
    }
    if report.unread_labels > 0 {
        lines.push(format!("not understood, and taken for any value: {}", plural(report.unread_labels, "label")));
    }
    Ok(Outcome::success(lines.join("\n\n"), measured(&report)?))
}

pub(super) async fn attack(args: &AttackArgs, job: &JobOptions) -> Result<Outcome, JobError> {
    let policy = Policy::load(&args.policy, &Overrides::default())?;
    let limit = args.max_gain.or(policy.privacy.max_gain);
    let request = AttackRequest {
        previous: args.previous.iter().map(|release| release.as_str().into()).collect(),
        population: args.population.clone().map(Into::into),
        targets: args.targets as usize,
        oracle: (args.oracle > 0).then(|| oracle(args)).transpose()?,
        seed: args.seed,
        ..AttackRequest::of_policy(args.release.clone(), args.original.clone(), policy)
    };
    let report = throng_job::attack(&request, job).await?;
    let mut table = TextTable::new(&["attack", "column", "prior", "release", "original", "gain", "95 % interval"]);
    let share = |share: f64| format!("{share:.4}");
    for outcome in &report.attacks {
        let [low, high] = outcome.gain_interval;
        table.row([
            outcome.name.to_owned(),
            outcome.column.clone().unwrap_or_default(),
            share(outcome.prior),
            share(outcome.release),
            share(outcome.original),
            format!("{:.3}", outcome.gain),
            format!("{low:.3} to {high:.3}"),
        ]);
    }
    let mut lines = vec![table.to_string()];
    lines.extend(report.skipped.iter().map(|skipped| format!("not run: {}: {}", skipped.name, skipped.reason)));
    let mut json = measured(&report)?;
    let Some(limit) = limit else { return Ok(Outcome::success(lines.join("\n"), json)) };
    json["max_gain"] = limit.into();
    let broken: Vec<String> = report.above(limit).map(|outcome| outcome.name.to_owned()).collect();
    json["satisfied"] = broken.is_empty().into();
    if broken.is_empty() {
        return Ok(Outcome::success(lines.join("\n"), json));
    }
    json["outcome"] = "refused".into();
    lines.push(format!("error: attacks gain more than {limit}: {}", broken.join(", ")));
    Ok(Outcome::failure_with(Kind::Verification.exit_code(), lines.join("\n"), json))
}

/// Returns the request by which the oracle runs this program.
fn oracle(args: &AttackArgs) -> Result<throng_job::OracleRequest, JobError> {
    let program = std::env::current_exe().map_err(|error| JobError::creating("finding this program", &error))?;
    Ok(throng_job::OracleRequest { program, policy: args.policy.clone(), trials: args.oracle as usize })
}

pub(super) async fn diff(args: &DiffArgs, job: &JobOptions) -> Result<Outcome, JobError> {
    let first = columns(&args.roles, args.k, args.p)?;
    let second = match &args.policy_b {
        Some(policy) => of_policy(policy, args.k, args.p)?,
        None => first.clone(),
    };
    let request = DiffRequest {
        releases: [args.first.clone().into(), args.second.clone().into()],
        columns: [first, second],
        original: args.original.clone().map(Into::into),
        link: args.link.clone(),
        targets: args.targets as usize,
        seed: args.seed,
    };
    let report = throng_job::diff(&request, job).await?;
    let percent = |part: u64| format!("{:.2} %", 100.0 * part as f64 / report.people.max(1) as f64);
    let mut table = TextTable::new(&["together, the releases leave", "people", "share"]);
    for (what, people) in [
        ("fewer than k candidates", report.people_below_k),
        ("fewer than p possible values", report.people_below_p),
        ("one possible value", report.people_disclosed),
    ] {
        table.row([what.to_owned(), people.to_string(), percent(people)]);
    }
    let text = format!("{} people in both releases, {} examined\n\n{table}", report.people, report.examined);
    Ok(Outcome::success(text, measured(&report)?))
}

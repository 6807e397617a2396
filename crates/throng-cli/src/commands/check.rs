//! `throng check`

use serde_json::{Value, json};
use throng_job::{Checked, JobError, JobOptions, Kind, plural};
use throng_policy::{Policy, Preset, Role, highest_risk};

use crate::args::PolicyArgs;
use crate::outcome::Outcome;

pub(super) async fn check(args: &PolicyArgs, job: &JobOptions) -> Result<Outcome, JobError> {
    let policy = Policy::load(&args.policy, &args.overrides())?;
    let checked = throng_job::check(&policy, job).await?;
    let shortfalls = &checked.shortfalls;
    let text = text(&checked, &policy);
    let exit_code = if shortfalls.is_empty() { 0 } else { Kind::Infeasible.exit_code() };
    let mut json = json(&checked);
    json["k"] = policy.privacy.k.into();
    json["highest_risk"] = highest_risk(policy.privacy.k).into();
    json["preset"] = policy.privacy.preset.map(Preset::as_str).into();
    if shortfalls.is_empty() {
        return Ok(Outcome::success(text, json));
    }
    json["exit_code"] = exit_code.into();
    json["error"] = format!("the privacy target can't be met: {}", shortfalls.join("; ")).into();
    Ok(Outcome::failure_with(exit_code, text, json))
}

/// Returns the singular of the counted unit.
fn singular(counted: &str) -> &str {
    match counted {
        "categories" => "category",
        other => other.strip_suffix('s').unwrap_or(other),
    }
}

/// Formats the result of a check as JSON.
pub fn json(checked: &Checked) -> Value {
    let columns = checked.feasibility.columns.iter().map(|column| {
        json!({
            "column": column.name,
            "counted": column.counted,
            "distinct": column.distinct,
            "highest_p": column.distinct.min(checked.k),
            "max_classes": column.max_classes,
        })
    });
    let mut text = json!({
        "outcome": if checked.shortfalls.is_empty() { "feasible" } else { "infeasible" },
        "rows": checked.rows,
        "suppressed_rows": checked.suppressed_rows,
        "files": checked.files,
        "cells": checked.cells,
        "max_classes": checked.feasibility.max_classes,
        "sensitive": columns.collect::<Vec<_>>(),
        "dropped": checked.dropped,
        "warnings": checked.warnings,
    });
    if let Some(people) = checked.people {
        text["people"] = people.into();
    }
    text
}

pub(super) fn text(checked: &Checked, policy: &Policy) -> String {
    let (k, p) = (policy.privacy.k, policy.privacy.p);
    let mut lines: Vec<String> = policy.privacy.preset.map(|preset| preset.description(k)).into_iter().collect();
    lines.push(format!(
        "{} in {}; {} of {}",
        plural(checked.rows, "row"),
        if checked.files == 1 { "one file".to_owned() } else { format!("{} files", checked.files) },
        plural(checked.cells, "distinct combination"),
        checked.quasi.join(", ")
    ));
    if checked.suppressed_rows > 0 {
        lines.push(format!("{} would be suppressed", plural(checked.suppressed_rows, "row")));
    }
    if let Some(people) = checked.people {
        lines.push(format!("{} in the table of the population", plural(people, "row")));
    }
    if !checked.dropped.is_empty() {
        lines.push(format!("left out of the release: {}", checked.dropped.join(", ")));
    }
    if !policy.workload.is_empty() {
        let weight = |(name, role): &(String, Role)| match role {
            Role::Quasi(quasi) if quasi.weight != 1.0 => Some(format!("`{name}` {}", quasi.weight)),
            _ => None,
        };
        let weights: Vec<String> = policy.columns.by_name.iter().filter_map(weight).collect();
        if !weights.is_empty() {
            lines.push(format!("weights, with those of [workload]: {}", weights.join(", ")));
        }
    }
    for column in &checked.feasibility.columns {
        lines.push(format!(
            "sensitive `{}`: {} distinct {}, so p can be at most {}; at most {}",
            column.name,
            column.distinct,
            if column.distinct == 1 { singular(column.counted) } else { column.counted },
            column.distinct.clamp(1, k.max(1)),
            plural(column.max_classes, "class")
        ));
    }
    if checked.shortfalls.is_empty() {
        let classes = plural(checked.feasibility.max_classes, "class");
        lines.push(format!("k = {k} and p = {p} can be met, with at most {classes}"));
    }
    lines.extend(checked.warnings.iter().map(|warning| format!("warning: {warning}")));
    lines.extend(checked.shortfalls.iter().map(|shortfall| format!("error: {shortfall}")));
    lines.join("\n")
}

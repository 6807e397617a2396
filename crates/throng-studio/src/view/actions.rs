//! Check, try and release, with progress, outcome, and the commands that do the same.

use maud::{Markup, html};
use serde_json::json;
use throng_report::Sidecar;
use throng_report::numbers::{count, counted, percent};

use super::{button, figure, quoted};
use crate::jobs::{JobKind, JobResult, StudioJob, risk_of};
use crate::live::frontier_grid;
use crate::project::Project;

/// Renders the buttons and the outcome of their actions.
pub(super) fn actions(project: &Project) -> Markup {
    let is_running = project.job.as_ref().is_some_and(|job| job.stop.is_some());
    let is_ready = project.live.problems.is_empty() && !is_running;
    let exists = project.job.as_ref().is_some_and(|job| matches!(&job.outcome, Some(Ok(JobResult::Released { .. }))))
        || project.job.as_ref().is_some_and(|job| matches!(&job.outcome, Some(Err(why)) if why.contains("already")));
    html! {
        h2 { "Release" }
        @if !project.live.problems.is_empty() {
            p class="soft" { "Answer the open questions first: each is marked in the table of columns and in the text." }
        }
        div class="buttons" {
            (button(&json!({ "do": "check" }), "Check", "", is_ready))
            (button(&json!({ "do": "try" }), "Try", "", is_ready))
            (button(&json!({ "do": "release", "overwrite": false }), "Release", "primary", is_ready))
            @if exists { (button(&json!({ "do": "release", "overwrite": true }), "Replace the release", "", is_ready)) }
            @if is_running { (button(&json!({ "do": "cancel" }), "Stop", "", true)) }
        }
        div id="outcome" aria-live="polite" {
            @if let Some(job) = &project.job { (outcome(job)) }
        }
        details class="commands" {
            summary { "The same by commands" }
            pre { @for command in commands(project) { (command) "\n" } }
        }
    }
}

fn outcome(job: &StudioJob) -> Markup {
    let name = job.kind.name();
    match &job.outcome {
        None => {
            let (stage, share) = job.progress.now().unwrap_or(("begin", None));
            html! {
                p { strong { (name) } ": " (stage) @if let Some(share) = share { ", " (percent(share)) } }
                progress max="1" value=[share] aria-label={ "Progress of " (name) } {}
            }
        }
        Some(Err(why)) => html! { p class="error" data-outcome="failed" { strong { (name) ": " } (why) } },
        Some(Ok(JobResult::Checked { checked, k, p })) => html! {
            @let is_kept = checked.shortfalls.is_empty();
            p class=(if is_kept { "holds" } else { "error" }) data-outcome="checked" {
                @if is_kept { "k = " (k) " and p = " (p) " can be met." } @else { (checked.shortfalls.join("; ")) }
            }
            dl class="facts" {
                dt { "Rows" } dd { (figure("check", "rows", checked.rows, count(checked.rows))) }
                dt { "Combinations of quasi-identifiers" } dd { (figure("check", "cells", checked.cells, count(checked.cells))) }
                dt { "Classes, at most" }
                dd { (figure("check", "max_classes", checked.feasibility.max_classes, count(checked.feasibility.max_classes))) }
                dt { "Rows left out" }
                dd { (figure("check", "suppressed_rows", checked.suppressed_rows, count(checked.suppressed_rows))) }
                dt { "Highest risk" } dd { (figure("check", "highest_risk", risk_of(*k), percent(risk_of(*k)))) }
                @for (at, column) in checked.feasibility.columns.iter().enumerate() {
                    dt { "Highest p of " (column.name) }
                    dd { (figure("check", &format!("sensitive.{at}.highest_p"), column.distinct, count(column.distinct))) }
                }
            }
        },
        Some(Ok(JobResult::Tried)) => html! {
            p class="holds" data-outcome="tried" { "Every class holds. Nothing was written." }
            @if let Some(sidecar) = &job.sidecar { (summary(sidecar)) }
            p { a href="report" target="_blank" rel="noopener" { "Report of the trial" } }
        },
        Some(Ok(JobResult::Released { location, files, classes })) => html! {
            p class="holds" data-outcome="released" {
                "Released and verified: " (counted(*classes, "class holds", "classes hold")) "."
            }
            p { code { (location) } ", " (counted(*files as u64, "file", "files")) }
            @if let Some(sidecar) = &job.sidecar { (summary(sidecar)) }
            p { a href="report" target="_blank" rel="noopener" { "Report" } }
        },
    }
}

fn summary(sidecar: &Sidecar) -> Markup {
    html! {
        dl class="facts" {
            dt { "Rows" } dd { (figure("run", "output.rows", sidecar.output.rows, count(sidecar.output.rows))) }
            dt { "Classes" } dd { (figure("run", "utility.classes", sidecar.utility.classes, count(sidecar.utility.classes))) }
            dt { "Detail lost" } dd { (figure("run", "utility.ncp", sidecar.utility.ncp, percent(sidecar.utility.ncp))) }
        }
    }
}

/// Returns the commands that are equivalent to the buttons.
fn commands(project: &Project) -> Vec<String> {
    let (file, written) = (quoted(&project.file_text()), project.written_or_empty());
    let of = |role: &str| {
        // In the order of the table, by which the page numbers them too.
        let has_role = |name: &str| written.column(name).and_then(|column| column.role.as_deref()) == Some(role);
        let names = project.columns.iter().filter(|column| has_role(&column.name));
        names.map(|column| column.name.clone()).collect::<Vec<_>>().join(",")
    };
    let (quasi, sensitive) = (of("quasi"), of("sensitive"));
    let data = project.locations.first().map(|location| quoted(location)).unwrap_or_default();
    let mut commands = Vec::new();
    if !quasi.is_empty() {
        let sensitive =
            if sensitive.is_empty() { String::new() } else { format!(" --sensitive {}", quoted(&sensitive)) };
        commands.push(format!("throng risk {data} --quasi {}{sensitive}", quoted(&quasi)));
    }
    if let Some(k) = written.k {
        let grid: Vec<String> = frontier_grid(k).iter().map(ToString::to_string).collect();
        commands.push(format!("throng sweep {file} --k {} --p {}", grid.join(","), written.p.unwrap_or(1)));
    }
    commands.push(format!("throng check {file}"));
    let is_replaced = project.job.as_ref().is_some_and(|job| job.kind == JobKind::Release { overwrites: true });
    commands.push(format!("throng run {file}{}", if is_replaced { " --overwrite" } else { "" }));
    if let Some(output) = &written.output {
        commands.push(format!("throng verify {} --policy {file}", quoted(output)));
        commands.push(format!(
            "throng report {} -o report.html",
            quoted(&format!("{}/_throng/metrics.json", output.trim_end_matches('/')))
        ));
    }
    commands
}

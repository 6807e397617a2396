//! The matrix of columns: their profiles, and their treatment in the policy.

use maud::{Markup, html};
use serde_json::json;
use throng::throng_core::profile::ValueKind;
use throng_report::numbers::{count, counted, percent};

use super::settings::{rarer, summary};
use super::{column_action, figure, rounded};
use crate::project::{ColumnProfile, Opened, Project};
use crate::written::{OPEN, ROLES, WrittenColumn};

/// Heads of the table and, for narrow windows, labels of its cells.
const HEADS: [(&str, bool); 9] = [
    ("Column", false),
    ("Distinct", true),
    ("Missing", true),
    ("Singles out", true),
    ("Role", false),
    ("Hierarchy", false),
    ("Limit", false),
    ("Weight", false),
    ("Released as", false),
];

/// Roles and their descriptions.
const ROLE_WORDS: [(&str, &str); 4] = [
    ("identifier", "names a person; left out"),
    ("quasi", "others may know it; generalized"),
    ("sensitive", "must not be learned; counted by p"),
    ("insensitive", "neither; released as it is"),
];

/// Renders the matrix.
pub(super) fn matrix(project: &Project) -> Markup {
    let written = project.written_or_empty();
    let open = written.questions();
    let rows = project.rows.map(|rows| counted(rows, "row", "rows"));
    html! {
        h2 { "Columns" }
        p class="soft" {
            @if let Some(rows) = &rows { (rows) ", " }
            (counted(project.columns.len() as u64, "column", "columns")) ". "
            @if matches!(project.opened, Opened::Reading) { span class="busy" { "Counting their values" } }
            @else if open > 0 {
                span class="question" id="open-questions" { (counted(open as u64, "question is", "questions are")) " open." }
                " Undecided columns are left out of the figures below."
            }
            @else { span class="holds" { "No question is open." } }
        }
        ul class="legend roles" {
            @for (role, words) in ROLE_WORDS { li class={ "role-" (role) } { span class="swatch" {} strong { (role) } " " (words) } }
        }
        table class="matrix" {
            caption { "Columns of the table, their counts and their roles" }
            thead {
                tr {
                    @for (name, is_number) in HEADS { th scope="col" class=[is_number.then_some("n")] { (name) } }
                }
            }
            tbody {
                @for (at, column) in project.columns.iter().enumerate() {
                    (row(project, at, column, written.column(&column.name)))
                }
            }
        }
    }
}

fn row(project: &Project, at: usize, column: &ColumnProfile, written: Option<&WrittenColumn>) -> Markup {
    let role = written.and_then(|written| written.role.as_deref()).unwrap_or(OPEN);
    let is_quasi = role == "quasi";
    html! {
        tr class={ "role-" (if ROLES.contains(&role) { role } else { "open" }) } {
            th scope="row" { span class="name" { (column.name) } span class="words" { (column.data_type) } }
            (profile_cells(column))
            td class="n" data-label=(HEADS[3].0) { (singles_out(project, column, is_quasi)) }
            td data-label=(HEADS[4].0) {
                select data-set=(column_action(at, "role")) aria-label={ "Role of " (column.name) } {
                    @if !ROLES.contains(&role) { option value=(role) selected { "undecided" } }
                    @for name in ROLES { option value=(name) selected[role == name] { (name) } }
                }
            }
            td data-label=(HEADS[5].0) {
                @if is_quasi {
                    @let text = written.and_then(|written| written.hierarchy.as_deref()).unwrap_or("none");
                    button type="button" class="quiet" data-do=(json!({ "do": "builder", "column": at }))
                        aria-label={ "Hierarchy of " (column.name) ": " (text) } { (text) }
                }
            }
            td data-label=(HEADS[6].0) {
                @if is_quasi {
                    input type="text" value=(setting(written, "limit").unwrap_or_default())
                        placeholder="none" data-set=(column_action(at, "limit")) autocomplete="off"
                        aria-label={ "Limit of " (column.name) ": a level, or values with commas" };
                }
            }
            td data-label=(HEADS[7].0) {
                @if is_quasi {
                    input type="number" min="0.1" step="0.1" value=[setting(written, "weight")] placeholder="1"
                        data-set=(column_action(at, "weight")) aria-label={ "Weight of " (column.name) };
                }
            }
            td data-label=(HEADS[8].0) { @if ROLES.contains(&role) {
                div class="released" {
                    (released_as(at, column, role, written))
                    @if rarer(role).next().is_some() {
                        button type="button" class="quiet" data-do=(json!({ "do": "settings", "column": at }))
                            aria-label={ "More about " (column.name) } { "more" }
                    }
                }
                @let more = written.map(|written| summary(role, &written.settings)).unwrap_or_default();
                @if !more.is_empty() { span class="words" { (more) } }
            } }
        }
    }
}

fn setting<'a>(written: Option<&'a WrittenColumn>, name: &str) -> Option<&'a str> {
    written?.settings.get(name)?.as_deref()
}

fn profile_cells(column: &ColumnProfile) -> Markup {
    let Some(profile) = &column.profile else {
        return html! { td class="n" data-label=(HEADS[1].0) { "…" } td class="n" data-label=(HEADS[2].0) { "…" } };
    };
    let about = if profile.is_exact() { "" } else { "≈ " };
    html! {
        td class="n" data-label=(HEADS[1].0) {
            @if profile.kind() == ValueKind::Other { "–" } @else { (about) (count(profile.distinct())) }
        }
        td class="n" data-label=(HEADS[2].0) {
            @if profile.nulls() == 0 { "–" } @else { (percent(profile.nulls() as f64 / profile.rows().max(1) as f64)) }
        }
    }
}

/// Renders how much a column singles people out: its share in the risk, or the share of rows that are alone with their value.
fn singles_out(project: &Project, column: &ColumnProfile, is_quasi: bool) -> Markup {
    let risk = project.live.risk.as_ref().filter(|_| is_quasi);
    let found = risk.and_then(|risk| risk.columns.iter().enumerate().find(|(_, found)| found.name == column.name));
    if let Some((at, found)) = found {
        let share = rounded(found.share);
        return html! {
            span title="Part of the average risk that goes away if this column is not known" {
                (figure("risk", &format!("columns.{at}.share"), share, percent(share)))
                meter min="0" max="1" value=(share) { (percent(share)) }
            }
        };
    }
    match &column.profile {
        Some(profile) if profile.kind() != ValueKind::Other && profile.uniques() > 0 => html! {
            span class="soft" title="Share of the rows that are alone with their value" { (percent(profile.unique_share())) " alone" }
        },
        _ => html! { "–" },
    }
}

fn released_as(at: usize, column: &ColumnProfile, role: &str, written: Option<&WrittenColumn>) -> Markup {
    let release = written.and_then(|written| written.release.as_deref()).unwrap_or_default();
    let is_ordered = column
        .profile
        .as_ref()
        .is_some_and(|profile| !matches!(profile.kind(), ValueKind::Text | ValueKind::Boolean | ValueKind::Other));
    let choices: &[(&str, &str)] = match (role, is_ordered) {
        ("quasi", true) => &[
            ("", "by default"),
            ("interval", "interval"),
            ("bounds", "two bounds"),
            ("mean", "mean"),
            ("median", "median"),
            ("ancestor", "level"),
            ("set", "set"),
        ],
        ("quasi", false) => &[("", "by default"), ("ancestor", "level"), ("set", "set"), ("mode", "most frequent")],
        ("identifier", _) => return html! { span class="soft" { "left out" } },
        ("sensitive" | "insensitive", _) => return html! { span class="soft" { "as it is" } },
        _ => return html! {},
    };
    html! {
        select data-set=(column_action(at, "release")) aria-label={ "Released form of " (column.name) } {
            @for (value, name) in choices { option value=(value) selected[release == *value] { (name) } }
        }
    }
}

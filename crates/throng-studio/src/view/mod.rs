//! The page and its parts. Everything is rendered here; the script replaces parts and sends clicks.
//!
//! A control has its action in `data-do` (a button) or `data-set` (a field, whose value is added). A figure has its location in the JSON
//! of a command in `data-doc` and `data-key`, so that tests can compare the two.

mod actions;
mod answers;
mod builder;
mod detail;
mod field;
mod frontier;
mod matrix;
mod policy;
mod promises;
mod settings;
mod tables;

use std::collections::BTreeMap;
use std::fmt::Display;

use maud::{DOCTYPE, Markup, display, html};
use serde_json::{Value, json};

use crate::project::{Opened, Project};
use crate::state::Desk;

/// Names of the parts, in the order of the page.
const PARTS: [&str; 11] = [
    "tables", "notice", "promises", "matrix", "policy", "answers", "frontier", "detail", "actions", "history", "dialog",
];

/// Renders the parts of the page by name.
pub(crate) fn parts(desk: &Desk, shows_values: bool) -> BTreeMap<&'static str, String> {
    PARTS.into_iter().map(|name| (name, without_controls(part(name, desk, shows_values).into_string()))).collect()
}

fn part(name: &str, desk: &Desk, shows_values: bool) -> Markup {
    let known =
        desk.shown().filter(|project| !matches!(project.opened, Opened::Failed(_)) && !project.columns.is_empty());
    let of = |render: fn(&Project) -> Markup| known.map(render).unwrap_or_default();
    match name {
        "tables" => tables::tables(desk),
        "notice" => tables::notice(desk),
        "promises" => of(promises::promises),
        "matrix" => match known {
            Some(project) => matrix::matrix(project),
            None => tables::welcome(desk),
        },
        "policy" => of(policy::policy),
        "answers" => of(answers::answers),
        "frontier" => of(frontier::frontier),
        "detail" => of(detail::detail),
        "actions" => of(actions::actions),
        "history" => of(policy::history),
        "dialog" => known.map(|project| dialog(project, desk, shows_values)).unwrap_or_default(),
        _ => html! {},
    }
}

/// Renders the dialog that is open. It covers the message about the last action, so it repeats the message.
fn dialog(project: &Project, desk: &Desk, shows_values: bool) -> Markup {
    let content = match project.settings {
        Some(at) => settings::dialog(project, at),
        None => builder::dialog(project, shows_values),
    };
    let refusal = desk.notice.as_ref().filter(|notice| notice.is_error && !content.0.is_empty());
    html! { (content) @if let Some(refusal) = refusal { p class="error" role="alert" { (refusal.text) } } }
}

/// Renders the whole page.
pub(crate) fn page(desk: &Desk, shows_values: bool) -> String {
    let part = |name: &'static str| part(name, desk, shows_values);
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="referrer" content="no-referrer";
                meta name="color-scheme" content="light dark";
                title { "Throng Studio" }
                link rel="icon" href="icon.svg" type="image/svg+xml";
                link rel="stylesheet" href="studio.css";
                script src="studio.js" defer {}
            }
            body {
                a class="skip" href="#matrix" { "To the columns" }
                header class="bar" {
                    h1 { "Throng " span { "Studio" } }
                    nav id="tables" aria-label="Tables" { (part("tables")) }
                    div id="history" class="tools" { (part("history")) }
                }
                div id="notice" role="status" { (part("notice")) }
                main {
                    section id="promises" { (part("promises")) }
                    div class="desk" {
                        div class="stack" {
                            section id="matrix" { (part("matrix")) }
                            section id="answers" { (part("answers")) }
                            section id="frontier" { (part("frontier")) }
                        }
                        div class="side" {
                            section id="policy" { (part("policy")) }
                            section id="actions" { (part("actions")) }
                        }
                    }
                    section id="detail" { (part("detail")) }
                }
                dialog id="dialog" aria-label="Settings of a column" { (part("dialog")) }
                p id="lost" hidden { "The Studio has ended. The policy file is what it was when it was saved last." }
            }
        }
    };
    without_controls(page.into_string())
}

/// Replaces control characters, which HTML forbids and a column name may contain.
fn without_controls(text: String) -> String {
    let is_forbidden = |c: char| c.is_control() && c != '\n' && c != '\t';
    if text.contains(is_forbidden) { text.replace(is_forbidden, "\u{fffd}") } else { text }
}

/// Renders a button that triggers an action.
fn button(action: &Value, text: &str, class: &str, is_enabled: bool) -> Markup {
    html! { button type="button" class=[(!class.is_empty()).then_some(class)] data-do=(action) disabled[!is_enabled] { (text) } }
}

/// Returns the action of a field of a column.
fn column_action(column: usize, field: &str) -> Value {
    json!({ "do": "column", "column": column, "field": field })
}

/// Renders a figure with its path in the JSON of a command.
fn figure(document: &str, key: &str, value: impl Display, text: impl Display) -> Markup {
    html! { data data-doc=(document) data-key=(key) value=(display(value)) { (display(text)) } }
}

/// Rounds to six digits, as commands do.
fn rounded(share: f64) -> f64 {
    (share * 1e6).round() / 1e6
}

/// Quotes an argument of a command, if a shell requires it.
fn quoted(argument: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./,:=@%+".contains(c);
    match !argument.is_empty() && argument.chars().all(is_plain) {
        true => argument.to_owned(),
        false => format!("'{}'", argument.replace('\'', "'\\''")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shell_reads_arguments_as_they_are() {
        assert_eq!(quoted("data/people.parquet"), "data/people.parquet");
        assert_eq!(quoted("my people"), "'my people'");
        assert_eq!(quoted("o'brien; rm -rf /"), "'o'\\''brien; rm -rf /'");
    }

    #[test]
    fn a_page_without_a_table_asks_for_one() {
        let page = page(&Desk::default(), false);
        assert!(page.contains("data-open") && page.contains("script src=\"studio.js\""), "{page}");
    }
}

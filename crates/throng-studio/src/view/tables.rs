//! The open tables, the message about the last action, and the way to open another table.

use maud::{Markup, html};
use serde_json::json;

use super::button;
use crate::project::Opened;
use crate::state::Desk;

/// Renders a tab for each open table.
pub(super) fn tables(desk: &Desk) -> Markup {
    html! {
        @if !desk.projects.is_empty() {
            ul class="tabs" {
                @for project in &desk.projects {
                    @let is_shown = project.id == desk.selected;
                    li class=[is_shown.then_some("shown")] {
                        button type="button" class="tab" data-do=(json!({ "do": "select", "table": project.id }))
                            aria-current=[is_shown.then_some("page")] title=(project.locations.join(", ")) {
                            (project.name)
                        }
                        button type="button" class="close" data-do=(json!({ "do": "close", "table": project.id }))
                            aria-label={ "Close " (project.name) } { "×" }
                    }
                }
                li {
                    details class="more" {
                        summary { "Open" }
                        (open_form("another"))
                    }
                }
            }
        }
    }
}

/// Renders the message about the last action.
pub(super) fn notice(desk: &Desk) -> Markup {
    html! {
        @if let Some(notice) = &desk.notice {
            p class=(if notice.is_error { "notice error" } else { "notice" }) {
                span { (notice.text) }
                button type="button" class="close" data-do=(json!({ "do": "dismiss" })) aria-label="Hide this message" { "×" }
            }
        }
    }
}

/// Renders the page without a table: how to open one, or why it can't be opened.
pub(super) fn welcome(desk: &Desk) -> Markup {
    html! {
        div class="welcome" {
            @match desk.shown().map(|project| (project, &project.opened)) {
                Some((project, Opened::Failed(why))) => {
                    h2 { (project.name) " can't be opened" }
                    p class="error" role="alert" { (why) }
                    (button(&json!({ "do": "close", "table": project.id }), "Close it", "", true))
                    (open_form("first"))
                }
                Some((project, _)) => {
                    h2 { "Opening " (project.name) }
                    p class="busy" { "Reading its columns" }
                }
                None => {
                    h2 { "Open a table" }
                    p {
                        "A Parquet, CSV or Arrow file, a folder of them, or a policy. Nothing leaves this machine, and nothing is \
                         written until you save or release."
                    }
                    (open_form("first"))
                }
            }
        }
    }
}

fn open_form(id: &str) -> Markup {
    html! {
        form class="open" data-open {
            label for={ "open-" (id) } { "File, folder or policy" }
            input id={ "open-" (id) } name="path" type="text" autocomplete="off" spellcheck="false" placeholder="data/people.parquet";
            button type="submit" { "Open" }
        }
    }
}

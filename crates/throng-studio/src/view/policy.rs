//! The policy as text, its problems, and its history.

use maud::{Markup, html};
use serde_json::json;
use throng_report::numbers::counted;

use super::button;
use crate::project::Project;

/// Number of problems that are listed.
const MAX_PROBLEMS: usize = 12;

/// Renders the text of the policy.
pub(super) fn policy(project: &Project) -> Markup {
    let problems = &project.live.problems;
    html! {
        h2 { "The policy" }
        p class="soft" {
            code { (project.file_text()) } " "
            span id="saved" { @if project.is_unsaved() { "not saved" } @else { "saved" } }
        }
        label class="hidden" for="text" { "Text of the policy" }
        textarea id="text" spellcheck="false" autocomplete="off" autocapitalize="off" wrap="off" { (project.history.text()) }
        div id="problems" {
            @if !problems.is_empty() {
                h3 { (counted(problems.len() as u64, "line needs attention", "lines need attention")) }
                ul class="problems" {
                    @for problem in problems.iter().take(MAX_PROBLEMS) {
                        li {
                            @match problem.line {
                                Some(line) => { button type="button" class="quiet" data-line=(line) { "line " (line) } " " }
                                None => {}
                            }
                            (shortened(&problem.text))
                        }
                    }
                    @if problems.len() > MAX_PROBLEMS { li { "and " (problems.len() - MAX_PROBLEMS) " more" } }
                }
            }
        }
    }
}

/// Renders undo, redo, the history and the button that saves.
pub(super) fn history(project: &Project) -> Markup {
    let (can_undo, can_redo) = project.history.can();
    let (revisions, current) = project.history.revisions();
    html! {
        (button(&json!({ "do": "undo" }), "Undo", "", can_undo))
        (button(&json!({ "do": "redo" }), "Redo", "", can_redo))
        details class="more" {
            summary { "History" }
            ol class="history" reversed {
                @for (at, revision) in revisions.iter().enumerate().rev() {
                    li {
                        button type="button" class="quiet" data-do=(json!({ "do": "restore", "at": at }))
                            aria-current=[(at == current).then_some("step")] { (revision.change) }
                    }
                }
            }
        }
        (button(&json!({ "do": "save" }), "Save", "", project.is_unsaved()))
    }
}

/// Removes the possible answers from an open question: the table of columns offers them.
fn shortened(problem: &str) -> &str {
    let question = "open question";
    problem.find(question).map_or(problem, |at| &problem[..at + question.len()])
}

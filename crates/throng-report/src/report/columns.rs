//! The columns of the release by role.

use maud::{Markup, html};

use crate::document::{ReleasedColumnFacts, Sidecar};
use crate::numbers::{counted, figure, list};
use crate::page::{head, row_head};

/// Roles by their name in the policy, with their name and meaning on the page.
const ROLES: [(&str, &str, &str); 4] = [
    ("quasi", "Quasi-identifiers", "others may know them, so they are generalized"),
    ("sensitive", "Sensitive", "what is protected; every class has several values"),
    ("insensitive", "Insensitive", "released as they are, and not protected"),
    ("identifier", "Pseudonym", "links the rows of a person, and does not make them anonymous"),
];

pub(super) fn section(sidecar: &Sidecar) -> Markup {
    let Some(columns) = sidecar.columns.as_ref().filter(|columns| !columns.released.is_empty()) else {
        return Markup::default();
    };
    let names = |role: &str| -> Vec<String> {
        columns.released.iter().filter(|column| column.role == role).map(name).collect()
    };
    html! {
        section {
            h2 { "The columns" }
            p { "The policy gives every column a role. The promise is about quasi-identifiers and sensitive columns only." }
            table id="columns" {
                (head("Columns by role", &[("Role", false), ("Columns", false)]))
                tbody {
                    @for (role, title, words) in ROLES {
                        @let names = names(role);
                        @if !names.is_empty() {
                            tr { (row_head(title, words)) td { (list(&names)) } }
                        }
                    }
                    tr {
                        (row_head("Left out", "identifiers, and what is not needed; their names are not published"))
                        td { (figure("columns.dropped", columns.dropped, counted(columns.dropped, "column", "columns"))) }
                    }
                }
            }
        }
    }
}

/// Returns the name of a column, with its released form if it is not released as it is, and its weight if that is not 1.
fn name(column: &ReleasedColumnFacts) -> String {
    let form = column.release.as_deref().filter(|form| !["value", "pseudonym"].contains(form));
    let weight = column.weight.map(|weight| format!("weight {weight}"));
    let facts: Vec<String> = form.map(str::to_owned).into_iter().chain(weight).collect();
    if facts.is_empty() { column.column.clone() } else { format!("{} ({})", column.column, facts.join(", ")) }
}

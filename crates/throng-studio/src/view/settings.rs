//! The dialog with the rarer settings of a column.

use maud::{Markup, html};
use serde_json::json;

use super::field::control;
use super::{button, column_action};
use crate::fields::{self, Field, FieldKind};
use crate::project::Project;
use crate::written::{Settings, WrittenColumn};

/// Renders the settings of a column.
pub(super) fn dialog(project: &Project, at: usize) -> Markup {
    let Some(column) = project.columns.get(at) else { return html! {} };
    let written = project.written_or_empty();
    let empty = WrittenColumn::default();
    let of_column = written.column(&column.name).unwrap_or(&empty);
    let role = of_column.role.as_deref().unwrap_or_default();
    let hierarchy = of_column.hierarchy.as_deref().unwrap_or("none");
    html! {
        div class="settings" {
            h2 { "More about " (column.name) }
            @if role == "sensitive" {
                p class="soft" { "What every class promises about this column, beside p. Empty fields ask for nothing." }
            }
            div class="fields" {
                @for field in rarer(role) {
                    (control(&format!("column-{}", field.name), field, &of_column.settings, &column_action(at, field.name)))
                }
            }
            @if role == "sensitive" {
                p {
                    "Hierarchy: " (hierarchy) ". " span class="soft" { "For protected groups, and for a distance by the hierarchy. " }
                    button type="button" class="quiet" data-do=(json!({ "do": "builder", "column": at })) { "Build it" }
                }
            }
            div class="buttons" { (button(&json!({ "do": "close_dialog" }), "Done", "primary", true)) }
        }
    }
}

/// Returns the settings of a role that have no place in the table of columns.
pub(super) fn rarer(role: &str) -> impl Iterator<Item = &'static Field> {
    let fields: &[Field] = match role {
        "quasi" => &fields::QUASI,
        "sensitive" => &fields::SENSITIVE,
        _ => &[],
    };
    fields.iter().filter(|field| !matches!(field.kind, FieldKind::Weight | FieldKind::Limit))
}

/// Returns a short summary of a column's rarer settings.
pub(super) fn summary(role: &str, settings: &Settings) -> String {
    let words = rarer(role).filter_map(|field| {
        let text = settings.get(field.name)?;
        // The first choice is the default.
        let is_default = matches!(field.kind, FieldKind::Choice([(first, _), ..]) if text.as_deref() == Some(*first));
        if is_default {
            return None;
        }
        let is_short = text.as_ref().is_some_and(|text| text.len() < 12);
        let name = field.name.replace('_', " ");
        Some(if is_short { format!("{name} {}", text.as_deref().unwrap_or_default()) } else { name })
    });
    words.collect::<Vec<_>>().join(" · ")
}

//! The dialog in which a hierarchy is built.

use maud::{Markup, html};
use serde_json::json;
use throng_report::numbers::{count, counted};

use super::button;
use crate::builder::{BuilderDialog, HierarchyPreview};
use crate::project::Project;

/// Builders by name, with what is entered.
const KINDS: [(&str, &str, &str); 5] = [
    ("intervals", "Intervals", "Widths from fine to coarse, each a multiple of the one before: 5, 10, 20"),
    ("mask", "Mask", "Side that is hidden first: right for postcodes, left otherwise"),
    ("date", "Parts of a date", "From fine to coarse, of: day, month, quarter, year, decade"),
    ("tree", "Tree", "One group per line, its values below it, indented"),
    ("file", "File", "Hierarchy file in the convention of ARX, below the folder of the policy"),
];

/// Renders the dialog, if a builder is open.
pub(super) fn dialog(project: &Project, shows_values: bool) -> Markup {
    let Some(dialog) = &project.dialog else { return html! {} };
    let Some(column) = project.columns.get(dialog.column) else { return html! {} };
    let written = project.written_or_empty();
    let current = written.column(&column.name).and_then(|written| written.hierarchy.as_deref());
    let (_, _, words) = KINDS.into_iter().find(|(kind, ..)| *kind == dialog.kind).unwrap_or(KINDS[0]);
    let is_built = matches!(dialog.preview, Some(Ok(_)));
    html! {
        form class="builder" data-builder method="dialog" {
            h2 { "Hierarchy of " (column.name) }
            p class="soft" { "Now: " (current.unwrap_or("none")) ". Values become less specific, level by level." }
            fieldset {
                legend { "Builder" }
                @for (kind, name, _) in KINDS {
                    label class="choice" {
                        input type="radio" name="kind" value=(kind) checked[dialog.kind == kind];
                        " " (name)
                    }
                }
            }
            label for="builder-text" { (words) }
            @if dialog.kind == "tree" {
                textarea id="builder-text" name="text" rows="8" spellcheck="false" { (dialog.text) }
            } @else if dialog.kind == "mask" {
                select id="builder-text" name="text" {
                    @for side in ["right", "left"] { option value=(side) selected[dialog.text == side] { (side) } }
                }
            } @else {
                input id="builder-text" name="text" type="text" value=(dialog.text) autocomplete="off" spellcheck="false";
            }
            p class="import" {
                label for="builder-file" { "Take a file of ARX: " }
                input id="builder-file" type="file" accept=".csv,text/csv" data-import;
            }
            div id="builder-preview" aria-live="polite" { (preview(dialog, shows_values)) }
            div class="buttons" {
                (button(&json!({ "do": "apply" }), "Use it", "primary", is_built))
                (button(&json!({ "do": "export" }), "Write as ARX file", "", is_built))
                (button(&json!({ "do": "no_hierarchy" }), "No hierarchy", "", current.is_some()))
                (button(&json!({ "do": "close_builder" }), "Cancel", "", true))
            }
        }
    }
}

fn preview(dialog: &BuilderDialog, shows_values: bool) -> Markup {
    match &dialog.preview {
        None => html! { p class="busy" { "Reading the values of the column" } },
        Some(Err(why)) => html! { p class="error" { (why) } },
        Some(Ok(preview)) => html! {
            p { (counted(preview.distinct as u64, "value", "values")) " in the column." }
            (levels(preview))
            @if let Some(drawing) = &preview.drawing { pre class="tree" { (drawing) } }
            @else if !shows_values { p class="soft" { "Start with --show-values to see the tree with its values." } }
        },
    }
}

fn levels(preview: &HierarchyPreview) -> Markup {
    html! {
        table class="grid" {
            caption { "Levels from fine to coarse" }
            thead {
                tr { th scope="col" { "Level" } th scope="col" class="n" { "Groups" } th scope="col" class="n" { "Values in a group" } }
            }
            tbody {
                @for (at, (groups, fewest, most)) in preview.levels.iter().enumerate() {
                    tr {
                        th scope="row" { (at + 1) }
                        td class="n" { (count(*groups as u64)) }
                        td class="n" { @if fewest == most { (fewest) } @else { (fewest) " to " (most) } }
                    }
                }
            }
        }
    }
}

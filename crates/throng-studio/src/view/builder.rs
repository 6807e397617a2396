//! The dialog in which a hierarchy is built.

use maud::{Markup, html};
use serde_json::json;
use throng_report::numbers::{count, counted};

use super::button;
use crate::arrange::{TreeLine, lines};
use crate::builder::{BuilderDialog, HierarchyPreview};
use crate::project::Project;

/// Builders by name, with a description of the input.
const KINDS: [(&str, &str, &str); 5] = [
    ("intervals", "Intervals", "Widths from fine to coarse, each a multiple of the one before: 5, 10, 20"),
    ("mask", "Mask", "Side that is hidden first: right for postcodes, left otherwise"),
    ("date", "Parts of a date", "From fine to coarse, of: day, month, quarter, year, decade"),
    ("tree", "Tree", "One group per line, its values below it, indented"),
    ("file", "File", "Hierarchy file in the convention of ARX, below the folder of the policy"),
];

/// Maximum number of lines of a tree that can be arranged on the page, and of groups of a level that are drawn
/// individually.
const MAX_DRAWN: (usize, usize) = (400, 160);

/// Width of the drawing of a hierarchy, height of a level, and space between two levels.
const DRAWING: (f64, f64, f64) = (560.0, 18.0, 4.0);

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
                (arranged(dialog, shows_values))
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
                (button(&json!({ "do": "close_dialog" }), "Cancel", "", true))
            }
        }
    }
}

/// Renders a tree whose lines can be dragged, or picked up and dropped with the keyboard.
fn arranged(dialog: &BuilderDialog, shows_values: bool) -> Markup {
    let lines = lines(&dialog.text).unwrap_or_default();
    html! {
        @if shows_values { (button(&json!({ "do": "values" }), "Begin with the values of the column", "", true)) }
        @if !lines.is_empty() && lines.len() <= MAX_DRAWN.0 {
            fieldset class="arrange" {
                legend { "Arrange it" }
                p class="soft" id="arrange-words" { "Drag a line onto another, or press the one and then the other." }
                ul class="nodes" aria-describedby="arrange-words" {
                    @for (at, line) in lines.iter().enumerate() { (node(at, line)) }
                }
                p class="new-group" {
                    button type="button" class="node" data-node="top" aria-pressed="false" { "To the top" }
                    label for="group-name" { "or into a new group" }
                    input id="group-name" type="text" autocomplete="off" spellcheck="false" placeholder="name";
                    button type="button" data-group { "Make the group" }
                }
                p class="hidden" id="arrange-said" role="status" {}
            }
        }
        @if let Some(why) = &dialog.refusal { p class="error" role="alert" { (why) } }
    }
}

fn node(at: usize, line: &TreeLine) -> Markup {
    let level = line.depth.min(8);
    html! {
        li class={ "depth-" (level) } {
            button type="button" class=(if line.is_group { "node group" } else { "node" }) data-node=(at) draggable="true" aria-pressed="false" {
                (line.name)
                span class="hidden" { @if line.is_group { ", group" } ", level " (line.depth + 1) }
            }
        }
    }
}

/// Draws the groups of each level, with widths proportional to their number of values.
fn drawn(preview: &HierarchyPreview) -> Markup {
    let (width, height, space) = DRAWING;
    let rows = preview.levels.len() + 1;
    let total = preview.distinct.max(1) as f64;
    let ones = vec![1; preview.distinct];
    let levels = preview.levels.iter().rev().map(Vec::as_slice).chain([ones.as_slice()]);
    let described: Vec<String> = preview.levels.iter().rev().map(|groups| count(groups.len() as u64)).collect();
    let all = rows as f64 * (height + space);
    html! {
        svg class="plot icicle" viewBox={ "0 0 " (width) " " (all) } width=(width) height=(all) role="img"
            aria-labelledby="icicle-title icicle-description" {
            title id="icicle-title" { "Groups of each level" }
            desc id="icicle-description" {
                "From the top, the levels have " (described.join(", ")) " groups over " (count(preview.distinct as u64)) " values."
            }
            @for (row, groups) in levels.enumerate() {
                @let y = row as f64 * (height + space);
                @if groups.len() > MAX_DRAWN.1 {
                    rect class="many" x="0" y=(y) width=(width) height=(height) {}
                } @else {
                    @let ends = groups.iter().scan(0, |sum, values| { *sum += values; Some((*sum - values, *values)) });
                    @for (start, values) in ends {
                        rect class="group" x=(format!("{:.2}", f64::from(start) / total * width)) y=(y)
                            width=(format!("{:.2}", (f64::from(values) / total * width - 1.0).max(0.5))) height=(height) {}
                    }
                }
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
            (drawn(preview))
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
                @for (at, groups) in preview.levels.iter().enumerate() {
                    @let (fewest, most) = (groups.iter().min().unwrap_or(&0), groups.iter().max().unwrap_or(&0));
                    tr {
                        th scope="row" { (at + 1) }
                        td class="n" { (count(groups.len() as u64)) }
                        td class="n" { @if fewest == most { (fewest) } @else { (fewest) " to " (most) } }
                    }
                }
            }
        }
    }
}

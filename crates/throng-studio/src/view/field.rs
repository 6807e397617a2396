//! The control of a setting: a list, a number or a text, with a hint.

use maud::{Markup, html};
use serde_json::Value;

use crate::fields::{Field, FieldKind};
use crate::written::Settings;

/// Placeholder of a field whose value only the text can represent.
const IN_TEXT: &str = "see the text";

/// Renders the control of a setting.
pub(super) fn control(id: &str, field: &Field, settings: &Settings, action: &Value) -> Markup {
    let entered = settings.get(field.name);
    let is_in_text = matches!(entered, Some(None));
    let text = entered.and_then(Option::as_deref);
    let hint = format!("{id}-hint");
    html! {
        div class="field" {
            label for=(id) { (field.label) }
            @match field.kind {
                FieldKind::Choice(choices) => (list(id, &hint, choices, text, action)),
                FieldKind::Switch => (list(id, &hint, &[("true", "yes"), ("false", "no")], text, action)),
                FieldKind::Whole(least) => {
                    input id=(id) type="number" min=(least) step="1" value=[text] placeholder="none" data-set=(action)
                        inputmode="numeric" aria-describedby=(hint);
                }
                FieldKind::Share => {
                    input id=(id) type="number" min="0" max="1" step="any" value=[text] placeholder="none" data-set=(action)
                        inputmode="decimal" aria-describedby=(hint);
                }
                FieldKind::Number | FieldKind::Weight => {
                    input id=(id) type="number" min="0" step="any" value=[text] placeholder="none" data-set=(action)
                        inputmode="decimal" aria-describedby=(hint);
                }
                _ => {
                    input id=(id) type="text" value=[text] placeholder=(if is_in_text { IN_TEXT } else { "none" }) disabled[is_in_text]
                        data-set=(action) autocomplete="off" spellcheck="false" aria-describedby=(hint);
                }
            }
            span class="words" id=(hint) { (field.hint) }
        }
    }
}

fn list(id: &str, hint: &str, choices: &[(&str, &str)], text: Option<&str>, action: &Value) -> Markup {
    let is_known = text.is_none_or(|text| choices.iter().any(|(value, _)| *value == text));
    html! {
        select id=(id) data-set=(action) aria-describedby=(hint) {
            option value="" selected[text.is_none()] { "by default" }
            @for (value, name) in choices { option value=(value) selected[text == Some(*value)] { (name) } }
            @if let Some(text) = text.filter(|_| !is_known) { option value=(text) selected { (text) } }
        }
    }
}

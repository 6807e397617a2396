//! The promises of the release: k, p and the other settings of `[privacy]`.

use maud::{Markup, html};
use serde_json::{Value, json};
use throng::Preset;
use throng_report::numbers::percent;

use super::field::control;
use crate::fields::{COMMON, Field, RARER};
use crate::project::Project;
use crate::written::WrittenPolicy;

/// Maximum k and p of the sliders, unless the policy has larger ones.
const SLIDERS: (u64, u64) = (60, 10);

/// Renders the promises.
pub(super) fn promises(project: &Project) -> Markup {
    let written = project.written_or_empty();
    let (k, p) = (written.k.unwrap_or(2), written.p.unwrap_or(1));
    let budget = written.settings.get("algorithm.budget").and_then(Option::as_deref).unwrap_or("balanced");
    html! {
        h2 { "The promise" }
        p class="promise" {
            "Everyone shares what others may know with at least " strong { (k.saturating_sub(1)) } " others: a risk of at most "
            strong { (percent(1.0 / k.max(1) as f64)) } "."
            @if let Some(Some(unit)) = written.settings.get("privacy.unit") { " k and p count different values of " strong { (unit) } "." }
            @if p > 1 { " In every such class, each sensitive column has at least " strong { (p) } " different values." }
            @if written.is_p_open { " " span class="question" { "How many different values must every class have? Choose p." } }
        }
        div class="sliders" {
            (slider("k", "k", "rows in each class", k, 2, SLIDERS.0.max(k), &set("privacy.k")))
            (slider("p", "p", "values in each class", p, 1, SLIDERS.1.max(p).min(k.max(1)), &set("privacy.p")))
            div class="field" {
                label for="preset" { "Convention" }
                select id="preset" data-set=(set("privacy.preset")) {
                    option value="" selected[written.preset.is_none()] { "none" }
                    @for preset in Preset::ALL {
                        option value=(preset.as_str()) selected[written.preset.as_deref() == Some(preset.as_str())] {
                            (preset.as_str()) " (k " (preset.k()) ")"
                        }
                    }
                }
            }
            (control("suppression-limit", &COMMON[1], &written.settings, &set(COMMON[1].name)))
            div class="field" {
                label for="budget" { "Search" }
                select id="budget" data-set=(set("algorithm.budget")) {
                    @for name in ["fast", "balanced", "thorough"] {
                        option value=(name) selected[budget == name] { (name) }
                    }
                    @if !["fast", "balanced", "thorough"].contains(&budget) { option value=(budget) selected { (budget) } }
                }
            }
        }
        (rarer(&written))
    }
}

/// Renders the promises that few policies need.
fn rarer(written: &WrittenPolicy) -> Markup {
    let has = |fields: &[Field]| fields.iter().filter(|field| written.settings.contains_key(field.name)).count();
    let used: usize = RARER.iter().map(|(_, fields)| has(fields)).sum();
    html! {
        details class="rarer" {
            summary { "More promises" @if used > 0 { ": " (used) " in use" } }
            div class="groups" {
                @for (at, (name, fields)) in RARER.iter().enumerate() {
                    fieldset {
                        legend { (name) }
                        div class="fields" {
                            @for field in *fields {
                                @let id = format!("rarer-{at}-{}", field.name.replace('.', "-"));
                                (control(&id, field, &written.settings, &set(field.name)))
                            }
                        }
                    }
                }
            }
        }
    }
}

/// Returns the action of a setting of the policy.
fn set(path: &str) -> Value {
    json!({ "do": "promise", "field": path })
}

fn slider(id: &str, name: &str, words: &str, value: u64, from: u64, to: u64, action: &Value) -> Markup {
    html! {
        div class="slider" {
            label for={ (id) "-slider" } { strong { (name) } " " span { (words) } }
            div {
                input id={ (id) "-slider" } type="range" min=(from) max=(to) value=(value) data-set=(action) data-live
                    aria-describedby={ (id) "-value" };
                input id={ (id) "-value" } type="number" min=(from) value=(value) data-set=(action) inputmode="numeric"
                    aria-label={ (name) ", as a number" };
            }
        }
    }
}

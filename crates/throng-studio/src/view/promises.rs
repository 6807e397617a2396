//! The promises of the release: k, p and what else `[privacy]` has.

use maud::{Markup, html};
use serde_json::{Value, json};
use throng::Preset;
use throng_report::numbers::percent;

use crate::project::Project;

/// The highest k and p of a slider, unless the policy has more.
const SLIDERS: (u64, u64) = (60, 10);

/// Renders the promises.
pub(super) fn promises(project: &Project) -> Markup {
    let written = project.written_or_empty();
    let (k, p) = (written.k.unwrap_or(2), written.p.unwrap_or(1));
    let set = |field: &str| json!({ "do": "promise", "field": field });
    html! {
        h2 { "The promise" }
        p class="promise" {
            "Everyone shares what others may know with at least " strong { (k.saturating_sub(1)) } " others: a risk of at most "
            strong { (percent(1.0 / k.max(1) as f64)) } "."
            @if p > 1 { " In every such class, each sensitive column has at least " strong { (p) } " different values." }
            @if written.is_p_open { " " span class="question" { "How many different values must every class have? Choose p." } }
        }
        div class="sliders" {
            (slider("k", "k", "rows in each class", k, 2, SLIDERS.0.max(k), &set("k")))
            (slider("p", "p", "values in each class", p, 1, SLIDERS.1.max(p).min(k.max(1)), &set("p")))
            div class="field" {
                label for="preset" { "Convention" }
                select id="preset" data-set=(set("preset")) {
                    option value="" selected[written.preset.is_none()] { "none" }
                    @for preset in Preset::ALL {
                        option value=(preset.as_str()) selected[written.preset.as_deref() == Some(preset.as_str())] {
                            (preset.as_str()) " (k " (preset.k()) ")"
                        }
                    }
                }
            }
            (number("suppression_limit", "Most rows left out, as a share", written.suppression_limit, "no limit", &set("suppression_limit")))
            @if written.alpha.is_some() { (number("alpha", "alpha", written.alpha, "none", &set("alpha"))) }
            div class="field" {
                label for="budget" { "Search" }
                select id="budget" data-set=(set("budget")) {
                    @let budget = written.budget.as_deref().unwrap_or("balanced");
                    @for name in ["fast", "balanced", "thorough"] {
                        option value=(name) selected[budget == name] { (name) }
                    }
                    @if !["fast", "balanced", "thorough"].contains(&budget) { option value=(budget) selected { (budget) } }
                }
            }
        }
    }
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

fn number(id: &str, name: &str, value: Option<f64>, none: &str, action: &Value) -> Markup {
    html! {
        div class="field" {
            label for=(id) { (name) }
            input id=(id) type="number" min="0" max="1" step="0.01" value=[value] placeholder=(none) data-set=(action);
        }
    }
}

//! Other values of k: risk against loss, with the chosen point.

use maud::{Markup, html};
use serde_json::json;
use throng_report::SweepReport;
use throng_report::numbers::{count, percent};
use throng_report::plot::{Caption, Frontier, FrontierPoint, LOSS_AXIS, frontier as plot};

use super::figure;
use crate::project::Project;

/// Shapes of other points and of the chosen one.
const SHAPES: (usize, usize) = (0, 3);

/// Renders the frontier.
pub(super) fn frontier(project: &Project) -> Markup {
    let chosen = project.written_or_empty().k;
    html! {
        h2 { "Other k" }
        @match &project.live.frontier {
            Some(swept) => (drawn(swept, chosen)),
            None if project.live.doing.is_some() => { p class="busy" { "comes after the exact figures" } }
            None => { p class="soft" { "Appears once the policy can be kept." } }
        }
    }
}

fn drawn(swept: &SweepReport, chosen: Option<u64>) -> Markup {
    let point = |attempt: &throng_report::Attempt| {
        let figures = attempt.outcome.as_ref().ok()?;
        let is_chosen = Some(attempt.k) == chosen;
        Some(FrontierPoint {
            cost: figures.ncp,
            risk: figures.highest_risk,
            shape: if is_chosen { SHAPES.1 } else { SHAPES.0 },
            label: Some(format!("k {}{}", attempt.k, if is_chosen { ", chosen" } else { "" })),
        })
    };
    let points: Vec<FrontierPoint> = swept.attempts.iter().filter_map(point).collect();
    let described: Vec<String> = swept
        .attempts
        .iter()
        .filter_map(|attempt| {
            let figures = attempt.outcome.as_ref().ok()?;
            Some(format!(
                "k {} loses {} at a risk of {}",
                attempt.k,
                percent(figures.ncp),
                percent(figures.highest_risk)
            ))
        })
        .collect();
    let description = format!("Less risk costs detail: {}.", described.join("; "));
    let caption = Caption { id: "frontier-plot", title: "Highest risk against detail lost", description: &description };
    html! {
        p class="soft" { "Highest risk of a person, against the detail that is lost. Choose a row to take its k." }
        div class="pair" {
        @if !points.is_empty() { div { (plot(caption, &Frontier { points, budget: None, axis: LOSS_AXIS })) } }
        table class="grid" {
            caption { "The same policy with other k" }
            thead {
                tr {
                    th scope="col" { "k" } th scope="col" class="n" { "Risk" } th scope="col" class="n" { "Lost" }
                    th scope="col" class="n" { "Classes" } th scope="col" class="n" { "Left out" }
                }
            }
            tbody {
                @for (at, attempt) in swept.attempts.iter().enumerate() {
                    @let is_chosen = Some(attempt.k) == chosen;
                    tr class=[is_chosen.then_some("chosen")] {
                        th scope="row" {
                            button type="button" class="quiet" aria-current=[is_chosen.then_some("true")]
                                data-do=(json!({ "do": "promise", "field": "privacy.k", "value": attempt.k.to_string() })) {
                                (attempt.k) @if is_chosen { " chosen" }
                            }
                        }
                        @match &attempt.outcome {
                            Ok(found) => {
                                td class="n" { (figure("sweep", &format!("trials.{at}.highest_risk"), found.highest_risk, percent(found.highest_risk))) }
                                td class="n" { (figure("sweep", &format!("trials.{at}.ncp"), found.ncp, percent(found.ncp))) }
                                td class="n" { (figure("sweep", &format!("trials.{at}.classes"), found.classes, count(found.classes))) }
                                td class="n" { (figure("sweep", &format!("trials.{at}.suppressed_rows"), found.suppressed_rows, count(found.suppressed_rows))) }
                            }
                            Err(why) => { td colspan="4" class="soft" { (why) } }
                        }
                    }
                }
            }
        }
        }
    }
}

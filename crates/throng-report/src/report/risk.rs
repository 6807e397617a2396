//! Re-identification risk before and after.

use maud::{Markup, html};

use throng_core::risk::PeopleSource;

use crate::document::{AttackerRisk, MatchedPeople, PopulationFacts, Quantity, RiskFacts, Sidecar};
use crate::numbers::{cell, count, figure, percent};
use crate::page::{MARKETER, PROSECUTOR, captioned, head, row_head};
use crate::plot::{Caption, PairedBar, paired_bars};

pub(super) fn section(sidecar: &Sidecar) -> Markup {
    let Some(risk) = &sidecar.risk else { return Markup::default() };
    let required = sidecar.privacy.requirements.iter().find(|requirement| requirement.column.is_none());
    let k = required.and_then(|requirement| match requirement.required {
        Quantity::Count(k) => Some(k),
        Quantity::Weight(_) => None,
    });
    html! {
        section {
            h2 { "The risk of being found" }
            p {
                "A row can be found by what others may know of a person. Its risk is one over the number of rows that look \
                 like it. Figures of the original are upper bounds: they count rows up to the next multiple of k, and say \
                 nothing about smaller groups."
            }
            (plot(risk))
            @for words in allowed(risk, k) { p { (words) } }
            (table(risk, k))
            @if let Some(population) = &risk.population { (in_population(population)) }
        }
    }
}

/// Whether every release with this k may have rows with a risk above a threshold.
fn is_allowed(above: f64, k: Option<u64>) -> bool {
    // Shares are rounded to six digits.
    k.is_some_and(|k| above + 1e-6 < 1.0 / k as f64)
}

/// Returns the description of rows above a threshold, including whether k allows them.
fn above_threshold(above: f64, k: Option<u64>) -> String {
    let words = format!("rows with a risk above {}", percent(above));
    match k.filter(|_| is_allowed(above, k)) {
        Some(k) => format!("{words}, which k = {k} allows"),
        None => words,
    }
}

/// Explains the rows above thresholds that the policy does not enforce.
fn allowed(risk: &RiskFacts, k: Option<u64>) -> Vec<String> {
    let words = |above: f64| {
        let (k, needed) = (k?, (1.0 / above - 1e-6).ceil());
        let highest = percent(1.0 / k as f64);
        Some(format!(
            "k = {k} allows a risk of up to {highest}. The share of rows above {} then only says how many are in classes of fewer than \
             {needed} rows; where that matters, the policy needs k = {needed}.",
            percent(above)
        ))
    };
    let thresholds = risk.after.prosecutor.at_risk.iter().filter(|at| is_allowed(at.above, k) && at.share > 0.0);
    thresholds.filter_map(|at| words(at.above)).collect()
}

fn plot(risk: &RiskFacts) -> Markup {
    let (before, after) = (&risk.before, &risk.after);
    let bar = |label: String, was: f64, is: f64| PairedBar {
        label,
        value: format!("{} → {}", percent(was), percent(is)),
        before: was,
        after: is,
    };
    let mut bars = vec![bar("rows that are alone".to_owned(), before.sample_uniques, after.sample_uniques)];
    for (was, is) in before.prosecutor.at_risk.iter().zip(&after.prosecutor.at_risk) {
        bars.push(bar(above_threshold(was.above, None), was.share, is.share));
    }
    let words = "Share of all rows. The thin bar is the original, the thick bar is the release.";
    let shares: Vec<String> = bars.iter().map(|bar| format!("{}: {}", bar.label, bar.value)).collect();
    let description = format!("{words} The shares from original to release are: {}.", shares.join("; "));
    let caption = Caption { id: "risk", title: "Rows at risk, before and after", description: &description };
    captioned(caption.title, words, &paired_bars(caption, &bars))
}

fn table(risk: &RiskFacts, k: Option<u64>) -> Markup {
    let (before, after) = (&risk.before, &risk.after);
    let journalist = match &risk.population {
        Some(PopulationFacts { matched: Some(matched), .. }) if matched.source == PeopleSource::Table.as_str() => {
            "does not know that, and has a register of the population; in the release counted, in the original estimated"
        }
        Some(PopulationFacts { matched: Some(_), .. }) => {
            "does not know that, and has a register of the population; estimated by sampling weights"
        }
        Some(_) => "does not know that, and has a register of the population; estimated by the sampling fraction",
        None => {
            "does not know that; how many people are in the population is not known here, so that the table stands for it, \
             and the true risk is at most this"
        }
    };
    html! {
        table id="risk" {
            (head("Risk by attacker", &[("Attacker", false), ("Original", true), ("Release", true)]))
            tbody {
                (group("Prosecutor", PROSECUTOR))
                (attacker("prosecutor", &before.prosecutor, &after.prosecutor, k))
                (group("Journalist", journalist))
                (attacker("journalist", &before.journalist, &after.journalist, k))
                (group("Marketer", MARKETER))
                (pair("rows found on average", "marketer.average", before.marketer.average, after.marketer.average, ""))
                (group("All of them", ""))
                (pair(
                    "sample uniques: rows that are alone",
                    "sample_uniques",
                    before.sample_uniques,
                    after.sample_uniques,
                    "≤ "
                ))
                tr {
                    (row_head("different combinations of quasi-identifiers", ""))
                    (cell("risk.before.classes", before.classes, count(before.classes)))
                    (cell("risk.after.classes", after.classes, count(after.classes)))
                }
            }
        }
    }
}

fn in_population(population: &PopulationFacts) -> Markup {
    html! {
        p id="population" {
            "The input is a sample: it has "
            (figure("risk.population.fraction", population.fraction, percent(population.fraction)))
            " of the population. The release stands for about "
            (figure("risk.population.people", population.people, count(population.people)))
            " people. By the original values at most about "
            (figure("risk.population.uniques", population.uniques, count(population.uniques)))
            " of the population are unique. An intruder with a register of the population is expected to find at most "
            (figure(
                "risk.population.reidentified_before",
                population.reidentified_before,
                count(population.reidentified_before)
            ))
            " rows of the original, and "
            (figure(
                "risk.population.reidentified_after",
                population.reidentified_after,
                format_args!("{:.1}", population.reidentified_after)
            ))
            " of the release."
        }
        @if let Some(matched) = &population.matched { (in_boxes(matched)) }
    }
}

/// Renders the people whom the classes match.
fn in_boxes(matched: &MatchedPeople) -> Markup {
    let key = |field: &str| format!("risk.population.matched.{field}");
    html! {
        p id="matched" {
            @if matched.source == PeopleSource::Table.as_str() { "Every class matches at least " }
            @else { "By the sampling weights every class matches at least about " }
            (figure(&key("fewest"), matched.fewest, count(matched.fewest)))
            " people of the population"
            @if let Some(k_map) = matched.k_map {
                ", of at least " (figure(&key("k_map"), k_map, count(k_map))) " that the policy asks for (k-map)"
            }
            ". At most " (figure(&key("outside"), matched.outside, percent(matched.outside)))
            " of the population match no class."
            @if let Some(presence) = &matched.presence {
                " Of the people whom a class matches, "
                (figure(&key("presence.least"), presence.least, percent(presence.least)))
                " to "
                (figure(&key("presence.most"), presence.most, percent(presence.most)))
                " are in the original (delta-presence)"
                @if let Some(least) = presence.delta_min {
                    "; the policy asks for at least " (figure(&key("presence.delta_min"), least, percent(least)))
                }
                @if let Some(most) = presence.delta_max {
                    "; the policy allows at most " (figure(&key("presence.delta_max"), most, percent(most)))
                }
                "."
            }
        }
    }
}

fn group(name: &str, words: &str) -> Markup {
    html! {
        tr class="group" {
            th scope="rowgroup" colspan="3" {
                (name)
                @if !words.is_empty() { span class="words" { (words) } }
            }
        }
    }
}

fn attacker(name: &str, before: &AttackerRisk, after: &AttackerRisk, k: Option<u64>) -> Markup {
    let key = |field: &str| format!("{name}.{field}");
    html! {
        (pair("highest risk of a row", &key("highest"), before.highest, after.highest, "≤ "))
        (pair("average risk of a row", &key("average"), before.average, after.average, ""))
        @for (at, (was, is)) in before.at_risk.iter().zip(&after.at_risk).enumerate() {
            @let label = above_threshold(was.above, k);
            (pair(&label, &key(&format!("at_risk.{at}.share")), was.share, is.share, "≤ "))
        }
    }
}

/// Renders a share before and after; `bound` marks the one before as an upper bound.
fn pair(label: &str, key: &str, before: f64, after: f64, bound: &str) -> Markup {
    let bound = if before > 0.0 { bound } else { "" };
    html! {
        tr {
            (row_head(label, ""))
            (cell(&format!("risk.before.{key}"), before, format_args!("{bound}{}", percent(before))))
            (cell(&format!("risk.after.{key}"), after, percent(after)))
        }
    }
}

//! Attacks on the release before it was published.

use maud::{Markup, html};

use crate::document::{AttackGain, Sidecar};
use crate::numbers::{cell, figure};
use crate::page::head;

const COLUMNS: [(&str, bool); 3] = [("Attack", false), ("Chance of success", true), ("Gain", true)];

pub(super) fn section(sidecar: &Sidecar) -> Markup {
    let Some(attacks) = &sidecar.attacks else { return Markup::default() };
    html! {
        section {
            h2 { "What an intruder gains" }
            p {
                "Before it was published, the release was attacked by code that shares nothing with the code that made it. The                  gain is the chance of success with the release over that without what the attack adds; the policy allows "
                (figure("attacks.max_gain", attacks.max_gain, attacks.max_gain)) ". Figures are means over a sample of people."
            }
            table id="attacks" {
                (head("Attacks", &COLUMNS))
                tbody { @for (at, gain) in attacks.measured.iter().enumerate() { (row(at, gain)) } }
            }
        }
    }
}

fn row(at: usize, gain: &AttackGain) -> Markup {
    let key = |field: &str| format!("attacks.measured.{at}.{field}");
    html! {
        tr {
            th scope="row" {
                (gain.name.replace('_', " "))
                @if let Some(column) = &gain.column { " of " (column) }
            }
            (cell(&key("release"), gain.release, gain.release))
            (cell(&key("gain"), gain.gain, gain.gain))
        }
    }
}

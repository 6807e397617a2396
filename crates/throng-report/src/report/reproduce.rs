//! How to reproduce the release and how to verify it.

use maud::{Markup, html};

use crate::document::Sidecar;
use crate::numbers::figure;

pub(super) fn section(sidecar: &Sidecar) -> Markup {
    let algorithm = &sidecar.algorithm;
    let seed = algorithm.seed.to_string();
    let facts: [(&str, &str, &str); 7] = [
        ("policy digest", "policy_digest", &sidecar.policy_digest),
        ("Throng", "throng_version", &sidecar.throng_version),
        ("seed", "algorithm.seed", &seed),
        ("partition", "algorithm.partition", &algorithm.partition),
        ("cluster", "algorithm.cluster", &algorithm.cluster),
        ("budget", "algorithm.budget", &algorithm.budget),
        ("run", "run_id", &sidecar.run_id),
    ];
    html! {
        section {
            h2 { "How to reproduce it" }
            p {
                "The same input, policy, seed and secret give the same bytes, on any machine. The digest shows whether a policy is the \
                 one that was used; it does not depend on where input and output are."
            }
            dl class="facts" {
                @for (name, key, value) in facts {
                    dt { (name) }
                    dd { code { (figure(key, value, value)) } }
                }
            }
            pre { code { "throng run POLICY --seed " (seed) "\nthrong verify RELEASE --policy POLICY" } }
        }
        footer { "Written by Throng " (sidecar.throng_version) ". This page fetches nothing and runs no script." }
    }
}

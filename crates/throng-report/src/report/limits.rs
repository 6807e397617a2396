//! Attacks that the models do not protect against, as in SECURITY.md.

use maud::{Markup, html};

use crate::document::Sidecar;
use crate::numbers::counted;

const NOT_PROMISED: [&str; 6] = [
    "Different values can still be similar, and one of them can be far more frequent than the others: who knows the class \
     of a person may still guess well.",
    "What an intruder knows beyond the quasi-identifiers is not considered. A column that singles people out and was not \
     named as a quasi-identifier is a way to find them.",
    "Two releases of overlapping data can be intersected. This release knows nothing of earlier or later ones.",
    "Who knows the algorithm may learn something from what was not generalized.",
    "Means, medians and modes stand for a class and need not be true of any row; a mean of few rows tells something of each \
     of them to whoever knows the others.",
    "No law is claimed to be complied with. Whether k and p are enough is a judgement about the data and its readers.",
];

pub(super) fn section(sidecar: &Sidecar) -> Markup {
    let unchanged = sidecar.columns.map_or(0, |columns| columns.unchanged);
    html! {
        section {
            h2 { "What this does not protect against" }
            ul class="plain" {
                @if unchanged > 0 {
                    li {
                        (counted(unchanged, "column is", "columns are"))
                        " released exactly as in the original, because the policy says that they tell nothing. If they do, \
                         they were quasi-identifiers."
                    }
                }
                @if let Some(pseudonyms) = &sidecar.privacy.pseudonyms {
                    li {
                        "Column `" (pseudonyms.column) "` is released as a pseudonym. That is pseudonymity, and no anonymity: all rows \
                         of a person are linked, and whoever has the secret of the release can tell whose they are. Every \
                         combination of classes over all linked rows is that of at least "
                        (pseudonyms.smallest_profile) " people."
                    }
                }
                @if sidecar.privacy.repeating_identifiers > 0 {
                    li {
                        "A column that was left out has the same value in several rows. If a value is a person, k and p count rows \
                         and not people, and a class may have fewer than k people; `unit` under [privacy] counts people."
                    }
                }
                @for words in NOT_PROMISED { li { (words) } }
            }
        }
    }
}

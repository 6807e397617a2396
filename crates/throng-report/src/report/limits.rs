//! Attacks that the models do not protect against, as in SECURITY.md.

use maud::{Markup, html};
use throng_core::model::limits_frequencies;

use crate::document::{ReleasedColumnFacts, Sidecar};
use crate::numbers::{counted, list};

/// Limitations of every release.
const NOT_PROMISED: [&str; 3] = [
    "What an intruder knows beyond the quasi-identifiers is not considered. A column that singles people out and was not \
     named as a quasi-identifier is a way to find them.",
    "An intruder who knows the algorithm may learn something from what was not generalized.",
    "No law is claimed to be complied with. Whether k and p are enough is a judgement about the data and its readers.",
];

/// Describes what the models of the release do not cover about its sensitive values.
fn similarity(sidecar: &Sidecar) -> &'static str {
    match sidecar.privacy.requirements.iter().any(|requirement| limits_frequencies(&requirement.model)) {
        true => {
            "Different values can still be similar in meaning: an intruder who finds the class of a person may still guess well."
        }
        false => {
            "Different values can still be similar, and one of them can be far more frequent than the others: an intruder who finds \
             the class of a person may still guess well."
        }
    }
}

/// Describes which other releases can be intersected with this one.
fn intersection(sidecar: &Sidecar) -> &'static str {
    match sidecar.series {
        Some(_) => {
            "Releases outside of this series, and those that it no longer remembers, can be intersected with this one if they have \
             people in common."
        }
        None => {
            "Two releases of overlapping data can be intersected. This release knows nothing of earlier or later ones."
        }
    }
}

/// Returns the columns that show a mean, a median or a mode instead of values, with the name of the aggregate.
fn aggregates(sidecar: &Sidecar) -> Vec<String> {
    let released = sidecar.columns.as_ref().map_or(&[][..], |columns| &columns.released);
    if released.is_empty() {
        // A sidecar of an earlier version has a measure for means and medians only.
        let columns = sidecar.utility.columns.iter().filter(|(_, column)| column.sse_sst.is_some());
        return columns.map(|(name, _)| name.clone()).collect();
    }
    let aggregate = |column: &ReleasedColumnFacts| {
        let form = column.release.as_deref().filter(|form| ["mean", "median", "mode"].contains(form))?;
        Some(format!("{} ({form})", column.column))
    };
    released.iter().filter_map(aggregate).collect()
}

pub(super) fn section(sidecar: &Sidecar) -> Markup {
    let unchanged = sidecar.columns.as_ref().map_or(0, |columns| columns.unchanged);
    let aggregates = aggregates(sidecar);
    html! {
        section {
            h2 { "What this does not protect against" }
            ul class="plain" {
                @if unchanged > 0 {
                    li {
                        (counted(unchanged, "column is", "columns are"))
                        " released exactly as in the original, because the policy says that they disclose nothing. If they do, \
                         they were quasi-identifiers."
                    }
                }
                @if !aggregates.is_empty() {
                    li {
                        "One value stands for all rows of a class in " (list(&aggregates)) ". It need not be true of any row, and a \
                         mean of few rows discloses something of each of them to an intruder who knows the others."
                    }
                }
                @if let Some(pseudonyms) = &sidecar.privacy.pseudonyms {
                    li {
                        "Column `" (pseudonyms.column) "` is released as a pseudonym. That is pseudonymity, not anonymity: all rows \
                         of a person are linked, and anyone with the secret of the release can compute whose they are. Every \
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
                @for words in [similarity(sidecar), intersection(sidecar)].into_iter().chain(NOT_PROMISED) { li { (words) } }
            }
        }
    }
}

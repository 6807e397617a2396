//! What the models do not protect against, as SECURITY.md has it.

use super::numbers::counted;
use crate::markup::Markup;
use crate::sidecar::Sidecar;

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

pub(super) fn write(body: &mut Markup, sidecar: &Sidecar) {
    body.within("section", &[], |section| {
        section.element("h2", &[], "What this does not protect against");
        section.within("ul", &[("class", &"plain")], |list| {
            if let Some(unchanged) = sidecar.columns.map(|columns| columns.unchanged).filter(|columns| *columns > 0) {
                let columns = counted(unchanged, "column is", "columns are");
                let words = "released exactly as in the original, because the policy says that they tell nothing. If they \
                             do, they were quasi-identifiers.";
                list.element("li", &[], format_args!("{columns} {words}"));
            }
            NOT_PROMISED.iter().for_each(|words| list.element("li", &[], words));
        });
    });
}

//! How long the stages took.

use super::numbers::{bytes, counted, time};
use super::page::captioned;
use crate::markup::Markup;
use crate::plot::{Bar, Caption, bars};
use crate::progress::Stage;
use crate::sidecar::Sidecar;

/// The stages in their order, and what they do.
const STAGES: [(Stage, &str); 7] = [
    (Stage::Survey, "read the input"),
    (Stage::Partition, "cut it into parts"),
    (Stage::Cluster, "form classes"),
    (Stage::Recode, "generalize values"),
    (Stage::Write, "write files"),
    (Stage::Verify, "read them back"),
    (Stage::Publish, "make them visible"),
];

pub(super) fn write(body: &mut Markup, sidecar: &Sidecar) {
    let times = &sidecar.timing_ms;
    let known = STAGES.iter().filter_map(|(stage, words)| Some((stage, words, *times.get(stage.as_str())?)));
    let most = known.clone().map(|(_, _, ms)| ms).max().unwrap_or(0).max(1);
    let drawn: Vec<Bar> = known
        .map(|(stage, words, ms)| Bar {
            label: format!("{stage}: {words}"),
            value: time(ms),
            length: ms as f64 / most as f64,
        })
        .collect();
    if drawn.is_empty() {
        return;
    }
    body.within("section", &[], |section| {
        section.element("h2", &[], "How long it took");
        let total = times.get("total").copied().unwrap_or(0);
        let memory = sidecar.resources.peak_memory_bytes.map(|peak| format!(", {} of memory", bytes(peak)));
        let threads = counted(sidecar.resources.threads as u64, "thread", "threads");
        let words = format!("{} in all, with {threads}{}.", time(total), memory.unwrap_or_default());
        captioned(section, "Time of each stage", &words, |figure| {
            let told: Vec<String> = drawn.iter().map(|bar| format!("{}, {}", bar.label, bar.value)).collect();
            let description = format!("{words} {}.", told.join("; "));
            bars(figure, Caption { id: "time", title: "Time of each stage", description: &description }, &drawn);
        });
    });
}

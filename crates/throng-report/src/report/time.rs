//! Duration of the stages.

use maud::{Markup, html};

use crate::document::Sidecar;
use crate::numbers::{bytes, counted, time};
use crate::page::captioned;
use crate::plot::{Bar, Caption, bars};

/// Stages in order: key in `timing_ms` and description.
const STAGES: [(&str, &str); 7] = [
    ("survey", "read the input"),
    ("partition", "cut it into parts"),
    ("cluster", "form classes"),
    ("recode", "generalize values"),
    ("write", "write files"),
    ("verify", "read them back"),
    ("publish", "make them visible"),
];

pub(super) fn section(sidecar: &Sidecar) -> Markup {
    let times = &sidecar.timing_ms;
    let known = STAGES.iter().filter_map(|(stage, words)| Some((stage, words, *times.get(*stage)?)));
    let most = known.clone().map(|(_, _, ms)| ms).max().unwrap_or(0).max(1);
    let drawn: Vec<Bar> = known
        .map(|(stage, words, ms)| Bar {
            label: format!("{stage}: {words}"),
            value: time(ms),
            length: ms as f64 / most as f64,
        })
        .collect();
    if drawn.is_empty() {
        return Markup::default();
    }
    let total = times.get("total").copied().unwrap_or(0);
    let memory = sidecar.resources.peak_memory_bytes.map(|peak| format!(", {} of memory", bytes(peak)));
    let threads = counted(sidecar.resources.threads as u64, "thread", "threads");
    let words = format!("{} in all, with {threads}{}.", time(total), memory.unwrap_or_default());
    let lines: Vec<String> = drawn.iter().map(|bar| format!("{}, {}", bar.label, bar.value)).collect();
    let description = format!("{words} {}.", lines.join("; "));
    let caption = Caption { id: "time", title: "Time of each stage", description: &description };
    html! {
        section {
            h2 { "How long it took" }
            (captioned(caption.title, &words, &bars(caption, &drawn)))
        }
    }
}

//! Metadata: do the files of a release hold text that reveals hidden values?
//!
//! The intruder reads all text that the files hold besides their values: key-value metadata and statistics. For a person in a
//! generalized class, hidden values that occur in this text and that the release itself shows nowhere are the candidates; without
//! any, all values of the label are. `prior` is one over the number of values of the label.

use rustc_hash::FxHashSet;

use super::{AttackOutcome, Attempts, Intruder, Success};
use crate::extent::{Code, Extent, NULL};
use crate::lexicon::CodeDomain;

/// Text that files hold besides their values.
#[derive(Clone, Debug, Default)]
pub struct FileTraces {
    /// The texts, in any order.
    pub texts: Vec<String>,
}

pub(super) fn attack(intruder: &Intruder<'_>) -> Attempts {
    let Some(traces) = intruder.input.traces else { return Err("the files of the release were not given") };
    let (lexicon, release, original) = (intruder.input.lexicon, intruder.input.release, intruder.input.original);
    let words: FxHashSet<&str> = traces
        .texts
        .iter()
        .flat_map(|text| {
            let words = text.split(|c: char| !c.is_alphanumeric() && !"-_. ".contains(c));
            words.chain(text.split(|c: char| !c.is_alphanumeric() && !"-_.".contains(c))).map(str::trim)
        })
        .collect();
    let mut trials = Vec::new();
    for (column, domain) in lexicon.quasi.iter().enumerate() {
        let shown: FxHashSet<Code> = release.columns[column].extents.iter().filter_map(Extent::only).collect();
        let text = |code: Code| match domain {
            CodeDomain::Ordered(_) => f64::from_bits(code).to_string(),
            CodeDomain::Names(names) => names.names()[code as usize].clone(),
        };
        let hidden: FxHashSet<Code> = (0..original.cells() as u32)
            .map(|cell| original.cell(cell)[column])
            .filter(|code| *code != NULL && !shown.contains(code))
            .collect();
        let leaked: Vec<Code> = hidden.iter().copied().filter(|code| words.contains(text(*code).as_str())).collect();
        for (target, classes) in original.targets.iter().zip(&intruder.candidates) {
            let code = original.cell(target.cell)[column];
            let [class] = classes[..] else { continue };
            let Some(extent) = release.extents(class).nth(column).filter(|_| hidden.contains(&code)) else { continue };
            let prior = 1.0 / extent.size(&release.columns[column].range).max(1.0);
            let candidates = leaked.iter().filter(|code| extent.contains(**code)).count();
            let is_leaked = leaked.contains(&code);
            let release = match candidates {
                0 => prior,
                _ if is_leaked => (1.0 / candidates as f64).max(prior),
                _ => 0.0,
            };
            trials.push(Success::new(prior, release, 1.0));
        }
    }
    if trials.is_empty() {
        return Err("every value is shown somewhere in the release, so that files can't reveal hidden ones");
    }
    let prior_is = "one in the number of values of the label";
    let outcome = AttackOutcome::of("metadata", None, prior_is, &trials, intruder.input.seed);
    Ok(outcome.map(|outcome| outcome.with("texts", traces.texts.len())).into_iter().collect())
}

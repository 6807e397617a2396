//! Attacks on a release by an intruder who has the release, public knowledge and a computer, one file each.
//!
//! The intruder knows the quasi-identifiers of the people of interest, the policy with its hierarchies, and that these people are
//! in the table. Attacks that need more say so in their module. The lab is given the original too, and uses it in two
//! places only: to draw the people who are attacked, and to score the intruder's answers.
//!
//! Each attack reports three chances of success, which are means over the people attacked:
//!
//! - `prior`: without what the attack adds; the field `prior_is` says what that is;
//! - `release`: with the release;
//! - `original`: with the original instead of the release, by the same code.
//!
//! The *gain* is `release / prior`. Success in learning a value is the probability that the intruder's belief assigns to the
//! true value, that is, the chance that a guess drawn from the belief is right.

mod background;
mod borrowed_rows;
mod bounds;
mod composition;
mod downcoding;
mod homogeneity;
mod learning;
mod linkage;
mod membership;
mod metadata;
mod minimality;
mod oracle;
mod order;
mod outcome;
mod similarity;
mod skewness;

use rayon::prelude::*;
use rustc_hash::FxHashMap;

pub use metadata::FileTraces;
pub use oracle::{OracleTrial, oracle, oracle_pairs};
pub use outcome::{AttackOutcome, AttackReport, SkippedAttack};

pub(crate) use outcome::Success;

use crate::lexicon::Lexicon;
use crate::table::{OriginalTable, ReleasedTable};

/// Default number of people who are attacked.
pub const DEFAULT_TARGETS: usize = 4000;

/// Tables of an attack. All were read with the same lexicon.
#[derive(Debug)]
pub struct AttackInput<'a> {
    /// The lexicon that all tables share.
    pub lexicon: &'a Lexicon,
    /// The table before it was anonymized, which decides whether a guess is right.
    pub original: &'a OriginalTable,
    /// The table that was published, which is attacked.
    pub release: &'a ReleasedTable,
    /// Earlier releases of the same people.
    pub previous: &'a [ReleasedTable],
    /// People who are not in the table, drawn from the same population.
    pub population: Option<&'a OriginalTable>,
    /// Text that the files of the release hold besides their values.
    pub traces: Option<&'a FileTraces>,
    /// Seed of every random choice.
    pub seed: u64,
}

/// Result of an attack: outcomes, or the reason why it can't be run.
pub(crate) type Attempts = Result<Vec<AttackOutcome>, &'static str>;

/// An attack with its name.
type NamedAttack = (&'static str, fn(&Intruder<'_>) -> Attempts);

/// All attacks that need no separate process, in the order of the report.
const ATTACKS: [NamedAttack; 15] = [
    ("linkage", linkage::attack),
    ("homogeneity", homogeneity::attack),
    ("skewness", skewness::attack),
    ("similarity", similarity::attack),
    ("background_values", background::rule_out_values),
    ("background_members", background::know_members),
    ("naive_bayes", learning::naive_bayes),
    ("tree", learning::tree),
    ("minimality", minimality::attack),
    ("downcoding", downcoding::attack),
    ("borrowed_rows", borrowed_rows::attack),
    ("composition", composition::attack),
    ("membership", membership::attack),
    ("order", order::attack),
    ("metadata", metadata::attack),
];

/// Runs all attacks whose input is available.
pub fn attack(input: &AttackInput<'_>) -> AttackReport {
    let intruder = Intruder::new(input);
    let attempts: Vec<Attempts> = ATTACKS.par_iter().map(|(_, attack)| attack(&intruder)).collect();
    let mut report = AttackReport {
        targets: input.original.targets.len() as u64,
        rows: input.release.rows,
        unread_labels: input.release.unread_labels,
        seed: input.seed,
        attacks: Vec::new(),
        skipped: Vec::new(),
    };
    for ((name, _), attempt) in ATTACKS.iter().zip(attempts) {
        match attempt {
            Ok(outcomes) => report.attacks.extend(outcomes),
            Err(reason) => report.skipped.push(SkippedAttack { name, reason }),
        }
    }
    report
}

/// State that the attacks share.
pub(crate) struct Intruder<'a> {
    pub(crate) input: &'a AttackInput<'a>,
    /// The original as if it had been released.
    pub(crate) exact: ReleasedTable,
    /// Classes of the release that each target may be in.
    pub(crate) candidates: Vec<Vec<u32>>,
    /// Rows of each value of each sensitive column.
    pub(crate) totals: Vec<Vec<u64>>,
}

impl<'a> Intruder<'a> {
    pub(crate) fn new(input: &'a AttackInput<'a>) -> Self {
        let original = input.original;
        let exact = ReleasedTable::of_original(original, input.lexicon);
        let candidates =
            original.targets.par_iter().map(|target| input.release.covering(original.cell(target.cell))).collect();
        let totals = original.tallies.iter().zip(&input.lexicon.sensitive);
        let totals = totals.map(|(tallies, domain)| tallies.totals(domain.len())).collect();
        Self { input, exact, candidates, totals }
    }

    /// Returns the number of sensitive columns.
    pub(crate) fn sensitive(&self) -> usize {
        self.totals.len()
    }

    /// Returns the name of a sensitive column.
    pub(crate) fn column(&self, sensitive: usize) -> Option<String> {
        self.input.lexicon.spec.sensitive.get(sensitive).map(|known| known.name.clone())
    }

    /// Returns the share of the people who have a value.
    pub(crate) fn prior(&self, sensitive: usize, value: u32) -> f64 {
        self.totals[sensitive][value as usize] as f64 / self.input.original.rows as f64
    }

    /// Returns the targets that have a value of a sensitive column: index, cell and value.
    pub(crate) fn targets(&self, sensitive: usize) -> impl Iterator<Item = (usize, u32, u32)> {
        let targets = self.input.original.targets.iter().enumerate();
        targets.filter_map(move |(at, target)| Some((at, target.cell, target.value(sensitive)?)))
    }

    /// Returns the histogram of the classes that a target may be in.
    pub(crate) fn pooled(&self, target: usize, sensitive: usize) -> FxHashMap<u32, u64> {
        crate::diff::pooled(self.input.release, &self.candidates[target], sensitive)
    }

    /// Returns the histogram of a cell of the original.
    pub(crate) fn cell(&self, cell: u32, sensitive: usize) -> FxHashMap<u32, u64> {
        crate::diff::pooled(&self.exact, &[cell], sensitive)
    }

    /// Runs an attack on every sensitive column.
    pub(crate) fn for_each_column(&self, attack: impl Fn(usize) -> Option<AttackOutcome>) -> Attempts {
        if self.sensitive() == 0 {
            return Err("there is no sensitive column");
        }
        Ok((0..self.sensitive()).filter_map(attack).collect())
    }
}

#[cfg(test)]
#[path = "../attack_tests.rs"]
mod tests;

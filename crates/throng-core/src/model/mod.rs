//! Privacy models: requirements on every released class.
//!
//! Algorithms ask a model two questions: how far a class is from satisfying it (its *deficit*, zero when satisfied),
//! and whether a row helps. Every model here is row-monotone: a class that satisfies it still does after rows are
//! added. Models therefore combine freely with each other and with every algorithm.

mod histogram;
mod k_anonymity;
mod p_sensitive;
mod tally;
mod weight;

use std::fmt::Debug;
use std::sync::Arc;

pub use k_anonymity::KAnonymity;
pub use p_sensitive::{CodeMeaning, PSensitive};
pub use tally::Tally;
pub use weight::CategoryWeight;

use crate::table::Table;

/// One requirement on every class.
pub trait Model: Debug + Send + Sync {
    /// Returns the name of the model in reports.
    fn name(&self) -> &'static str;

    /// Returns the sensitive column of the model, as an index into [`Table::sensitive`].
    fn column(&self) -> Option<usize>;

    /// Returns the required units per class.
    fn required(&self) -> u64;

    /// Returns the units that a class has.
    fn achieved(&self, class: &Tally) -> u64;

    /// Returns an upper bound of the units that one row adds.
    fn max_gain_per_row(&self) -> u64 {
        1
    }

    /// Returns the units that one more row with these sensitive codes adds to a class.
    fn gain(&self, class: &Tally, codes: &[u32]) -> u64;

    /// Whether a class that satisfies the model still does without one of its rows, which has these codes.
    fn can_lose(&self, class: &Tally, codes: &[u32]) -> bool;

    /// Whether every row adds one unit, whatever its sensitive values.
    fn counts_rows(&self) -> bool {
        false
    }

    /// Returns the required number of distinct values, for a model that counts these.
    fn distinct_values(&self) -> Option<u64> {
        None
    }

    /// Whether this is a part of (p+, alpha)-sensitivity.
    fn is_p_plus_alpha(&self) -> bool {
        false
    }

    /// Returns the missing units; zero when the class satisfies the model.
    fn shortage(&self, class: &Tally) -> u64 {
        self.required().saturating_sub(self.achieved(class))
    }

    /// Returns a lower bound of the missing rows; zero when the class satisfies the model.
    fn deficit(&self, class: &Tally) -> u64 {
        self.shortage(class).div_ceil(self.max_gain_per_row())
    }
}

/// All models of one release; a class must satisfy each.
#[derive(Clone, Debug)]
pub struct Privacy {
    models: Vec<Arc<dyn Model>>,
}

impl Privacy {
    /// Combines models.
    pub fn new(models: Vec<Arc<dyn Model>>) -> Self {
        Self { models }
    }

    /// Creates p-sensitive k-anonymity over `sensitive_columns` sensitive columns [Truta 2007, Def. 3]. With `p` of 1
    /// or less this is plain k-anonymity.
    pub fn p_sensitive_k_anonymity(k: u64, p: u64, sensitive_columns: usize) -> Self {
        let mut models: Vec<Arc<dyn Model>> = vec![Arc::new(KAnonymity::new(k))];
        if p > 1 {
            let of_column = |column| Arc::new(PSensitive::new(p, column, CodeMeaning::Values)) as Arc<dyn Model>;
            models.extend((0..sensitive_columns).map(of_column));
        }
        Self { models }
    }

    /// Returns the models.
    pub fn models(&self) -> impl Iterator<Item = &dyn Model> {
        self.models.iter().map(AsRef::as_ref)
    }

    /// Returns the minimum number of rows of a class.
    pub fn least_rows(&self) -> u64 {
        self.models().filter(|model| model.counts_rows()).map(|model| model.required()).fold(1, u64::max)
    }

    /// Returns the diversity models: those that depend on sensitive values.
    pub fn diversity_models(&self) -> impl Iterator<Item = &dyn Model> {
        self.models().filter(|model| !model.counts_rows())
    }

    /// Returns the models without those of (p+, alpha)-sensitivity.
    pub fn without_p_plus_alpha(&self) -> Self {
        Self { models: self.models.iter().filter(|model| !model.is_p_plus_alpha()).cloned().collect() }
    }

    /// Whether a class satisfies every model.
    pub fn is_satisfied(&self, class: &Tally) -> bool {
        self.models().all(|model| model.deficit(class) == 0)
    }

    /// Whether a class satisfies every diversity model, whatever its number of rows.
    pub fn is_diverse(&self, class: &Tally) -> bool {
        self.diversity_models().all(|model| model.deficit(class) == 0)
    }

    /// Whether these cells together satisfy every model. Stops as soon as they do.
    pub fn is_satisfied_by(&self, table: &Table, cells: impl IntoIterator<Item = u32>) -> bool {
        let mut class = Tally::empty(table.sensitive().len());
        cells.into_iter().any(|cell| {
            class.add_cell(table, cell);
            self.is_satisfied(&class)
        })
    }

    /// Whether a class that satisfies every model still does without one of its rows, which has these codes.
    pub fn can_lose(&self, class: &Tally, codes: &[u32]) -> bool {
        self.models().all(|model| model.can_lose(class, codes))
    }

    /// Returns the largest deficit of any model, in rows.
    pub fn deficit(&self, class: &Tally) -> u64 {
        self.models().map(|model| model.deficit(class)).max().unwrap_or(0)
    }

    /// Returns which row a growing class should take next.
    pub fn need(&self, class: &Tally) -> Need {
        let (mut of_any, mut of_kind) = (0, 0);
        for model in self.models() {
            let deficit = model.deficit(class);
            let slot = if model.counts_rows() { &mut of_any } else { &mut of_kind };
            *slot = deficit.max(*slot);
        }
        match (of_any, of_kind) {
            (0, 0) => Need::Nothing,
            // While there is room for the diverse rows that are missing, the nearest row is best.
            (any, kind) if any > kind => Need::AnyRow(any - kind),
            _ => Need::DiverseRow,
        }
    }

    /// Whether a row with these codes lowers the deficit of a diversity model.
    pub fn helps(&self, class: &Tally, codes: &[u32]) -> bool {
        self.models().any(|m| !m.counts_rows() && m.shortage(class) > 0 && m.gain(class, codes) > 0)
    }

    /// Returns the sum of the missing units over all models, each in its own units.
    pub fn shortage(&self, class: &Tally) -> u64 {
        self.models().map(|model| model.shortage(class)).sum()
    }

    /// Returns how much a row with these codes makes a class more diverse (`Div` [Truta 2007, Def. 11], with equal
    /// weights): the sum over diversity models of its gain times the shortage, both in rows.
    pub fn diversity(&self, class: &Tally, codes: &[u32]) -> f64 {
        let (mut sum, mut models) = (0.0, 0_u32);
        for model in self.models().filter(|model| !model.counts_rows()) {
            models += 1;
            let lacking = model.shortage(class);
            if lacking > 0 {
                let units = model.max_gain_per_row() as f64;
                sum += (model.gain(class, codes).min(lacking) as f64 / units) * (lacking as f64 / units);
            }
        }
        if models == 0 { 0.0 } else { sum / f64::from(models) }
    }

    /// Returns how far a class is from satisfying the diversity models (`Hom` [Truta 2007, Def. 12], with equal
    /// weights); zero if and only if it satisfies all of them [Truta 2007, Property 1].
    pub fn homogeneity(&self, class: &Tally) -> f64 {
        let of_kind = || self.models().filter(|model| !model.counts_rows());
        let lacking = of_kind().map(|model| model.shortage(class) as f64 / model.max_gain_per_row() as f64);
        lacking.sum::<f64>() / of_kind().count().max(1) as f64
    }
}

/// The row that a growing class should take next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Need {
    /// None: the class satisfies every model.
    Nothing,
    /// Up to this many rows of any kind.
    AnyRow(u64),
    /// A row that [`Privacy::helps`].
    DiverseRow,
}

#[cfg(test)]
#[path = "model_tests.rs"]
mod tests;

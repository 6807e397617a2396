//! Privacy models: what a class must have before it may be released.
//!
//! A model answers two questions, and the algorithms ask no others: how far is this class from satisfying you (its
//! *deficit*, zero when satisfied), and does this row help? Every model here is monotone: a class that satisfies it
//! still does when rows join it. So models combine freely with each other and with every algorithm.

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
    /// The name of the model in reports.
    fn name(&self) -> &'static str;

    /// The sensitive column that the model speaks of, as an index into [`Table::sensitive`].
    fn column(&self) -> Option<usize>;

    /// What a class must reach, in units of the model.
    fn required(&self) -> u64;

    /// What this class has reached, in units of the model.
    fn achieved(&self, class: &Tally) -> u64;

    /// The most units that one row can bring.
    fn max_gain_per_row(&self) -> u64 {
        1
    }

    /// How many units one more row with these sensitive codes brings to a class.
    fn gain(&self, class: &Tally, codes: &[u32]) -> u64;

    /// Whether a class that satisfies the model still does without one of its rows, which has these codes.
    fn can_lose(&self, class: &Tally, codes: &[u32]) -> bool;

    /// Whether every row brings one unit, whatever its sensitive values.
    fn counts_rows(&self) -> bool {
        false
    }

    /// For a model that counts distinct values: how many it asks for.
    fn distinct_values(&self) -> Option<u64> {
        None
    }

    /// Whether this is a part of (p+, alpha)-sensitivity.
    fn is_p_plus_alpha(&self) -> bool {
        false
    }

    /// What this class lacks, in units of the model; zero when it satisfies the model.
    fn shortage(&self, class: &Tally) -> u64 {
        self.required().saturating_sub(self.achieved(class))
    }

    /// How many rows this class lacks at least; zero when it satisfies the model.
    fn deficit(&self, class: &Tally) -> u64 {
        self.shortage(class).div_ceil(self.max_gain_per_row())
    }
}

/// The models of one release, taken together.
#[derive(Clone, Debug)]
pub struct Privacy {
    models: Vec<Arc<dyn Model>>,
}

impl Privacy {
    /// All of these models at once.
    pub fn new(models: Vec<Arc<dyn Model>>) -> Self {
        Self { models }
    }

    /// p-sensitive k-anonymity over so many sensitive columns (Def. 3). With `p` of 1 or less the sensitive columns
    /// promise nothing, and plain k-anonymity is left.
    pub fn p_sensitive_k_anonymity(k: u64, p: u64, sensitive_columns: usize) -> Self {
        let mut models: Vec<Arc<dyn Model>> = vec![Arc::new(KAnonymity::new(k))];
        if p > 1 {
            let of_column = |column| Arc::new(PSensitive::new(p, column, CodeMeaning::Values)) as Arc<dyn Model>;
            models.extend((0..sensitive_columns).map(of_column));
        }
        Self { models }
    }

    /// The models, one by one.
    pub fn models(&self) -> impl Iterator<Item = &dyn Model> {
        self.models.iter().map(AsRef::as_ref)
    }

    /// How many rows a class needs at least.
    pub fn least_rows(&self) -> u64 {
        self.models().filter(|model| model.counts_rows()).map(|model| model.required()).fold(1, u64::max)
    }

    /// The models that not every row helps.
    pub fn diversity_models(&self) -> impl Iterator<Item = &dyn Model> {
        self.models().filter(|model| !model.counts_rows())
    }

    /// The same without the models of (p+, alpha)-sensitivity.
    pub fn without_p_plus_alpha(&self) -> Self {
        Self { models: self.models.iter().filter(|model| !model.is_p_plus_alpha()).cloned().collect() }
    }

    /// Whether a class satisfies every model.
    pub fn is_satisfied(&self, class: &Tally) -> bool {
        self.models().all(|model| model.deficit(class) == 0)
    }

    /// Whether a class satisfies every model that looks at sensitive values, whatever its number of rows.
    pub fn is_diverse(&self, class: &Tally) -> bool {
        self.diversity_models().all(|model| model.deficit(class) == 0)
    }

    /// Whether these cells together satisfy every model. Looks at no more of them than it takes.
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

    /// The most rows that any model lacks.
    pub fn deficit(&self, class: &Tally) -> u64 {
        self.models().map(|model| model.deficit(class)).max().unwrap_or(0)
    }

    /// What a class that still grows should take next.
    pub fn need(&self, class: &Tally) -> Need {
        let (mut of_any, mut of_kind) = (0, 0);
        for model in self.models() {
            let deficit = model.deficit(class);
            let slot = if model.counts_rows() { &mut of_any } else { &mut of_kind };
            *slot = deficit.max(*slot);
        }
        match (of_any, of_kind) {
            (0, 0) => Need::Nothing,
            // As long as there is room for the rows of a kind, the nearest row is the best row.
            (any, kind) if any > kind => Need::AnyRow(any - kind),
            _ => Need::DiverseRow,
        }
    }

    /// Whether a row with these codes lowers the deficit of a model that not every row helps.
    pub fn helps(&self, class: &Tally, codes: &[u32]) -> bool {
        self.models().any(|m| !m.counts_rows() && m.shortage(class) > 0 && m.gain(class, codes) > 0)
    }

    /// What a class lacks over all models, each in its own units.
    pub fn shortage(&self, class: &Tally) -> u64 {
        self.models().map(|model| model.shortage(class)).sum()
    }

    /// How much a row with these codes makes a class more diverse (`Div`, [Truta 2007, Def. 11]), with equal weights: the
    /// sum over the models that not every row helps of what it brings times what is lacking, both in rows.
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

    /// How far a class is from satisfying the models that not every row helps (`Hom`, [Truta 2007, Def. 12]), with equal
    /// weights; zero if and only if it satisfies all of them (Property 1).
    pub fn homogeneity(&self, class: &Tally) -> f64 {
        let of_kind = || self.models().filter(|model| !model.counts_rows());
        let lacking = of_kind().map(|model| model.shortage(class) as f64 / model.max_gain_per_row() as f64);
        lacking.sum::<f64>() / of_kind().count().max(1) as f64
    }
}

/// What a growing class should take next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Need {
    /// It satisfies every model.
    Nothing,
    /// So many rows of any kind.
    AnyRow(u64),
    /// A row that [`Privacy::helps`].
    DiverseRow,
}

#[cfg(test)]
#[path = "model_tests.rs"]
mod tests;

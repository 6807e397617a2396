//! Privacy models: what a class must have before it may be released.
//!
//! A model answers two questions, and the algorithms ask no others: how far is this class from satisfying you (its
//! *deficit*, zero when satisfied), and does this row help? Every model here is monotone: a class that satisfies it
//! still does when rows join it. So models combine freely with each other and with every algorithm.

mod histogram;
mod k_anonymity;
mod p_sensitive;
mod tally;

use std::fmt::Debug;

pub use k_anonymity::KAnonymity;
pub use p_sensitive::PSensitive;
pub use tally::Tally;

use crate::table::Table;

/// One requirement on every class.
pub trait Model: Debug + Send + Sync {
    /// The name of the model in reports.
    fn name(&self) -> &'static str;

    /// The sensitive column that the model speaks of, as an index.
    fn column(&self) -> Option<usize>;

    /// What a class must reach.
    fn required(&self) -> u64;

    /// What this class has reached.
    fn achieved(&self, class: &Tally) -> u64;

    /// How many rows this class lacks at least; zero when it satisfies the model.
    fn deficit(&self, class: &Tally) -> u64 {
        self.required().saturating_sub(self.achieved(class))
    }

    /// Whether one more row with these sensitive codes lowers the deficit of an unsatisfied class.
    fn helps(&self, class: &Tally, codes: &[u32]) -> bool;

    /// Whether a class that satisfies the model still does without one of its rows, which has these codes.
    fn spares(&self, class: &Tally, codes: &[u32]) -> bool;

    /// Whether every row helps, whatever its sensitive values.
    fn any_row_helps(&self) -> bool {
        false
    }
}

/// The models of one release, taken together.
#[derive(Debug)]
pub struct Privacy {
    models: Vec<Box<dyn Model>>,
}

impl Privacy {
    /// All of these models at once.
    pub fn new(models: Vec<Box<dyn Model>>) -> Self {
        Self { models }
    }

    /// p-sensitive k-anonymity over so many sensitive columns (Def. 3). With `p` of 1 or less the sensitive columns
    /// promise nothing, and plain k-anonymity is left.
    pub fn p_sensitive_k_anonymity(k: u64, p: u64, sensitive_columns: usize) -> Self {
        let mut models: Vec<Box<dyn Model>> = vec![Box::new(KAnonymity::new(k))];
        if p > 1 {
            models.extend((0..sensitive_columns).map(|column| Box::new(PSensitive::new(p, column)) as Box<dyn Model>));
        }
        Self { models }
    }

    /// The models, one by one.
    pub fn models(&self) -> impl Iterator<Item = &dyn Model> {
        self.models.iter().map(AsRef::as_ref)
    }

    /// Whether a class satisfies every model.
    pub fn is_satisfied(&self, class: &Tally) -> bool {
        self.models().all(|model| model.deficit(class) == 0)
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
    pub fn spares(&self, class: &Tally, codes: &[u32]) -> bool {
        self.models().all(|model| model.spares(class, codes))
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
            let slot = if model.any_row_helps() { &mut of_any } else { &mut of_kind };
            *slot = deficit.max(*slot);
        }
        match (of_any, of_kind) {
            (0, 0) => Need::Nothing,
            // As long as there is room for the rows of a kind, the nearest row is the best row.
            (any, kind) if any > kind => Need::Any(any - kind),
            _ => Need::Helping,
        }
    }

    /// Whether a row with these codes lowers the deficit of a model that not every row helps.
    pub fn helps(&self, class: &Tally, codes: &[u32]) -> bool {
        self.models().any(|m| !m.any_row_helps() && m.deficit(class) > 0 && m.helps(class, codes))
    }
}

/// What a growing class should take next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Need {
    /// It satisfies every model.
    Nothing,
    /// So many rows of any kind.
    Any(u64),
    /// A row that [`Privacy::helps`].
    Helping,
}

#[cfg(test)]
#[path = "model_tests.rs"]
mod tests;

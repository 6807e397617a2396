//! Privacy models: requirements on every released class.
//!
//! Algorithms ask a model how far a class is from satisfying it (its *deficit*, zero when satisfied), whether a row helps,
//! and whether the class can lose a row. A model declares what it is [closed under](ClosedUnder), and algorithms rely on
//! that and on nothing else:
//!
//! - **adding rows**: a class that satisfies the model still does after any row joins it (k, p, weights);
//! - **merging**: two classes that satisfy the model still do together, but one more row may break it (shares, entropy,
//!   distances between distributions).
//!
//! A model that is closed under adding rows is closed under merging too. A set of classes can therefore always be
//! repaired by merging, as long as all of their rows together satisfy the models.

mod closeness;
mod disclosure;
mod entropy;
mod frequencies;
mod frequency_model;
mod histogram;
mod k_anonymity;
mod likeness;
mod list_model;
mod max_share;
mod p_sensitive;
mod recursive;
mod requirement;
mod tally;
mod unit_anonymity;
mod unit_diversity;
mod value_range;
mod weight;

use std::fmt::Debug;
use std::sync::Arc;

pub use frequency_model::frequency_model;
pub use k_anonymity::KAnonymity;
pub(crate) use list_model::highest_p;
pub use list_model::{ListDiversity, ListShare};
pub use p_sensitive::{CodeMeaning, PSensitive};
pub use requirement::{
    CONSTRAINED, FrequencyRequirement, GroundDistance, K_ANONYMITY, LimitKind, P_SENSITIVITY, caption_of,
    describe_requirement, limit_kind_of, limits_frequencies,
};
pub(crate) use tally::SINGLE;
pub use tally::{Tally, TallyShape};
pub use unit_anonymity::UnitAnonymity;
pub use unit_diversity::UnitDiversity;
pub use weight::CategoryWeight;

pub(crate) use requirement::{
    ALPHA_WEIGHT, BANDED_P_SENSITIVITY, CATEGORY_P_SENSITIVITY, EXTENDED_P_SENSITIVITY, LIST_DIVERSITY,
};

use crate::feasibility::Shortfall;
use crate::table::{SensitiveColumn, Table};

/// The operations that preserve a model in a class that satisfies it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClosedUnder {
    /// Adding any row, and so merging with any class.
    AddingRows,
    /// Merging with another class that satisfies the model.
    Merging,
}

/// Tests the sensitive codes of a row.
pub type RowTest<'a> = Box<dyn Fn(&[u32]) -> bool + 'a>;

/// One requirement on every class.
pub trait Model: Debug + Send + Sync {
    /// Returns the name of the model in reports.
    fn name(&self) -> &'static str;

    /// Returns the weight of the model in the diversity that algorithms maximize; greater than zero.
    fn weight_in_diversity(&self) -> f64 {
        1.0
    }

    /// Returns the sensitive column of the model, as an index into [`Table::sensitive`].
    fn column(&self) -> Option<usize>;

    /// Returns what the model is closed under. A model that counts is closed under adding rows.
    fn closed_under(&self) -> ClosedUnder {
        if self.counting().is_some() { ClosedUnder::AddingRows } else { ClosedUnder::Merging }
    }

    /// Returns a lower bound of the missing rows; zero if and only if the class satisfies the model. That of a model that counts
    /// follows from its shortage; a model that neither counts nor implements this accepts no class.
    fn deficit(&self, class: &Tally) -> u64 {
        self.counting().map_or(u64::MAX, |model| model.shortage(class).div_ceil(model.max_gain_per_row()))
    }

    /// Whether one more row with these sensitive codes brings a class that does not satisfy the model closer to it.
    fn helps(&self, class: &Tally, codes: &[u32]) -> bool {
        self.counting().is_some_and(|model| model.shortage(class) > 0 && model.gain(class, codes) > 0)
    }

    /// Returns [`Model::helps`] for one class and many rows.
    fn helper<'a>(&'a self, class: &'a Tally) -> RowTest<'a> {
        Box::new(move |codes| self.helps(class, codes))
    }

    /// Whether a class that satisfies the model still does without one of its rows, which has these codes.
    fn can_lose(&self, class: &Tally, codes: &[u32]) -> bool;

    /// Returns an upper bound of the number of classes that the rows of `class` can form [Truta 2007, Condition 2].
    fn max_classes(&self, class: &Tally) -> u64;

    /// Returns the reason why all rows of a table together do not satisfy the model. `column` is the name of its
    /// column.
    fn shortfall(&self, column: &str, whole: &Tally) -> Shortfall;

    /// Returns the model as a counting model, if it is one.
    fn counting(&self) -> Option<&dyn CountingModel> {
        None
    }

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

    /// Whether [`Model::for_release`] returns another model.
    fn needs_release(&self) -> bool {
        false
    }

    /// Returns the model with the rows of a release as its reference, if it compares classes with the whole release or
    /// needs the values behind codes. Until then such a model accepts every class.
    fn for_release(&self, _columns: &[SensitiveColumn], _released: &Tally) -> Option<Arc<dyn Model>> {
        None
    }
}

/// A model that counts units (rows, distinct values, weights) towards a required number. Closed under adding rows.
pub trait CountingModel: Model {
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

    /// Returns the missing units; zero when the class satisfies the model.
    fn shortage(&self, class: &Tally) -> u64 {
        self.required().saturating_sub(self.achieved(class))
    }
}

/// All models of one release; a class must satisfy each.
#[derive(Clone, Debug)]
pub struct Privacy {
    models: Vec<Arc<dyn Model>>,
    /// Whether classes may share the rows of a cell.
    lends: bool,
}

impl Privacy {
    /// Combines models.
    pub fn new(models: Vec<Arc<dyn Model>>) -> Self {
        Self { models, lends: true }
    }

    /// Returns the same models for classes of whole cells: no class borrows rows of a cell that another class has too, so
    /// every class satisfies the models with its own rows alone.
    #[must_use]
    pub fn without_lending(self) -> Self {
        Self { lends: false, ..self }
    }

    /// Whether classes may share the rows of a cell.
    pub fn lends(&self) -> bool {
        self.lends
    }

    /// Creates p-sensitive k-anonymity over `sensitive_columns` sensitive columns [Truta 2007, Def. 3]. With `p` of 1
    /// or less this is plain k-anonymity.
    pub fn p_sensitive_k_anonymity(k: u64, p: u64, sensitive_columns: usize) -> Self {
        let mut models: Vec<Arc<dyn Model>> = vec![Arc::new(KAnonymity::new(k))];
        if p > 1 {
            let of_column = |column| Arc::new(PSensitive::new(p, column, CodeMeaning::Values)) as Arc<dyn Model>;
            models.extend((0..sensitive_columns).map(of_column));
        }
        Self::new(models)
    }

    /// Adds models.
    #[must_use]
    pub fn with(mut self, models: impl IntoIterator<Item = Arc<dyn Model>>) -> Self {
        self.models.extend(models);
        self
    }

    /// Returns all models that a class must satisfy.
    pub fn models(&self) -> impl Iterator<Item = &dyn Model> {
        self.models.iter().map(AsRef::as_ref)
    }

    /// Returns the counting models, including those that count rows.
    pub fn counting_models(&self) -> impl Iterator<Item = &dyn CountingModel> {
        self.models().filter_map(|model| model.counting())
    }

    /// Returns the minimum number of rows of a class.
    pub fn least_rows(&self) -> u64 {
        let of_rows = self.counting_models().filter(|model| model.counts_rows());
        of_rows.map(|model| model.required()).fold(1, u64::max)
    }

    /// Returns the counting models that depend on sensitive values.
    pub fn counting_diversity(&self) -> impl Iterator<Item = &dyn CountingModel> {
        self.counting_models().filter(|model| !model.counts_rows())
    }

    /// Returns the models that depend on sensitive values.
    pub fn diversity_models(&self) -> impl Iterator<Item = &dyn Model> {
        self.models().filter(|model| !model.counts_rows())
    }

    /// Whether every model is closed under adding rows.
    pub fn is_closed_under_adding_rows(&self) -> bool {
        self.models().all(|model| model.closed_under() == ClosedUnder::AddingRows)
    }

    /// Returns the models that are closed under adding rows, without the others.
    #[must_use]
    pub fn closed_under_adding_rows(&self) -> Self {
        self.filtered(|model| model.closed_under() == ClosedUnder::AddingRows)
    }

    /// Returns the models that are closed under merging, and not under adding rows.
    #[must_use]
    pub fn closed_under_merging_only(&self) -> Self {
        self.filtered(|model| model.closed_under() == ClosedUnder::Merging)
    }

    /// Returns the models without those of (p+, alpha)-sensitivity.
    #[must_use]
    pub fn without_p_plus_alpha(&self) -> Self {
        self.filtered(|model| !model.is_p_plus_alpha())
    }

    fn filtered(&self, keeps: impl Fn(&dyn Model) -> bool) -> Self {
        let models = self.models.iter().filter(|model| keeps(model.as_ref())).cloned().collect();
        Self { models, lends: self.lends }
    }

    /// Whether a model needs to know the release; see [`Model::for_release`].
    pub fn needs_release(&self) -> bool {
        self.models().any(|model| model.needs_release())
    }

    /// Returns the models with the rows of a release as the reference of those that need one; see
    /// [`Model::for_release`].
    #[must_use]
    pub fn for_release(&self, columns: &[SensitiveColumn], released: &Tally) -> Self {
        let bound = |model: &Arc<dyn Model>| model.for_release(columns, released).unwrap_or_else(|| Arc::clone(model));
        Self { models: self.models.iter().map(bound).collect(), lends: self.lends }
    }

    /// Whether a class satisfies every model.
    pub fn is_satisfied(&self, class: &Tally) -> bool {
        self.models().all(|model| model.deficit(class) == 0)
    }

    /// Whether a class satisfies every diversity model, whatever its number of rows.
    pub fn is_diverse(&self, class: &Tally) -> bool {
        self.diversity_models().all(|model| model.deficit(class) == 0)
    }

    /// Whether these cells together satisfy every model. Stops as soon as they do, if no further row can break a model.
    pub fn is_satisfied_by(&self, table: &Table, cells: impl IntoIterator<Item = u32>) -> bool {
        if !self.is_closed_under_adding_rows() {
            return self.is_satisfied(&Tally::of_cells(table, cells));
        }
        let mut class = Tally::empty(table.tally_shape());
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
            // While there is still room for the missing diverse rows, the nearest row is best.
            (any, kind) if any > kind => Need::AnyRow(any - kind),
            (_, kind) => Need::DiverseRow(kind),
        }
    }

    /// Whether a row with these codes lowers the deficit of a diversity model.
    pub fn helps(&self, class: &Tally, codes: &[u32]) -> bool {
        self.models().any(|model| !model.counts_rows() && model.helps(class, codes))
    }

    /// Returns [`Privacy::helps`] for one class and many rows.
    pub fn helper<'a>(&'a self, class: &'a Tally) -> impl Fn(&[u32]) -> bool + 'a {
        let models = self.models().filter(|model| !model.counts_rows());
        let helpers: Vec<_> = models.map(|model| model.helper(class)).collect();
        move |codes| helpers.iter().any(|helps| helps(codes))
    }

    /// Returns the sum of the missing units over all counting models, each in its own units.
    pub fn shortage(&self, class: &Tally) -> u64 {
        self.counting_models().map(|model| model.shortage(class)).sum()
    }

    /// Returns how much a row with these codes makes a class more diverse (`Div` [Truta 2007, Def. 11]): the weighted mean
    /// over counting diversity models of its gain times the shortage, both in rows.
    pub fn diversity(&self, class: &Tally, codes: &[u32]) -> f64 {
        let (mut sum, mut weights) = (0.0, 0.0);
        for model in self.counting_diversity() {
            let weight = model.weight_in_diversity();
            weights += weight;
            let lacking = model.shortage(class);
            if lacking > 0 {
                let units = model.max_gain_per_row() as f64;
                sum += weight * (model.gain(class, codes).min(lacking) as f64 / units) * (lacking as f64 / units);
            }
        }
        if weights == 0.0 { 0.0 } else { sum / weights }
    }

    /// Returns how far a class is from satisfying the counting diversity models (`Hom` [Truta 2007, Def. 12]), as a
    /// weighted mean; zero if and only if it satisfies all of them [Truta 2007, Property 1].
    pub fn homogeneity(&self, class: &Tally) -> f64 {
        let (mut sum, mut weights) = (0.0, 0.0);
        for model in self.counting_diversity() {
            let weight = model.weight_in_diversity();
            weights += weight;
            sum += weight * model.shortage(class) as f64 / model.max_gain_per_row() as f64;
        }
        if weights == 0.0 { 0.0 } else { sum / weights }
    }
}

/// The row that a growing class should take next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Need {
    /// None: the class satisfies every model.
    Nothing,
    /// Up to this many rows of any kind.
    AnyRow(u64),
    /// A row that [`Privacy::helps`]; at least this many are missing.
    DiverseRow(u64),
}

#[cfg(test)]
#[path = "model_tests.rs"]
mod tests;

#[cfg(test)]
#[path = "frequency_tests.rs"]
mod frequency_tests;

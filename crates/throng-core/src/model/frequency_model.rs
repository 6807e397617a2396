//! Models that depend on the frequencies of the values of one sensitive column. They are closed under merging only.
//!
//! Each of them is a [`Measure`]: a number that is positive if and only if the class violates the model, and falls as the
//! class comes closer to satisfying it. All answers to algorithms follow from that number.

use std::fmt::Debug;
use std::sync::Arc;

use super::closeness::Closeness;
use super::disclosure::Disclosure;
use super::entropy::EntropyDiversity;
use super::frequencies::Frequencies;
use super::likeness::Likeness;
use super::max_share::MaxShare;
use super::recursive::RecursiveDiversity;
use super::value_range::LeastRange;
use super::{ClosedUnder, FrequencyRequirement, Model, RowTest, Tally};
use crate::domain::NULL;
use crate::feasibility::Shortfall;
use crate::table::SensitiveColumn;

/// Violation of a model by the frequencies of a class.
pub(super) trait Measure: Debug + Send + Sync {
    /// Returns a number that is positive if and only if the frequencies violate the model; it falls as they come closer
    /// to satisfying it. A class without any value satisfies every measure except those of diversity.
    fn excess(&self, of: Frequencies<'_>) -> f64;

    /// Returns a function for the excess after one more row with a code, if computing it for many codes at once is
    /// faster.
    fn excess_with<'a>(&'a self, _of: Frequencies<'a>) -> Option<Box<dyn Fn(u32) -> f64 + 'a>> {
        None
    }

    /// Returns a lower bound of the number of rows that a class with this excess, which must be positive, lacks.
    fn missing_rows(&self, of: Frequencies<'_>, excess: f64) -> u64;

    /// Returns the measure with the frequencies of a release as its reference, if it has one.
    fn for_release(&self, _column: &SensitiveColumn, _released: Frequencies<'_>) -> Option<Arc<dyn Measure>> {
        None
    }
}

/// Returns whether one more row with a code lowers the excess of a violating class.
fn falls_with<'a>(measure: &'a dyn Measure, of: Frequencies<'a>) -> Box<dyn Fn(u32) -> bool + 'a> {
    let excess = measure.excess(of);
    if excess <= 0.0 {
        return Box::new(|_| false);
    }
    match measure.excess_with(of) {
        Some(excess_with) => Box::new(move |code| code != NULL && excess_with(code) < excess),
        None => Box::new(move |code| measure.excess(of.with(code)) < excess),
    }
}

/// A measure of one sensitive column.
#[derive(Clone, Debug)]
struct FrequencyModel {
    requirement: FrequencyRequirement,
    column: usize,
    measure: Arc<dyn Measure>,
}

/// Creates the model of a requirement on the sensitive column with this index.
pub fn frequency_model(requirement: FrequencyRequirement, column: usize) -> Arc<dyn Model> {
    let measure: Arc<dyn Measure> = match requirement {
        FrequencyRequirement::MaxShare(share) => Arc::new(MaxShare { share }),
        FrequencyRequirement::EntropyDiversity { l } => Arc::new(EntropyDiversity { l }),
        FrequencyRequirement::RecursiveDiversity { c, l } => Arc::new(RecursiveDiversity { c, l }),
        FrequencyRequirement::Closeness { t, distance } => Arc::new(Closeness::new(t, distance)),
        FrequencyRequirement::Likeness { beta } => Arc::new(Likeness { beta, reference: None }),
        FrequencyRequirement::Disclosure { delta } => Arc::new(Disclosure { factor: delta.exp(), reference: None }),
        FrequencyRequirement::ValueRange(least) => return Arc::new(LeastRange { least, column, numbers: None }),
    };
    Arc::new(FrequencyModel { requirement, column, measure })
}

impl Model for FrequencyModel {
    fn name(&self) -> &'static str {
        self.requirement.name()
    }

    fn column(&self) -> Option<usize> {
        Some(self.column)
    }

    fn closed_under(&self) -> ClosedUnder {
        ClosedUnder::Merging
    }

    fn deficit(&self, class: &Tally) -> u64 {
        let frequencies = class.frequencies(self.column);
        let excess = self.measure.excess(frequencies);
        if excess > 0.0 { self.measure.missing_rows(frequencies, excess).max(1) } else { 0 }
    }

    fn helps(&self, class: &Tally, codes: &[u32]) -> bool {
        self.helper(class)(codes)
    }

    fn helper<'a>(&'a self, class: &'a Tally) -> RowTest<'a> {
        let falls = falls_with(self.measure.as_ref(), class.frequencies(self.column));
        Box::new(move |codes| falls(codes[self.column]))
    }

    fn can_lose(&self, class: &Tally, codes: &[u32]) -> bool {
        self.measure.excess(class.frequencies(self.column).without(codes[self.column])) <= 0.0
    }

    fn max_classes(&self, class: &Tally) -> u64 {
        class.rows()
    }

    fn shortfall(&self, column: &str, _whole: &Tally) -> Shortfall {
        Shortfall::Frequency { column: column.to_owned(), model: self.name() }
    }

    fn needs_release(&self) -> bool {
        self.requirement.compares_with_release()
    }

    fn for_release(&self, columns: &[SensitiveColumn], released: &Tally) -> Option<Arc<dyn Model>> {
        let measure = self.measure.for_release(&columns[self.column], released.frequencies(self.column))?;
        Some(Arc::new(Self { measure, ..self.clone() }))
    }
}

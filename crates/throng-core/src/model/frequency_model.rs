//! Models that depend on the frequencies of the values of one sensitive column. They are closed under merging only.
//!
//! Each of them is a [`Measure`]: a number that is positive if and only if the class violates the model, and falls as the
//! class comes closer to satisfying it. Everything that algorithms ask follows from that number.

use std::fmt::Debug;
use std::sync::Arc;

use super::closeness::Closeness;
use super::entropy::EntropyDiversity;
use super::frequencies::Frequencies;
use super::likeness::Likeness;
use super::max_share::MaxShare;
use super::recursive::RecursiveDiversity;
use super::value_range::LeastRange;
use super::{ClosedUnder, FrequencyRequirement, Model, Tally};
use crate::feasibility::Shortfall;
use crate::table::SensitiveColumn;

/// Violation of a model by the frequencies of a class.
pub(super) trait Measure: Debug + Send + Sync {
    /// Returns a number that is positive if and only if the frequencies violate the model; it falls as they come closer
    /// to satisfying it. A class without any value satisfies every measure but those of diversity.
    fn excess(&self, of: Frequencies<'_>) -> f64;

    /// Returns a lower bound of the rows that a violating class lacks; at least one.
    fn missing_rows(&self, of: Frequencies<'_>) -> u64;

    /// Returns the measure with the frequencies of a release as its reference, if it has one.
    fn for_release(&self, _column: &SensitiveColumn, _released: Frequencies<'_>) -> Option<Arc<dyn Measure>> {
        None
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
        if self.measure.excess(frequencies) > 0.0 { self.measure.missing_rows(frequencies).max(1) } else { 0 }
    }

    fn helps(&self, class: &Tally, codes: &[u32]) -> bool {
        let frequencies = class.frequencies(self.column);
        let excess = self.measure.excess(frequencies);
        excess > 0.0 && self.measure.excess(frequencies.with(codes[self.column])) < excess
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
        matches!(self.requirement, FrequencyRequirement::Closeness { .. } | FrequencyRequirement::Likeness { .. })
    }

    fn for_release(&self, columns: &[SensitiveColumn], released: &Tally) -> Option<Arc<dyn Model>> {
        let measure = self.measure.for_release(&columns[self.column], released.frequencies(self.column))?;
        Some(Arc::new(Self { measure, ..self.clone() }))
    }
}

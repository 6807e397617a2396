//! k-anonymity [Truta 2007, Def. 2]: every class has at least k rows.

use super::{CountingModel, K_ANONYMITY, Model, Tally};
use crate::feasibility::Shortfall;

/// Requires at least `k` rows.
#[derive(Clone, Copy, Debug)]
pub struct KAnonymity {
    k: u64,
}

impl KAnonymity {
    /// Requires at least `k` rows.
    pub fn new(k: u64) -> Self {
        Self { k }
    }
}

impl Model for KAnonymity {
    fn name(&self) -> &'static str {
        K_ANONYMITY
    }

    fn column(&self) -> Option<usize> {
        None
    }

    fn can_lose(&self, class: &Tally, _codes: &[u32]) -> bool {
        class.rows() > self.k
    }

    fn max_classes(&self, class: &Tally) -> u64 {
        class.rows() / self.k.max(1)
    }

    fn shortfall(&self, _column: &str, whole: &Tally) -> Shortfall {
        Shortfall::Rows { rows: whole.rows(), k: self.k }
    }

    fn counting(&self) -> Option<&dyn CountingModel> {
        Some(self)
    }

    fn counts_rows(&self) -> bool {
        true
    }
}

impl CountingModel for KAnonymity {
    fn required(&self) -> u64 {
        self.k
    }

    fn achieved(&self, class: &Tally) -> u64 {
        class.rows()
    }

    fn gain(&self, _class: &Tally, _codes: &[u32]) -> u64 {
        1
    }
}

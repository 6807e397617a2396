//! p-sensitivity [Truta 2007, Def. 3]: every class has at least p distinct values of a sensitive column, null not
//! counted.
//!
//! The sensitive coding of the column decides which values count as one: the value itself, its strong ancestor
//! (extended p-sensitivity [Truta 2007, Def. 6]), its category (the p+ of [Sun 2008]), or its band.

use super::{
    BANDED_P_SENSITIVITY, CATEGORY_P_SENSITIVITY, CountingModel, EXTENDED_P_SENSITIVITY, Model, P_SENSITIVITY, Tally,
};
use crate::domain::NULL;
use crate::feasibility::{Shortfall, max_classes};

/// Requires at least `p` distinct codes of one sensitive column.
#[derive(Clone, Copy, Debug)]
pub struct PSensitive {
    p: u64,
    column: usize,
    counted: CodeMeaning,
    weight: f64,
}

/// Meaning of the codes of a sensitive column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CodeMeaning {
    /// Distinct values.
    Values,
    /// Highest protected ancestors of values.
    StrongValues,
    /// Sensitive categories of values.
    Categories,
    /// Bands of numbers or dates.
    Bands,
}

impl PSensitive {
    /// Requires at least `p` distinct codes of the sensitive column with this index.
    pub fn new(p: u64, column: usize, counted: CodeMeaning) -> Self {
        Self { p, column, counted, weight: 1.0 }
    }

    /// Sets the weight of the column in the diversity that algorithms maximize; greater than zero.
    #[must_use]
    pub fn with_weight(self, weight: f64) -> Self {
        Self { weight, ..self }
    }
}

impl Model for PSensitive {
    fn name(&self) -> &'static str {
        match self.counted {
            CodeMeaning::Values => P_SENSITIVITY,
            CodeMeaning::StrongValues => EXTENDED_P_SENSITIVITY,
            CodeMeaning::Categories => CATEGORY_P_SENSITIVITY,
            CodeMeaning::Bands => BANDED_P_SENSITIVITY,
        }
    }

    fn weight_in_diversity(&self) -> f64 {
        self.weight
    }

    fn column(&self) -> Option<usize> {
        Some(self.column)
    }

    fn can_lose(&self, class: &Tally, codes: &[u32]) -> bool {
        let is_last = codes[self.column] != NULL && class.count(self.column, codes[self.column]) == 1;
        class.distinct(self.column) >= self.p + u64::from(is_last)
    }

    fn max_classes(&self, class: &Tally) -> u64 {
        max_classes(class.counts(self.column).map(|(_, rows)| rows).collect(), self.p)
    }

    fn shortfall(&self, column: &str, whole: &Tally) -> Shortfall {
        Shortfall::Distinct { column: column.to_owned(), distinct: whole.distinct(self.column), p: self.p }
    }

    fn counting(&self) -> Option<&dyn CountingModel> {
        Some(self)
    }

    fn distinct_values(&self) -> Option<u64> {
        Some(self.p)
    }

    fn is_p_plus_alpha(&self) -> bool {
        self.counted == CodeMeaning::Categories
    }
}

impl CountingModel for PSensitive {
    fn required(&self) -> u64 {
        self.p
    }

    fn achieved(&self, class: &Tally) -> u64 {
        class.distinct(self.column)
    }

    fn gain(&self, class: &Tally, codes: &[u32]) -> u64 {
        u64::from(codes[self.column] != NULL && class.count(self.column, codes[self.column]) == 0)
    }
}

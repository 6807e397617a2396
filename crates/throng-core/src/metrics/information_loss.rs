//! IL: information loss [Truta 2007, Def. 9]: the width of an interval over the range, or the height of a node over the
//! height of the hierarchy, times the size of the class.

use super::total;
use crate::recode::Recoding;

/// Returns the contribution of a column to the total information loss.
pub fn information_loss(recoding: &Recoding, column: usize) -> f64 {
    total(recoding, |class| recoding.information_loss(class, column))
}

//! IL: the information loss of Def. 9. A number loses its interval's share of the range, a category the height of its
//! node over the height of the hierarchy; both times the size of the class.

use super::total;
use crate::recode::Recoding;

/// The part of a column in the total information loss.
pub fn information_loss(recoding: &Recoding, column: usize) -> f64 {
    total(recoding, |class| recoding.information_loss(class, column))
}

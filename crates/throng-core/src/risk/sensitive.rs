//! What classes give away of a sensitive column: a class in which all have the same value needs nobody to be found.

use super::columns::projected;
use crate::domain::NULL;
use crate::error::Result;
use crate::survey::CountedTuples;

/// What the classes give away of one sensitive column.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SensitiveRisk {
    /// The name of the column.
    pub name: String,
    /// Its distinct values; null is none.
    pub distinct: u64,
    /// The fewest distinct values in a class; the p that the table has as it is.
    pub fewest: u64,
    /// Classes with at most one value, nulls not counted.
    pub uniform_classes: u64,
    /// Rows in these classes.
    pub uniform_rows: u64,
}

/// What tuples of quasi-identifiers, so many, and then of these sensitive columns give away.
pub(super) fn sensitive(tuples: &CountedTuples, quasi: usize, names: &[String]) -> Result<Vec<SensitiveRisk>> {
    let of_column = |(index, name): (usize, &String)| {
        let column = quasi + index;
        let distinct = projected(tuples, |other| other == column)?;
        let mut found = SensitiveRisk {
            name: name.clone(),
            distinct: distinct.iter().filter(|(value, _)| value[0] != NULL).count() as u64,
            fewest: 0,
            uniform_classes: 0,
            uniform_rows: 0,
        };
        let pairs = projected(tuples, |other| other < quasi || other == column)?;
        let mut order: Vec<usize> = (0..pairs.len()).collect();
        order.sort_unstable_by(|a, b| pairs.tuple(*a).cmp(pairs.tuple(*b)));
        let classes = order.chunk_by(|a, b| pairs.tuple(*a)[..quasi] == pairs.tuple(*b)[..quasi]);
        let values = |class: &[usize]| class.iter().filter(|pair| pairs.tuple(**pair)[quasi] != NULL).count() as u64;
        let mut fewest = None;
        for class in classes {
            let values = values(class);
            fewest = Some(fewest.map_or(values, |fewest: u64| fewest.min(values)));
            if values <= 1 {
                found.uniform_classes += 1;
                found.uniform_rows += class.iter().map(|pair| u64::from(pairs.rows(*pair))).sum::<u64>();
            }
        }
        found.fewest = fewest.unwrap_or(0);
        Ok(found)
    };
    names.iter().enumerate().map(of_column).collect()
}

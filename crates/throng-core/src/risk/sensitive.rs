//! Attribute disclosure: a class with a single sensitive value discloses it without re-identification.

use super::columns::projected;
use crate::domain::NULL;
use crate::error::Result;
use crate::survey::CountedTuples;

/// Attribute disclosure of one sensitive column.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SensitiveRisk {
    /// Name of the column.
    pub name: String,
    /// Number of distinct values, without null.
    pub distinct: u64,
    /// Least number of distinct values in a class: the p of the table as it is.
    pub fewest: u64,
    /// Number of classes with at most one distinct value, null not counted.
    pub uniform_classes: u64,
    /// Number of rows in these classes.
    pub uniform_rows: u64,
}

/// Computes attribute disclosure from tuples of `quasi` quasi-identifiers followed by the sensitive columns.
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

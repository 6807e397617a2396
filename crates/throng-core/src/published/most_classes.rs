//! As many classes as possible: chooses the better of two published clusterings by the data.
//!
//! [Truta 2007] finds that EnhancedPKClustering forms more classes than GreedyPKClustering where p is high, takes longer
//! where it is low and forms as many, and suggests choosing between the two. p is high where it *binds*: where the
//! sensitive values allow fewer classes than k does [Truta 2007, Condition 2].

use super::{EnhancedPk, GreedyPk};
use crate::cluster::{Class, ClusterMethod};
use crate::model::{Privacy, Tally};
use crate::table::Table;

/// EnhancedPKClustering where sensitive values limit the number of classes, and GreedyPKClustering elsewhere.
#[derive(Clone, Copy, Debug)]
pub struct MostClasses;

impl ClusterMethod for MostClasses {
    fn cluster(&self, leaf: &[u32], table: &Table, privacy: &Privacy) -> Vec<Class> {
        match p_binds(&Tally::of_cells(table, leaf.iter().copied()), privacy) {
            true => EnhancedPk.cluster(leaf, table, privacy),
            false => GreedyPk.cluster(leaf, table, privacy),
        }
    }
}

/// Whether the sensitive values of these rows allow at most as many classes as k does.
fn p_binds(rows: &Tally, privacy: &Privacy) -> bool {
    let by_values = privacy.counting_diversity().map(|model| model.max_classes(rows)).min();
    by_values.is_some_and(|classes| classes <= rows.rows() / privacy.least_rows())
}

#[cfg(test)]
#[path = "most_classes_tests.rs"]
mod tests;

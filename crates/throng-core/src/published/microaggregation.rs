//! Microaggregation for any privacy model [Solanas 2008, Algorithm 1], generic over the choice of seeds.
//!
//! While the unassigned rows satisfy the models, one of them becomes the seed of the next class. The remaining rows
//! join the class with the closest centroid. [Solanas 2008] does not say whether a centroid moves when a row has
//! joined; here all centroids stay as they were when the last class was complete, so that the order of rows does not
//! matter.

use super::unassigned_points::{ClassMembers, UnassignedPoints};
use crate::cluster::Class;
use crate::cluster::euclidean_embedding::EuclideanEmbedding;
use crate::model::Privacy;
use crate::table::Table;

/// Forms the classes of a leaf. `seed` returns the cell of the next seed among the unassigned rows; `None` stops
/// growing.
pub(super) fn microaggregate(
    leaf: &[u32],
    table: &Table,
    privacy: &Privacy,
    mut seed: impl FnMut(&EuclideanEmbedding<'_>, &UnassignedPoints<'_>) -> Option<usize>,
) -> Vec<Class> {
    let space = EuclideanEmbedding::new(leaf, table);
    let mut unassigned = UnassignedPoints::new(&space, privacy);
    let mut classes = Vec::new();
    while privacy.is_satisfied(unassigned.tally()) {
        let Some(members) = seed(&space, &unassigned).and_then(|seed| unassigned.grow(seed)) else { break };
        classes.push(members);
    }
    if classes.is_empty() {
        return vec![Class::of_cells(table, leaf)];
    }
    join_closest(&space, unassigned, &mut classes);
    classes.into_iter().map(ClassMembers::into_class).collect()
}

/// Adds each unassigned row to the class with the closest centroid, the first among equals (lines 17 to 20).
fn join_closest(space: &EuclideanEmbedding<'_>, unassigned: UnassignedPoints<'_>, classes: &mut [ClassMembers]) {
    let mut closest: Vec<(usize, f64, usize)> = unassigned.cells().map(|local| (local, f64::INFINITY, 0)).collect();
    if closest.is_empty() {
        return;
    }
    for (number, class) in classes.iter().enumerate() {
        let distances = space.distances(&class.mean(space));
        for (local, least, home) in &mut closest {
            let distance = distances.to(space, *local);
            if distance < *least {
                (*least, *home) = (distance, number);
            }
        }
    }
    for (local, _, home) in closest {
        classes[home].extend(unassigned.rows_of(local));
    }
}

#[cfg(test)]
#[path = "microaggregation_tests.rs"]
mod tests;

//! No clustering: every leaf is one class.

use rayon::prelude::*;

use super::{Class, ClusterContext, ClusterMethod, FormedClasses};
use crate::model::Privacy;
use crate::partition::Leaf;
use crate::table::Table;

/// Makes every leaf one class, which covers what the leaf covers.
#[derive(Clone, Copy, Debug)]
pub struct OneClass;

impl ClusterMethod for OneClass {
    fn cluster(&self, leaf: &[u32], table: &Table, _privacy: &Privacy) -> Vec<Class> {
        vec![Class::of_cells(table, leaf)]
    }

    fn cluster_region(
        &self,
        leaves: &[Leaf],
        table: &Table,
        _privacy: &Privacy,
        context: &ClusterContext<'_>,
    ) -> FormedClasses {
        let class = |leaf: &Leaf| {
            context.advance(leaf.cells.len());
            Class { cover: leaf.cover.clone(), ..Class::of_cells(table, &leaf.cells) }
        };
        FormedClasses { classes: leaves.par_iter().map(class).collect(), cycles: 0 }
    }
}

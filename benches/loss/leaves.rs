//! Mondrian on rows: cuts the widest column at the allowed value border nearest to the median.

use std::cmp::Ordering;

use crate::rows::{Column, RowTable};

impl RowTable<'_> {
    /// Cuts rows into leaves of at most `most` rows, as far as both sides of a cut satisfy the model.
    pub(crate) fn leaves(&self, rows: Vec<u32>, most: usize) -> Vec<Vec<u32>> {
        if rows.len() <= most {
            return vec![rows];
        }
        let Some((left, right)) = self.halves(&rows) else { return vec![rows] };
        let (mut leaves, more) = rayon::join(|| self.leaves(left, most), || self.leaves(right, most));
        leaves.extend(more);
        leaves
    }

    fn halves(&self, rows: &[u32]) -> Option<(Vec<u32>, Vec<u32>)> {
        let first = *rows.first()?;
        let width = |column: &Column| {
            column.loss(rows.iter().fold(column.range(first), |range, row| range.with(column.range(*row))))
        };
        let mut columns: Vec<(f32, &Column)> = self.columns.iter().map(|column| (width(column), column)).collect();
        columns.retain(|(width, _)| *width > 0.0);
        columns.sort_by(|a, b| b.0.total_cmp(&a.0));
        columns.into_iter().find_map(|(_, column)| {
            let mut sorted = rows.to_vec();
            sorted.sort_unstable_by(|a, b| column.order(*a, *b).then(a.cmp(b)));
            let middle = sorted.len() / 2;
            let median = sorted[middle];
            let before = sorted.partition_point(|row| column.order(*row, median).is_lt());
            let after = sorted.partition_point(|row| column.order(*row, median).is_le());
            let mut cuts = [before, after];
            cuts.sort_by_key(|cut| cut.abs_diff(middle));
            cuts.into_iter().map(|cut| sorted.split_at(cut)).find_map(|(left, right)| {
                let is_allowed = self.is_satisfied(left) && self.is_satisfied(right);
                is_allowed.then(|| (left.to_vec(), right.to_vec()))
            })
        })
    }
}

impl Column {
    fn order(&self, a: u32, b: u32) -> Ordering {
        match self {
            Self::Number(values) => values[a as usize].total_cmp(&values[b as usize]),
            Self::Category { leaves, .. } => leaves[a as usize].cmp(&leaves[b as usize]),
        }
    }
}

//! Visits all intervals of the last number of a list of cells.

use super::axes::LineAxis;
use super::boxes::{BoxVisit, VisitBuffers};

impl<'a> BoxVisit<'a> {
    /// Visits the boxes of a list, which is ordered by this number, for all intervals of it.
    pub(super) fn intervals(&self, line: &LineAxis, list: &[u32], loss: f64, buffers: &mut VisitBuffers<'a>) {
        let limit = self.limit(list);
        let VisitBuffers { top, counter, ratios, best } = buffers;
        let groups: Vec<&[u32]> = list.chunk_by(|a, b| line.ranks[*a as usize] == line.ranks[*b as usize]).collect();
        let coordinate = |group: &[u32]| line.coordinates[line.ranks[group[0] as usize] as usize];
        best.clear();
        best.resize(groups.len(), f64::INFINITY);
        for (first, start) in groups.iter().enumerate() {
            top.clear();
            counter.clear();
            ratios.clear();
            for group in &groups[first..] {
                let loss = loss + coordinate(group) - coordinate(start);
                if loss >= limit {
                    break;
                }
                let mut is_satisfied = false;
                for cell in *group {
                    top.add(*cell, self.prices[*cell as usize], self.block.rows[*cell as usize]);
                    is_satisfied = counter.add(*cell);
                }
                let ratio = if is_satisfied { self.ratio(loss, top.sum()) } else { f64::INFINITY };
                if is_satisfied {
                    self.press(ratio, top);
                }
                ratios.push(ratio);
            }
            if !self.stop.count(ratios.len() as u64) {
                return;
            }
            // A value lies in all intervals that end at it or later.
            let mut least = f64::INFINITY;
            for (ratio, best) in ratios.iter().zip(&mut best[first..]).rev() {
                least = least.min(*ratio);
                *best = best.min(least);
            }
        }
        for (group, best) in groups.iter().zip(best) {
            if best.is_finite() {
                group.iter().for_each(|cell| self.offer(*cell, *best));
            }
        }
    }
}

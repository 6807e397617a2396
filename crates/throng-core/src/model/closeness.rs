//! t-closeness [Li 2007]: the distribution of the values of a class is at most `t` away from that of the whole release,
//! by the earth mover's distance.
//!
//! The distance is convex, so the union of two classes is at most as far away as the farther of them.

use std::sync::Arc;

use super::frequencies::Frequencies;
use super::frequency_model::Measure;
use super::requirement::GroundDistance;
use crate::hierarchy::CodeTree;
use crate::table::SensitiveColumn;

/// Limits the distance between the values of a class and those of the release.
#[derive(Clone, Debug)]
pub(super) struct Closeness {
    pub(super) t: f64,
    pub(super) distance: GroundDistance,
    /// Share of each code in the release; `None` before a release is known.
    pub(super) reference: Option<Arc<[f64]>>,
    /// Hierarchy of the codes, for the hierarchical distance; `None` before a release is known.
    pub(super) tree: Option<Arc<CodeTree>>,
}

impl Closeness {
    /// Creates the measure, which accepts every class before a release is known.
    pub(super) fn new(t: f64, distance: GroundDistance) -> Self {
        Self { t, distance, reference: None, tree: None }
    }

    fn distance(&self, of: Frequencies<'_>) -> f64 {
        let rows = of.rows();
        let Some(reference) = self.reference.as_deref().filter(|_| rows > 0) else { return 0.0 };
        match self.distance {
            GroundDistance::Equal => equal_distance(of, rows, reference),
            GroundDistance::Ordered => ordered_distance(of, rows, reference),
            GroundDistance::Hierarchical => match &self.tree {
                Some(tree) => hierarchical_distance(of, rows, reference, tree),
                // Without a hierarchy all values are equally far from each other.
                None => equal_distance(of, rows, reference),
            },
        }
    }
}

/// Returns the total variation distance.
fn equal_distance(of: Frequencies<'_>, rows: u64, reference: &[f64]) -> f64 {
    // Half of all differences is the sum of the positive ones.
    let above = |(code, count): (u32, u64)| (count as f64 / rows as f64 - share_of(reference, code)).max(0.0);
    match of.as_list() {
        Some(list) => list.iter().copied().map(above).sum(),
        None => of.iter().map(above).sum(),
    }
}

/// Returns the earth mover's distance with the difference in rank among the values of the release as the distance of two
/// values, normalized to 1 for the smallest and the largest.
fn ordered_distance(of: Frequencies<'_>, rows: u64, reference: &[f64]) -> f64 {
    let mut shares = vec![0.0; reference.len()];
    for (code, count) in of.iter() {
        if let Some(share) = shares.get_mut(code as usize) {
            *share = count as f64 / rows as f64;
        }
    }
    let (mut moved, mut sum, mut values) = (0.0_f64, 0.0, 0_u32);
    for (share, expected) in shares.iter().zip(reference).filter(|(_, expected)| **expected > 0.0) {
        moved += share - expected;
        sum += moved.abs();
        values += 1;
    }
    if values < 2 { 0.0 } else { sum / f64::from(values - 1) }
}

/// Returns the earth mover's distance with the height of the lowest common ancestor as the distance of two values
/// [Li 2007, section 4.3].
fn hierarchical_distance(of: Frequencies<'_>, rows: u64, reference: &[f64], tree: &CodeTree) -> f64 {
    let mut surplus: Vec<f64> = reference.iter().map(|expected| -expected).collect();
    for (code, count) in of.iter() {
        if let Some(surplus) = surplus.get_mut(code as usize) {
            *surplus += count as f64 / rows as f64;
        }
    }
    tree.cost_of_moving(&surplus)
}

impl Measure for Closeness {
    fn excess(&self, of: Frequencies<'_>) -> f64 {
        self.distance(of) - self.t
    }

    fn excess_with<'a>(&'a self, of: Frequencies<'a>) -> Option<Box<dyn Fn(u32) -> f64 + 'a>> {
        let reference = self.reference.as_deref()?;
        let is_equal = match self.distance {
            GroundDistance::Equal => true,
            GroundDistance::Ordered => false,
            GroundDistance::Hierarchical => self.tree.is_none(),
        };
        let rows = is_equal.then(|| of.rows() + 1)?;
        // One more row lowers the shares of all other values equally, whatever its own value is.
        let others = equal_distance(of, rows, reference);
        Some(Box::new(move |code| {
            let (count, share) = (of.count(code), share_of(reference, code));
            let above = |count: u64| (count as f64 / rows as f64 - share).max(0.0);
            others - above(count) + above(count + 1) - self.t
        }))
    }

    fn missing_rows(&self, of: Frequencies<'_>, excess: f64) -> u64 {
        // Each further row moves the distribution by at most its share of the class.
        let excess = excess.clamp(0.0, 0.999);
        (of.rows() as f64 * excess / (1.0 - excess)).ceil() as u64
    }

    fn for_release(&self, column: &SensitiveColumn, released: Frequencies<'_>) -> Option<Arc<dyn Measure>> {
        Some(Arc::new(Self { reference: Some(shares(released)), tree: column.tree.clone(), ..self.clone() }))
    }
}

/// Returns the share of a code in the release.
pub(super) fn share_of(reference: &[f64], code: u32) -> f64 {
    reference.get(code as usize).copied().unwrap_or(0.0)
}

/// Returns the share of each code; zero for codes that do not occur.
pub(super) fn shares(of: Frequencies<'_>) -> Arc<[f64]> {
    let rows = of.rows();
    let codes = of.iter().map(|(code, _)| code as usize + 1).max().unwrap_or(0);
    let mut shares = vec![0.0; codes];
    of.iter().for_each(|(code, count)| shares[code as usize] = count as f64 / rows as f64);
    shares.into()
}

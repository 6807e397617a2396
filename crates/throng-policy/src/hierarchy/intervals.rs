//! Interval hierarchies of numbers, in which each interval is nested in one of the next level.

use throng_core::hierarchy::HierarchySpec;

use crate::field_path::FieldPath;
use crate::problem::Report;
use crate::raw::MAX_LEVELS;

/// Relative tolerance of the ratio of two widths: `0.3 / 0.1` is not exactly 3.
const RATIO_TOLERANCE: f64 = 1e-9;

/// Builds intervals of the listed widths.
pub fn listed(widths: &[f64], origin: f64, path: &FieldPath, report: &mut Report<'_>) -> Option<HierarchySpec> {
    if widths.is_empty() {
        report.value(path, "is empty; give at least one width");
        return None;
    }
    let mut fits = true;
    for (position, width) in widths.iter().enumerate() {
        let before = position.checked_sub(1).map(|before| widths[before]);
        if *width <= 0.0 {
            fits = false;
            report.value(&path.index(position), "must be greater than zero");
        } else if let Some(before) = before.filter(|before| *before > 0.0)
            && !is_multiple(*width, before)
        {
            fits = false;
            report.value(
                &path.index(position),
                format!(
                    "{width} is not a multiple of the width before it, {before}; intervals must fit into the next level"
                ),
            );
        }
    }
    fits.then(|| HierarchySpec::Intervals { origin, widths: widths.to_vec() })
}

/// Returns whether `width` is at least twice, and an integer multiple of, the width before it.
fn is_multiple(width: f64, before: f64) -> bool {
    let ratio = width / before;
    let whole = ratio.round();
    whole >= 2.0 && (ratio - whole).abs() <= RATIO_TOLERANCE * whole
}

/// Builds intervals that grow by a constant factor per level. `path` is that of the table with the fields.
pub fn growing(
    width: f64,
    growth: u64,
    levels: u64,
    origin: f64,
    path: &FieldPath,
    report: &mut Report<'_>,
) -> Option<HierarchySpec> {
    let mut fits = true;
    if width <= 0.0 {
        fits = false;
        report.value(&path.key("width"), "must be greater than zero");
    }
    if growth < 2 {
        fits = false;
        report.value(&path.key("growth"), "must be at least 2, so that each level is coarser than the one before");
    }
    if !(1..=MAX_LEVELS).contains(&levels) {
        fits = false;
        report.value(&path.key("levels"), format!("must be from 1 to {MAX_LEVELS}"));
    }
    if !fits {
        return None;
    }
    let widths: Vec<f64> =
        std::iter::successors(Some(width), |before| Some(before * growth as f64)).take(levels as usize).collect();
    if widths.iter().any(|width| !width.is_finite()) {
        report.value(path, "its widths grow past the largest number; lower `levels` or `growth`");
        return None;
    }
    Some(HierarchySpec::Intervals { origin, widths })
}

//! Validates requirements on the frequencies of a sensitive column.

use throng_core::model::{FrequencyRequirement, GroundDistance};

use crate::field_path::FieldPath;
use crate::problem::Report;
use crate::raw::{RawColumn, RawDistance, RawRecursive};

/// Returns the fields about frequencies, and whether a column has them.
pub fn fields(column: &RawColumn) -> [(&'static str, bool); 8] {
    [
        ("max_share", column.max_share.is_some()),
        ("entropy_l", column.entropy_l.is_some()),
        ("recursive", column.recursive.is_some()),
        ("t", column.t.is_some()),
        ("distance", column.distance.is_some()),
        ("beta", column.beta.is_some()),
        ("delta_disclosure", column.delta_disclosure.is_some()),
        ("range", column.range.is_some()),
    ]
}

/// Returns the field that states a requirement.
pub fn field_of(requirement: &FrequencyRequirement) -> &'static str {
    match requirement {
        FrequencyRequirement::MaxShare(_) => "max_share",
        FrequencyRequirement::EntropyDiversity { .. } => "entropy_l",
        FrequencyRequirement::RecursiveDiversity { .. } => "recursive",
        FrequencyRequirement::Closeness { .. } => "t",
        FrequencyRequirement::Likeness { .. } => "beta",
        FrequencyRequirement::Disclosure { .. } => "delta_disclosure",
        FrequencyRequirement::ValueRange(_) => "range",
    }
}

/// Validates the requirements of a sensitive column, in the order of the reference.
pub fn frequencies(column: &RawColumn, path: &FieldPath, report: &mut Report<'_>) -> Vec<FrequencyRequirement> {
    let mut check = |field: &str, is_valid: bool, message: &str| {
        if !is_valid {
            report.value(&path.key(field), message);
        }
    };
    let mut found = Vec::new();
    if let Some(share) = column.max_share {
        check("max_share", share > 0.0 && share <= 1.0, "must be above 0 and at most 1: it is a share of a class");
        found.push(FrequencyRequirement::MaxShare(share));
    }
    if let Some(l) = column.entropy_l {
        check("entropy_l", l.is_finite() && l >= 1.0, "must be at least 1: every class has a value");
        found.push(FrequencyRequirement::EntropyDiversity { l });
    }
    if let Some(RawRecursive { c, l }) = column.recursive {
        check("recursive", c.is_finite() && c > 0.0 && l >= 1, "needs a `c` above 0 and an `l` of at least 1");
        found.push(FrequencyRequirement::RecursiveDiversity { c, l });
    }
    if let Some(t) = column.t {
        check("t", (0.0..=1.0).contains(&t), "must be from 0 to 1: distances between distributions are");
        let distance = match column.distance {
            Some(RawDistance::Ordered) => GroundDistance::Ordered,
            Some(RawDistance::Hierarchical) => GroundDistance::Hierarchical,
            Some(RawDistance::Equal) | None => GroundDistance::Equal,
        };
        found.push(FrequencyRequirement::Closeness { t, distance });
    }
    if let Some(beta) = column.beta {
        check("beta", beta.is_finite() && beta > 0.0, "must be above 0: it is a relative gain in frequency");
        found.push(FrequencyRequirement::Likeness { beta });
    }
    if let Some(delta) = column.delta_disclosure {
        check("delta_disclosure", delta.is_finite() && delta > 0.0, "must be above 0: it is the logarithm of a factor");
        found.push(FrequencyRequirement::Disclosure { delta });
    }
    if let Some(range) = column.range {
        check("range", range.is_finite() && range > 0.0, "must be above 0: it is a difference between two values");
        found.push(FrequencyRequirement::ValueRange(range));
    }
    if column.distance.is_some() && column.t.is_none() {
        report.field(&path.key("distance"), "has no use without `t`; set t, or take it out");
    }
    found
}

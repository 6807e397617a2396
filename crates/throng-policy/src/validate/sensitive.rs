//! Validates sensitive columns.

use std::path::Path;
use std::sync::Arc;

use throng_core::columns::{MAX_WEIGHT, Protection};
use throng_core::hierarchy::{HierarchySpec, MaskSide, Tree, label_range, mask_affix};
use throng_core::look_alikes::LookAlikeRule;
use throng_core::model::FrequencyRequirement;

use crate::field_path::FieldPath;
use crate::hierarchy::{self, labels};
use crate::policy::{Sensitive, SensitiveRelease, needs_hierarchy};
use crate::problem::Report;
use crate::raw;
use crate::settings::LookAlikes;

use super::categories::categories;
use super::frequencies::frequencies;

/// Validates the fields of a column with the role `sensitive`, except for its `p`, which depends on `[privacy]`.
pub fn sensitive(
    column: &raw::RawColumn,
    path: &FieldPath,
    folder: Option<&Path>,
    report: &mut Report<'_>,
) -> Sensitive {
    let categories = column.categories.as_ref().map(|list| categories(list, &path.key("categories"), report));
    let hierarchy = hierarchy(column, path, folder, report);
    let protection = protection(column, hierarchy.as_ref(), path, report).map(Arc::new);
    let release = release(column, &path.key("release"), report);
    if protection.is_some() && release == SensitiveRelease::Category {
        report.field(
            &path.key("protected"),
            "has nothing to protect where categories are released in place of values; set `release` to \"value\" or \
             \"both\", or take it out",
        );
    }
    let bands = bands(column, path, report);
    let frequencies = frequencies(column, path, report);
    let is_grouped = protection.is_some() || categories.is_some();
    let has_range = frequencies.iter().any(|requirement| matches!(requirement, FrequencyRequirement::ValueRange(_)));
    for (field, is_written) in [("bands", bands.is_some()), ("range", has_range)] {
        if is_written && is_grouped {
            report.field(&path.key(field), "is for numbers and dates, which have neither `categories` nor `protected`");
        }
    }
    if release == SensitiveRelease::Category && frequencies.iter().any(needs_hierarchy) {
        report.value(
            &path.key("distance"),
            "compares values, and categories are released in place of them; set `release` to \"value\" or \"both\", or \
             take it out",
        );
    }
    let weight = column.weight;
    if weight.is_some_and(|weight| weight.is_nan() || weight <= 0.0 || weight > MAX_WEIGHT) {
        report.value(&path.key("weight"), format!("must be a number above 0 and at most {MAX_WEIGHT}"));
    }
    let look_alikes = look_alikes(column, path, report);
    Sensitive {
        p: column.p,
        weight,
        protection,
        hierarchy,
        categories: categories.map(Arc::new),
        release,
        bands,
        frequencies,
        look_alikes,
    }
}

fn look_alikes(column: &raw::RawColumn, path: &FieldPath, report: &mut Report<'_>) -> LookAlikeRule {
    let missing = column.missing.as_deref();
    if missing.is_some_and(<[String]>::is_empty) {
        report.value(&path.key("missing"), "is empty; name at least one value, or take it out");
    }
    for (field, is_written) in [("missing", missing.is_some()), ("look_alikes", column.look_alikes.is_some())] {
        if is_written && column.categories.is_some() {
            report.field(
                &path.key(field),
                "has no use beside `categories`, which list the values that count as one; take it out",
            );
        }
    }
    let merges = column.look_alikes.unwrap_or_default() == LookAlikes::Merged;
    LookAlikeRule { merges, missing: missing.unwrap_or_default().into() }
}

fn bands(column: &raw::RawColumn, path: &FieldPath, report: &mut Report<'_>) -> Option<Arc<[f64]>> {
    let borders = column.bands.as_deref()?;
    if borders.is_empty() || borders.iter().any(|border| !border.is_finite()) || !borders.is_sorted_by(|a, b| a < b) {
        report.value(&path.key("bands"), "must be ascending numbers, at least one: each begins a band");
    }
    Some(borders.into())
}

/// Builds the hierarchy of a column, and reports one without a use.
fn hierarchy(
    column: &raw::RawColumn,
    path: &FieldPath,
    folder: Option<&Path>,
    report: &mut Report<'_>,
) -> Option<Arc<HierarchySpec>> {
    let hierarchy_path = path.key("hierarchy");
    let is_compared = column.t.is_some() && column.distance == Some(raw::RawDistance::Hierarchical);
    let Some(written) = &column.hierarchy else {
        if is_compared {
            report.value(&path.key("distance"), "needs a `hierarchy`, by which values are compared");
        }
        return None;
    };
    let built = hierarchy::hierarchy(written, &hierarchy_path, folder, report).map(Arc::new);
    if column.protected.is_none() && !is_compared {
        report.field(
            &hierarchy_path,
            "has no use in a sensitive column without `protected` or `distance = \"hierarchical\"`; name the values of \
             the hierarchy that must not be learned, or take it out",
        );
    }
    built
}

fn protection(
    column: &raw::RawColumn,
    hierarchy: Option<&Arc<HierarchySpec>>,
    path: &FieldPath,
    report: &mut Report<'_>,
) -> Option<Protection> {
    let protected_path = path.key("protected");
    let protected = column.protected.as_ref()?;
    if column.hierarchy.is_none() {
        report.field(&protected_path, "needs a `hierarchy`, whose values it names");
        return None;
    }
    if protected.is_empty() {
        report.value(&protected_path, "is empty; name at least one value of the hierarchy, or take it out");
    }
    let hierarchy = Arc::clone(hierarchy?);
    match &*hierarchy {
        HierarchySpec::Tree(tree) => check_protected(protected, tree, &protected_path, report),
        spec => check_protected_by_rule(protected, spec, &protected_path, report),
    }
    Some(Protection { hierarchy, protected: protected.clone() })
}

fn check_protected(protected: &[String], tree: &Tree, path: &FieldPath, report: &mut Report<'_>) {
    let known = labels(tree);
    let root = tree.label(tree.root());
    for (position, label) in protected.iter().enumerate() {
        if label == root {
            report.value(
                &path.index(position),
                "is the root of the hierarchy, and would make all values the same; protect values below it",
            );
        } else if !known.contains(label.as_str()) {
            report.value(&path.index(position), "is not a value of the column's hierarchy; correct one of the two");
        }
    }
}

/// Checks the protected labels of a hierarchy whose values are not known from the policy.
fn check_protected_by_rule(protected: &[String], spec: &HierarchySpec, path: &FieldPath, report: &mut Report<'_>) {
    let (is_label, form): (&dyn Fn(&str) -> bool, _) = match spec {
        HierarchySpec::Mask(MaskSide::Right) => (
            &|label| mask_affix(MaskSide::Right, label).is_some(),
            "visible characters with stars after them, as in \"41*\"",
        ),
        HierarchySpec::Mask(MaskSide::Left) => (
            &|label| mask_affix(MaskSide::Left, label).is_some(),
            "visible characters with stars before them, as in \"*41\"",
        ),
        HierarchySpec::DateParts(_) => (
            &|label| label_range(spec, label).is_some(),
            "one of its parts of the calendar, as in \"2024-02\" or \"2024\"",
        ),
        _ => (&|label| label_range(spec, label).is_some(), "one of its intervals, as in \"[20-29]\" or \"[20-30)\""),
    };
    for (position, label) in protected.iter().enumerate() {
        if !is_label(label) {
            report.value(
                &path.index(position),
                format!("is not a label of the column's hierarchy; name {form}, or correct the hierarchy"),
            );
        }
    }
}

fn release(column: &raw::RawColumn, path: &FieldPath, report: &mut Report<'_>) -> SensitiveRelease {
    let has_categories = column.categories.is_some();
    let by_default = if has_categories { SensitiveRelease::Category } else { SensitiveRelease::Value };
    let Some(written) = column.release else { return by_default };
    let release = written.of_sensitive();
    let name = written.as_str();
    if release.is_none() {
        report.value(
            path,
            format!("`{name}` is for the role `{}`, and this column is `sensitive`", written.role().as_str()),
        );
    } else if !has_categories {
        report.value(
            path,
            format!(
                "`{name}` needs `categories`; without them a sensitive column is released as it is, so leave it out"
            ),
        );
    }
    release.unwrap_or(by_default)
}

#[cfg(test)]
#[path = "../sensitive_tests.rs"]
mod tests;

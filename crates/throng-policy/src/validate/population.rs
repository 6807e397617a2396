//! Validates `[privacy.population]`.

use throng_core::columns::ColumnRecoding;
use throng_core::risk::SamplingFraction;

use crate::field_path::FieldPath;
use crate::location::Environment;
use crate::policy::{Columns, Role};
use crate::population::{PopulationSettings, PopulationSource};
use crate::problem::Report;
use crate::raw;

use super::input_output::locations;

/// Validates the sampling fraction or the people of the population, whichever the policy has.
pub fn population(
    raw: &raw::RawPrivacy,
    columns: &Columns,
    environment: Environment<'_>,
    report: &mut Report<'_>,
) -> (Option<SamplingFraction>, Option<PopulationSettings>) {
    let Some(written) = &raw.population else { return (None, None) };
    let path = FieldPath::of(&["privacy", "population"]);
    let ways = [
        ("fraction", written.fraction.is_some()),
        ("weight_of_unit", written.weight_of_unit.is_some()),
        ("table", written.table.is_some()),
    ];
    let mut given = ways.iter().filter(|(_, is_written)| *is_written).map(|(name, _)| *name);
    let first = given.next();
    if first.is_none() {
        report.field(&path, "needs one of `fraction`, `weight_of_unit` and `table`");
    }
    for other in given {
        let text = format!("can't be set together with `{}`; keep one", first.unwrap_or_default());
        report.field(&path.key(other), text);
    }
    limits(written, first, &path, report);
    if let Some(fraction) = written.fraction {
        let sampling_fraction = SamplingFraction::new(fraction);
        if sampling_fraction.is_none() {
            let text = "must be above 0 and at most 1: it is the share of the population that is in the input";
            report.value(&path.key("fraction"), text);
        }
        return (sampling_fraction, None);
    }
    let source = match (&written.table, &written.weight_of_unit) {
        (Some(table), _) => PopulationSource::Table(locations(table, &path.key("table"), environment, report)),
        (None, Some(column)) => {
            weights(column, raw, columns, &path.key("weight_of_unit"), report);
            PopulationSource::Weights(column.clone())
        }
        (None, None) => return (None, None),
    };
    boxes(columns, &path.key(first.unwrap_or_default()), report);
    if raw.unit.is_some() {
        for (field, limit) in [("delta_min", written.delta_min), ("delta_max", written.delta_max)] {
            if limit.is_some() {
                let text = "compares rows of the input with people, and a unit of this policy may have several rows; remove \
                            it, or `unit`";
                report.field(&path.key(field), text);
            }
        }
    }
    let raw::RawPopulation { k_map, delta_min, delta_max, .. } = *written;
    (None, Some(PopulationSettings { source, k_map, delta_min, delta_max }))
}

/// Validates the limits, and that the source of people supports them.
fn limits(written: &raw::RawPopulation, source: Option<&str>, path: &FieldPath, report: &mut Report<'_>) {
    if written.k_map.is_some() && source == Some("fraction") {
        let text = "counts people in the boxes of a release, and a fraction does not say where they are; set `table` or \
                    `weight_of_unit` in place of `fraction`";
        report.field(&path.key("k_map"), text);
    }
    if let Some(k_map) = written.k_map.filter(|k_map| *k_map < raw::MIN_K) {
        report.value(&path.key("k_map"), format!("must be at least {}, and is {k_map}", raw::MIN_K));
    }
    for (field, limit) in [("delta_min", written.delta_min), ("delta_max", written.delta_max)] {
        let Some(limit) = limit else { continue };
        if source != Some("table") {
            report.field(&path.key(field), "is a share of the people of the population, who are in a `table`; set one");
        }
        if !(0.0..=1.0).contains(&limit) {
            report.value(&path.key(field), "must be from 0 to 1: it is a share of the people whom a class matches");
        }
    }
    if let (Some(least), Some(most)) = (written.delta_min, written.delta_max)
        && least > most
    {
        report.value(&path.key("delta_min"), "must not be above `delta_max`");
    }
}

/// Validates the column of weights, which every row has and which is not generalized.
fn weights(column: &str, raw: &raw::RawPrivacy, columns: &Columns, path: &FieldPath, report: &mut Report<'_>) {
    if raw.unit.is_some() {
        let text = "is added up by rows, and a unit of this policy may have several of them; use `table`";
        report.field(path, text);
    }
    match columns.by_name.iter().find(|(known, _)| known == column) {
        // It is looked up in the input when the policy is bound.
        None if columns.drop_unlisted => {}
        None => report.value(
            path,
            format!("`{column}` is not a column of this policy; give it a role, such as `identifier`, which drops it"),
        ),
        Some((_, Role::Quasi(_))) => report.value(
            path,
            format!("`{column}` is a quasi-identifier; weights of the sampling need a column of their own"),
        ),
        Some(_) => {}
    }
}

/// Reports quasi-identifiers whose released form does not bound the values of a class.
fn boxes(columns: &Columns, path: &FieldPath, report: &mut Report<'_>) {
    for (name, role) in &columns.by_name {
        let Role::Quasi(quasi) = role else { continue };
        if let Some(ColumnRecoding::Mean | ColumnRecoding::Median | ColumnRecoding::Mode) = quasi.release {
            let text = format!(
                "people are counted in the boxes of a release, and `{name}` shows a mean, a median or a mode, which has none; \
                 release it as intervals, ancestors or sets, or set `fraction`"
            );
            report.field(path, text);
        }
    }
}

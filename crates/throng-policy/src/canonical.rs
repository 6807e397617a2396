//! Canonical JSON of a policy, for its digest.

use serde_json::{Value, json};
use throng_core::columns::{Category, Limit, ValueBand};
use throng_core::cover::CoverGrid;
use throng_core::hierarchy::HierarchySpec;
use throng_core::model::FrequencyRequirement;

use crate::budget::Budget;
use crate::guards::Guards;
use crate::hierarchy::paths;
use crate::policy::{Algorithm, BoundSetting, Columns, Policy, PrivacySettings, Quasi, Role, Sensitive, TablePart};
use crate::population::{PopulationSettings, PopulationSource};
use crate::raw::{Borrow, RawRelease, VERSION};
use crate::series::{ArrivalSetting, StreamDelay};
use crate::settings::{Goal, LookAlikes, Pseudonyms};

impl Policy {
    /// Returns the policy in effect as one line of JSON, after overrides and with the content of its hierarchies.
    ///
    /// Policies with equal JSON make the same promises and compute them in the same way. Input and output locations and
    /// file formats are not included, so the JSON can be published. Columns are sorted by name, since their order has
    /// no meaning. Absent fields that the first version of the format did not have are omitted, so that the JSON of a
    /// policy does not change when fields are added.
    pub fn canonical_json(&self) -> String {
        let columns = columns_json(&self.columns);
        let mut text = json!({
            "version": VERSION,
            "privacy": privacy_json(&self.privacy),
            "algorithm": algorithm_json(&self.algorithm),
            "unlisted": if self.columns.drop_unlisted { "drop" } else { "error" },
            "columns": columns,
        });
        if let Some(StreamDelay { rows, time, arrival }) = self.stream {
            text["stream"] = json!({ "rows": rows, "millis": time.map(|time| time.as_millis() as u64) });
            if arrival != ArrivalSetting::default() {
                text["stream"]["arrival"] = json!(arrival.as_str());
            }
        }
        if !self.tables.is_empty() {
            let table = |part: &TablePart| {
                let unlisted = if part.columns.drop_unlisted { "drop" } else { "error" };
                let columns = columns_json(&part.columns);
                json!({ "name": part.name, "unit": part.unit, "unlisted": unlisted, "columns": columns })
            };
            text["table"] = json!(self.table);
            text["tables"] = self.tables.iter().map(table).collect();
        }
        text.to_string()
    }
}

fn columns_json(columns: &Columns) -> serde_json::Map<String, Value> {
    let mut roles: Vec<(&str, &Role)> = columns.by_name.iter().map(|(name, role)| (name.as_str(), role)).collect();
    roles.sort_unstable_by_key(|(name, _)| *name);
    let column_json = |(name, role): (&str, &Role)| {
        let mut text = role_json(role);
        if let Some((_, declared)) = columns.types.iter().find(|(known, _)| known == name) {
            text["type"] = json!(declared.as_str());
        }
        (name.to_owned(), text)
    };
    roles.into_iter().map(column_json).collect()
}

fn algorithm_json(algorithm: &Algorithm) -> Value {
    let Algorithm { partition, cluster, goal, budget, bound, seed } = algorithm;
    let mut text = json!({ "partition": partition.as_str(), "cluster": cluster.as_str(), "seed": seed });
    if *goal != Goal::default() {
        text["goal"] = json!(goal.as_str());
    }
    if *budget != Budget::default() {
        text["budget"] = json!(budget.text());
    }
    if *bound != BoundSetting::Off {
        text["bound"] = json!(true);
    }
    text
}

fn privacy_json(privacy: &PrivacySettings) -> Value {
    let mut text = json!({ "k": privacy.k, "p": privacy.p });
    if let Some(alpha) = privacy.alpha {
        text["alpha"] = json!(alpha);
    }
    if let Some(share) = privacy.suppression_limit {
        text["suppression_limit"] = json!(share);
    }
    if !privacy.unit.is_empty() {
        text["unit"] = json!(privacy.unit);
        text["unit_nulls"] = json!(privacy.unit_nulls.as_str());
    }
    if privacy.pseudonyms != Pseudonyms::default() {
        text["pseudonyms"] = json!(privacy.pseudonyms.as_str());
    }
    let Guards { min_rows, max_rows_change, loss_limit, insensitive_uniqueness } = privacy.guards;
    if let Some(rows) = min_rows {
        text["min_rows"] = json!(rows);
    }
    let shares = [
        ("max_rows_change", max_rows_change),
        ("loss_limit", loss_limit),
        ("insensitive_uniqueness", insensitive_uniqueness),
    ];
    for (field, share) in shares {
        if let Some(share) = share {
            text[field] = json!(share);
        }
    }
    if privacy.borrow == Borrow::Never {
        text["borrow"] = json!(privacy.borrow.as_str());
    }
    if let Some(gain) = privacy.max_gain {
        text["attacks"] = json!({ "max_gain": gain });
    }
    if let Some(fraction) = privacy.sampling_fraction {
        text["population"] = json!({ "fraction": fraction.get() });
    }
    if let Some(population) = &privacy.population {
        text["population"] = population_json(population);
    }
    text
}

/// A table is named without its location, as the input is.
fn population_json(population: &PopulationSettings) -> Value {
    let mut text = match &population.source {
        PopulationSource::Table(_) => json!({ "source": "table" }),
        PopulationSource::Weights(column) => json!({ "weight_of_unit": column }),
    };
    if let Some(k_map) = population.k_map {
        text["k_map"] = json!(k_map);
    }
    for (field, share) in [("delta_min", population.delta_min), ("delta_max", population.delta_max)] {
        if let Some(share) = share {
            text[field] = json!(share);
        }
    }
    text
}

fn role_json(role: &Role) -> Value {
    match role {
        Role::Identifier => json!({ "role": "identifier" }),
        Role::Pseudonym => json!({ "role": "identifier", "release": "pseudonym" }),
        Role::Insensitive => json!({ "role": "insensitive" }),
        Role::Sensitive(sensitive) => sensitive_json(sensitive),
        Role::Quasi(quasi) => quasi_json(quasi),
    }
}

fn sensitive_json(sensitive: &Sensitive) -> Value {
    let mut text = json!({ "role": "sensitive" });
    if let Some(p) = sensitive.p {
        text["p"] = json!(p);
    }
    if let Some(weight) = sensitive.weight {
        text["weight"] = json!(weight);
    }
    if let Some(hierarchy) = &sensitive.hierarchy {
        text["hierarchy"] = hierarchy_json(hierarchy);
    }
    if let Some(protection) = &sensitive.protection {
        text["protected"] = json!(protection.protected);
    }
    if let Some(categories) = &sensitive.categories {
        text["categories"] = categories.list.iter().map(category_json).collect();
        text["release"] = json!(RawRelease::from(sensitive.release).as_str());
    }
    if let Some(borders) = &sensitive.bands {
        text["bands"] = json!(**borders);
    }
    if !sensitive.look_alikes.missing.is_empty() {
        text["missing"] = json!(*sensitive.look_alikes.missing);
    }
    if !sensitive.look_alikes.merges {
        text["look_alikes"] = json!(LookAlikes::Distinct.as_str());
    }
    let requirement = |requirement: &FrequencyRequirement| match requirement {
        FrequencyRequirement::RecursiveDiversity { c, l } => json!({ "model": requirement.name(), "c": c, "l": l }),
        FrequencyRequirement::Closeness { t, distance } => {
            json!({ "model": requirement.name(), "limit": t, "distance": distance.as_str() })
        }
        other => json!({ "model": other.name(), "limit": other.limit() }),
    };
    if !sensitive.frequencies.is_empty() {
        text["frequencies"] = sensitive.frequencies.iter().map(requirement).collect();
    }
    text
}

fn category_json(category: &Category) -> Value {
    let mut text = json!({ "name": category.name, "values": category.values });
    if !category.prefixes.is_empty() {
        text["prefixes"] = json!(category.prefixes);
    }
    if !category.bands.is_empty() {
        let border = |number: f64| number.is_finite().then_some(number);
        let band = |band: &ValueBand| json!({ "from": border(band.from), "below": border(band.below) });
        text["bands"] = category.bands.iter().map(band).collect();
    }
    text
}

fn quasi_json(quasi: &Quasi) -> Value {
    let mut text = json!({
        "role": "quasi",
        "release": quasi.release.map(|release| RawRelease::from(release).as_str()),
        "weight": quasi.weight,
        "nulls": quasi.nulls,
        "hierarchy": quasi.hierarchy.as_deref().map(hierarchy_json),
    });
    if let Some(limit) = &quasi.limit {
        text["limit"] = match limit {
            Limit::Level(level) => json!(level),
            Limit::Values(values) => json!(**values),
            Limit::Bands(borders) => json!(**borders),
        };
    }
    if let Some(cover) = quasi.cover {
        text["cover"] = match cover {
            CoverGrid::Width { width, origin } => json!({ "grid": width, "origin": origin }),
            CoverGrid::Calendar(part) => json!(part),
        };
    }
    text
}

fn hierarchy_json(hierarchy: &HierarchySpec) -> Value {
    match hierarchy {
        HierarchySpec::Tree(tree) => json!({ "tree": paths(tree).collect::<Vec<_>>() }),
        HierarchySpec::Intervals { origin, widths } => json!({ "intervals": widths, "origin": origin }),
        HierarchySpec::DateParts(parts) => json!({ "date": parts }),
        HierarchySpec::Mask(side) | HierarchySpec::MaskOfLength { side, .. } => json!({ "mask": side }),
        HierarchySpec::Flat => json!({ "flat": true }),
        HierarchySpec::MeanDifference => json!({ "mean-difference": true }),
    }
}

#[cfg(test)]
#[path = "canonical_tests.rs"]
mod tests;

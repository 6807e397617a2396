//! Binds sensitive columns, and builds the privacy models of a binding.

use std::sync::Arc;

use throng_core::columns::{Categories, DEFAULT_WEIGHT, Protection, SensitiveCoding, SensitiveSpec};
use throng_core::hierarchy::HierarchySpec;
use throng_core::model::{
    CategoryWeight, CodeMeaning, FrequencyRequirement, KAnonymity, ListDiversity, ListShare, Model, PSensitive,
    Privacy, UnitAnonymity, UnitDiversity, frequency_model,
};

use crate::policy::{Sensitive, SensitiveRelease, needs_hierarchy};
use crate::raw::Borrow;

use super::{Binding, BoundColumn};

/// A sensitive column of the input.
#[derive(Clone, Debug)]
pub struct BoundSensitive {
    /// Name, type and position of the column in the input.
    pub column: BoundColumn,
    /// Coding of its values for privacy models: values, or else strong values, categories, or both.
    pub spec: SensitiveSpec,
    /// Minimum number of distinct values, strong values or categories in a class; 1 means no requirement.
    pub p: u64,
    /// Weight in the diversity that clusterings maximize.
    pub weight: f64,
    /// Released form.
    pub release: SensitiveRelease,
    /// Categories of its values. Without them the release is the value.
    pub categories: Option<Arc<Categories>>,
    /// Protected values of its hierarchy.
    pub protection: Option<Arc<Protection>>,
    /// Ascending borders of the bands that are counted instead of values.
    pub bands: Option<Arc<[f64]>>,
    /// Requirements on the frequencies of the counted values.
    pub frequencies: Vec<FrequencyRequirement>,
}

impl BoundSensitive {
    /// Binds a column; `p` is the default of the policy. If `starts_from_values`, the clustering starts from classes with p
    /// values, even if categories are counted.
    pub(super) fn new(column: BoundColumn, sensitive: &Sensitive, p: u64, starts_from_values: bool) -> Self {
        let strong = sensitive.protection.iter().map(|protection| SensitiveCoding::Strong(Arc::clone(protection)));
        let categories =
            sensitive.categories.iter().map(|categories| SensitiveCoding::Categories(Arc::clone(categories)));
        let bands = sensitive.bands.iter().map(|borders| SensitiveCoding::Bands(Arc::clone(borders)));
        let mut facets: Vec<SensitiveCoding> = strong.chain(categories).chain(bands).collect();
        // Distances and ranges are those of values, even if something else is counted.
        let mut is_built = false;
        if let Some(hierarchy) = sensitive.hierarchy.as_ref().filter(|_| sensitive.compares_by_hierarchy()) {
            // A tree lists the counted values; values of other hierarchies may look alike, and are counted like plain
            // values.
            is_built = facets.is_empty() && !matches!(**hierarchy, HierarchySpec::Tree(_));
            facets.push(SensitiveCoding::Leaves(Arc::clone(hierarchy)));
        }
        let is_range = |requirement: &FrequencyRequirement| matches!(requirement, FrequencyRequirement::ValueRange(_));
        let has_start = starts_from_values && sensitive.categories.is_some();
        if facets.is_empty() || is_built || has_start || sensitive.frequencies.iter().any(is_range) {
            facets.push(SensitiveCoding::Values);
        }
        Self {
            spec: SensitiveSpec { name: column.name.clone(), facets, look_alikes: sensitive.look_alikes.clone() },
            p: sensitive.p.unwrap_or(p),
            weight: sensitive.weight.unwrap_or(DEFAULT_WEIGHT),
            release: sensitive.release,
            categories: sensitive.categories.clone(),
            protection: sensitive.protection.clone(),
            bands: sensitive.bands.clone(),
            frequencies: sensitive.frequencies.clone(),
            column,
        }
    }

    /// Binds a column of lists, whose elements are counted.
    pub(super) fn of_lists(column: BoundColumn, sensitive: &Sensitive, p: u64, are_text: bool) -> Self {
        let plain = Self::new(column, sensitive, p, false);
        let facets = vec![SensitiveCoding::Elements { are_text }];
        Self { spec: SensitiveSpec { facets, ..plain.spec }, ..plain }
    }

    /// Whether p counts this coding. Values next to another coding are only used for a range or a distance.
    fn is_counted(&self, facet: &SensitiveCoding) -> bool {
        let is_tree = |hierarchy: &HierarchySpec| matches!(hierarchy, HierarchySpec::Tree(_));
        let is_leaves =
            |facet: &SensitiveCoding| matches!(facet, SensitiveCoding::Leaves(hierarchy) if is_tree(hierarchy));
        let is_grouped = self.protection.is_some() || self.categories.is_some() || self.bands.is_some();
        match facet {
            SensitiveCoding::Leaves(hierarchy) => !is_grouped && is_tree(hierarchy),
            // With categories, the clustering starts from values: p categories have p values.
            SensitiveCoding::Values if self.categories.is_some() => true,
            SensitiveCoding::Values => !is_grouped && !self.spec.facets.iter().any(is_leaves),
            _ => true,
        }
    }

    /// Returns the released names of the column.
    pub fn released_names(&self) -> Vec<String> {
        self.release.released_names(&self.column.name)
    }
}

impl Binding {
    /// Returns the privacy models that every class must satisfy: k-anonymity, then the models of each facet of each
    /// sensitive column. Models refer to facets by index over all sensitive columns, in schema order.
    pub fn privacy(&self) -> Privacy {
        let mut models: Vec<Arc<dyn Model>> = vec![Arc::new(KAnonymity::new(self.k))];
        if let Some(unit) = self.unit_index() {
            models.push(Arc::new(UnitAnonymity::new(self.k, unit)));
        }
        let facets =
            self.sensitive.iter().flat_map(|column| column.spec.facets.iter().map(move |facet| (column, facet)));
        for (index, (column, facet)) in facets.enumerate() {
            let p = column.p;
            let is_counted = column.is_counted(facet);
            if matches!(facet, SensitiveCoding::Elements { .. }) {
                if p > 1 {
                    models.push(Arc::new(ListDiversity::new(p, index, self.unit_index())));
                }
                models.extend(column.frequencies.iter().filter_map(|requirement| match requirement {
                    FrequencyRequirement::MaxShare(share) => {
                        Some(Arc::new(ListShare::new(*share, index)) as Arc<dyn Model>)
                    }
                    _ => None,
                }));
                continue;
            }
            match self.unit_index() {
                _ if p <= 1 || !is_counted => {}
                Some(unit) => {
                    let model = UnitDiversity::new(p, index, unit, counted(facet));
                    models.push(Arc::new(model.with_weight(column.weight)));
                }
                None => {
                    models.push(Arc::new(PSensitive::new(p, index, counted(facet)).with_weight(column.weight)));
                }
            }
            for requirement in &column.frequencies {
                let applies = match requirement {
                    FrequencyRequirement::ValueRange(_) => matches!(facet, SensitiveCoding::Values),
                    requirement if needs_hierarchy(requirement) => matches!(facet, SensitiveCoding::Leaves(_)),
                    _ => is_counted && !(column.categories.is_some() && matches!(facet, SensitiveCoding::Values)),
                };
                if applies {
                    models.push(frequency_model(*requirement, index));
                }
            }
            if let (Some(alpha), SensitiveCoding::Categories(categories)) = (self.alpha, facet) {
                let model = CategoryWeight::new(alpha, index, categories.list.len() as u32);
                models.push(Arc::new(model.with_weight(column.weight)));
            }
        }
        match self.borrow {
            Borrow::Allowed => Privacy::new(models),
            Borrow::Never => Privacy::new(models).without_lending(),
        }
    }
}

fn counted(facet: &SensitiveCoding) -> CodeMeaning {
    match facet {
        SensitiveCoding::Values
        | SensitiveCoding::Leaves(_)
        | SensitiveCoding::Elements { .. }
        | SensitiveCoding::Units => CodeMeaning::Values,
        SensitiveCoding::Bands(_) => CodeMeaning::Bands,
        SensitiveCoding::Strong(_) => CodeMeaning::StrongValues,
        SensitiveCoding::Categories(_) => CodeMeaning::Categories,
    }
}

#[cfg(test)]
#[path = "../bind_sensitive_tests.rs"]
mod tests;

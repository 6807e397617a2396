//! Binds sensitive columns, and builds the privacy models of a binding.

use std::sync::Arc;

use throng_core::columns::{Categories, Protection, SensitiveCoding, SensitiveSpec};
use throng_core::model::{
    CategoryWeight, CodeMeaning, FrequencyRequirement, KAnonymity, Model, PSensitive, Privacy, UnitAnonymity,
    UnitDiversity, frequency_model,
};

use crate::policy::{Sensitive, SensitiveRelease};

use super::{Binding, BoundColumn};

/// A sensitive column of the input.
#[derive(Clone, Debug)]
pub struct BoundSensitive {
    /// The column.
    pub column: BoundColumn,
    /// Coding of its values for privacy models: values, or else strong values, categories, or both.
    pub spec: SensitiveSpec,
    /// Minimum number of distinct values, strong values or categories in a class; 1 means no requirement.
    pub p: u64,
    /// Released form.
    pub release: SensitiveRelease,
    /// Categories of its values. Without them the release is the value.
    pub categories: Option<Arc<Categories>>,
    /// Values of its hierarchy that are protected too.
    pub protection: Option<Arc<Protection>>,
    /// Ascending borders of the bands that are counted in place of values.
    pub bands: Option<Arc<[f64]>>,
    /// Requirements on the frequencies of what is counted.
    pub frequencies: Vec<FrequencyRequirement>,
}

impl BoundSensitive {
    /// Binds a column; `p` is the default of the policy.
    pub(super) fn new(column: BoundColumn, sensitive: &Sensitive, p: u64) -> Self {
        let strong = sensitive.protection.iter().map(|protection| SensitiveCoding::Strong(Arc::clone(protection)));
        let categories =
            sensitive.categories.iter().map(|categories| SensitiveCoding::Categories(Arc::clone(categories)));
        let bands = sensitive.bands.iter().map(|borders| SensitiveCoding::Bands(Arc::clone(borders)));
        let mut facets: Vec<SensitiveCoding> = strong.chain(categories).chain(bands).collect();
        if facets.is_empty() {
            facets.push(SensitiveCoding::Values);
        }
        let is_range = |requirement: &FrequencyRequirement| matches!(requirement, FrequencyRequirement::ValueRange(_));
        // A range is that of values, also where bands are counted.
        if sensitive.bands.is_some() && sensitive.frequencies.iter().any(is_range) {
            facets.push(SensitiveCoding::Values);
        }
        Self {
            spec: SensitiveSpec { name: column.name.clone(), facets, look_alikes: sensitive.look_alikes.clone() },
            p: sensitive.p.unwrap_or(p),
            release: sensitive.release,
            categories: sensitive.categories.clone(),
            protection: sensitive.protection.clone(),
            bands: sensitive.bands.clone(),
            frequencies: sensitive.frequencies.clone(),
            column,
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
            // Values beside bands are there for their range alone.
            let is_for_range = matches!(facet, SensitiveCoding::Values) && column.bands.is_some();
            match self.unit_index() {
                _ if p <= 1 || is_for_range => {}
                Some(unit) => models.push(Arc::new(UnitDiversity::new(p, index, unit, counted(facet)))),
                None => models.push(Arc::new(PSensitive::new(p, index, counted(facet)))),
            }
            for requirement in &column.frequencies {
                let applies = match requirement {
                    FrequencyRequirement::ValueRange(_) => matches!(facet, SensitiveCoding::Values),
                    _ => !is_for_range,
                };
                if applies {
                    models.push(frequency_model(*requirement, index));
                }
            }
            if let (Some(alpha), SensitiveCoding::Categories(categories)) = (self.alpha, facet) {
                models.push(Arc::new(CategoryWeight::new(alpha, index, categories.list.len() as u32)));
            }
        }
        Privacy::new(models)
    }
}

fn counted(facet: &SensitiveCoding) -> CodeMeaning {
    match facet {
        SensitiveCoding::Values | SensitiveCoding::Units => CodeMeaning::Values,
        SensitiveCoding::Bands(_) => CodeMeaning::Bands,
        SensitiveCoding::Strong(_) => CodeMeaning::StrongValues,
        SensitiveCoding::Categories(_) => CodeMeaning::Categories,
    }
}

#[cfg(test)]
#[path = "../bind_sensitive_tests.rs"]
mod tests;

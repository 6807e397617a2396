//! Binds sensitive columns, and builds the privacy models of a binding.

use std::sync::Arc;

use throng_core::columns::{Categories, Protection, SensitiveCoding, SensitiveSpec};
use throng_core::model::{CategoryWeight, CodeMeaning, KAnonymity, Model, PSensitive, Privacy};

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
}

impl BoundSensitive {
    /// Binds a column; `p` is the default of the policy.
    pub(super) fn new(column: BoundColumn, sensitive: &Sensitive, p: u64) -> Self {
        let strong = sensitive.protection.iter().map(|protection| SensitiveCoding::Strong(Arc::clone(protection)));
        let categories =
            sensitive.categories.iter().map(|categories| SensitiveCoding::Categories(Arc::clone(categories)));
        let mut facets: Vec<SensitiveCoding> = strong.chain(categories).collect();
        if facets.is_empty() {
            facets.push(SensitiveCoding::Values);
        }
        Self {
            spec: SensitiveSpec { name: column.name.clone(), facets },
            p: sensitive.p.unwrap_or(p),
            release: sensitive.release,
            categories: sensitive.categories.clone(),
            protection: sensitive.protection.clone(),
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
        let facets = self.sensitive.iter().flat_map(|column| column.spec.facets.iter().map(|facet| (column.p, facet)));
        for (index, (p, facet)) in facets.enumerate() {
            if p > 1 {
                models.push(Arc::new(PSensitive::new(p, index, counted(facet))));
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
        SensitiveCoding::Values => CodeMeaning::Values,
        SensitiveCoding::Strong(_) => CodeMeaning::StrongValues,
        SensitiveCoding::Categories(_) => CodeMeaning::Categories,
    }
}

#[cfg(test)]
#[path = "../bind_sensitive_tests.rs"]
mod tests;

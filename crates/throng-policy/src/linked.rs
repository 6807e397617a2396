//! Policies for rows that a pseudonym links, and for rows of a series.
//!
//! A pseudonym shows which rows belong to one person, so the information in these rows adds up. The job that releases
//! pseudonyms therefore puts people into groups first, and then releases the rows of a group together. Both steps run under
//! the policies here, on inputs that have the pseudonym instead of the unit, and the block of each row in [`BLOCK_COLUMN`].

use std::collections::BTreeMap;
use std::sync::Arc;

use throng_core::anonymize::PartitionChoice;
#[cfg(doc)]
use throng_core::columns::BLOCK_COLUMN;
use throng_core::hierarchy::HierarchySpec;

use crate::field_path::FieldPath;
use crate::guards::Guards;
use crate::policy::{Algorithm, BoundSetting, Policy, PrivacySettings, Role, TablePart};
use crate::raw::MIN_P;
use crate::settings::ClusterSetting;

impl Policy {
    /// Returns the column that is replaced by a pseudonym in the release.
    pub fn pseudonym_column(&self) -> Option<&str> {
        let pseudonym = self.columns.by_name.iter().find(|(_, role)| matches!(role, Role::Pseudonym));
        pseudonym.map(|(name, _)| name.as_str())
    }

    /// Whether several tables are released together.
    pub fn has_tables(&self) -> bool {
        !self.tables.is_empty()
    }

    /// Returns the tables that are released together, each with its name and its own policy. The table of the input is the
    /// first; it has no name if it is the only one.
    pub fn linked_tables(&self) -> Vec<(Option<String>, Self)> {
        let alone = Self { tables: Vec::new(), ..self.clone() };
        let others: Vec<_> = self.tables.iter().map(|part| (Some(part.name.clone()), alone.of_part(part))).collect();
        std::iter::once((self.table.clone(), alone)).chain(others).collect()
    }

    /// Returns the policy of another table. Counts of rows are guarded in the first one only.
    fn of_part(&self, part: &TablePart) -> Self {
        let columns = || part.columns.by_name.iter().map(|(_, role)| role);
        let sensitive =
            || columns().filter_map(|role| if let Role::Sensitive(column) = role { Some(column) } else { None });
        let has_categories = sensitive().any(|column| column.categories.is_some());
        let privacy = PrivacySettings {
            p: if sensitive().next().is_some() { self.privacy.p } else { MIN_P },
            alpha: self.privacy.alpha.filter(|_| has_categories),
            unit: vec![part.unit.clone()],
            guards: Guards { min_rows: None, max_rows_change: None, ..self.privacy.guards },
            ..self.privacy.clone()
        };
        let place = FieldPath::of(&["tables", &part.name]);
        let (input, columns) = (part.input.clone(), part.columns.clone());
        Self { privacy, place, input, columns, workload: Vec::new(), ..self.clone() }
    }

    /// Returns the policy that puts people into groups by one row of each. Groups do not cross blocks, and people who fit into
    /// none are left out, regardless of their number.
    #[must_use]
    pub fn for_grouping(&self) -> Self {
        let mut policy = self.clone();
        for (_, role) in &mut policy.columns.by_name {
            if matches!(role, Role::Insensitive) {
                *role = Role::Identifier;
            }
        }
        let privacy = PrivacySettings {
            unit: Vec::new(),
            suppression_limit: None,
            guards: Guards::default(),
            ..policy.privacy.clone()
        };
        let algorithm = Algorithm { bound: BoundSetting::Off, ..policy.algorithm };
        Self { privacy, algorithm, has_blocks: true, ..policy }
    }

    /// Returns the policy under which every block is a class, or suppressed.
    #[must_use]
    pub fn for_blocks(&self) -> Self {
        let algorithm = Algorithm {
            partition: PartitionChoice::None,
            cluster: ClusterSetting::None,
            bound: BoundSetting::Off,
            ..self.algorithm
        };
        Self { algorithm, has_blocks: true, ..self.clone() }
    }

    /// Returns the policy that forms the classes of the first release of a series, with `reserve` units more than k. The input
    /// has a key of each row in the columns `key`, and its unit in the columns `unit`, if it counts units. Rows that fit into no
    /// class are left out, regardless of their number.
    #[must_use]
    pub fn for_first_classes(&self, key: &[&str], unit: &[&str], reserve: u64) -> Self {
        let grouping = self.for_grouping();
        let mut policy = Self { has_blocks: false, ..grouping };
        policy.columns.by_name.extend(key.iter().map(|name| ((*name).to_owned(), Role::Insensitive)));
        policy.privacy.unit = unit.iter().map(|name| (*name).to_owned()).collect();
        policy.privacy.k = policy.privacy.k.saturating_add(reserve);
        policy
    }

    /// Returns the quasi-identifiers whose hierarchy masks codes, and so depends on the longest code of a table.
    pub fn masked_columns(&self) -> impl Iterator<Item = &str> {
        let is_masked = |role: &Role| match role {
            Role::Quasi(quasi) => matches!(quasi.hierarchy.as_deref(), Some(HierarchySpec::Mask(_))),
            _ => false,
        };
        self.columns.by_name.iter().filter(move |(_, role)| is_masked(role)).map(|(name, _)| name.as_str())
    }

    /// Returns the policy that masks these columns as codes of these lengths, so that labels are the same in every release of a series.
    #[must_use]
    pub fn with_mask_lengths(&self, lengths: &BTreeMap<String, usize>) -> Self {
        let mut policy = self.clone();
        for (name, role) in &mut policy.columns.by_name {
            let (Role::Quasi(quasi), Some(length)) = (role, lengths.get(name)) else { continue };
            if let Some(HierarchySpec::Mask(side)) = quasi.hierarchy.as_deref() {
                quasi.hierarchy = Some(Arc::new(HierarchySpec::MaskOfLength { side: *side, length: *length }));
            }
        }
        policy
    }

    /// Returns the policy that drops the identifier instead of releasing its pseudonym, for figures that need no links.
    #[must_use]
    pub fn without_pseudonym(&self) -> Self {
        let mut policy = self.clone();
        for (_, role) in &mut policy.columns.by_name {
            if matches!(role, Role::Pseudonym) {
                *role = Role::Identifier;
            }
        }
        policy
    }
}

#[cfg(test)]
#[path = "linked_tests.rs"]
mod tests;

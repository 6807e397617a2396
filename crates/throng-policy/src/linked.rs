//! Policies for rows that a pseudonym links.
//!
//! A pseudonym shows which rows are of one person, so what these rows show adds up. The job that releases pseudonyms therefore
//! puts people into groups first, and then releases the rows of a group together. Both steps run under the policies here, on
//! inputs that have the pseudonym in place of the unit and the block of each row in [`BLOCK_COLUMN`].

use throng_core::anonymize::PartitionChoice;
#[cfg(doc)]
use throng_core::columns::BLOCK_COLUMN;

use crate::guards::Guards;
use crate::policy::{Algorithm, BoundSetting, Policy, PrivacySettings, Role};
use crate::settings::ClusterSetting;

impl Policy {
    /// Returns the column in place of which a pseudonym is released.
    pub fn pseudonym_column(&self) -> Option<&str> {
        let pseudonym = self.columns.by_name.iter().find(|(_, role)| matches!(role, Role::Pseudonym));
        pseudonym.map(|(name, _)| name.as_str())
    }

    /// Returns the policy that puts people into groups by one row of each. Groups do not cross blocks, and people who fit into
    /// none are left out, however many they are.
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

    /// Returns the policy with the identifier left out in place of its pseudonym, for figures that need no links.
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

//! Presets: named values of k, with their rationale.
//!
//! A preset documents where its k comes from, or that it follows no particular rule, and what it implies, so that the
//! person responsible for a release can judge it. It does not set p, because the diversity that a class needs depends
//! on the sensitive data, and it makes no statement about any law.
//!
//! Cell sizes of 5, 11 and 20 are those that K. El Emam lists as precedents ("Cell Size Precedents" in *Guide to the
//! De-Identification of Personal Health Information*, 2013): 5 among custodians of data, 11 and 20 for public releases.

use schemars::JsonSchema;
use serde::Deserialize;

/// A k with a reason, by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Preset {
    /// k = 5, the "cell size of five" that is common among custodians of data; some agencies ask for 3.
    Common,
    /// k = 10, a highest risk of one in ten, for data that stays with researchers. A round number, taken from no rule.
    Research,
    /// k = 11, after the cell size suppression policy of the U.S. Centers for Medicare & Medicaid Services: no cell of 1
    /// to 10.
    Cms,
    /// k = 12, the least that keeps the risk within 0.09, the threshold named for clinical reports in public by EMA (Policy
    /// 0070) and Health Canada (PRCI).
    PublicHealth,
    /// k = 20, a cell size that has been used for patient data in public. The largest of the presets, taken from no rule in
    /// particular.
    Strict,
}

impl Preset {
    /// All presets, from the smallest k to the largest.
    pub const ALL: [Preset; 5] = [Preset::Common, Preset::Research, Preset::Cms, Preset::PublicHealth, Preset::Strict];

    /// Returns the name of the preset in the policy file.
    pub fn as_str(self) -> &'static str {
        match self {
            Preset::Common => "common",
            Preset::Research => "research",
            Preset::Cms => "cms",
            Preset::PublicHealth => "public-health",
            Preset::Strict => "strict",
        }
    }

    /// Returns the minimum number of rows in a class.
    pub fn k(self) -> u64 {
        match self {
            Preset::Common => 5,
            Preset::Research => 10,
            Preset::Cms => 11,
            Preset::PublicHealth => 12,
            Preset::Strict => 20,
        }
    }

    /// Returns the rationale of the number.
    pub fn basis(self) -> &'static str {
        match self {
            Preset::Common => {
                "groups of at least 5, the cell size of five that is common among custodians of data (some agencies ask \
                 for 3)"
            }
            Preset::Research => {
                "groups of at least 10, for data that stays with researchers; a round number, taken from no rule"
            }
            Preset::Cms => {
                "the cell size suppression policy of the U.S. Centers for Medicare & Medicaid Services: no cell of 1 to 10"
            }
            Preset::PublicHealth => {
                "a risk of at most 0.09, the threshold named for clinical reports in public by the European Medicines \
                 Agency (Policy 0070) and Health Canada (PRCI); 1/11 is just above it"
            }
            Preset::Strict => {
                "groups of at least 20, a cell size that has been used for patient data in public; taken from no rule in \
                 particular"
            }
        }
    }

    /// Describes the basis, the resulting risk for this k, and what the preset does not imply.
    pub fn description(self, k: u64) -> String {
        format!(
            "preset `{}`: {}. With k = {k}, someone who knows all quasi-identifiers of a person finds the right row with a \
             probability of at most 1/{k} = {:.3}. A preset is a convention and no statement of compliance with any law.",
            self.as_str(),
            self.basis(),
            highest_risk(k)
        )
    }
}

/// Returns the maximum probability that a row is re-identified, if every class has at least k rows: `1/k`.
pub fn highest_risk(k: u64) -> f64 {
    1.0 / k.max(1) as f64
}

#[cfg(test)]
#[path = "preset_tests.rs"]
mod policy_tests;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_preset_is_read_under_its_own_name() {
        for preset in Preset::ALL {
            let read: Preset = serde_json::from_value(preset.as_str().into()).unwrap();
            assert_eq!(read, preset);
        }
    }

    #[test]
    fn presets_ascend_and_keep_what_their_basis_asks_for() {
        assert_eq!(Preset::ALL.map(Preset::k), [5, 10, 11, 12, 20]);
        assert!(highest_risk(Preset::PublicHealth.k()) <= 0.09 && highest_risk(Preset::PublicHealth.k() - 1) > 0.09);
    }

    #[test]
    fn every_preset_tells_its_basis_its_risk_and_that_it_is_no_law() {
        for preset in Preset::ALL {
            let text = preset.description(preset.k());
            assert!(text.contains(preset.basis()) && text.contains(&format!("1/{} = 0.", preset.k())), "{text}");
            assert!(text.ends_with("no statement of compliance with any law."), "{text}");
        }
        assert!(Preset::Common.description(40).contains("1/40 = 0.025"));
    }
}

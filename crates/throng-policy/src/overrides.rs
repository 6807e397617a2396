//! Command-line overrides of the policy file.

use crate::spanned_toml::{SpannedNode, SpannedToml, SpannedValue, ValueOrigin};

/// Values that replace those of the policy file. They are validated in the same way, and problems name the flag.
///
/// Locations are used literally: the shell has expanded its variables, so `${NAME}` has no meaning here.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Overrides {
    /// `--input`, which overrides `input.location`.
    pub input: Option<Vec<String>>,
    /// `--output`, which overrides `output.location`.
    pub output: Option<String>,
    /// `--overwrite`, which overrides `output.mode`; false leaves the mode to the file.
    pub overwrite: bool,
    /// `--k`, which overrides `privacy.k`.
    pub k: Option<u64>,
    /// `--p`, which overrides `privacy.p`.
    pub p: Option<u64>,
    /// `--budget`, which overrides `algorithm.budget`.
    pub budget: Option<String>,
    /// `--seed`, which overrides `algorithm.seed`.
    pub seed: Option<u64>,
    /// Removes `privacy.preset`, so that `k` may be below it. For dry runs that release nothing.
    pub without_preset: bool,
}

impl Overrides {
    /// Returns placeholder locations, for a policy that is applied to a given table.
    pub fn for_a_table() -> Self {
        Self { input: Some(vec!["table".to_owned()]), output: Some("release".to_owned()), ..Self::default() }
    }

    pub(crate) fn apply(&self, document: &mut SpannedToml) {
        if let Some(locations) = &self.input {
            let origin = ValueOrigin::Flag("--input");
            let items =
                locations.iter().map(|location| SpannedNode { value: SpannedValue::String(location.clone()), origin });
            document.replace("input", "location", "--input", SpannedValue::List(items.collect()));
        }
        if let Some(location) = &self.output {
            document.replace("output", "location", "--output", SpannedValue::String(location.clone()));
        }
        if self.overwrite {
            document.replace("output", "mode", "--overwrite", SpannedValue::String("overwrite".to_owned()));
        }
        if self.without_preset {
            document.remove("privacy", "preset");
        }
        if let Some(budget) = &self.budget {
            document.replace("algorithm", "budget", "--budget", SpannedValue::String(budget.clone()));
        }
        for (table, field, flag, number) in [
            ("privacy", "k", "--k", self.k),
            ("privacy", "p", "--p", self.p),
            ("algorithm", "seed", "--seed", self.seed),
        ] {
            if let Some(number) = number {
                document.replace(table, field, flag, SpannedValue::Integer(number.into()));
            }
        }
    }
}

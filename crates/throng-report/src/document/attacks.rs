//! Gains of attacks on a release before it was published.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

/// Attacks on a release. Means over the people attacked, rounded, and nothing about any of them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AttackFacts {
    /// Largest gain that the policy allows.
    pub max_gain: f64,
    /// The attacks, one by one.
    pub measured: Vec<AttackGain>,
}

/// Gain of one attack.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AttackGain {
    /// Name of the attack.
    pub name: Cow<'static, str>,
    /// Sensitive column that was attacked, if the attack targets one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub column: Option<String>,
    /// Mean chance of success with the release, in steps of a hundredth.
    pub release: f64,
    /// Chance of success with the release over that without what the attack adds, in steps of a hundredth.
    pub gain: f64,
}

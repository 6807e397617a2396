//! Facts about privacy in the sidecar besides the findings of the verifier.

use throng_core::exposure::InsensitiveExposure;
use throng_policy::{Binding, LookAlikes};
use throng_report::document::{InsensitiveFacts, PrivacyFacts};

use crate::guards::DeliveryGuards;

/// Adds the guards, the counting of look-alikes, and the exposure by insensitive columns.
pub(crate) fn complete(
    facts: &mut PrivacyFacts,
    binding: &Binding,
    guards: &DeliveryGuards,
    exposure: Option<&InsensitiveExposure>,
) {
    facts.guards = guards.facts();
    facts.insensitive = exposure.map(InsensitiveFacts::of);
    for column in &mut facts.sensitive {
        let bound = binding.sensitive.iter().find(|bound| bound.column.name == column.column);
        let is_text = |bound: &&throng_policy::BoundSensitive| {
            throng_policy::DeclaredType::Text.accepts(&bound.column.data_type) && bound.categories.is_none()
        };
        column.look_alikes = bound.filter(is_text).map(|bound| match bound.spec.look_alikes.merges {
            true => LookAlikes::Merged.as_str().into(),
            false => LookAlikes::Distinct.as_str().into(),
        });
    }
}

//! Limits that are compared with a finished release, for callers that have none to compare.

use crate::field_path::FieldPath;
use crate::policy::Policy;
use crate::problem::{PolicyError, Report};

impl Policy {
    /// Fails if the policy limits what attacks gain, or how people hide in the population. A job examines the finished release
    /// for that, with a second look at the input. A release inside of a query leaves before anybody could.
    pub fn check_unexamined(&self) -> Result<(), PolicyError> {
        let mut report = Report::new(&self.document);
        let population = self.privacy.population.as_ref();
        let limits = [
            ("attacks", self.privacy.max_gain.is_some()),
            ("population", population.is_some_and(|known| known.k_map.is_some() || known.limits_presence())),
        ];
        for (field, _) in limits.into_iter().filter(|(_, is_set)| *is_set) {
            report.field(
                &FieldPath::of(&["privacy", field]),
                "is a limit on the finished release, which is examined by `throng run` and by `anonymize` in Python, and not \
                 inside of a query or a Rust program; release the table there, or take the limit out",
            );
        }
        report.finish()
    }
}

//! Checks for callers that can't do what only a job does with a finished release: compare it with limits, and keep the ledger
//! of a series.

use crate::field_path::FieldPath;
use crate::policy::Policy;
use crate::problem::{PolicyError, Report};

impl Policy {
    /// Whether the policy limits what attacks gain, or how people hide in the population.
    pub fn limits_finished_release(&self) -> bool {
        self.limits().into_iter().any(|(_, is_set)| is_set)
    }

    fn limits(&self) -> [(&'static str, bool); 2] {
        let population = self.privacy.population.as_ref();
        [
            ("attacks", self.privacy.max_gain.is_some()),
            ("population", population.is_some_and(|known| known.k_map.is_some() || known.limits_presence())),
        ]
    }

    /// Fails if the policy limits what attacks gain, or how people hide in the population. A job examines the finished release for
    /// that, reading the input a second time, and so does a query in a session with an examiner. Elsewhere a release would be
    /// emitted without having been examined.
    pub fn check_unexamined(&self) -> Result<(), PolicyError> {
        let mut report = Report::new(&self.document);
        for (field, _) in self.limits().into_iter().filter(|(_, is_set)| *is_set) {
            report.field(
                &FieldPath::of(&["privacy", field]),
                "is a limit on the finished release, which nobody examines here; `throng run`, `anonymize` in Python, and \
                 `throng sql` without a `max_delay` do: release the table there, or take the limit out",
            );
        }
        report.finish()
    }

    /// Fails if the policy defines a series of releases, whose ledger must record every release that anyone sees: only a job reads
    /// and writes it.
    pub fn check_outside_series(&self) -> Result<(), PolicyError> {
        let mut report = Report::new(&self.document);
        if self.series.is_some() {
            report.field(
                &FieldPath::of(&["output", "mode"]),
                "makes a series, whose ledger has to know every release; `throng run` reads and writes it: release the table there, \
                 or choose another mode",
            );
        }
        report.finish()
    }
}

//! Guards of scheduled releases: a delivery that is too small, too different or of other types never replaces a good release.

use object_store::ObjectStoreExt;
use throng_datafusion::Facts;
use throng_policy::{Guards, Policy, TypeMismatch};
use throng_report::document::GuardFacts;

use crate::error::{JobError, Kind};
use crate::input::JobInput;
use crate::manifest::{MANIFEST, Manifest};
use crate::plural::plural;
use crate::store_path::StorePath;

/// States that nothing was published, for messages of a refused delivery.
const LEFT_UNCHANGED: &str = "nothing is published, and the existing release is left unchanged";

/// The guards of a policy, and the release that they compare against.
#[derive(Clone, Copy, Debug)]
pub(crate) struct DeliveryGuards {
    guards: Guards,
    /// Number of rows to compare with, if there is one and the policy limits the change.
    existing_rows: Option<u64>,
    compared: ComparedRows,
}

/// Which rows the guards compare.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ComparedRows {
    /// Those to be released with those of the release at the output.
    Released,
    /// Those of the input with those of the last input of the series, whose releases also show rows that inputs no longer have.
    Delivered,
}

impl DeliveryGuards {
    /// Reads the facts that the guards need from the release at the output of a policy. That of a series does not have them, see
    /// [`DeliveryGuards::of_series`].
    pub(crate) async fn of(policy: &Policy) -> Result<Self, JobError> {
        if policy.series.is_some() {
            return Ok(Self::of_series(policy, None));
        }
        let guards = policy.privacy.guards;
        let existing_rows = match guards.max_rows_change {
            None => None,
            Some(_) => {
                let output = StorePath::parse_with(&policy.output.location, &policy.store)?;
                existing_rows(&output).await?
            }
        };
        Ok(Self { guards, existing_rows, compared: ComparedRows::Released })
    }

    /// Returns the guards of a series, given the number of rows of its last input if that is known.
    pub(crate) fn of_series(policy: &Policy, delivered: Option<u64>) -> Self {
        Self { guards: policy.privacy.guards, existing_rows: delivered, compared: ComparedRows::Delivered }
    }

    /// Returns the guards of a release that has no output yet.
    pub(crate) fn without_output(policy: &Policy) -> Self {
        Self { guards: policy.privacy.guards, existing_rows: None, compared: ComparedRows::Released }
    }

    /// Checks the rows that an input declares, before any of them is read. Fewer rows than declared may be released, so where
    /// released rows are compared, only a delivery that is too small can be refused here.
    pub(crate) fn check_declared(&self, rows: Option<u64>) -> Result<(), JobError> {
        let Some(rows) = rows else { return Ok(()) };
        self.check_delivered(rows)?;
        match self.existing_rows {
            Some(existing) if rows < existing || self.compared == ComparedRows::Delivered => self.check_change(rows),
            _ => Ok(()),
        }
    }

    /// Checks the rows of an input and those that are released.
    pub(crate) fn check_rows(&self, delivered: u64, released: u64) -> Result<(), JobError> {
        self.check_delivered(delivered)?;
        self.check_change(match self.compared {
            ComparedRows::Released => released,
            ComparedRows::Delivered => delivered,
        })
    }

    /// Checks a release that has been made: the rows read, the rows released, and the loss.
    pub(crate) fn check_release(&self, delivered: u64, released: u64, ncp: f64) -> Result<(), JobError> {
        self.check_rows(delivered, released)?;
        match self.guards.loss_limit {
            Some(limit) if ncp > limit => Err(JobError::new(
                Kind::Infeasible,
                format!(
                    "the release would lose {ncp:.4} of the detail (NCP), and `loss_limit = {limit}` allows less; {LEFT_UNCHANGED}; look for \
                     columns that changed, ask for less (k, p), or raise the limit"
                ),
            )),
            _ => Ok(()),
        }
    }

    /// Same as [`DeliveryGuards::check_release`], from the facts of a release.
    pub(crate) fn check_facts(&self, facts: &Facts) -> Result<(), JobError> {
        self.check_release(facts.rows_read, facts.rows_read - facts.suppressed, facts.utility.ncp)
    }

    fn check_delivered(&self, rows: u64) -> Result<(), JobError> {
        match self.guards.min_rows {
            Some(least) if rows < least => Err(JobError::new(
                Kind::BadData,
                format!(
                    "the input has {}, and `min_rows = {least}` asks for more; {LEFT_UNCHANGED}; check the delivery, or lower `min_rows` \
                     if it is complete",
                    plural(rows, "row")
                ),
            )),
            _ => Ok(()),
        }
    }

    fn check_change(&self, rows: u64) -> Result<(), JobError> {
        let (Some(limit), Some(existing)) = (self.guards.max_rows_change, self.existing_rows) else { return Ok(()) };
        let change = rows.abs_diff(existing) as f64 / existing.max(1) as f64;
        if change <= limit {
            return Ok(());
        }
        let direction = if rows < existing { "fewer" } else { "more" };
        let (what, before) = match self.compared {
            ComparedRows::Released => ("the release would have", "the release at the output"),
            ComparedRows::Delivered => ("the input has", "the last input of the series"),
        };
        Err(JobError::new(
            Kind::BadData,
            format!(
                "{what} {}, {:.1} % {direction} than the {existing} of {before}, and \
                 `max_rows_change = {limit}` allows {:.1} %; {LEFT_UNCHANGED}; check the delivery, or raise the limit for one run if the \
                 change is right",
                plural(rows, "row"),
                100.0 * change,
                100.0 * limit
            ),
        ))
    }

    /// Returns what the sidecar says about the guards; nothing if the policy has none.
    pub(crate) fn facts(&self) -> Option<GuardFacts> {
        let Guards { min_rows, max_rows_change, loss_limit, insensitive_uniqueness } = self.guards;
        let facts = GuardFacts { min_rows, max_rows_change, loss_limit, insensitive_uniqueness };
        (self.guards != Guards::default()).then_some(facts)
    }
}

/// Returns the number of rows of the release at a location; `None` if there is none.
async fn existing_rows(output: &StorePath) -> Result<Option<u64>, JobError> {
    let place = output.child(MANIFEST);
    let failed = |error| JobError::storage(format!("reading {place}"), &error);
    let bytes = match place.store.get(&place.path).await {
        Ok(found) => found.bytes().await.map_err(failed)?,
        Err(object_store::Error::NotFound { .. }) => return Ok(None),
        Err(error) => return Err(failed(error)),
    };
    let Some(manifest) = Manifest::parse(&bytes) else {
        let text = format!(
            "{place} is damaged, or was written by another version of Throng, so that `max_rows_change` can't be checked; {LEFT_UNCHANGED}; \
             choose another output, or take the guard out for one run"
        );
        return Err(JobError::new(Kind::BadData, text));
    };
    Ok(Some(manifest.files.iter().map(|file| file.rows).sum()))
}

/// Refuses an input in which a column has another type than the policy declares.
pub(crate) fn check_types(policy: &Policy, input: &dyn JobInput) -> Result<(), JobError> {
    let mismatches = policy.type_mismatches(input.schema());
    let Some(first) = mismatches.first() else { return Ok(()) };
    let described = mismatches.iter().map(|TypeMismatch { column, declared, found }| {
        format!("column `{column}` is of type {found}, and the policy declares `type = \"{}\"`", declared.as_str())
    });
    let text = format!(
        "{}; {LEFT_UNCHANGED}; deliver the columns as declared, or change `type` if the delivery is right",
        described.collect::<Vec<_>>().join("; ")
    );
    Err(JobError::new(Kind::BadData, text).with_column(&first.column))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn guards(min_rows: Option<u64>, max_rows_change: Option<f64>, existing_rows: Option<u64>) -> DeliveryGuards {
        let guards = Guards { min_rows, max_rows_change, loss_limit: Some(0.1), insensitive_uniqueness: None };
        DeliveryGuards { guards, existing_rows, compared: ComparedRows::Released }
    }

    fn kind(result: Result<(), JobError>) -> Option<Kind> {
        result.err().map(|error| error.kind())
    }

    #[test]
    fn both_directions_of_a_change_are_limited() {
        let guards = guards(None, Some(0.5), Some(1000));
        for (rows, expected) in
            [(500, None), (499, Some(Kind::BadData)), (1500, None), (1501, Some(Kind::BadData)), (1000, None)]
        {
            assert_eq!(kind(guards.check_release(rows, rows, 0.0)), expected, "{rows}");
        }
    }

    #[test]
    fn declared_rows_are_refused_only_if_they_are_too_few() {
        let guards = guards(Some(100), Some(0.5), Some(1000));
        let declared = [Some(99), Some(499), Some(500), Some(9000), None].map(|rows| kind(guards.check_declared(rows)));
        assert_eq!(declared, [Some(Kind::BadData), Some(Kind::BadData), None, None, None]);
    }

    #[test]
    fn a_series_compares_deliveries() {
        let of_series = DeliveryGuards { compared: ComparedRows::Delivered, ..guards(None, Some(0.5), Some(1000)) };
        assert_eq!(kind(of_series.check_rows(1000, 1600)), None, "rows that have left are shown on");
        assert_eq!(kind(of_series.check_rows(400, 1000)), Some(Kind::BadData));
        let declared = [Some(499), Some(500), Some(9000), None].map(|rows| kind(of_series.check_declared(rows)));
        assert_eq!(declared, [Some(Kind::BadData), None, Some(Kind::BadData), None]);
    }

    #[test]
    fn a_first_release_has_nothing_to_change() {
        assert_eq!(kind(guards(None, Some(0.0), None).check_release(7, 7, 0.0)), None);
        assert_eq!(kind(guards(None, Some(0.0), Some(0)).check_release(7, 7, 0.0)), Some(Kind::BadData));
    }

    #[test]
    fn a_loss_above_the_limit_can_not_be_met() {
        let guards = guards(None, None, None);
        assert_eq!(kind(guards.check_release(7, 7, 0.1)), None);
        assert_eq!(kind(guards.check_release(7, 7, 0.1001)), Some(Kind::Infeasible));
    }
}

//! The contract of a clustering.

use throng_core::cluster::{Class, ClusterContext, ClusterMethod, IgnoreProgress};
use throng_core::metrics::Utility;
use throng_core::model::Privacy;
use throng_core::partition::{FeasibleRegions, Leaf};
use throng_core::recode::Recoding;
use throng_core::table::Table;

use super::{ContractViolation, check_recoding, most_general, rule, tables};

/// Tolerance for rounding when two losses are compared.
const ROUNDING: f64 = 1e-9;

/// Checks a clustering on [`tables`], with p-sensitive k-anonymity for k from 2 to 5 and p from 1 to 3.
pub fn check_clustering(method: &dyn ClusterMethod) -> Result<(), ContractViolation> {
    for (number, table) in tables().iter().enumerate() {
        for (k, p) in [(2, 1), (3, 2), (4, 3), (5, 2)] {
            let privacy = Privacy::p_sensitive_k_anonymity(k, p, table.sensitive().len());
            let checked = check_clustering_on(method, table, &privacy);
            checked.map_err(|violation| violation.within(&format!("table {number}, k = {k}, p = {p}")))?;
        }
    }
    Ok(())
}

/// Checks that a clustering of a table places every row once, that each of its classes satisfies the models, that it loses no more
/// than a single class would, and that it is deterministic. Passes if no release satisfies the models.
pub fn check_clustering_on(
    method: &dyn ClusterMethod,
    table: &Table,
    privacy: &Privacy,
) -> Result<(), ContractViolation> {
    let allowed = FeasibleRegions::of(table, privacy);
    let privacy = &allowed.privacy;
    let form = || -> Vec<Class> {
        let region = |cells: &Vec<u32>| {
            let context = ClusterContext::new(1, &IgnoreProgress);
            method.cluster_region(&[Leaf::of(cells.clone())], table, privacy, &context).classes
        };
        allowed.classes.iter().flat_map(region).collect()
    };
    let classes = form();
    // Classes with equal labels are merged in a release, which must not hide that one of them breaks a model.
    for (number, class) in classes.iter().enumerate() {
        let tally = class.tally(table);
        rule(privacy.is_satisfied(&tally), "every class satisfies the models", || {
            format!("class {number} of {} rows lacks {} rows", tally.rows(), privacy.deficit(&tally))
        })?;
    }
    let recoding = Recoding::without(table, &classes, &allowed.suppressed_cells)
        .map_err(|error| ContractViolation::new("the classes of a table can be released", error.to_string()))?;
    check_recoding(table, privacy, &allowed.suppressed_cells, &recoding)?;
    let worst = most_general(table, &allowed)
        .map_err(|error| ContractViolation::new("a table has a release of one class", error.to_string()))?;
    let (lost, most) = (Utility::of(table, &recoding, 1).ncp, Utility::of(table, &worst, 1).ncp);
    rule(lost <= most + ROUNDING, "classes lose no more than one class", || format!("NCP {lost} against {most}"))?;
    rule(form() == classes, "the same table has the same classes", || format!("{} classes", classes.len()))
}

//! `throng sweep`

use serde_json::{Value, json};
use throng_core::anonymize::PartitionChoice;
use throng_job::{Attempt, Figures, JobError, JobOptions, SweepReport, SweepSettings, Trial, check_sweep, sweep_page};
use throng_policy::{ClusterSetting, Policy};

use super::report::write;
use crate::args::SweepArgs;
use crate::outcome::Outcome;

pub(super) async fn sweep(args: &SweepArgs, job: &JobOptions) -> Result<Outcome, JobError> {
    let settings = SweepSettings { loss: args.loss, utility: args.utility };
    let swept = throng_job::sweep(trials(args)?, settings, job).await?;
    let (mut text, mut json) = (text(&swept), json(&swept));
    if let Some(path) = &args.output {
        write(path, &sweep_page(&swept))?;
        text += &format!("\nwrote {}", path.display());
    }
    json["page"] = json!(args.output.as_ref().map(|path| path.display().to_string()));
    match check_sweep(&swept) {
        Ok(()) => Ok(Outcome::success(text, json)),
        Err(error) => {
            let exit_code = error.kind().exit_code();
            json["exit_code"] = exit_code.into();
            json["error"] = error.to_string().into();
            Ok(Outcome::failure_with(exit_code, format!("{text}\nerror: {error}"), json))
        }
    }
}

/// Returns the grid. An invalid combination is included with the reason.
fn trials(args: &SweepArgs) -> Result<Vec<Trial>, JobError> {
    let base = Policy::load(&args.policy, &args.base())?;
    let algorithms = match args.algorithm.is_empty() {
        true => vec![(base.algorithm.partition, base.algorithm.cluster)],
        false => args.algorithm.clone(),
    };
    let or = |list: &[u64], own: u64| if list.is_empty() { vec![own] } else { list.to_vec() };
    let mut trials = Vec::new();
    for (partition, cluster) in algorithms {
        for k in or(&args.k, base.privacy.k) {
            for p in or(&args.p, base.privacy.p) {
                let policy = Policy::load(&args.policy, &args.combination(k, p)).map_err(|error| error.to_string());
                let policy = policy.map(|mut policy| {
                    (policy.algorithm.partition, policy.algorithm.cluster) = (partition, cluster);
                    policy
                });
                trials.push(Trial { k, p, algorithm: name(partition, cluster), policy });
            }
        }
    }
    Ok(trials)
}

fn name(partition: PartitionChoice, cluster: ClusterSetting) -> String {
    match cluster {
        ClusterSetting::Auto => partition.as_str().to_owned(),
        cluster => format!("{}/{}", partition.as_str(), cluster.as_str()),
    }
}

/// Formats the results as a table, with the advice below it.
fn text(swept: &SweepReport) -> String {
    let widest = swept.attempts.iter().map(|attempt| attempt.algorithm.len()).fold(9, usize::max);
    let columns = columns(swept);
    let line = |cell: &dyn Fn(&Column) -> String| -> String {
        columns.iter().map(|column| format!("  {:>8}", cell(column))).collect()
    };
    let head = line(&|(name, _)| (*name).to_owned());
    let mut lines = vec![format!("{:>5} {:>3}  {:widest$}{head}", "k", "p", "algorithm")];
    for Attempt { k, p, algorithm, outcome } in &swept.attempts {
        let found = match outcome {
            Ok(found) => line(&|(_, figure)| figure(found)),
            Err(why) => format!("  can't be kept: {}", why.replace('\n', "; ")),
        };
        lines.push(format!("{k:>5} {p:>3}  {algorithm:widest$}{found}"));
    }
    lines.extend(swept.advice());
    lines.join("\n")
}

/// A column of the table: its name, and the text of a figure.
type Column = (&'static str, fn(&Figures) -> String);

/// Returns the columns of the table; those of gaps and of errors only if there are any.
fn columns(swept: &SweepReport) -> Vec<Column> {
    let mut columns: Vec<Column> =
        vec![("classes", |found| found.classes.to_string()), ("lost", |found| format!("{:.4}", found.ncp))];
    if swept.has_bounds() {
        columns.push(("gap", |found| percent(found.gap)));
    }
    columns.push(("highest", |found| format!("{:.4}", found.highest_risk)));
    columns.push(("average", |found| format!("{:.4}", found.average_risk)));
    if swept.has_count_errors() {
        columns.push(("error", |found| percent(found.count_errors.map(|errors| errors.median))));
        columns.push(("95 %", |found| percent(found.count_errors.map(|errors| errors.p95))));
    }
    columns.push(("time", |found| format!("{:.2} s", found.milliseconds as f64 / 1000.0)));
    columns
}

fn percent(share: Option<f64>) -> String {
    share.map_or_else(|| "-".to_owned(), |share| format!("{:.2} %", 100.0 * share))
}

/// Formats the results of a sweep as JSON.
pub fn json(swept: &SweepReport) -> Value {
    let trial = |attempt: &Attempt| {
        let mut trial = json!({
            "k": attempt.k,
            "p": attempt.p,
            "algorithm": attempt.algorithm,
            "feasible": attempt.outcome.is_ok(),
        });
        match &attempt.outcome {
            Ok(found) => {
                trial["cluster"] = found.cluster.into();
                trial["classes"] = found.classes.into();
                trial["ncp"] = found.ncp.into();
                if let Some(bound) = found.lower_bound {
                    trial["weighted_ncp"] = found.weighted_ncp.into();
                    trial["lower_bound"] = bound.into();
                    trial["gap"] = found.gap.into();
                }
                if let Some(errors) = found.count_errors {
                    trial["count_queries"] = json!({ "median_error": errors.median, "p95_error": errors.p95 });
                }
                trial["highest_risk"] = found.highest_risk.into();
                trial["average_risk"] = found.average_risk.into();
                trial["suppressed_rows"] = found.suppressed_rows.into();
                trial["ms"] = found.milliseconds.into();
            }
            Err(why) => trial["reason"] = why.as_str().into(),
        }
        trial
    };
    let trials: Vec<Value> = swept.attempts.iter().map(trial).collect();
    let best = swept.budget.and_then(|(_, best)| best).map(|at| trials[at].clone());
    json!({ "outcome": "swept", "rows": swept.rows, "trials": trials, "best": best })
}

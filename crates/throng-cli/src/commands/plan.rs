//! `throng plan`

use serde_json::Value;
use throng_job::{JobError, JobOptions, Kind, Planned, plural};
use throng_policy::Policy;

use super::check;
use crate::args::PolicyArgs;
use crate::outcome::Outcome;

pub(super) async fn plan(args: &PolicyArgs, job: &JobOptions) -> Result<Outcome, JobError> {
    let policy = Policy::load(&args.policy, &args.overrides())?;
    let planned = throng_job::plan(&policy, job).await?;
    let json = json(&planned);
    let mut lines = vec![check::text(&planned.checked, &policy), method(&planned)];
    let Some(prediction) = &planned.prediction else {
        return Ok(Outcome::failure_with(Kind::Infeasible.exit_code(), lines.join("\n"), json));
    };
    lines.push(format!(
        "memory to hold everything: about {} MiB{}",
        prediction.memory_bytes.div_ceil(1 << 20),
        if prediction.is_spilled { "; within the memory limit, rows are spilled to disk" } else { "" }
    ));
    lines.push(match prediction.ncp {
        Some(ncp) => {
            format!(
                "information lost (NCP): about {ncp:.4}, from leaves with {} that were tried",
                plural(prediction.tried_rows, "row")
            )
        }
        None => "information lost (NCP): not predicted, because the leaves are too large to be tried".to_owned(),
    });
    lines.push(format!("plan:\n{}", planned.plan.trim_end()));
    Ok(Outcome::success(lines.join("\n"), json))
}

/// Formats a plan as JSON.
pub fn json(planned: &Planned) -> Value {
    let mut json = check::json(&planned.checked);
    json["plan"] = planned.plan.clone().into();
    json["partition"] = planned.partition.into();
    json["cluster"] = planned.cluster.into();
    json["parts"] = planned.parts.into();
    match &planned.prediction {
        Some(prediction) => {
            json["outcome"] = "planned".into();
            json["leaves"] = prediction.leaves.into();
            json["memory_bytes"] = prediction.memory_bytes.into();
            json["predicted_ncp"] = prediction.ncp.into();
        }
        None => {
            json["exit_code"] = Kind::Infeasible.exit_code().into();
            json["error"] =
                format!("the privacy target can't be met: {}", planned.checked.shortfalls.join("; ")).into();
        }
    }
    json
}

fn method(planned: &Planned) -> String {
    let parts = if planned.parts > 1 { format!(", in {} parts", planned.parts) } else { String::new() };
    let leaves = planned.prediction.as_ref().map(|found| match found.leaves {
        1 => ", one leaf".to_owned(),
        leaves => format!(", {leaves} leaves"),
    });
    let leaves = leaves.unwrap_or_default();
    format!("partition {}{leaves}{parts}; cluster {} ({})", planned.partition, planned.cluster, planned.reason)
}

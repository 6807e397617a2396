//! `throng demo`: a synthetic census, its release, and the verification of the release.

use serde_json::json;
use std::fs;
use std::path::Path;
use throng_job::{JobError, JobOptions, Kind, verify_release};
use throng_policy::{Overrides, Policy};
use throng_synthetic::CensusOptions;

use super::{generate, verify};
use crate::args::DemoArgs;
use crate::outcome::{Outcome, eprint_line};

/// The policy and its hierarchies from `configs/`. The files of `demo/` are links, because a package includes only files of
/// its own folder.
const FILES: [(&str, &str); 3] = [
    ("census.toml", include_str!("../../demo/census.toml")),
    ("hierarchies/census/race.csv", include_str!("../../demo/race.csv")),
    ("hierarchies/census/birth_place.csv", include_str!("../../demo/birth_place.csv")),
];

pub(super) async fn demo(args: &DemoArgs, job: &dyn Fn() -> JobOptions) -> Result<Outcome, JobError> {
    let folder = &args.output;
    write_policy(folder)?;
    let (input, output) = (folder.join("input"), folder.join("release"));
    let census = CensusOptions::new(args.rows).with_overwrite(true);
    let made = generate::write(input.clone(), census).await?;
    eprint_line(&format!("made {} people in {}", made.rows, input.display()));

    let overrides = Overrides {
        input: Some(vec![input.display().to_string()]),
        output: Some(output.display().to_string()),
        overwrite: true,
        ..Overrides::default()
    };
    let mut policy = Policy::load(&folder.join("census.toml"), &overrides)?;
    policy.output.report = true;
    let released = throng_job::run(&policy, &job()).await?;
    eprint_line(&released.to_text());

    let (promise, columns) = policy.promise();
    let locations = [output.display().to_string()];
    let findings = verify_release(&locations, promise.clone(), Some(&columns), &job()).await?;
    let verified = verify::outcome(&findings, &promise);
    if !findings.holds() {
        return Ok(verified);
    }
    let text = format!(
        "verified: every one of {} classes holds\nlook around in {}: the policy census.toml, input/, release/ and, to read, release/_throng/report.html",
        findings.classes,
        folder.display()
    );
    let mut json = released.to_json();
    json["verified"] = json!(true);
    json["peak_memory_bytes"] = json!(released.sidecar.resources.peak_memory_bytes);
    Ok(Outcome::success(text, json))
}

/// Writes the policy to the demo folder, which must be new, empty, or from an earlier demo.
fn write_policy(folder: &Path) -> Result<(), JobError> {
    let is_ours = folder.join(FILES[0].0).is_file();
    let is_empty = fs::read_dir(folder).map_or(true, |mut entries| entries.next().is_none());
    if !is_ours && !is_empty {
        let text = format!("{} holds other files; choose another folder with -o", folder.display());
        return Err(JobError::new(Kind::BadPolicy, text));
    }
    for (name, text) in FILES {
        let path = folder.join(name);
        let written = path.parent().map_or(Ok(()), fs::create_dir_all).and_then(|()| fs::write(&path, text));
        written.map_err(|error| JobError::creating(format!("writing {}", path.display()), &error))?;
    }
    Ok(())
}

//! Several tables that are released together to S3: one manifest, one commit.

use std::collections::BTreeSet;

use crate::bucket::Bucket;
use crate::kills_s3::kill_runs;
use crate::sandbox::{Ended, Sandbox, assert_contains};
use crate::setting::server;
use crate::state::look;
use crate::trial::{Run, STORE, Trial};

/// Pseudonyms are the same in every run, so that the bytes of both releases are known beforehand.
const POLICY: &str = r#"version = 1
table = "people"
[input]
location = "input/people.csv"
[output]
location = "out/release"
rows_per_file = 150
[privacy]
k = 3
p = 2
unit = "id"
pseudonyms = "stable"
[columns]
id = { role = "identifier", release = "pseudonym" }
age.role = "quasi"
illness.role = "sensitive"
[tables.visits]
input.location = "input/visits.csv"
columns.id = { role = "identifier", release = "pseudonym" }
columns.day.role = "quasi"
columns.code.role = "sensitive"
"#;

fn trial() -> Trial {
    let sandbox = Sandbox::new();
    let person = |id: usize| format!("{id},{},{}\n", id * 37 % 80, ["flu", "gout", "none"][id / 7 % 3]);
    let visit = |id: usize| format!("{id},{},{}\n", id * 11 % 365, ["A", "B", "C", "D"][id / 3 % 4]);
    sandbox.write("input/people.csv", "id,age,illness\n".to_owned() + &(0..400).map(person).collect::<String>());
    sandbox.write("input/visits.csv", "id,day,code\n".to_owned() + &(0..400).map(visit).collect::<String>());
    sandbox.write("policy.toml", format!("{POLICY}{STORE}"));
    Trial::of(sandbox)
}

#[test]
fn tables_on_s3_have_the_bytes_of_local_files_and_are_replaced_together() {
    let Some(server) = server() else { return };
    let trial = trial();
    let bucket = Bucket::new(server, "joined-tables");
    let output = bucket.url("release");
    let throng = |arguments: &[&str]| Ended::from(trial.command(server.address(), arguments).output().unwrap());
    for release in [0, 1, 0] {
        let overwrite = bucket.get("release/_SUCCESS").is_some();
        let run = Run { input: "input/people.csv", output: &output, release, overwrite };
        trial.run(server.address(), &run).done();
        let state = look(&trial, &bucket.objects("release")).unwrap();
        assert_eq!((state.release, state.is_complete, state.left.len()), (Some(release), true, 0), "{state:?}");
        let objects = bucket.objects("release");
        let tables =
            objects.keys().filter(|name| !name.starts_with('_')).map(|name| name.split("/part-").next().unwrap());
        assert_eq!(tables.collect::<BTreeSet<_>>(), ["people", "visits"].into());
        let verified = throng(&["verify", &output, "--policy", "policy.toml"]).done();
        assert_eq!((&verified["satisfied"], &verified["tables"][1]["name"]), (&true.into(), &"visits".into()));
    }
    // Nothing is replaced unless requested, nor if a folder contains anything else.
    let run = |overwrite| Run { input: "input/people.csv", output: &output, release: 1, overwrite };
    assert_contains(&trial.run(server.address(), &run(false)).refused(78), &["already holds files"]);
    bucket.put("release/visits/notes.txt", b"mine".to_vec());
    assert_contains(&trial.run(server.address(), &run(true)).refused(78), &["not a release"]);
    bucket.remove("release/visits/notes.txt");
    let state = look(&trial, &bucket.objects("release")).unwrap();
    assert_eq!((state.release, state.left.len()), (Some(0), 0), "{state:?}");
    // A file that no manifest lists is not read by accident.
    let part = bucket.objects("release").into_iter().find(|(name, _)| name.starts_with("visits/")).unwrap();
    bucket.put("release/visits/part-00009.parquet", part.1);
    assert_contains(&throng(&["verify", &output, "--policy", "policy.toml"]).refused(4), &["not listed"]);
}

#[test]
fn tables_of_a_run_that_is_killed_are_all_old_or_all_new() {
    let Some(server) = server() else { return };
    kill_runs(server, &trial(), "input/people.csv", "joined-killed");
}

//! The whole job between S3 and local files in every direction: the same release everywhere.

use std::fs;

use crate::bucket::Bucket;
use crate::sandbox::Ended;
use crate::setting::{number, say, server};
use crate::state::look;
use crate::trial::{Run, Trial, listed};

const INPUT_FILES: u64 = 40;

#[test]
fn input_and_output_are_on_s3_or_local_and_the_release_is_the_same() {
    let Some(server) = server() else { return };
    let rows = number("THRONG_S3_ROWS", 40_000);
    let trial = Trial::new(rows, INPUT_FILES);
    let input = Bucket::new(server, "census");
    trial.upload(&input);
    let (from_s3, local) = (input.url("input/"), "input/".to_owned());
    for (name, from, release) in [("s3-to-s3", &from_s3, 0), ("local-to-s3", &local, 1)] {
        let bucket = Bucket::new(server, name);
        // In the root of a bucket, and below a folder.
        let folder = ["", "a/release"][release];
        let output = bucket.url(folder);
        let run = Run { input: from, output: &output, release, overwrite: false };
        let outcome = trial.run(server.address(), &run).done();
        assert_eq!(
            (&outcome["rows"], outcome["files"].as_u64()),
            (&rows.into(), Some(trial.known[release].len() as u64))
        );
        let verify = ["verify", &output, "--policy", "policy.toml"];
        let verified = Ended::from(trial.command(server.address(), &verify).output().unwrap()).done();
        assert_eq!(verified["rows"], rows, "{verified}");
        let state = look(&trial, &bucket.objects(folder)).unwrap();
        assert_eq!((state.release, state.is_complete, state.left.len()), (Some(release), true, 0));
        // A second run does not change it.
        trial.run(server.address(), &run).refused(78);
    }
    let run = Run { input: &from_s3, output: "out/from-s3", release: 0, overwrite: false };
    trial.run(server.address(), &run).done();
    let manifest = fs::read(trial.sandbox.path("out/from-s3/_throng/manifest.json")).unwrap();
    assert_eq!(listed(&manifest), trial.known[0]);
    let files = trial.known[0].len();
    say(&format!("the whole job on S3: {rows} rows in {INPUT_FILES} files became {files}, the same as on local files"));
}

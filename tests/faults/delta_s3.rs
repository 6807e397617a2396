//! Delta tables on S3: concurrent runs, and faults of the store.

use std::sync::Arc;

use throng_testkit::s3::{FaultSchedule, Proxy};

use crate::bucket::Bucket;
use crate::concurrent::race;
use crate::delta_state::{latest, unlisted, versions};
use crate::sandbox::Ended;
use crate::setting::{number, say, seed, server};
use crate::trial::{PATIENCE, Run, Trial};

const JOBS: usize = 4;

#[test]
fn of_several_runs_on_one_table_one_makes_the_next_version() {
    let Some(server) = server() else { return };
    let trial = Trial::new(2_000, 2);
    trial.be_patient();
    trial.release_tables();
    let bucket = Bucket::new(server, "contested-table");
    let output = bucket.url("release");
    for round in 0..2 {
        let (won, lost) = race(server, &trial, (&output, round > 0), (JOBS, "_delta_log"));
        for (_, ended) in &lost {
            let message = ended.refused(75);
            assert!(message.contains("another run published to"), "{message}");
        }
        let objects = bucket.objects("release");
        assert_eq!((latest(&trial, &objects), versions(&objects)), (Some(won.0), round + 1));
        assert_eq!(unlisted(&objects), Vec::<String>::new());
        assert!(objects.keys().all(|name| !name.contains("staging")), "{:?}", objects.keys());
    }
    // The table is an input too.
    let input = format!("delta+{output}");
    let check = trial.command(server.address(), &["verify", &input, "--policy", "policy.toml"]).output();
    Ended::from(check.unwrap()).done();
}

#[test]
fn faults_of_the_store_leave_the_old_version_of_a_table_or_the_new_one() {
    let Some(server) = server() else { return };
    let (first, runs) = (seed(), number("THRONG_FAULT_RUNS", 6));
    let trial = Trial::new(2_000, 2);
    trial.release_tables();
    let (mut done, mut failed) = (0, 0);
    for seed in first..first + runs {
        let bucket = Bucket::new(server, &format!("table-{seed}"));
        let output = bucket.url("release");
        let run = |release, overwrite| Run { input: "input", output: &output, release, overwrite };
        trial.run(server.address(), &run(1, false)).done();
        let weather = Arc::new(FaultSchedule::new(seed, PATIENCE));
        let proxy = Proxy::start(server.address(), weather);
        let ended = trial.run(proxy.address(), &run(0, true));
        drop(proxy);
        // A delayed request may still be carried out.
        std::thread::sleep(PATIENCE * 3);
        let state = latest(&trial, &bucket.objects("release"));
        match ended.code {
            Some(0) => {
                assert_eq!(state, Some(0), "seed {seed}: {ended:?}");
                done += 1;
            }
            _ => {
                assert!([Some(0), Some(1)].contains(&state), "seed {seed}: {ended:?}");
                let is_in_doubt = ended.stderr.contains("was lost at the moment of publishing");
                assert!(state == Some(1) || is_in_doubt, "seed {seed}: {ended:?}");
                failed += 1;
            }
        }
        let next = 1 - state.unwrap();
        trial.run(server.address(), &run(next, true)).done();
        let after = bucket.objects("release");
        assert_eq!(latest(&trial, &after), Some(next), "seed {seed}");
        assert_eq!(unlisted(&after), Vec::<String>::new(), "seed {seed}");
    }
    say(&format!("fault schedules on a table: seeds {first} to {}; {done} done, {failed} failed", first + runs - 1));
}

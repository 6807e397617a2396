use std::path::Path;

use datafusion::arrow::array::{ArrayRef, Int32Array, RecordBatch, StringArray};
use datafusion::datasource::MemTable;
use datafusion::parquet::arrow::ArrowWriter;
use futures::TryStreamExt;
use throng_policy::{Mode, Overrides, Secret};
use throng_report::document::AttackFacts;

use super::*;
use crate::run;

fn people() -> RecordBatch {
    let ages: ArrayRef = Arc::new(Int32Array::from_iter_values((0..200).map(|row| 20 + row * 7 % 50)));
    let illnesses = (0..200).map(|row| ["flu", "gout", "asthma"][row * row % 3]);
    let illnesses: ArrayRef = Arc::new(StringArray::from_iter_values(illnesses));
    RecordBatch::try_from_iter([("age", ages), ("illness", illnesses)]).unwrap()
}

fn policy(folder: &Path) -> Policy {
    let input = folder.join("people.parquet");
    let mut writer = ArrowWriter::try_new(std::fs::File::create(&input).unwrap(), people().schema(), None).unwrap();
    writer.write(&people()).unwrap();
    writer.close().unwrap();
    let text =
        "version = 1\nprivacy = { k = 5, p = 2 }\ncolumns.age.role = 'quasi'\ncolumns.illness.role = 'sensitive'\n";
    let location = |name: &str| folder.join(name).to_string_lossy().into_owned();
    let overrides = Overrides {
        input: Some(vec![location("people.parquet")]),
        output: Some(location("run")),
        ..Overrides::default()
    };
    let policy = Policy::parse(text, Path::new(""), &overrides).unwrap();
    policy.with_secret(Secret::new("a secret of these tests alone").unwrap())
}

fn options(table: bool) -> JobOptions {
    let batches = vec![vec![people().slice(0, 90)], vec![people().slice(90, 110)]];
    let table = table.then(|| Arc::new(MemTable::try_new(people().schema(), batches).unwrap()) as _);
    JobOptions { threads: 2, table, ..JobOptions::default() }
}

fn to(policy: &Policy, folder: &Path, name: &str) -> Output {
    Output { location: folder.join(name).to_string_lossy().into_owned(), ..policy.output.clone() }
}

fn part(folder: &Path, name: &str) -> Vec<u8> {
    std::fs::read(folder.join(name).join("part-00000.parquet")).unwrap()
}

#[tokio::test]
async fn a_release_that_is_made_first_and_published_later_has_the_bytes_of_a_run() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let policy = policy(folder);
    let of_run = run(&policy, &options(false)).await.unwrap();
    for (name, table) in [("of-file", false), ("of-table", true)] {
        let release = make_release(&policy, &options(table)).await.unwrap();
        assert_eq!((release.sidecar().output.rows, release.sidecar().output.files), (200, 0), "{name}");
        let published = release.publish(to(&policy, folder, name), &options(false)).await.unwrap();
        assert_eq!(part(folder, name), part(folder, "run"), "{name}");
        assert_eq!(published.sidecar.policy_digest, of_run.sidecar.policy_digest);
        assert_eq!(published.sidecar.input.files, u64::from(!table));
        let stages: Vec<&str> = published.sidecar.timing_ms.keys().map(AsRef::as_ref).collect();
        assert_eq!(stages, ["cluster", "partition", "publish", "recode", "survey", "total", "verify", "write"]);
    }
}

#[tokio::test]
async fn a_release_is_read_and_published_more_than_once_and_replaces_nothing_by_itself() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let policy = policy(folder);
    let release = make_release(&policy, &options(true)).await.unwrap();
    for _ in 0..2 {
        let batches: Vec<RecordBatch> = release.stream().try_collect().await.unwrap();
        assert_eq!(batches.iter().map(RecordBatch::num_rows).sum::<usize>(), 200);
    }
    assert!(release.findings().holds() && release.findings().smallest_class >= 5);
    let output = to(&policy, folder, "out");
    let first = release.publish(output.clone(), &options(false)).await.unwrap();
    let error = release.publish(output.clone(), &options(false)).await.unwrap_err();
    assert_eq!(error.kind(), Kind::BadPolicy, "{error}");
    let again = Output { mode: Mode::Overwrite, ..output };
    let second = release.publish(again, &options(false)).await.unwrap();
    assert_ne!(first.sidecar.run_id, second.sidecar.run_id);
}

#[tokio::test]
async fn a_publication_that_is_stopped_leaves_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let policy = policy(folder);
    let release = make_release(&policy, &options(true)).await.unwrap();
    let (stopper, stop) = crate::Stopper::new();
    stopper.stop();
    let stopped = JobOptions { stop, ..options(false) };
    let error = release.publish(to(&policy, folder, "out"), &stopped).await.unwrap_err();
    assert_eq!(error.kind(), Kind::Stopped);
    let left: Vec<_> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(left, ["people.parquet"]);
}

#[tokio::test]
async fn the_name_of_a_table_of_the_host_is_no_place_that_an_output_could_overlap() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let policy = policy(folder);
    // The input of the policy is not read, so that a release may take its place.
    std::fs::remove_file(folder.join("people.parquet")).unwrap();
    let release = make_release(&policy, &options(true)).await.unwrap();
    release.publish(to(&policy, folder, "people.parquet"), &options(false)).await.unwrap();
    assert!(folder.join("people.parquet/_SUCCESS").exists());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_release_is_attacked_before_the_host_receives_it() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let mut policy = policy(folder);
    policy.privacy.max_gain = Some(100.0);
    let release = make_release(&policy, &options(true)).await.unwrap();
    let of_table = release.sidecar().attacks.clone().unwrap();
    let published = release.publish(to(&policy, folder, "out"), &options(false)).await.unwrap();
    assert_eq!(published.sidecar.attacks.as_ref(), Some(&of_table));
    let run = run(&policy, &options(false)).await.unwrap();
    let gains = |facts: &AttackFacts| -> Vec<(String, f64)> {
        facts.measured.iter().map(|gain| (gain.name.to_string(), gain.gain)).collect()
    };
    // The staged files have their own traces and order; everything else is the same.
    let linkage = |facts: &AttackFacts| gains(facts).into_iter().find(|(name, _)| name == "linkage").unwrap();
    assert_eq!(linkage(&of_table), linkage(run.sidecar.attacks.as_ref().unwrap()));

    policy.privacy.max_gain = Some(1.0);
    for table in [false, true] {
        let error = make_release(&policy, &options(table)).await.unwrap_err();
        assert_eq!(error.kind(), Kind::Verification, "{error}");
        assert!(error.to_string().contains("`max_gain = 1` allows"), "{error}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn people_are_counted_in_a_release_of_the_host() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let mut policy = policy(folder);
    let with = |k_map| throng_policy::PopulationSettings {
        source: throng_policy::PopulationSource::Table(policy.input.locations.clone()),
        k_map: Some(k_map),
        delta_min: None,
        delta_max: None,
    };
    let (met, unmet) = (with(5), with(201));
    policy.privacy.population = Some(met);
    let release = make_release(&policy, &options(true)).await.unwrap();
    let matched = |sidecar: &Sidecar| sidecar.risk.clone().unwrap().population.unwrap().matched.unwrap();
    // The input is the population, so everyone whom a class matches is in it.
    let found = matched(release.sidecar());
    assert!(found.fewest >= 5 && found.outside == 0.0, "{found:?}");
    assert_eq!(found.presence.map(|presence| (presence.least, presence.most)), Some((1.0, 1.0)));
    assert_eq!(matched(&run(&policy, &options(false)).await.unwrap().sidecar), found);
    policy.privacy.population = Some(unmet);
    assert_eq!(make_release(&policy, &options(true)).await.unwrap_err().kind(), Kind::Infeasible);
}

#[tokio::test]
async fn a_series_and_an_append_are_left_to_a_run() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let plain = policy(folder);
    let text = "version = 1\noutput.mode = 'series'\nprivacy = { k = 5, unit = 'id' }\nseries.ledger = 'ledger'\n\
                columns.id.role = 'identifier'\ncolumns.age.role = 'quasi'\ncolumns.illness.role = 'sensitive'\n";
    let series = Policy::parse(text, Path::new(""), &Overrides::for_a_table()).unwrap();
    let error = make_release(&series, &options(true)).await.unwrap_err();
    assert_eq!(error.kind(), Kind::BadPolicy);
    assert!(error.to_string().contains("ledger"), "{error}");

    let release = make_release(&plain, &options(true)).await.unwrap();
    let appended = Output { mode: Mode::Append, ..to(&plain, folder, "out") };
    let error = release.publish(appended, &options(false)).await.unwrap_err();
    assert_eq!(error.kind(), Kind::BadPolicy);
    assert!(error.to_string().contains("appended by a run") && !folder.join("out").exists(), "{error}");
}

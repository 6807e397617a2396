//! Nights of a small series on a local file system.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use datafusion::arrow::array::AsArray;
use datafusion::arrow::datatypes::Int64Type;
use datafusion::prelude::{SessionConfig, SessionContext};
use tempfile::TempDir;
use throng_core::key::ReleaseKey;
use throng_policy::{Overrides, Policy, Secret};

use super::run::run_with_key;
use super::verify_ledger::verify_with_key;
use super::*;
use crate::distributed::Cluster;
use crate::error::{JobError, Kind};
use crate::job::{JobOptions, PublishedRelease};

/// A person: age, zip and illness.
type Person = (u32, u32, &'static str);

const ILLNESSES: [&str; 5] = ["flu", "gout", "asthma", "angina", "cold"];
/// An age that is missing.
const NO_AGE: u32 = u32::MAX;
const KEY: ReleaseKey = ReleaseKey::PUBLIC;

/// A folder with an input, a policy, releases and a ledger.
struct Town {
    folder: TempDir,
    people: BTreeMap<u32, Person>,
    next: u32,
    more: &'static str,
    rows_per_unit: u32,
    /// What ids begin with.
    id: &'static str,
    /// Settings of the columns `age` and `zip`.
    age: &'static str,
    zip: &'static str,
}

impl Town {
    fn new(people: u32) -> Self {
        let folder = TempDir::new().unwrap();
        let mut town = Self {
            folder,
            people: BTreeMap::new(),
            next: 0,
            more: "",
            rows_per_unit: 1,
            id: "",
            age: "{ role = 'quasi' }",
            zip: "{ role = 'quasi', release = 'interval' }",
        };
        town.come(people);
        town
    }

    fn come(&mut self, people: u32) {
        for id in self.next..self.next + people {
            let person = (20 + id * 7 % 60, 10_000 + id * 13 % 40, ILLNESSES[id as usize * 3 % ILLNESSES.len()]);
            self.people.insert(id, person);
        }
        self.next += people;
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn policy(&self, mode: &str) -> Policy {
        let mut table = "id,age,zip,illness,hours\n".to_owned();
        for (id, (age, zip, illness)) in &self.people {
            let age = if *age == NO_AGE { String::new() } else { age.to_string() };
            let unit = id / self.rows_per_unit;
            writeln!(table, "{}{unit},{age},{zip},{illness},{}", self.id, id * 17 % 1000).unwrap();
        }
        fs::write(self.path("people.csv"), table).unwrap();
        let (series, unit) = match mode {
            "series" => {
                (format!("[series]\nledger = '{}'\n{}", self.path("ledger").display(), self.more), "unit = 'id'")
            }
            _ => (String::new(), ""),
        };
        let text = format!(
            "version = 1\n[input]\nlocation = '{}'\n[output]\nlocation = '{}'\nmode = '{mode}'\n[privacy]\nk = 3\np = 2\n{unit}\n\
             {series}\n[columns]\nid.role = 'identifier'\nage = {}\nzip = {}\nillness.role = 'sensitive'\n\
             hours.role = 'insensitive'\n",
            self.path("people.csv").display(),
            self.path("out").display(),
            self.age,
            self.zip,
        );
        let policy = Policy::parse(&text, Path::new("."), &Overrides::default()).unwrap();
        policy.with_secret(Secret::new("an example, and no secret at all").unwrap())
    }

    async fn night(&self) -> Result<PublishedRelease, JobError> {
        self.night_within(None).await
    }

    /// Runs a night within a memory limit.
    async fn night_within(&self, memory_limit: Option<u64>) -> Result<PublishedRelease, JobError> {
        let options = JobOptions { memory_limit, ..JobOptions::default() };
        run_with_key(&self.policy("series"), &options, None, false, KEY).await
    }

    /// Runs a night on a session that stands in for a compute cluster.
    async fn night_on(&self, cluster: &Cluster, is_rebase: bool) -> Result<PublishedRelease, JobError> {
        run_with_key(&self.policy("series"), &JobOptions::default(), Some(cluster), is_rebase, KEY).await
    }

    /// Keeps a copy of the current release, as an intruder would.
    fn keep(&self, name: &str) -> String {
        let (from, to) = (self.path("out"), self.path(name));
        fs::create_dir_all(&to).unwrap();
        for entry in fs::read_dir(from).unwrap().map(Result::unwrap) {
            if entry.file_name().to_string_lossy().starts_with("part-") {
                fs::copy(entry.path(), to.join(entry.file_name())).unwrap();
            }
        }
        to.display().to_string()
    }

    async fn compare(&self, previous: &[String]) -> Vec<SeriesComparison> {
        let policy = self.policy("series");
        let (promise, _) = policy.promise();
        let out = self.path("out").display().to_string();
        verify_against(&out, previous, &promise, &policy.store, &JobOptions::default()).await.unwrap()
    }

    async fn verify(&self) -> SeriesFindings {
        verify_with_key(&self.policy("series"), &JobOptions::default(), KEY).await.unwrap()
    }

    fn ledgers(&self) -> Vec<PathBuf> {
        let entries = fs::read_dir(self.path("ledger")).unwrap().map(|entry| entry.unwrap().path());
        let mut ledgers: Vec<PathBuf> =
            entries.filter(|path| path.extension().is_some_and(|end| end == "throng")).collect();
        ledgers.sort();
        ledgers
    }
}

fn series(release: &PublishedRelease) -> throng_report::document::SeriesFacts {
    release.sidecar.series.unwrap()
}

#[tokio::test]
async fn nights_stay_safe_together() {
    let mut town = Town::new(60);
    let first = town.night().await.unwrap();
    assert_eq!((first.sidecar.output.rows, series(&first).releases), (60, 1));
    assert_eq!(town.ledgers().len(), 1);
    let mut kept = vec![town.keep("night-1")];
    for night in 2..9 {
        town.people.remove(&(night * 5));
        town.people.get_mut(&(night * 5 + 1)).unwrap().2 = "measles";
        town.come(4);
        let release = town.night().await.unwrap();
        assert_eq!(series(&release).releases, u64::from(night));
        assert!(release.sidecar.output.rows >= 60, "who has left is shown on");
        let found = town.compare(&kept).await;
        assert!(found.iter().all(SeriesComparison::holds), "{found:?}");
        let verified = town.verify().await;
        assert!(verified.holds() && verified.rows == release.sidecar.output.rows, "{verified:?}");
        kept.push(town.keep(&format!("night-{night}")));
    }
    assert_eq!(town.ledgers().len(), 1, "older ledgers are removed");
    let shown = series(&town.night().await.unwrap());
    assert!(shown.shown_on > 0 && shown.come <= 6, "{shown:?}");
}

#[tokio::test]
async fn people_with_several_rows_are_counted_once() {
    let mut town = Town::new(90);
    town.rows_per_unit = 3;
    let first = town.night().await.unwrap();
    assert_eq!((first.sidecar.output.rows, first.sidecar.output.suppressed_rows), (90, 0));
    for night in 2..5 {
        town.come(18);
        town.people.remove(&(night * 7));
        let release = town.night().await.unwrap();
        assert!(release.sidecar.output.rows >= 90);
        assert!(town.verify().await.holds());
    }
    // Two people with nine rows do not make a class.
    let mut town = Town::new(9);
    town.rows_per_unit = 5;
    let error = town.night().await.unwrap_err();
    assert_eq!(error.kind(), Kind::Infeasible, "{error}");
}

/// Illnesses that look alike count once, in the ledger and when a release is compared with it.
#[tokio::test]
async fn a_ledger_knows_values_that_look_alike() {
    let mut town = Town::new(60);
    for (id, person) in &mut town.people {
        person.2 = match (person.2, id % 2) {
            ("flu", 0) => "Flu",
            ("gout", 0) => " gout",
            ("asthma", 0) => "N/A",
            (illness, _) => illness,
        };
    }
    town.night().await.unwrap();
    town.come(20);
    town.night().await.unwrap();
    let findings = town.verify().await;
    assert_eq!((findings.unknown_rows, findings.broken_blocks), (0, 0), "{findings:?}");
    assert!(findings.rows >= 60);
}

#[tokio::test]
async fn releases_without_a_ledger_are_found_out() {
    let mut town = Town::new(60);
    crate::run(&town.policy("overwrite"), &JobOptions::default()).await.unwrap();
    let kept = town.keep("night-1");
    town.people.remove(&7);
    crate::run(&town.policy("overwrite"), &JobOptions::default()).await.unwrap();
    let found = town.compare(&[kept]).await;
    assert!(!found[0].holds() && found[0].rows_below_k > 0, "{found:?}");
}

#[tokio::test]
async fn an_unchanged_input_gives_the_same_release_again() {
    let town = Town::new(40);
    let digest = |release: &PublishedRelease| release.files.iter().map(|file| file.sha256.clone()).collect::<Vec<_>>();
    let first = town.night().await.unwrap();
    let again = town.night().await.unwrap();
    assert_eq!(digest(&first), digest(&again));
}

#[tokio::test]
async fn releases_do_not_depend_on_the_memory_limit() {
    let nights = async |limit: Option<u64>| -> Vec<Vec<String>> {
        let mut town = Town::new(2000);
        let mut releases = Vec::new();
        for night in 0..3 {
            let release = town.night_within(limit).await.unwrap();
            releases.push(release.files.iter().map(|file| file.sha256.clone()).collect());
            for id in 0..20 {
                town.people.remove(&(night * 20 + id));
                town.people.get_mut(&(1000 + night * 20 + id)).unwrap().2 = "measles";
            }
            town.come(50);
        }
        assert!(town.verify().await.holds());
        releases
    };
    let unlimited = nights(None).await;
    assert!(unlimited[0] != unlimited[1] && unlimited[1] != unlimited[2], "nights differ");
    for limit in [crate::memory::MIN_MEMORY_LIMIT, 512 << 20] {
        assert_eq!(nights(Some(limit)).await, unlimited, "{limit}");
    }
}

/// A cluster reads and verifies. Its tasks have the policy without ledger and unit, and one process can continue the series.
#[tokio::test(flavor = "multi_thread")]
async fn a_cluster_gives_the_nights_of_one_process() {
    let digests =
        |release: &PublishedRelease| -> Vec<String> { release.files.iter().map(|file| file.sha256.clone()).collect() };
    for rows_per_unit in [1, 3] {
        let config = SessionConfig::new().with_target_partitions(3).with_batch_size(100);
        let cluster = Cluster { session: SessionContext::new_with_config(config), partitions: 3 };
        let (mut here, mut there) = (Town::new(600), Town::new(600));
        (here.rows_per_unit, there.rows_per_unit) = (rows_per_unit, rows_per_unit);
        for night in 0..4 {
            let (one, other) = (
                here.night().await.unwrap(),
                match night {
                    3 => there.night().await.unwrap(),
                    _ => there.night_on(&cluster, false).await.unwrap(),
                },
            );
            assert_eq!(digests(&one), digests(&other), "night {night}");
            assert_eq!(one.sidecar.series, other.sidecar.series);
            assert_eq!(one.sidecar.privacy.counts, other.sidecar.privacy.counts);
            assert!(there.verify().await.holds());
            let of_cluster = other.sidecar.resources.cluster.as_ref();
            assert_eq!(of_cluster.is_some_and(|cluster| cluster.shuffle_bytes["survey"] > 0), night < 3);
            for town in [&mut here, &mut there] {
                for id in 0..12 {
                    town.people.remove(&(night * 12 + id));
                    town.people.get_mut(&(300 + night * 12 + id)).unwrap().2 = "measles";
                }
                town.come(30);
            }
        }
        let begun = there.night_on(&cluster, true).await.unwrap();
        assert_eq!(series(&begun).releases, 1);
        assert!(there.verify().await.holds());
    }
}

/// A person may have several rows with equal quasi-identifiers and sensitive values, such as visits with one diagnosis.
#[tokio::test]
async fn a_row_that_is_like_another_of_its_person_is_shown_once_and_by_itself() {
    for more in ["max_delay = 0\n", "max_delay = 0\nleavers = 'drop-class'\n"] {
        let mut town = Town::new(0);
        (town.rows_per_unit, town.more) = (2, more);
        let person = |id: u32| (20 + id % 4, 10_000, ILLNESSES[id as usize / 2 % 3]);
        town.people.extend((0..60).step_by(2).map(|id| (id, person(id))));
        town.night().await.unwrap();
        let mut kept = vec![town.keep("night-1")];
        // The other row of half of the people comes, before and behind the known one by any order of hashes.
        town.people.extend((1..31).step_by(2).map(|id| (id, person(id - 1))));
        town.night().await.unwrap();
        assert_eq!(
            hours(&town).await,
            (0..60).filter(|id| id % 2 == 0 || *id < 31).map(|id| id * 17).collect::<Vec<_>>()
        );
        kept.push(town.keep("night-2"));
        // One of two rows leaves, and it is not the other that is taken for it.
        town.people.remove(&0);
        town.people.remove(&3);
        town.night().await.unwrap();
        let shown = hours(&town).await;
        assert!(shown.windows(2).all(|pair| pair[0] < pair[1]), "{more}: a row is shown twice: {shown:?}");
        assert!(town.verify().await.holds());
        for comparison in town.compare(&kept).await {
            assert_eq!((comparison.rows_below_k, comparison.rows_below_p), (0, 0), "{more}: {comparison:?}");
        }
    }
}

/// Returns the hours of the released rows, which are different in all rows of the input, in ascending order.
async fn hours(town: &Town) -> Vec<u32> {
    let folder = town.path("out").display().to_string();
    let files = fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path().display().to_string());
    let files: Vec<String> = files.filter(|path| path.ends_with(".parquet")).collect();
    let frame = SessionContext::new().read_parquet(files, Default::default()).await.unwrap();
    let batches = frame.select_columns(&["hours"]).unwrap().collect().await.unwrap();
    let numbers = batches.iter().flat_map(|batch| batch.column(0).as_primitive::<Int64Type>().values().to_vec());
    let mut hours: Vec<u32> = numbers.map(|number| number as u32).collect();
    hours.sort_unstable();
    hours
}

/// The pool of newcomers is held in memory, and refused if it does not fit, before anything is published.
#[tokio::test]
async fn newcomers_that_do_not_fit_into_memory_are_refused_with_the_limit_that_would_do() {
    let mut town = Town::new(40);
    town.night().await.unwrap();
    town.come(150_000);
    let before = fs::read(town.path("out/_throng/manifest.json")).unwrap();
    let error = town.night_within(Some(crate::memory::MIN_MEMORY_LIMIT)).await.unwrap_err();
    assert_eq!(error.kind(), Kind::BadPolicy, "{error}");
    assert_eq!(fs::read(town.path("out/_throng/manifest.json")).unwrap(), before, "the release stands");
    let text = error.to_string();
    let least: u64 = text.rsplit_once(' ').unwrap().1.trim_end_matches("MiB").parse().unwrap();
    assert!(text.contains("--memory-limit") && least << 20 > crate::memory::MIN_MEMORY_LIMIT, "{text}");
    town.night_within(Some(least << 20)).await.unwrap();
}

#[tokio::test]
async fn a_ledger_of_another_version_is_refused() {
    let mut town = Town::new(40);
    town.night().await.unwrap();
    town.come(8);
    let path = town.ledgers().remove(0);
    let mut sealed = fs::read(&path).unwrap();
    sealed[15] = 1;
    fs::write(&path, &sealed).unwrap();
    refused(&town, Kind::BadPolicy, "another version of Throng").await;
}

async fn refused(town: &Town, kind: Kind, text: &str) {
    let before = fs::read(town.path("out/_throng/manifest.json")).unwrap();
    let error = town.night().await.unwrap_err();
    assert_eq!(error.kind(), kind, "{error}");
    assert!(error.to_string().contains(text) && error.to_string().contains("--rebase"), "{error}");
    assert_eq!(fs::read(town.path("out/_throng/manifest.json")).unwrap(), before, "the release stands");
}

#[tokio::test]
async fn a_ledger_that_is_lost_damaged_or_foreign_is_refused() {
    let mut town = Town::new(40);
    town.night().await.unwrap();
    let path = town.ledgers().remove(0);
    let sealed = fs::read(&path).unwrap();
    let text = String::from_utf8_lossy(&sealed).into_owned();
    assert!(ILLNESSES.iter().all(|illness| !text.contains(illness)));

    fs::remove_file(&path).unwrap();
    refused(&town, Kind::BadPolicy, "missing").await;
    let mut damaged = sealed.clone();
    damaged[100] ^= 1;
    fs::write(&path, &damaged).unwrap();
    refused(&town, Kind::BadPolicy, "damaged").await;
    fs::write(&path, &sealed[..sealed.len() / 2]).unwrap();
    refused(&town, Kind::BadPolicy, "damaged").await;
    fs::write(&path, &sealed).unwrap();
    let other =
        run_with_key(&town.policy("series"), &JobOptions::default(), None, false, KEY.derive("other", b"")).await;
    assert!(other.unwrap_err().to_string().contains("THRONG_LEDGER_KEY"));

    fs::rename(town.path("out"), town.path("away")).unwrap();
    let error = town.night().await.unwrap_err();
    assert!(error.to_string().contains("has no release") && error.to_string().contains("--rebase"), "{error}");
    fs::rename(town.path("away"), town.path("out")).unwrap();

    fs::remove_file(&path).unwrap();
    town.come(5);
    let begun = run_with_key(&town.policy("series"), &JobOptions::default(), None, true, KEY).await.unwrap();
    assert_eq!((series(&begun).releases, begun.sidecar.output.rows), (1, 45));
    town.night().await.unwrap();
}

#[tokio::test]
async fn a_ledger_that_is_older_than_the_release_is_refused() {
    let mut town = Town::new(40);
    town.night().await.unwrap();
    let older = town.ledgers().remove(0);
    let sealed = fs::read(&older).unwrap();
    town.come(8);
    town.night().await.unwrap();
    let newer = town.ledgers().remove(0);
    let current = fs::read(&newer).unwrap();

    fs::remove_file(&newer).unwrap();
    fs::write(&older, &sealed).unwrap();
    refused(&town, Kind::BadPolicy, "outdated").await;
    fs::rename(&older, &newer).unwrap();
    refused(&town, Kind::BadPolicy, "belongs to another release").await;
    fs::write(&newer, current).unwrap();
    assert_eq!(series(&town.night().await.unwrap()).releases, 3);
}

#[tokio::test]
async fn a_night_that_is_replayed_shows_the_same_and_stays_safe() {
    let mut town = Town::new(40);
    town.night().await.unwrap();
    let mut kept = vec![town.keep("night-1")];
    let monday = town.people.clone();
    town.come(12);
    town.people.remove(&3);
    town.night().await.unwrap();
    kept.push(town.keep("night-2"));
    // Monday's delivery is repeated: people who came on Tuesday have left, and people who left are back.
    town.people = monday;
    let replayed = town.night().await.unwrap();
    assert!(series(&replayed).releases == 3 && replayed.sidecar.output.rows >= 40);
    let found = town.compare(&kept).await;
    assert!(found.iter().all(SeriesComparison::holds), "{found:?}");
    assert!(town.verify().await.holds());
}

#[tokio::test]
async fn a_new_column_and_a_new_type_are_refused() {
    let town = Town::new(40);
    town.night().await.unwrap();
    let before = fs::read(town.path("out/_throng/manifest.json")).unwrap();
    let policy = town.policy("series");
    let table = fs::read_to_string(town.path("people.csv")).unwrap();
    let changed = |line: fn((usize, &str)) -> String| {
        fs::write(town.path("people.csv"), table.lines().enumerate().map(line).collect::<String>()).unwrap();
    };
    let options = JobOptions::default();
    let night = || run_with_key(&policy, &options, None, false, KEY);

    changed(|(number, line)| format!("{line},{}\n", if number == 0 { "shoe_size" } else { "40" }));
    let error = night().await.unwrap_err();
    assert!(error.kind() == Kind::BadPolicy && error.to_string().contains("shoe_size"), "{error}");
    // Hours become decimal numbers.
    changed(|(number, line)| format!("{line}{}\n", if number == 0 { "" } else { ".5" }));
    let error = night().await.unwrap_err();
    let text = error.to_string();
    assert!(
        error.kind() == Kind::BadPolicy && text.contains("types, have changed") && text.contains("--rebase"),
        "{text}"
    );
    assert_eq!(fs::read(town.path("out/_throng/manifest.json")).unwrap(), before, "the release stands");

    fs::write(town.path("people.csv"), &table).unwrap();
    assert_eq!(series(&night().await.unwrap()).releases, 2);
}

#[tokio::test]
async fn a_changed_policy_is_refused() {
    let mut town = Town::new(40);
    town.night().await.unwrap();
    let text = town.policy("series");
    let mut changed = text.clone();
    changed.privacy.k = 4;
    let error = run_with_key(&changed, &JobOptions::default(), None, false, KEY).await.unwrap_err();
    assert!(error.to_string().contains("policy has changed") && error.to_string().contains("--rebase"), "{error}");
    // Settings of the series may change.
    town.more = "max_delay = 3\n";
    town.night().await.unwrap();
}

#[tokio::test]
async fn a_run_that_was_killed_leaves_the_old_night_or_the_new_one() {
    let mut town = Town::new(40);
    town.night().await.unwrap();
    let old = town.ledgers().remove(0);
    let sealed = fs::read(&old).unwrap();
    // Killed before the commit: a ledger without a release.
    fs::write(town.path("ledger/ledger-00000000000000000000000000000000.throng"), b"unfinished").unwrap();
    town.come(8);
    town.night().await.unwrap();
    assert!(town.verify().await.holds());
    // Killed after the commit: the old ledger is still there.
    fs::write(&old, sealed).unwrap();
    town.come(8);
    assert_eq!(series(&town.night().await.unwrap()).releases, 3);
    assert!(town.verify().await.holds());
}

#[tokio::test]
async fn of_two_nights_at_once_one_follows_the_other_or_fails() {
    let mut town = Town::new(40);
    town.night().await.unwrap();
    town.come(8);
    let (one, two) = tokio::join!(town.night(), town.night());
    let published = [&one, &two].into_iter().flatten().count();
    assert!(published >= 1);
    for error in [&one, &two].into_iter().filter_map(|night| night.as_ref().err()) {
        assert!(matches!(error.kind(), Kind::TemporaryIo | Kind::BadPolicy), "{error}");
    }
    let verified = town.verify().await;
    assert!(verified.holds() && verified.releases == 1 + published as u64, "{verified:?}");
}

#[tokio::test]
async fn a_ledger_inside_the_output_is_refused() {
    let town = Town::new(40);
    let mut policy = town.policy("series");
    policy.series.as_mut().unwrap().ledger = town.path("out/ledger").display().to_string();
    let error = run_with_key(&policy, &JobOptions::default(), None, false, KEY).await.unwrap_err();
    assert!(error.to_string().contains("overlap"), "{error}");
}

/// If ids become text, all pseudonyms change.
#[tokio::test]
async fn a_unit_of_another_type_is_refused() {
    let mut town = Town::new(40);
    town.night().await.unwrap();
    town.id = "A";
    refused(&town, Kind::BadPolicy, "`id` of the `unit` was of type integer").await;
    town.id = "";
    assert_eq!(series(&town.night().await.unwrap()).releases, 2);
    town.id = "A";
    let begun = run_with_key(&town.policy("series"), &JobOptions::default(), None, true, KEY).await.unwrap();
    assert_eq!(series(&begun).releases, 1);
}

#[tokio::test]
async fn ids_that_are_written_in_another_way_are_refused() {
    let mut town = Town::new(60);
    town.id = "A";
    town.night().await.unwrap();
    town.id = "A0";
    town.come(5);
    refused(&town, Kind::BadPolicy, "equal to them in everything but the `unit`").await;
    // Other people come under new ids, and that is a night like others.
    town.people.retain(|id, _| *id >= 60);
    town.come(60);
    assert_eq!(series(&town.night().await.unwrap()).releases, 2);
}

#[tokio::test]
async fn a_series_remembers_more_or_fewer_releases_from_one_night_to_the_next() {
    let mut town = Town::new(60);
    let nights = [(3, 0), (3, 1), (3, 2), (3, 3), (3, 3), (12, 3), (12, 4), (12, 5), (2, 6), (12, 2), (12, 3)];
    for (night, (remember, remembered)) in (0..).zip(nights) {
        town.more = if remember == 12 {
            "remember = 12\n"
        } else if remember == 3 {
            "remember = 3\n"
        } else {
            "remember = 2\n"
        };
        let release = town.night().await.unwrap();
        assert_eq!(series(&release).remembered, remembered, "night {night}");
        let verified = town.verify().await;
        assert!(verified.holds() && verified.releases == night + 1, "night {night}: {verified:?}");
        town.people.remove(&(night as u32 * 5));
        town.come(6);
    }
}

/// The input does not change, and the rows that are not shown have no class among themselves.
#[tokio::test]
async fn rows_that_the_policy_suppresses_are_no_error() {
    let mut town = Town::new(40);
    town.age = "{ role = 'quasi', nulls = 'suppress' }";
    town.people.get_mut(&7).unwrap().0 = NO_AGE;
    let first = town.night().await.unwrap();
    assert_eq!((first.sidecar.output.rows, first.sidecar.output.suppressed_rows), (39, 1));
    for _ in 0..3 {
        assert_eq!(town.night().await.unwrap().sidecar.output.rows, 39);
    }
    town.come(12);
    assert!(town.night().await.unwrap().sidecar.output.rows > 39);
    assert!(town.verify().await.holds());
}

/// A label of a mask has as many stars as the longest code is long, and must be the same every night.
#[tokio::test]
async fn labels_of_masked_codes_stay_whichever_codes_come_and_go() {
    let mut town = Town::new(60);
    (town.zip, town.more) = ("{ role = 'quasi', hierarchy = { mask = 'right' } }", "max_delay = 0\n");
    for id in 0..12 {
        town.people.get_mut(&id).unwrap().1 = 123_450 + id % 6;
    }
    town.night().await.unwrap();
    let mut kept = vec![town.keep("night-1")];
    let mut shown = 60;
    for night in 2..6 {
        match night {
            // Shorter codes, longer ones, and the longest of the first night leave.
            2 => town.come(12),
            3 => {
                town.come(12);
                town.people.range_mut(72..).for_each(|(id, person)| person.1 = 12_345_670 + id % 6);
            }
            4 => town.people.retain(|id, _| *id >= 12),
            _ => town.come(12),
        }
        let release = town.night().await.unwrap();
        assert!(release.sidecar.output.rows > shown || night == 4, "night {night}: newcomers are shown");
        shown = release.sidecar.output.rows;
        assert!(town.verify().await.holds(), "night {night}");
        let found = town.compare(&kept).await;
        assert!(found.iter().all(SeriesComparison::holds), "night {night}: {found:?}");
        kept.push(town.keep(&format!("night-{night}")));
    }
}

/// A release has as many rows as the one before when half of the delivery is lost, since they are shown on.
#[tokio::test]
async fn a_delivery_is_compared_with_the_one_before() {
    let mut town = Town::new(60);
    let guarded = async |town: &Town, is_rebase: bool| {
        let mut policy = town.policy("series");
        policy.privacy.guards.max_rows_change = Some(0.1);
        run_with_key(&policy, &JobOptions::default(), None, is_rebase, KEY).await
    };
    guarded(&town, false).await.unwrap();
    let all = town.people.clone();
    town.people.retain(|id, _| *id >= 20);
    for is_rebase in [false, true] {
        let error = guarded(&town, is_rebase).await.unwrap_err();
        let text = error.to_string();
        assert!(error.kind() == Kind::BadData && text.contains("33.3 % fewer than the 60 of the last input"), "{text}");
    }
    // Five leave every night, and are shown on.
    town.people = all;
    for night in 0..4 {
        town.people.remove(&night);
        town.people.remove(&(night + 20));
        guarded(&town, false).await.unwrap();
    }
    assert!(series(&town.night().await.unwrap()).shown_on > 0);
    // The release has more rows than the input by now.
    guarded(&town, false).await.unwrap();
}

#[tokio::test]
async fn a_ledger_folder_belongs_to_one_series() {
    let (town, mut other) = (Town::new(40), Town::new(40));
    town.night().await.unwrap();
    let into_the_same = |other: &Town| {
        let mut policy = other.policy("series");
        policy.series.as_mut().unwrap().ledger = town.path("ledger").display().to_string();
        policy
    };
    let options = JobOptions::default();
    for is_rebase in [false, true] {
        let error = run_with_key(&into_the_same(&other), &options, None, is_rebase, KEY).await.unwrap_err();
        let text = error.to_string();
        let owner = town.path("out").display().to_string();
        assert!(error.kind() == Kind::BadPolicy && text.contains(&owner) && !text.contains("--rebase"), "{text}");
    }
    assert_eq!(town.ledgers().len(), 1);
    other.come(4);
    other.night().await.unwrap();
    assert_eq!(series(&town.night().await.unwrap()).releases, 2);
    // A release that is moved takes its series along.
    let mut moved = town.policy("series");
    fs::rename(town.path("out"), town.path("moved")).unwrap();
    moved.output.location = town.path("moved").display().to_string();
    let release = run_with_key(&moved, &options, None, false, KEY).await.unwrap();
    assert_eq!(series(&release).releases, 3);
}

/// What is promised when quasi-identifiers change: both rows of the person are in classes and blocks that satisfy the policy. Someone who
/// knows the former and the present values may intersect the two classes, and the number of such people is published.
#[tokio::test]
async fn a_person_who_moves_is_shown_in_two_classes_and_counted() {
    let mut town = Town::new(60);
    town.more = "max_delay = 0\n";
    let first = town.night().await.unwrap();
    assert_eq!(series(&first).in_several_classes, 0);
    let mut kept = vec![town.keep("night-1")];
    for id in 0..6 {
        town.people.get_mut(&(id * 7)).unwrap().1 = 20_000 + id;
    }
    let second = town.night().await.unwrap();
    let facts = series(&second);
    assert_eq!((facts.come, facts.in_several_classes), (6, 6), "{facts:?}");
    assert_eq!(second.sidecar.output.rows, 66, "their former rows are shown on");
    let found = town.compare(&kept).await;
    assert!(found.iter().all(SeriesComparison::holds), "{found:?}");
    assert!(town.verify().await.holds());
    kept.push(town.keep("night-2"));
    // Rows in which nothing changes add nothing.
    assert_eq!(series(&town.night().await.unwrap()).in_several_classes, 6);
    assert!(town.compare(&kept).await.iter().all(SeriesComparison::holds));
}

//! The whole job on Google Cloud Storage and Azure Blob Storage.

use throng_testkit::{CloudStore, skip};

use crate::sandbox::{Ended, Sandbox, policy_text};
use crate::setting::say;

const COLUMNS: &str = "[columns]\nage.role = \"quasi\"\ndiagnosis.role = \"sensitive\"\n";

/// A policy for the release of the first one.
const OF_A_RELEASE: &str = "[columns]\nage.role = \"insensitive\"\ndiagnosis.role = \"quasi\"\n";

/// A table of people on this machine, and commands in the environment of a store.
struct Office {
    sandbox: Sandbox,
    store: CloudStore,
}

impl Office {
    fn new(store: CloudStore) -> Self {
        let sandbox = Sandbox::new();
        let diagnoses = ["asthma", "cancer", "flu", "hiv", "none"];
        let rows = (0..500).map(|row| format!("{},{}\n", 20 + row * 7 % 60, diagnoses[row % 5]));
        sandbox.write("input/people.csv", rows.fold("age,diagnosis\n".to_owned(), |text, row| text + &row));
        sandbox.write("policy.toml", policy_text("input/", 5, 2, COLUMNS));
        sandbox.write("second.toml", policy_text("input/", 5, 1, OF_A_RELEASE).replace("p = 1\n", ""));
        Self { sandbox, store }
    }

    fn throng(&self, arguments: &[&str]) -> Ended {
        self.sandbox.command(arguments).envs(self.store.environment()).output().unwrap().into()
    }

    /// Returns the rows of a release, in order.
    fn rows(&self, location: &str) -> Vec<String> {
        let query = format!("SELECT * FROM '{location}'");
        let ended = self.throng(&["sql", "-c", &query, "--format", "csv"]);
        assert_eq!(ended.code, Some(0), "{ended:?}");
        ended.stdout.lines().map(str::to_owned).collect()
    }
}

/// Releases to a store, from it, and over it; the rows must be those of local files.
fn releases(store: CloudStore) {
    let office = Office::new(store);
    let (released, second) = (office.store.url("a/released/"), office.store.url("second/"));
    office.throng(&["run", "policy.toml"]).done();
    let outcome = office.throng(&["run", "policy.toml", "--output", &released]).done();
    assert_eq!((outcome["rows"].as_u64(), outcome["satisfied"].as_bool()), (Some(500), Some(true)));
    let local = office.rows("out/release/");
    assert_eq!(office.rows(&released), local);
    let verified = office.throng(&["verify", &released, "--policy", "policy.toml"]).done();
    assert_eq!(verified["rows"], 500, "{verified}");

    // Nothing is replaced unless requested, and then as a whole.
    office.throng(&["run", "policy.toml", "--output", &released]).refused(78);
    assert_eq!(office.rows(&released), local);
    let replaced = office.throng(&["run", "policy.toml", "--output", &released, "--overwrite", "-k", "50"]).done();
    assert!(replaced["classes"].as_u64() < outcome["classes"].as_u64(), "{replaced}");
    assert_ne!(office.rows(&released), local);

    // A store is an input too.
    let other = ["run", "second.toml", "--input", &released, "--output"];
    office.throng(&[&other[..], &[&second]].concat()).done();
    office.throng(&[&other[..], &["out/second"]].concat()).done();
    assert_eq!(office.rows(&second), office.rows("out/second/"));
    let (nobody, third) = (office.store.url("nobody/"), office.store.url("third/"));
    office.throng(&["run", "policy.toml", "--input", &nobody, "--output", &third]).refused(66);
    say(&format!("the whole job on {released}: the same rows as on local files"));
}

#[test]
fn google_cloud_storage_has_the_release_of_local_files() {
    match CloudStore::google() {
        Ok(store) => releases(store),
        Err(why) => skip(&format!("there is no Google Cloud Storage to test with: {why}")),
    }
}

#[test]
fn azure_blob_storage_has_the_release_of_local_files() {
    match CloudStore::azure() {
        Ok(store) => releases(store),
        Err(why) => skip(&format!("there is no Azure Blob Storage to test with: {why}")),
    }
}

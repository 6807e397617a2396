//! Releases that grow: appends, and nights of a series, on S3.

use std::cell::OnceCell;
use std::collections::BTreeMap;
use std::fs;
use std::net::SocketAddr;
use std::process::Child;

use arrow::array::RecordBatch;
use arrow::compute::concat_batches;
use serde_json::Value;
use throng_testkit::s3::Server;

use crate::bucket::Bucket;
use crate::delta_state::{latest_files, unlisted};
use crate::fixture_table::{COLUMNS, QUASI, people};
use crate::release_files::{Rows, multiset, read_file};
use crate::sandbox::{Ended, Sandbox};
use crate::state::Objects;
use crate::tables::write_parquet;
use crate::trial::{STORE, Trial, digest, wait};

const K: u64 = 4;
const P: u64 = 2;

/// Rows of the first delivery, and of both.
pub const FIRST: usize = 300;
pub const BOTH: usize = 500;

/// How a release grows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Growth {
    Append,
    Series,
    /// A series whose releases are versions of a Delta table.
    Table,
}

/// A release that grows, in its own buckets.
pub struct Nights<'a> {
    server: &'a Server,
    growth: Growth,
    trial: Trial,
    input: Bucket,
    pub release: Bucket,
    /// Bucket of the ledger; it stays empty for an appended release.
    pub ledger: Bucket,
    /// The run of the first release that was seen.
    first_run: OnceCell<String>,
}

/// A release as seen by a reader.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Seen {
    /// Number of rows.
    pub rows: usize,
    /// Number of appends; for a series, whether the night is the first or a later one.
    pub times: u64,
}

impl<'a> Nights<'a> {
    /// Creates the buckets, and the first delivery.
    pub fn new(server: &'a Server, growth: Growth, name: &str) -> Self {
        let bucket = |what: &str| Bucket::new(server, &format!("{name}-{what}"));
        let (input, release, ledger) = (bucket("input"), bucket("release"), bucket("ledger"));
        let (mode, unit, series) = match growth {
            Growth::Append => ("append", "", String::new()),
            Growth::Series => {
                ("series", "unit = \"row\"\n", format!("[series]\nledger = \"{}\"\n", ledger.url("ledger")))
            }
            Growth::Table => (
                "series\"\nformat = \"delta",
                "unit = \"row\"\n",
                format!("[series]\nledger = \"{}\"\n", ledger.url("ledger")),
            ),
        };
        let trial = Trial { sandbox: Sandbox::new(), known: [Vec::new(), Vec::new()] };
        let (from, to) = (input.url("input/"), release.url("release"));
        trial.sandbox.write(
            "policy.toml",
            format!(
                "version = 1\n[input]\nlocation = \"{from}\"\n[output]\nlocation = \"{to}\"\nmode = \"{mode}\"\n[privacy]\nk = {K}\n\
                 p = {P}\n{unit}{series}[algorithm]\nbudget = \"fast\"\n{STORE}{COLUMNS}"
            ),
        );
        let nights = Self { server, growth, trial, input, release, ledger, first_run: OnceCell::new() };
        nights.deliver("first", &people(FIRST));
        nights
    }

    /// Creates the buckets with the release of the first delivery, and the second delivery.
    pub fn begun(server: &'a Server, growth: Growth, name: &str) -> Self {
        let nights = Self::new(server, growth, name);
        nights.run(server.address()).done();
        assert_eq!(nights.look(), Some(Seen { rows: FIRST, times: 1 }));
        nights.deliver("second", &people(BOTH).slice(FIRST, BOTH - FIRST));
        nights
    }

    /// Adds an input file.
    pub fn deliver(&self, name: &str, rows: &RecordBatch) {
        let path = self.trial.sandbox.path(&format!("{name}.parquet"));
        write_parquet(&path, rows);
        self.input.put(&format!("input/{name}.parquet"), fs::read(path).unwrap());
    }

    pub fn start(&self, endpoint: SocketAddr) -> Child {
        self.trial.command(endpoint, &["run", "policy.toml"]).spawn().unwrap()
    }

    pub fn run(&self, endpoint: SocketAddr) -> Ended {
        wait(self.start(endpoint))
    }

    /// Runs with more arguments, without faults.
    pub fn run_with(&self, more: &[&str]) -> Ended {
        let arguments = [&["run", "policy.toml"], more].concat();
        self.trial.command(self.server.address(), &arguments).output().unwrap().into()
    }

    /// Replaces text of the policy.
    pub fn change_policy(&self, from: &str, to: &str) {
        let text = fs::read_to_string(self.trial.sandbox.path("policy.toml")).unwrap();
        assert!(text.contains(from));
        self.trial.sandbox.write("policy.toml", text.replace(from, to));
    }

    /// Inspects the current release as an outsider. Every listed file exists, its rows occur once, and those of each append, or
    /// of the night, satisfy the policy on their own. A series has the ledger of the release.
    pub fn look(&self) -> Option<Seen> {
        let objects = self.release.objects("release");
        let mut manifest = Value::Null;
        let (run, files) = match self.growth {
            Growth::Table => latest_files(&objects)?,
            Growth::Append | Growth::Series => {
                manifest = serde_json::from_slice(objects.get("_throng/manifest.json")?).unwrap();
                (manifest["run_id"].as_str().unwrap().to_owned(), listed_files(&objects, &manifest))
            }
        };
        let mut appends: BTreeMap<String, Vec<RecordBatch>> = BTreeMap::new();
        for name in &files {
            let bytes = objects.get(name).unwrap_or_else(|| panic!("{name} is listed and missing"));
            let path = self.trial.sandbox.path(name);
            fs::write(&path, bytes).unwrap();
            appends.entry(name.rsplit_once('-').unwrap().0.to_owned()).or_default().extend(read_file(&path));
        }
        let mut all = Vec::new();
        for batches in appends.values() {
            let rows = Rows::of(&concat_batches(&batches[0].schema(), batches).unwrap());
            let count = rows.count(&QUASI, &["diagnosis"]);
            assert!(count.smallest >= K && count.fewest[0] >= P, "{count:?}");
            all.extend(rows.column("row").iter().cloned());
        }
        let rows = all.len();
        assert!(multiset(all).values().all(|times| *times == 1), "a row is released twice");
        let times = match self.growth {
            Growth::Append => {
                assert_eq!(manifest["appended"]["appends"], appends.len());
                appends.len() as u64
            }
            Growth::Series | Growth::Table => {
                assert!(self.ledger.get(&format!("ledger/ledger-{run}.throng")).is_some(), "the ledger is another one");
                1 + u64::from(*self.first_run.get_or_init(|| run.clone()) != run)
            }
        };
        Some(Seen { rows, times })
    }

    /// Verifies the current release, which must satisfy the policy.
    pub fn verify(&self, more: &[&str]) -> Value {
        let prefix = if self.growth == Growth::Table { "delta+" } else { "" };
        let location = format!("{prefix}{}", self.release.url("release"));
        let arguments = [&["verify", location.as_str(), "--policy", "policy.toml"], more].concat();
        let verified = Ended::from(self.trial.command(self.server.address(), &arguments).output().unwrap()).done();
        assert_eq!(verified["satisfied"], true, "{verified}");
        verified
    }

    /// Completes the release without faults. It then contains all rows, except for a few waiting rows of a series, and
    /// nothing else is visible.
    pub fn complete(&self) {
        self.run(self.server.address()).done();
        let seen = self.look().unwrap();
        match self.growth {
            Growth::Append => assert_eq!(seen, Seen { rows: BOTH, times: 2 }),
            Growth::Series | Growth::Table => assert!(seen.rows >= BOTH - 4 && seen.rows <= BOTH, "{seen:?}"),
        }
        self.verify(if self.growth == Growth::Append { &[] } else { &["--ledger"] });
        let objects = self.release.objects("release");
        if self.growth == Growth::Table {
            assert_eq!(unlisted(&objects), Vec::<String>::new(), "files that no version names stay");
            return;
        }
        let manifest: Value = serde_json::from_slice(&objects["_throng/manifest.json"]).unwrap();
        let listed: Vec<&str> =
            manifest["files"].as_array().unwrap().iter().map(|file| file["path"].as_str().unwrap()).collect();
        let others: Vec<&String> =
            objects.keys().filter(|name| !name.starts_with('_') && !listed.contains(&name.as_str())).collect();
        assert!(others.is_empty() && objects.contains_key("_SUCCESS"), "{others:?}");
    }
}

/// Returns the files that a manifest lists, which must have their digests.
fn listed_files(objects: &Objects, manifest: &Value) -> Vec<String> {
    let mut files = Vec::new();
    for file in manifest["files"].as_array().unwrap() {
        let name = file["path"].as_str().unwrap();
        let bytes = objects.get(name).unwrap_or_else(|| panic!("{name} is listed and missing"));
        assert_eq!(file["sha256"], digest(bytes).as_str(), "{name}");
        files.push(name.to_owned());
    }
    files
}

//! The secret that keys every random choice: where it comes from, and what depends on it.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;

use crate::fixture_table::{COLUMNS, people};
use crate::release_files::data_files;
use crate::sandbox::{Ended, Sandbox, assert_contains};

/// A command without a secret of its own, whose user has this home folder.
fn command(sandbox: &Sandbox, command: &str, home: Option<&str>) -> Ended {
    let mut command = sandbox.command(&[command, "policy.toml"]);
    for variable in ["THRONG_SECRET", "THRONG_SECRET_FILE", "XDG_STATE_HOME", "HOME"] {
        command.env_remove(variable);
    }
    if let Some(home) = home {
        command.env("HOME", sandbox.path(home));
    }
    command.output().unwrap().into()
}

fn release(sandbox: &Sandbox) -> BTreeMap<PathBuf, Vec<u8>> {
    let files = data_files(&sandbox.release()).into_iter();
    let bytes = files.map(|file| (file.clone(), fs::read(&file).unwrap())).collect();
    fs::remove_dir_all(sandbox.release()).unwrap();
    bytes
}

#[test]
fn without_a_secret_that_can_be_kept_commands_say_what_to_do() {
    let sandbox = Sandbox::with(&people(200), 4, 2, COLUMNS);
    for name in ["check", "run", "plan"] {
        let message = command(&sandbox, name, None).refused(78);
        assert_contains(&message, &["set THRONG_SECRET", "openssl rand -hex 32"]);
    }
    assert!(sandbox.out().is_empty());
}

#[test]
fn a_secret_in_the_state_folder_is_made_once_and_gives_the_same_bytes() {
    let sandbox = Sandbox::with(&people(600), 4, 2, COLUMNS);
    command(&sandbox, "run", Some("home")).done();
    let secret = fs::read(sandbox.path("home/.local/state/throng/secret")).unwrap();
    let first = release(&sandbox);
    command(&sandbox, "run", Some("home")).done();
    assert_eq!(fs::read(sandbox.path("home/.local/state/throng/secret")).unwrap(), secret);
    assert!(release(&sandbox) == first, "the same secret gives other bytes");
    command(&sandbox, "run", Some("another-home")).done();
    assert!(release(&sandbox) != first, "another secret gives the same bytes");
}

#[test]
fn no_document_holds_the_secret_and_digests_depend_on_it() {
    let sandbox = Sandbox::with(&people(600), 4, 2, COLUMNS);
    let mut digests = Vec::new();
    for secret in ["one secret of the office", "another secret of theirs"] {
        let ended: Ended = {
            let mut command =
                sandbox.command(&["run", "policy.toml", "--overwrite", "-v", "--metrics-file", "run.prom"]);
            command.env("THRONG_SECRET", secret).output().unwrap().into()
        };
        let documents = ["out/release/_throng/manifest.json", "out/release/_throng/metrics.json", "run.prom"];
        let texts = documents.map(|name| fs::read_to_string(sandbox.path(name)).unwrap());
        for text in texts.iter().chain([&ended.stdout, &ended.stderr]) {
            assert!(!text.contains(secret), "the secret is in {text}");
        }
        let manifest: serde_json::Value = serde_json::from_str(&texts[0]).unwrap();
        digests.push(manifest["policy_digest"].as_str().unwrap().to_owned());
        ended.done();
    }
    assert_ne!(digests[0], digests[1]);
}

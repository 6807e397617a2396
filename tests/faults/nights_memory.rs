//! The memory of an appended release and of a series on S3: missing, damaged or outdated.

use crate::nights_setting::{BOTH, Growth, Nights, Seen};
use crate::sandbox::assert_contains;
use crate::setting::server;

const MANIFEST: &str = "release/_throng/manifest.json";

/// Asserts that runs fail with this code and these words, and change nothing.
fn refused(nights: &Nights<'_>, code: i32, words: &[&str]) {
    let before = (nights.release.objects("release"), nights.ledger.objects("ledger"));
    assert_contains(&nights.run_with(&[]).refused(code), words);
    let visible = |objects: crate::state::Objects| -> crate::state::Objects {
        objects.into_iter().filter(|(name, _)| !name.starts_with("_throng/staging/")).collect()
    };
    assert_eq!(visible(nights.release.objects("release")), visible(before.0), "the release was touched: {words:?}");
    assert_eq!(nights.ledger.objects("ledger"), before.1, "the ledger was touched: {words:?}");
}

#[test]
fn a_manifest_that_is_lost_damaged_or_older_is_refused() {
    let Some(server) = server() else { return };
    let nights = Nights::begun(server, Growth::Append, "append-memory");
    let older = nights.release.get(MANIFEST).unwrap();
    nights.complete();
    let manifest = nights.release.get(MANIFEST).unwrap();

    nights.release.remove(MANIFEST);
    refused(&nights, 78, &["lost", "restore it from a backup"]);
    // The marker shows that there is a release; without it the sidecar does.
    nights.release.remove("release/_SUCCESS");
    refused(&nights, 78, &["lost", "restore it from a backup"]);
    nights.release.put(MANIFEST, manifest[..manifest.len() / 2].to_vec());
    refused(&nights, 78, &["damaged"]);
    nights.release.put(MANIFEST, older);
    refused(&nights, 78, &["older than its release", "restore it from a backup"]);

    nights.release.put(MANIFEST, manifest);
    assert_eq!(nights.run_with(&[]).done()["outcome"], "unchanged");
    assert_eq!(nights.look(), Some(Seen { rows: BOTH, times: 2 }));
    nights.change_policy("k = 4", "k = 5");
    refused(&nights, 78, &["the policy", "take the change back"]);
}

#[test]
fn a_ledger_that_is_lost_damaged_or_older_is_refused() {
    let Some(server) = server() else { return };
    let nights = Nights::begun(server, Growth::Series, "night-memory");
    let ledgers = || -> Vec<(String, Vec<u8>)> {
        let objects = nights.ledger.objects("ledger").into_iter();
        objects.filter(|(name, _)| name.starts_with("ledger-")).collect()
    };
    let (older_name, older) = ledgers().remove(0);
    nights.complete();
    let found = ledgers();
    assert_eq!(found.len(), 1, "older ledgers are removed");
    let (name, ledger) = (format!("ledger/{}", found[0].0), found[0].1.clone());

    nights.ledger.remove(&name);
    refused(&nights, 78, &["missing", "--rebase"]);
    nights.ledger.put(&format!("ledger/{older_name}"), older.clone());
    refused(&nights, 78, &["outdated", "--rebase"]);
    nights.ledger.remove(&format!("ledger/{older_name}"));
    nights.ledger.put(&name, older);
    refused(&nights, 78, &["belongs to another release", "--rebase"]);
    let mut damaged = ledger.clone();
    damaged[ledger.len() / 2] ^= 1;
    nights.ledger.put(&name, damaged);
    refused(&nights, 78, &["damaged", "--rebase"]);

    nights.ledger.put(&name, ledger);
    // Repeating the same night gives another release of the series, which shows the same.
    nights.complete();
    nights.change_policy("k = 4", "k = 5");
    refused(&nights, 78, &["the policy has changed", "--rebase"]);
    nights.change_policy("k = 5", "k = 4");
    nights.ledger.remove(&format!("ledger/{}", ledgers()[0].0));
    assert_eq!(nights.run_with(&["--rebase"]).done()["rows"], BOTH);
    nights.complete();
}

//! Any bytes as an input file. The first byte selects the format.

use std::fs;
use std::path::Path;

use throng_policy::{Overrides, Policy};

use super::job::{Texts, run};
use super::read::NAMES;

/// A policy for tables with an age, a city and an illness.
pub(super) const POLICY: &str = "\
version = 1
[privacy]
k = 2
p = 2
[algorithm]
budget = 'fast'
[columns]
default = 'drop'
[columns.age]
role = 'quasi'
[columns.city]
role = 'quasi'
release = 'set'
[columns.illness]
role = 'sensitive'
";

/// Releases the table in these bytes.
pub fn check(bytes: &[u8]) {
    let Some((format, bytes)) = bytes.split_first() else { return };
    let name = NAMES[usize::from(*format) % NAMES.len()];
    let folder = tempfile::tempdir().expect("a folder");
    for name in ["input", "out"] {
        fs::create_dir(folder.path().join(name)).expect("a folder");
    }
    fs::write(folder.path().join("input").join(name), bytes).expect("a file");
    if run(&policy(folder.path()), folder.path()).is_some() {
        Texts::of_release(folder.path()).check_promise(&["age", "city"], &["illness"], 2, 2);
    }
}

fn policy(folder: &Path) -> Policy {
    let place = |name: &str| folder.join(name).display().to_string();
    let overrides =
        Overrides { input: Some(vec![place("input")]), output: Some(place("out/release")), ..Overrides::default() };
    Policy::parse(POLICY, folder, &overrides).expect("a policy")
}

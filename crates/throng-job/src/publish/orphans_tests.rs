use super::*;

const RUN: &str = "0123456789abcdef0123456789abcdef";

#[test]
fn only_names_of_our_runs_are_leftovers() {
    assert!(is_of_a_run(&format!("part-{RUN}-00000.parquet")));
    assert!(is_of_a_run(&format!("part-{RUN}-123456.parquet")));
    for name in [
        "part-00000.parquet".to_owned(),
        format!("part-{RUN}-00000.csv"),
        format!("part-{RUN}-0000.parquet"),
        format!("part-{RUN}-0000x.parquet"),
        format!("part-{RUN}0-00000.parquet"),
        format!("part-{}-00000.parquet", RUN.to_uppercase()),
        format!("part-{}-00000.parquet", "é".repeat(16)),
    ] {
        assert!(!is_of_a_run(&name), "{name}");
    }
}

#[cfg(unix)]
#[test]
fn a_folder_is_dead_when_nobody_holds_its_lock() {
    let above = tempfile::tempdir().unwrap();
    let output = above.path().join("out");
    let folder = above.path().join(staging_name(&output, RUN));
    let guard = create_guarded(&folder).unwrap().expect("locks work here");
    let found = find_local(&output, LIFETIME);
    assert_eq!((found.dead.len(), found.alive), (0, 1));
    drop(guard);
    let mut found = find_local(&output, LIFETIME);
    assert_eq!((found.dead.len(), found.alive), (1, 0));
    found.dead.pop().unwrap().remove().unwrap();
    assert!(!folder.exists());
}

#[cfg(unix)]
#[test]
fn while_a_cleaner_holds_a_folder_no_run_begins_in_it() {
    let above = tempfile::tempdir().unwrap();
    let output = above.path().join("out");
    let folder = above.path().join(staging_name(&output, RUN));
    drop(create_guarded(&folder).unwrap());
    let dead = find_local(&output, LIFETIME).dead.pop().unwrap();
    assert!(try_guard(&folder).unwrap().is_none(), "the cleaner has the lock");
    let run = std::thread::spawn({
        let folder = folder.clone();
        move || create_guarded(&folder)
    });
    dead.remove().unwrap();
    let guard = run.join().unwrap().unwrap().unwrap();
    assert!(is_at(&guard, &folder) && folder.is_dir());
    fs::remove_dir(&folder).unwrap();
    assert!(!is_at(&guard, &folder));
}

#[test]
fn folders_and_files_of_others_are_no_leftovers() {
    let above = tempfile::tempdir().unwrap();
    let output = above.path().join("out");
    for name in [".out.throng-1", ".out.throng-backup", "out.throng", "out", "elsewhere"] {
        fs::create_dir(above.path().join(name)).unwrap();
    }
    fs::create_dir(above.path().join(format!(".other.throng-{RUN}"))).unwrap();
    fs::write(above.path().join(format!(".out.throng-{}", RUN.replace('0', "1"))), "a file").unwrap();
    #[cfg(unix)]
    std::os::unix::fs::symlink(
        above.path().join("elsewhere"),
        above.path().join(format!(".out.throng-{}", RUN.replace('0', "2"))),
    )
    .unwrap();
    let found = find_local(&output, Duration::ZERO);
    assert_eq!((found.dead.len(), found.alive), (0, 0), "{found:?}");
}

#[test]
fn without_locks_a_folder_is_dead_when_it_is_old() {
    let folder = tempfile::tempdir().unwrap();
    let file = fs::File::create(folder.path().join("part-00000.parquet")).unwrap();
    let long_ago = SystemTime::now() - Duration::from_secs(100);
    fs::File::open(folder.path()).unwrap().set_modified(long_ago).unwrap();
    assert!(!is_untouched(folder.path(), Duration::from_secs(50)), "something is being written");
    file.set_modified(long_ago).unwrap();
    assert!(is_untouched(folder.path(), Duration::from_secs(50)));
    assert!(!is_untouched(folder.path(), Duration::from_secs(150)));
}

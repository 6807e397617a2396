use std::collections::HashMap;

use super::*;

fn found(variables: &[(&str, &str)]) -> Result<Secret, String> {
    let variables: HashMap<&str, &str> = variables.iter().copied().collect();
    Secret::find(&|name| variables.get(name).map(OsString::from)).map_err(|error| error.to_string())
}

#[test]
fn the_variable_comes_before_the_file_and_the_file_before_the_state_folder() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("mounted");
    std::fs::write(&file, "fedcba9876543210fedcba\n").unwrap();
    let file = file.to_str().unwrap();
    let state = folder.path().to_str().unwrap();
    let all = [("THRONG_SECRET", "0123456789abcdef"), ("THRONG_SECRET_FILE", file), ("XDG_STATE_HOME", state)];
    assert_eq!(found(&all), Ok(Secret::new("0123456789abcdef").unwrap()));
    assert_eq!(found(&all[1..]), Ok(Secret::new("fedcba9876543210fedcba").unwrap()));
    assert!(!folder.path().join("throng").exists());
    assert_ne!(found(&all[2..]).unwrap(), found(&all[1..]).unwrap());
    assert!(folder.path().join("throng/secret").exists());
}

#[test]
fn a_secret_is_made_once_and_only_its_owner_can_read_it() {
    let folder = tempfile::tempdir().unwrap();
    let home = folder.path().to_str().unwrap();
    let first = found(&[("HOME", home)]).unwrap();
    assert_eq!(found(&[("HOME", home)]), Ok(first.clone()));
    let path = folder.path().join(".local/state/throng/secret");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        assert_eq!(std::fs::metadata(path.parent().unwrap()).unwrap().permissions().mode() & 0o777, 0o700);
    }
    assert_eq!(std::fs::read_dir(path.parent().unwrap()).unwrap().count(), 1);
    std::fs::remove_file(&path).unwrap();
    assert_ne!(found(&[("HOME", home)]), Ok(first));
}

#[test]
fn many_processes_that_begin_at_once_agree() {
    let folder = tempfile::tempdir().unwrap();
    let home = folder.path().to_str().unwrap();
    let secrets: Vec<Secret> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..16).map(|_| scope.spawn(|| found(&[("HOME", home)]).unwrap())).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    assert!(secrets.iter().all(|secret| *secret == secrets[0]));
}

#[test]
fn what_is_no_secret_is_refused_without_showing_it() {
    let short = found(&[("THRONG_SECRET", "hunter2")]).unwrap_err();
    assert!(short.contains("THRONG_SECRET has 7 bytes") && !short.contains("hunter2"), "{short}");
    let nowhere = found(&[]).unwrap_err();
    assert!(nowhere.contains("set THRONG_SECRET"), "{nowhere}");
    let missing = found(&[("THRONG_SECRET_FILE", "/nowhere/at/all")]).unwrap_err();
    assert!(missing.contains("THRONG_SECRET_FILE"), "{missing}");
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("throng"), "a file in place of a folder").unwrap();
    let blocked = found(&[("XDG_STATE_HOME", folder.path().to_str().unwrap())]).unwrap_err();
    assert!(blocked.contains("none can be kept") && blocked.contains("set THRONG_SECRET"), "{blocked}");
}

#[cfg(unix)]
#[test]
fn a_secret_that_others_can_read_is_refused() {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir().unwrap();
    let home = folder.path().to_str().unwrap();
    found(&[("HOME", home)]).unwrap();
    let path = folder.path().join(".local/state/throng/secret");
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o644)).unwrap();
    let error = found(&[("HOME", home)]).unwrap_err();
    assert!(error.contains("chmod 600"), "{error}");
}

#[test]
fn a_secret_is_not_printed() {
    assert_eq!(format!("{:?}", Secret::new("0123456789abcdef").unwrap()), "Secret(..)");
}

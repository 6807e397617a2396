//! Checks the packages: the archive, its bill of materials, the recipes, and the allocator in the binary.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::Value;
use sha2::{Digest, Sha256};
use tempfile::TempDir;
use throng_testkit::skip;

use super::files::{path, text, yaml};
use super::has;

const SCRIPT: &str = "deploy/packages/archive.py";

/// Version of all crates.
const VERSION: &str = env!("CARGO_PKG_VERSION");

/// Whether there is a Python that can read TOML.
fn has_python() -> bool {
    Command::new("python3").args(["-c", "import tomllib"]).output().is_ok_and(|ran| ran.status.success())
}

/// Writes a small wrapper that calls the binary, to avoid compressing hundreds of megabytes of a debug build.
fn stand_in(folder: &Path) -> std::path::PathBuf {
    use std::os::unix::fs::PermissionsExt;
    let file = folder.join("throng");
    fs::write(&file, format!("#!/bin/sh\nexec '{}' \"$@\"\n", env!("CARGO_BIN_EXE_throng"))).unwrap();
    fs::set_permissions(&file, fs::Permissions::from_mode(0o755)).unwrap();
    file
}

/// Makes the archive and returns the files by name.
fn archive(throng: &Path, umask: &str) -> BTreeMap<String, Vec<u8>> {
    let out = TempDir::new().unwrap();
    let script = path(SCRIPT).canonicalize().unwrap();
    let line = format!("umask {umask}; exec python3 '{}' --throng '{}' --out out", script.display(), throng.display());
    let mut command = Command::new("sh");
    command.args(["-c", &line]).current_dir(out.path()).env("SOURCE_DATE_EPOCH", "1700000000");
    let ran = command.output().unwrap();
    assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
    let files = fs::read_dir(out.path().join("out")).unwrap().map(|entry| entry.unwrap().path());
    files.map(|file| (file.file_name().unwrap().to_str().unwrap().to_owned(), fs::read(&file).unwrap())).collect()
}

/// Returns the names in an archive.
fn listed(archive: &[u8]) -> Vec<String> {
    let folder = TempDir::new().unwrap();
    fs::write(folder.path().join("a.tar.gz"), archive).unwrap();
    let ran = Command::new("tar").args(["-tzf", "a.tar.gz"]).current_dir(folder.path()).output().unwrap();
    assert!(ran.status.success());
    String::from_utf8(ran.stdout).unwrap().lines().map(str::to_owned).collect()
}

#[test]
fn an_archive_has_everything_and_the_same_bytes_twice() {
    if !has_python() || !has("tar") {
        return skip("there is no Python 3.11 or no tar");
    }
    let folder = TempDir::new().unwrap();
    let throng = stand_in(folder.path());
    let files = archive(&throng, "022");
    assert!(files == archive(&throng, "077"), "two runs give different bytes");

    let name = files.keys().find_map(|name| name.strip_suffix(".tar.gz")).unwrap();
    assert!(name.starts_with(&format!("throng-{VERSION}-")), "{name}");
    let names = listed(&files[&format!("{name}.tar.gz")]);
    let expected = [
        "bin/throng",
        "share/bash-completion/completions/throng",
        "share/doc/throng/LICENSE",
        "share/doc/throng/throng.cdx.json",
        "share/fish/vendor_completions.d/throng.fish",
        "share/man/man1/throng.1",
        "share/man/man1/throng-run.1",
        "share/man/man1/throng-hierarchy-make.1",
        "share/zsh/site-functions/_throng",
    ];
    for file in expected {
        assert!(names.contains(&format!("{name}/{file}")), "{file} is not in {names:?}");
    }
    let sums = String::from_utf8(files["SHA256SUMS"].clone()).unwrap();
    let parts = [format!("{name}.cdx.json"), format!("{name}.tar.gz")];
    let hex = |bytes: &[u8]| Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect::<String>();
    assert_eq!(sums, parts.map(|part| format!("{}  {part}\n", hex(&files[&part]))).concat());

    let bill: Value = serde_json::from_slice(&files[&format!("{name}.cdx.json")]).unwrap();
    assert_eq!((bill["bomFormat"].as_str(), bill["specVersion"].as_str()), (Some("CycloneDX"), Some("1.5")));
    assert_eq!(bill["metadata"]["component"]["version"], VERSION);
    let components = bill["components"].as_array().unwrap();
    let by_name = |name: &str| components.iter().find(|component| component["name"] == name);
    assert!(components.len() > 100 && by_name("datafusion").is_some() && by_name("throng-core").is_some());
    for absent in ["throng-testkit", "proptest", "ballista-core", "throng-cli"] {
        assert!(by_name(absent).is_none(), "{absent} is not in the binary");
    }
    for component in components {
        let is_ours = component["name"].as_str().unwrap().starts_with("throng");
        let digest = component["hashes"][0]["content"].as_str();
        assert!(is_ours || digest.is_some_and(|digest| digest.len() == 64), "{component}");
        assert!(component["licenses"][0]["expression"].is_string(), "{component}");
    }
}

/// Returns the files that a source file includes, by their paths relative to it.
fn included(source: &str) -> Vec<String> {
    let marks = ["include_str!(\"", "include_bytes!(\"", "#[path = \""];
    let rest = |mark| source.split(mark).skip(1).filter_map(|rest| rest.split('"').next());
    marks.into_iter().flat_map(rest).map(str::to_owned).collect()
}

/// A package has the files of its folder only; links in it count as files.
#[test]
fn packages_include_no_file_of_another_folder() {
    let mut checked = 0;
    for entry in fs::read_dir(path("crates")).unwrap() {
        let folder = entry.unwrap().path();
        let manifest = fs::read_to_string(folder.join("Cargo.toml")).unwrap();
        if manifest.contains("publish.workspace = true") {
            continue;
        }
        assert!(manifest.contains("description = ") && manifest.contains("keywords.workspace = true"), "{manifest}");
        let mut folders = vec![folder.join("src")];
        while let Some(inner) = folders.pop() {
            for file in fs::read_dir(&inner).unwrap().map(|entry| entry.unwrap().path()) {
                let name = file.file_name().unwrap().to_str().unwrap();
                if file.is_dir() {
                    folders.push(file);
                } else if name.ends_with(".rs") && !name.contains("test") {
                    for include in included(&fs::read_to_string(&file).unwrap()) {
                        let depth = inner.strip_prefix(&folder).unwrap().components().count();
                        let above = Path::new(&include).components().filter(|part| part.as_os_str() == "..").count();
                        assert!(above <= depth, "{} includes {include}", file.display());
                        assert!(inner.join(&include).is_file(), "{} includes {include}", file.display());
                        checked += 1;
                    }
                }
            }
        }
    }
    assert!(checked >= 5, "{checked}");
}

#[test]
fn recipes_have_the_version_of_the_crates() {
    let file = format!("throng-cli-{VERSION}.crate");
    assert!(text("deploy/packages/homebrew/throng.rb").contains(&file));
    let recipe = yaml("deploy/packages/conda/recipe.yaml").remove(0);
    assert_eq!(recipe["package"]["version"].as_str(), Some(VERSION));
    assert!(recipe["source"]["url"].as_str().unwrap().ends_with(&file));
    if has("ruby") {
        let formula = path("deploy/packages/homebrew/throng.rb");
        assert!(Command::new("ruby").arg("-c").arg(formula).output().unwrap().status.success());
    }
}

/// Whether there are user namespaces, in which an unprivileged user may change the root.
#[cfg(target_os = "linux")]
fn has_namespaces() -> bool {
    let probe = Command::new("unshare").args(["--user", "--map-root-user", "--root=/", "true"]).output();
    probe.is_ok_and(|ran| ran.status.success())
}

/// Returns a document of an unpacked image by its descriptor, after checking its digest and size.
#[cfg(target_os = "linux")]
fn blob(image: &Path, descriptor: &Value) -> Vec<u8> {
    let digest = descriptor["digest"].as_str().unwrap().strip_prefix("sha256:").unwrap();
    let bytes = fs::read(image.join("blobs/sha256").join(digest)).unwrap();
    assert_eq!(Some(bytes.len() as u64), descriptor["size"].as_u64());
    assert_eq!(Sha256::digest(&bytes).iter().map(|byte| format!("{byte:02x}")).collect::<String>(), digest);
    bytes
}

/// The image made without an engine runs the demo in its own root, as the user and with the variables that it names.
#[test]
#[cfg(target_os = "linux")]
fn an_image_made_without_an_engine_runs_the_demo() {
    if !has_python() || !has("tar") || !has_namespaces() {
        return skip("there is no Python 3.11, no tar, or no user namespaces");
    }
    let folder = TempDir::new().unwrap();
    let place = |name: &str| folder.path().join(name);
    // Debug information would be most of the image.
    let strip = Command::new("strip").arg("-o").arg(place("throng")).arg(env!("CARGO_BIN_EXE_throng")).output();
    if !strip.is_ok_and(|ran| ran.status.success()) {
        fs::copy(env!("CARGO_BIN_EXE_throng"), place("throng")).unwrap();
    }
    fs::write(place("authorities.pem"), "no authority").unwrap();
    let make = |name: &str, umask: &str| {
        let script = path("deploy/packages/image.py").canonicalize().unwrap();
        let options = "--throng throng --certificates authorities.pem --level 0";
        let line = format!("umask {umask}; exec python3 '{}' {options} --out {name}", script.display());
        let mut command = Command::new("sh");
        command.args(["-c", &line]).current_dir(folder.path()).env("SOURCE_DATE_EPOCH", "1700000000");
        let ran = command.output().unwrap();
        assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
    };
    make("image.tar", "022");
    make("again.tar", "077");
    assert!(
        fs::read(place("image.tar")).unwrap() == fs::read(place("again.tar")).unwrap(),
        "two runs give different bytes"
    );

    let unpack = |archive: &Path, to: &Path| {
        fs::create_dir(to).unwrap();
        let ran = Command::new("tar").arg("-xf").arg(archive).arg("-C").arg(to).output().unwrap();
        assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
    };
    let image = place("image");
    unpack(&place("image.tar"), &image);
    let read = |bytes: &[u8]| serde_json::from_slice::<Value>(bytes).unwrap();
    let index = read(&fs::read(image.join("index.json")).unwrap());
    let manifest = read(&blob(&image, &index["manifests"][0]));
    let config = read(&blob(&image, &manifest["config"]));
    assert_eq!((config["os"].as_str(), manifest["layers"].as_array().map(Vec::len)), (Some("linux"), Some(1)));
    fs::write(place("layer.tar.gz"), blob(&image, &manifest["layers"][0])).unwrap();
    let plain = Command::new("gzip").args(["-dc"]).arg(place("layer.tar.gz")).output().unwrap().stdout;
    let digest: String = Sha256::digest(&plain).iter().map(|byte| format!("{byte:02x}")).collect();
    assert_eq!(config["rootfs"]["diff_ids"][0].as_str(), Some(format!("sha256:{digest}").as_str()));
    let root = place("root");
    unpack(&place("layer.tar.gz"), &root);
    assert_eq!(fs::read_to_string(root.join("etc/ssl/certs/ca-certificates.crt")).unwrap(), "no authority");

    let settings = &config["config"];
    let (user, group) = settings["User"].as_str().unwrap().split_once(':').unwrap();
    assert!(user != "0" && group != "0", "{settings}");
    let variables =
        settings["Env"].as_array().unwrap().iter().map(|pair| pair.as_str().unwrap().split_once('=').unwrap());
    let ran = Command::new("unshare")
        .args(["--user", &format!("--map-user={user}"), &format!("--map-group={group}"), "--wd=/tmp"])
        .arg(format!("--root={}", root.display()))
        .args(settings["Entrypoint"].as_array().unwrap().iter().map(|word| word.as_str().unwrap()))
        .args(["demo", "--rows", "2000", "--output", "/tmp/demo"])
        .env_clear()
        .envs(variables)
        .envs([("PATH", "/usr/sbin:/usr/bin:/sbin:/bin"), ("THRONG_SECRET", "a secret of the test")])
        .output()
        .unwrap();
    assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
    assert!(root.join("tmp/demo/release/_throng/manifest.json").is_file());
}

/// The binary and the libraries that it is linked to are enough, without any other file of a system.
#[test]
#[cfg(target_os = "linux")]
fn the_binary_runs_the_demo_in_an_empty_root() {
    let binary = Path::new(env!("CARGO_BIN_EXE_throng"));
    if !has_namespaces() {
        return skip("there are no user namespaces");
    }
    // Next to the binary, so that it can be hard-linked instead of copied.
    let root = tempfile::Builder::new().prefix(".root-").tempdir_in(binary.parent().unwrap()).unwrap();
    let put = |file: &Path, at: &Path| {
        let at = root.path().join(at.strip_prefix("/").unwrap());
        fs::create_dir_all(at.parent().unwrap()).unwrap();
        let file = file.canonicalize().unwrap();
        fs::hard_link(&file, &at).or_else(|_| fs::copy(&file, &at).map(drop)).unwrap();
    };
    put(binary, Path::new("/bin/throng"));
    let linked = Command::new("ldd").arg(binary).output().unwrap();
    let linked = String::from_utf8(linked.stdout).unwrap();
    let libraries: Vec<&Path> = linked.split_whitespace().filter(|word| word.starts_with('/')).map(Path::new).collect();
    assert!(!libraries.is_empty() && libraries.len() < 8, "{linked}");
    libraries.iter().for_each(|library| put(library, library));
    let ran = Command::new("unshare")
        .args(["--user", "--map-root-user", "chroot"])
        .arg(root.path())
        .args(["/bin/throng", "demo", "--rows", "2000", "--output", "/demo"])
        .env_clear()
        .envs([("PATH", "/usr/sbin:/usr/bin:/sbin:/bin"), ("THRONG_SECRET", "a secret of the test")])
        .output()
        .unwrap();
    assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
    assert!(root.path().join("demo/release/_throng/manifest.json").is_file());
}

/// The allocator has the measured settings, regardless of how the binary was built.
#[test]
#[cfg(target_os = "linux")]
fn the_settings_of_the_allocator_are_in_the_binary() {
    let mut command = Command::new(env!("CARGO_BIN_EXE_throng"));
    let ran = command.arg("--version").env("_RJEM_MALLOC_CONF", "stats_print:true").output().unwrap();
    let settings_text = String::from_utf8(ran.stderr).unwrap();
    for setting in ["narenas: 4", "dirty_decay_ms: 1000", "muzzy_decay_ms: 0", "thp: \"always\""] {
        assert!(settings_text.contains(&format!("opt.{setting}")), "{setting} is not in: {settings_text}");
    }
}

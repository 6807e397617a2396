//! Opens the page in the browser of the user.

use std::fs;
use std::io::Write;
use std::path::PathBuf;
use std::process::{Command, Stdio};

/// Opens an address in the browser of the user. Returns the folder of a file that must live until the browser has read it.
///
/// The address holds the token, and other users see the arguments of a process. So the browser is given a file that only this user
/// can read, and that redirects to the address.
pub fn open_in_browser(address: &str) -> std::io::Result<PathBuf> {
    let mut number = [0; 8];
    getrandom::fill(&mut number).map_err(std::io::Error::other)?;
    let folder = std::env::temp_dir().join(format!("throng-studio-{:016x}", u64::from_le_bytes(number)));
    private_folder(&folder)?;
    let file = folder.join("open.html");
    let page = format!(
        "<!doctype html><html lang=\"en\"><meta charset=\"utf-8\"><title>Throng Studio</title>\
         <meta name=\"referrer\" content=\"no-referrer\"><meta http-equiv=\"refresh\" content=\"0;url={address}\">\
         <p><a href=\"{address}\">Throng Studio</a></p></html>\n"
    );
    fs::File::create_new(&file).and_then(|mut file| file.write_all(page.as_bytes()))?;
    let (program, arguments): (&str, &[&str]) = if cfg!(target_os = "macos") {
        ("open", &[])
    } else if cfg!(windows) {
        ("explorer", &[])
    } else {
        ("xdg-open", &[])
    };
    let started = Command::new(program)
        .args(arguments)
        .arg(&file)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn();
    match started {
        Ok(_) => Ok(folder),
        Err(error) => {
            let _ = fs::remove_dir_all(&folder);
            Err(error)
        }
    }
}

#[cfg(unix)]
fn private_folder(folder: &std::path::Path) -> std::io::Result<()> {
    use std::os::unix::fs::DirBuilderExt;
    fs::DirBuilder::new().mode(0o700).create(folder)
}

#[cfg(not(unix))]
fn private_folder(folder: &std::path::Path) -> std::io::Result<()> {
    fs::create_dir(folder)
}

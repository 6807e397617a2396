//! Terminal output: colours on a terminal unless disabled, completions, and manual pages.

use std::process::{Command, Stdio};

use crate::fixture_table::{COLUMNS, people};
use crate::sandbox::{Ended, Sandbox, assert_contains};

/// Escape sequences that begin a colour or bold text.
const COLOURS: [&str; 3] = ["\u{1b}[1m", "\u{1b}[3", "\u{1b}[2m"];

fn is_coloured(text: &str) -> bool {
    // `\e[3` also begins `\e[3A`, which moves the cursor.
    COLOURS.iter().any(|colour| {
        text.match_indices(colour).any(|(at, _)| {
            let rest = &text[at + 2..];
            rest.find(|c: char| c.is_ascii_alphabetic()).is_some_and(|end| rest.as_bytes()[end] == b'm')
        })
    })
}

/// Runs a command in a pseudo-terminal; `None` where `script` is not installed.
fn in_terminal(sandbox: &Sandbox, arguments: &str, no_color: Option<&str>) -> Option<Ended> {
    let line = format!("stty rows 40 cols 80; {} {arguments}", env!("CARGO_BIN_EXE_throng"));
    let mut command = Command::new("script");
    command.args(["-qec", &line, "/dev/null"]).current_dir(sandbox.path(".")).env("TERM", "xterm-256color");
    for name in ["NO_COLOR", "CLICOLOR", "CLICOLOR_FORCE", "THRONG_LOG"] {
        command.env_remove(name);
    }
    if let Some(value) = no_color {
        command.env("NO_COLOR", value);
    }
    match command.stdin(Stdio::null()).output() {
        Ok(output) => Some(output.into()),
        Err(_) => {
            throng_testkit::skip("there is no `script` to make a terminal with");
            None
        }
    }
}

#[test]
fn colours_are_for_terminals_that_want_them() {
    let sandbox = Sandbox::with(&people(60), 3, 1, COLUMNS);
    // A usage error, and logs.
    for arguments in ["run", "-v run policy.toml --overwrite"] {
        let Some(shown) = in_terminal(&sandbox, arguments, None) else { return };
        assert!(is_coloured(&shown.stdout), "{arguments}: {shown:?}");
        let Some(shown) = in_terminal(&sandbox, arguments, Some("")) else { return };
        assert!(is_coloured(&shown.stdout), "an empty NO_COLOR counts as none: {shown:?}");
        let Some(shown) = in_terminal(&sandbox, arguments, Some("1")) else { return };
        assert!(!is_coloured(&shown.stdout), "{arguments}: {shown:?}");
        let piped = sandbox.throng(&arguments.split(' ').collect::<Vec<_>>());
        assert!(!piped.said().contains('\u{1b}'), "{piped:?}");
    }
}

#[test]
fn help_fits_into_a_narrow_terminal() {
    let sandbox = Sandbox::new();
    let commands = [
        "",
        "init",
        "check",
        "run",
        "verify",
        "report",
        "risk",
        "sweep",
        "plan",
        "hierarchy",
        "hierarchy make",
        "sql",
        "clean",
        "generate census",
        "demo",
        "schema",
        "completions",
        "man",
    ];
    for command in commands {
        let Some(shown) = in_terminal(&sandbox, &format!("{command} --help"), Some("1")) else { return };
        assert_contains(&shown.stdout, &["Usage: throng", "--memory-limit <SIZE>", "Options of every command:"]);
        // The usage is one line, which the terminal wraps.
        let lines = shown.stdout.lines().filter(|line| !line.starts_with("Usage:"));
        let longest = lines.map(|line| line.trim_end().chars().count()).max();
        assert!(longest.is_some_and(|longest| longest <= 80), "{command}: {}", shown.stdout);
    }
}

#[test]
fn one_stage_is_shown_at_a_time() {
    let sandbox = Sandbox::with(&people(600), 3, 1, COLUMNS);
    for (arguments, last) in [("run policy.toml", "publish"), ("sweep policy.toml --k 3,4,5", "/3")] {
        let Some(shown) = in_terminal(&sandbox, arguments, None) else { return };
        let (survey, cluster) = (shown.stdout.rfind("  survey "), shown.stdout.find(" cluster ["));
        assert!(survey.is_some() && survey < cluster, "{arguments}: {}", shown.stdout);
        assert_contains(&shown.stdout, &[last]);
    }
}

#[test]
fn every_shell_gets_completions_of_every_command() {
    let sandbox = Sandbox::new();
    for shell in ["bash", "zsh", "fish"] {
        let ended = sandbox.throng(&["completions", shell]);
        assert_eq!(ended.code, Some(0), "{ended:?}");
        assert_contains(&ended.stdout, &["throng", "hierarchy", "risk", "init", "verify", "memory-limit"]);
    }
    sandbox.throng(&["completions", "abacus"]).refused(2);
}

#[test]
fn bash_understands_its_completions() {
    let sandbox = Sandbox::new();
    sandbox.write("completions", sandbox.throng(&["completions", "bash"]).stdout);
    let words = "source completions; COMP_WORDS=(throng hie); COMP_CWORD=1; _throng throng hie throng; echo \"${COMPREPLY[@]}\"";
    let Ok(output) = Command::new("bash").args(["--norc", "-c", words]).current_dir(sandbox.path(".")).output() else {
        throng_testkit::skip("there is no bash");
        return;
    };
    assert_eq!(String::from_utf8(output.stdout).unwrap().trim(), "hierarchy", "{:?}", String::from_utf8(output.stderr));
}

#[test]
fn there_is_a_manual_page_of_throng_and_of_its_commands() {
    let sandbox = Sandbox::new();
    let page = |command: &[&str]| {
        let ended = sandbox.throng(&[&["man"], command].concat());
        assert_eq!(ended.code, Some(0), "{ended:?}");
        ended.stdout
    };
    assert_contains(&page(&[]), &[".TH throng 1", "Exit codes", "throng\\-risk(1)"]);
    assert_contains(&page(&["run"]), &[".TH throng-run 1", "\\-\\-overwrite", "\\-\\-memory\\-limit"]);
    assert_contains(&page(&["hierarchy", "make"]), &[".TH throng-hierarchy-make 1", "\\-\\-builder"]);
    assert_contains(&sandbox.throng(&["man", "fly"]).refused(2), &["no command `throng fly`"]);
}

#[test]
fn scripts_are_reported_which_argument_is_missing() {
    let error = Sandbox::new().throng(&["verify", "released/"]).json()["error"].as_str().unwrap().to_owned();
    assert_eq!(error, "the following required arguments were not provided: <--policy <POLICY>|--quasi <COLUMNS>>");
}

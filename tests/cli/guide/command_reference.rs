//! Renders the command reference from the help texts.

use std::process::Command;

const INTRODUCTION: &str = "# The commands

What every command takes. This page is written from `throng help COMMAND`; a test compares them. The README has
[an overview](../../../README.md#commands).

Every command takes these options too:

";

/// Options of every command, which are shown once.
const COMMON: [&str; 5] = ["--threads", "--memory-limit", "--log-format", "--verbose", "--help"];

/// Renders the whole page.
pub fn page() -> String {
    let mut sections = String::new();
    let mut common = String::new();
    for command in commands(&[]) {
        let below = commands(&[&command]);
        if below.is_empty() {
            let (own, shared) = split_options(&help(&[&command]));
            common = shared;
            sections += &section(&command, &own);
        }
        for inner in below {
            let (own, _) = split_options(&help(&[&command, &inner]));
            sections += &section(&format!("{command} {inner}"), &own);
        }
    }
    format!("{INTRODUCTION}```text\n{common}```\n{sections}")
}

fn section(name: &str, help: &str) -> String {
    format!("\n## `throng {name}`\n\n```text\n{help}```\n")
}

fn help(command: &[&str]) -> String {
    let output = Command::new(env!("CARGO_BIN_EXE_throng")).arg("help").args(command).output().unwrap();
    assert!(output.status.success(), "{command:?}");
    String::from_utf8(output.stdout).unwrap()
}

/// Returns the subcommands of a command.
fn commands(of: &[&str]) -> Vec<String> {
    let help = help(of);
    let Some((_, list)) = help.split_once("\nCommands:\n") else {
        return Vec::new();
    };
    let lines = list.lines().take_while(|line| !line.is_empty());
    let names = lines.filter(|line| line.starts_with("  ") && !line.starts_with("   "));
    names.map(|line| line.split_whitespace().next().unwrap().to_owned()).filter(|name| name != "help").collect()
}

/// Splits a help text into the command's own part and the common options.
fn split_options(help: &str) -> (String, String) {
    let (mut own, mut shared, mut is_common) = (String::new(), String::new(), false);
    for line in help.lines().map(str::trim_end) {
        if line.trim_start().starts_with('-') && line.starts_with("  ") && !line.starts_with("          ") {
            is_common = COMMON.iter().any(|name| line.contains(name));
        }
        let to = if is_common { &mut shared } else { &mut own };
        *to += line;
        to.push('\n');
    }
    let own = own.trim_end().strip_suffix("Options:").map_or(own.trim_end(), str::trim_end).to_owned();
    (own + "\n", shared.trim_end().to_owned() + "\n")
}

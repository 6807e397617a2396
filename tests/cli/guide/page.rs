//! Runs a page: its blocks become one script, which runs in its own folder.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use tempfile::TempDir;
use throng_policy::{Overrides, Policy};

use super::answer::{matches, normalized, renewed};
use super::blocks::{Action, Block, blocks};
use super::repository;

/// Delimiter of here-documents in a script.
const END: &str = "END-OF-THE-BLOCK";

/// Policy that completes a fragment. Tables of the fragment replace those with the same name.
const BASE: [(&str, &str); 5] = [
    ("version", "version = 1\n"),
    ("[input]", "[input]\nlocation = \"data/people.parquet\"\n"),
    ("[output]", "[output]\nlocation = \"released/people/\"\n"),
    ("[privacy]", "[privacy]\nk = 5\np = 2\n"),
    ("[columns]", "[columns]\nzip.role = \"quasi\"\ndisease.role = \"sensitive\"\n"),
];

/// A page of the guide.
#[derive(Debug)]
pub struct Page {
    name: String,
    text: String,
    blocks: Vec<Block>,
    /// Whether nothing of it can run here.
    aside: bool,
}

/// Environment of a page.
#[derive(Debug, Default)]
pub struct Setting {
    /// Commands before those of the page.
    pub before: String,
    /// Environment variables.
    pub variables: Vec<(&'static str, String)>,
}

impl Page {
    pub fn read(name: &str) -> Self {
        let text = fs::read_to_string(repository(name)).unwrap_or_else(|error| panic!("{name}: {error}"));
        Self::of(name, text)
    }

    fn of(name: &str, text: String) -> Self {
        let blocks = blocks(&text).unwrap_or_else(|why| panic!("{name}, {why}"));
        Self { name: name.to_owned(), text, blocks, aside: false }
    }

    /// Marks a page that lacks a prerequisite: its blocks are only parsed.
    pub fn aside(mut self) -> Self {
        self.aside = true;
        self
    }

    pub fn blocks(&self) -> &[Block] {
        &self.blocks
    }

    /// Returns the number of blocks that never run.
    pub fn asides(&self) -> usize {
        self.blocks.iter().filter(|block| block.action == Action::ShellAside).count()
    }

    /// Runs the page, and returns its errors. With `write`, outdated answers are rewritten.
    pub fn run(&self, setting: &Setting, write: bool) -> Vec<String> {
        let folder = tempfile::Builder::new().prefix("guide-").tempdir().unwrap();
        let outputs = tempfile::tempdir().unwrap();
        let mut wrong: Vec<String> = self.ran(setting, &folder, outputs.path()).into_iter().collect();
        if wrong.is_empty() && !self.aside {
            wrong.extend(self.compared(folder.path(), outputs.path(), write));
        }
        for block in &self.blocks {
            let problem = match &block.action {
                Action::File(name) => self.named(block, name).err(),
                Action::Policy => policy(&block.text, folder.path()).err(),
                Action::Part(of) => part(&block.text, of).err(),
                Action::ShellAside => understood(&block.text).err(),
                Action::Shell if self.aside => understood(&block.text).err(),
                _ => None,
            };
            wrong.extend(problem.map(|problem| self.says(block, &problem)));
        }
        wrong
    }

    /// The name of a file must be mentioned right before its content.
    fn named(&self, block: &Block, name: &str) -> Result<(), String> {
        let before = self.blocks.iter().map(|other| other.place.end).filter(|end| *end < block.place.start).max();
        let words = &self.text[before.unwrap_or_default()..block.place.start];
        if words.contains(&format!("`{name}`")) { Ok(()) } else { Err(format!("no text says to save this as {name}")) }
    }

    fn says(&self, block: &Block, problem: &str) -> String {
        format!("{}, line {}: {problem}", self.name, block.line)
    }

    /// Runs all runnable blocks in order, until one fails.
    fn ran(&self, setting: &Setting, folder: &TempDir, outputs: &Path) -> Option<String> {
        let mut script = format!("set -e\n{}\n", setting.before);
        for (index, block) in self.blocks.iter().enumerate() {
            let text = &block.text;
            let body = match &block.action {
                Action::Shell if !self.aside => text.clone(),
                Action::Sql if !self.aside => format!("throng sql <<'{END}'\n{text}{END}\n"),
                Action::File(name) => {
                    format!("mkdir -p \"$(dirname '{name}')\"\ncat > '{name}' <<'{END}'\n{text}{END}\n")
                }
                _ => continue,
            };
            let _ = write!(script, "{{\n{body}}} > '{}/{index}' 2>&1\n", outputs.display());
        }
        // All SQL of a page in one session must not define a table twice.
        let session: String =
            self.blocks.iter().filter(|block| block.action == Action::Sql).map(|b| b.text.as_str()).collect();
        if !session.is_empty() && !self.aside {
            let _ = write!(script, "throng sql <<'{END}' > '{}/session'\n{session}{END}\n", outputs.display());
        }
        let file = outputs.join("script");
        fs::write(&file, script).unwrap();
        let binary = Path::new(env!("CARGO_BIN_EXE_throng"));
        let search = format!("{}:{}", binary.parent().unwrap().display(), std::env::var("PATH").unwrap());
        let mut bash = Command::new("bash");
        for (name, _) in std::env::vars().filter(|(name, _)| name.starts_with("AWS_")) {
            bash.env_remove(name);
        }
        let ended = bash
            .arg(&file)
            .current_dir(folder.path())
            // As on a terminal.
            .envs([
                ("PATH", search.as_str()),
                ("THRONG_LOG", "warn"),
                ("LC_ALL", "C"),
                ("THRONG_SECRET", crate::sandbox::SECRET),
                ("THRONG_LEDGER_KEY", crate::sandbox::SECRET),
            ])
            .envs(setting.variables.iter().map(|(name, value)| (name, value)))
            .stdin(Stdio::null())
            .output()
            .unwrap();
        if ended.status.success() {
            return None;
        }
        let last = (0..self.blocks.len()).rev().find(|index| outputs.join(index.to_string()).exists());
        let said = last.map(|index| fs::read_to_string(outputs.join(index.to_string())).unwrap()).unwrap_or_default();
        let line = last.map_or(0, |index| self.blocks[index].line);
        let stderr = String::from_utf8_lossy(&ended.stderr);
        Some(format!("{}, line {line}: the block ended with {}:\n{said}{stderr}", self.name, ended.status))
    }

    /// Compares every answer with the output of the block before it.
    fn compared(&self, folder: &Path, outputs: &Path, write: bool) -> Vec<String> {
        let (mut wrong, mut asked, mut page) = (Vec::new(), None, self.text.clone());
        let mut changes = Vec::new();
        for (index, block) in self.blocks.iter().enumerate() {
            match block.action {
                Action::Shell | Action::Sql => asked = Some(index),
                Action::Answer => {
                    let Some(question) = asked.take() else {
                        wrong.push(self.says(block, "an answer without a block that ran before it"));
                        continue;
                    };
                    let said = fs::read_to_string(outputs.join(question.to_string())).unwrap();
                    let found = normalized(&said, folder);
                    if !matches(&block.text, &found) {
                        match renewed(&block.text, &found).filter(|_| write) {
                            Some(text) => changes.push((block.place.clone(), text)),
                            None => wrong.push(self.says(block, &format!("the block before it answers\n{found}"))),
                        }
                    }
                }
                _ => {}
            }
        }
        if !changes.is_empty() {
            for (place, text) in changes.into_iter().rev() {
                page.replace_range(place, &text);
            }
            fs::write(repository(&self.name), page).unwrap();
        }
        wrong
    }
}

/// Checks that a policy, or some tables of one, is valid.
fn policy(text: &str, folder: &Path) -> Result<(), String> {
    let headers: Vec<&str> = text.lines().map(|line| line.split('#').next().unwrap_or_default().trim()).collect();
    let has = |name: &str| headers.iter().any(|line| *line == name || line.starts_with("version") && name == "version");
    let base: String = BASE.iter().filter(|(name, _)| !has(name)).map(|(_, text)| *text).collect();
    let whole = if has("version") { text.to_owned() } else { format!("{base}{text}") };
    let parsed = Policy::parse(&whole, folder, &Overrides::default());
    parsed.map(|_| ()).map_err(|error| format!("no valid policy: {error}"))
}

/// Checks that an excerpt occurs verbatim in its file.
fn part(text: &str, of: &str) -> Result<(), String> {
    let whole = fs::read_to_string(repository(of)).map_err(|error| format!("{of}: {error}"))?;
    if whole.contains(text) { Ok(()) } else { Err(format!("{of} has no such part")) }
}

/// Checks that bash parses commands that can't run, and that Throng parses their flags. All other commands do nothing.
fn understood(text: &str) -> Result<(), String> {
    let before = "set -eo pipefail\nPATH=/nowhere\ncommand_not_found_handle() { return 0; }\n\
                  throng() { \"$THRONG\" \"$@\" --help > /dev/null; }\n";
    let folder = tempfile::tempdir().unwrap();
    let ended = Command::new("bash")
        .args(["-c", &format!("{before}{text}")])
        .current_dir(folder.path())
        .env("THRONG", env!("CARGO_BIN_EXE_throng"))
        .env("THRONG_SECRET", crate::sandbox::SECRET)
        .stdin(Stdio::null())
        .output()
        .unwrap();
    if ended.status.success() {
        Ok(())
    } else {
        Err(format!("not understood: {}", String::from_utf8_lossy(&ended.stderr)))
    }
}

#[test]
fn what_does_not_run_is_looked_at_all_the_same() {
    assert_eq!(understood("systemctl start throng@census\nthrong run policy.toml --if-changed | tail -1\n"), Ok(()));
    assert!(understood("throng run policy.toml --no-such-flag\n").is_err());
    assert!(understood("throng run policy.toml --no-such-flag | tail -1\n").is_err());
    assert!(understood("if true; then\n").is_err());
}

#[test]
fn a_fragment_is_a_part_of_a_policy() {
    let folder = Path::new(".");
    assert_eq!(policy("[privacy]\nk = 7\n[columns.age]\nrole = \"quasi\"\n", folder), Ok(()));
    assert!(policy("[privacy]\nk = 1\n", folder).is_err());
    assert!(policy("[columns.age]\nroel = \"quasi\"\n", folder).is_err());
}

#[test]
fn what_is_wrong_with_a_page_is_reported() {
    let wrong = |text: &str| Page::of("page", text.to_owned()).run(&Setting::default(), false);
    let right = "`a.csv`\n```csv a.csv\nx\n1\n```\n```sh\ncat a.csv\nexport Y=2\n```\n```text\nx\n...\n```\n```sh\necho $Y\n```\n\
                 ```text\n2\n```\n```sql\nSELECT x FROM 'a.csv'\n```\n```text\n...\n| 1 |\n...\n```\n";
    assert_eq!(wrong(right), Vec::<String>::new());
    for (page, normalized) in [
        ("```sh\necho a\n```\n```text\nb\n```\n", "line 4: the block before it answers\na"),
        ("```sh\ntrue\n```\n```sh\nthrong run nothing.toml\n```\n", "line 4: the block ended with exit status: 78"),
        ("```text\na\n```\n", "line 1: an answer without a block"),
        ("```csv a.csv\nx\n```\n", "line 1: no text says to save this as a.csv"),
        ("```toml\n[privacy]\nk = 0\n```\n", "line 1: no valid policy"),
        ("```rust of=Cargo.toml\nfn main() {}\n```\n", "line 1: Cargo.toml has no such part"),
        (
            "```sql\nCREATE TABLE a AS SELECT 1;\n```\n```sql\nCREATE TABLE a AS SELECT 2;\n```\n",
            "the block ended with exit",
        ),
        ("```sh norun: why\nthrong rum\n```\n", "line 1: not understood"),
    ] {
        let found = wrong(page);
        assert!(found.len() == 1 && found[0].contains(normalized), "{normalized}: {found:?}");
    }
}

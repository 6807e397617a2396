//! The guide and the README: every command and snippet in them runs, and its output matches the page.
//!
//! ```text
//!  page.md ─► blocks ─► one script per page, in a folder of its own ─► what each block said ─► the answer on the page
//!                └────► policies are parsed, excerpts compared with their file, commands that can't run understood
//! ```
//!
//! The info string of a block states how it is checked (`blocks.rs`); a block of unknown kind is an error, so that
//! every block is checked. In an answer a line `...` matches any lines, and `…` any part of a line (`answer.rs`).
//!
//! After an intended change, `THRONG_WRITE_GUIDE=1 cargo test --test cli guide` rewrites answers and references.

mod answer;
mod blocks;
mod command_reference;
mod links;
mod page;
mod policy_reference;
mod sidecar;

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use throng_job::Kind;
use throng_testkit::s3::Server;

use self::blocks::Action;
use self::page::{Page, Setting};
use crate::sandbox::Sandbox;

const GUIDE: &str = "docs/src";
const POLICY_REFERENCE: &str = "docs/src/reference/policy.md";
const COMMAND_REFERENCE: &str = "docs/src/reference/commands.md";
const STORES: &str = "docs/src/how-to/object-stores.md";
const CLUSTER: &str = "docs/src/how-to/cluster.md";

/// Blocks that can't run here: they need a release build, user input, a scheduler, or a cluster.
const ASIDES: [(&str, usize); 5] = [
    ("README.md", 2),
    ("docs/src/how-to/schedules.md", 2),
    (STORES, 1),
    (CLUSTER, 4),
    ("docs/src/how-to/studio.md", 2),
];

/// Returns the path of a file of the repository.
fn repository(name: &str) -> PathBuf {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../..")).join(name)
}

/// Whether answers and references are rewritten.
fn is_written() -> bool {
    std::env::var_os("THRONG_WRITE_GUIDE").is_some()
}

/// Returns the pages of the guide that the table of contents lists.
fn listed() -> Vec<String> {
    let contents = fs::read_to_string(repository(GUIDE).join("SUMMARY.md")).unwrap();
    links::targets(&contents).iter().map(|target| format!("{GUIDE}/{}", target.trim_start_matches("./"))).collect()
}

/// Returns the pages of the guide that exist.
fn there(folder: &str) -> Vec<String> {
    let mut pages = Vec::new();
    for entry in fs::read_dir(repository(folder)).unwrap() {
        let name = format!("{folder}/{}", entry.unwrap().file_name().into_string().unwrap());
        match name.strip_suffix(".md") {
            Some(_) if name.ends_with("/SUMMARY.md") => {}
            Some(_) => pages.push(name),
            None => pages.extend(there(&name)),
        }
    }
    pages
}

/// Returns the pages whose blocks run, including the README. References are rendered from their source as a whole.
fn run_pages() -> Vec<String> {
    let mut pages = listed();
    pages.retain(|page| ![POLICY_REFERENCE, COMMAND_REFERENCE].contains(&page.as_str()));
    pages.insert(0, "README.md".to_owned());
    pages
}

/// Setup that the README assumes: some data, a hierarchy and a file with SQL.
fn readme() -> Setting {
    let hierarchy = repository("configs/hierarchies/census/birth_place.csv");
    let before = format!(
        "throng generate census --rows 500 -o data/census 2> setup > setup\nmkdir hierarchies\ncp '{}' hierarchies/\n\
         echo 'SELECT 1;' > report.sql",
        hierarchy.display()
    );
    Setting { before, variables: Vec::new() }
}

/// Setup of the page of clusters: the script that makes certificates.
fn certificates() -> Setting {
    let script = repository("deploy/certificates.sh");
    Setting { before: format!("mkdir deploy\ncp '{}' deploy/", script.display()), variables: Vec::new() }
}

fn stores(server: &Server) -> Setting {
    server.make_bucket("census");
    let variables = vec![
        ("AWS_ENDPOINT_URL", format!("http://{}", server.address())),
        ("AWS_ALLOW_HTTP", "true".to_owned()),
        ("AWS_ACCESS_KEY_ID", "AKIDEXAMPLEEXAMPLE".to_owned()),
        ("AWS_SECRET_ACCESS_KEY", "nobody-may-see-this".to_owned()),
        ("AWS_REGION", "eu-central-1".to_owned()),
    ];
    Setting { before: String::new(), variables }
}

#[test]
fn every_page_runs_as_it_is_written() {
    let mut wrong = Vec::new();
    for name in run_pages() {
        let page = Page::read(&name);
        let found = match name.as_str() {
            "README.md" => page.run(&readme(), is_written()),
            CLUSTER => page.run(&certificates(), is_written()),
            STORES => match Server::start() {
                Some(server) => page.run(&stores(&server), is_written()),
                None => page.aside().run(&Setting::default(), false),
            },
            _ => page.run(&Setting::default(), is_written()),
        };
        wrong.extend(found);
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
}

#[test]
fn only_few_blocks_do_not_run() {
    let asides =
        run_pages().into_iter().map(|name| (Page::read(&name).asides(), name)).filter(|(asides, _)| *asides > 0);
    let found: BTreeSet<(String, usize)> = asides.map(|(asides, name)| (name, asides)).collect();
    assert_eq!(found, ASIDES.map(|(name, asides)| (name.to_owned(), asides)).into());
}

#[test]
fn the_table_of_contents_has_every_page_once() {
    let (mut listed, mut there) = (listed(), there(GUIDE));
    listed.sort();
    there.sort();
    assert_eq!(listed, there);
}

#[test]
fn every_link_leads_somewhere() {
    let mut pages = listed();
    pages.extend(["README.md".to_owned(), format!("{GUIDE}/SUMMARY.md")]);
    let wrong: Vec<String> = pages.iter().flat_map(|page| links::dangling(page)).collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Asserts that a page is up to date with its source.
fn assert_page(name: &str, found: &str) {
    if is_written() {
        fs::write(repository(name), found).unwrap();
    }
    let expected = fs::read_to_string(repository(name)).unwrap_or_default();
    assert!(expected == found, "{name} is out of date; THRONG_WRITE_GUIDE=1 writes it again");
}

#[test]
fn the_reference_of_the_policy_is_that_of_the_schema() {
    let schema = throng_policy::json_schema();
    assert_eq!(policy_reference::left_out(&schema), Vec::<String>::new());
    assert_page(POLICY_REFERENCE, &policy_reference::page(&schema));
}

#[test]
fn the_reference_of_the_commands_is_their_help() {
    let page = command_reference::page();
    for name in ["run", "sweep", "hierarchy make", "generate census"] {
        assert!(page.contains(&format!("\n## `throng {name}`\n")), "{name}");
    }
    assert_page(COMMAND_REFERENCE, &page);
}

/// Returns the headings of a page.
fn headings(name: &str) -> Vec<String> {
    let page = fs::read_to_string(repository(name)).unwrap();
    blocks::prose(&page).lines().filter_map(|line| line.strip_prefix("## ")).map(str::to_owned).collect()
}

#[test]
fn every_algorithm_has_an_explanation() {
    let schema = throng_policy::json_schema();
    for (definition, page) in [("Partition", "partitions"), ("Cluster", "clustering")] {
        let headings = headings(&format!("{GUIDE}/explanation/{page}.md"));
        for choice in schema["$defs"][definition]["oneOf"].as_array().unwrap() {
            let name = choice["const"].as_str().unwrap();
            assert!(headings.iter().any(|heading| heading.split(',').next() == Some(name)), "{name}: {headings:?}");
        }
    }
}

#[test]
fn every_exit_code_has_advice() {
    use Kind::{BadData, BadPolicy, BadQuery, Infeasible, Internal, NoInput, TemporaryIo, Verification};
    let kinds = [BadQuery, Infeasible, Verification, BadData, NoInput, Internal, TemporaryIo, BadPolicy];
    let codes = kinds.map(|kind| kind.exit_code().to_string()).into_iter().chain(["130".to_owned(), "143".to_owned()]);
    let headings = headings(&format!("{GUIDE}/troubleshooting.md"));
    let table = fs::read_to_string(repository(&format!("{GUIDE}/reference/exit-codes.md"))).unwrap();
    for code in codes {
        let names = |line: &str| line.split(|mark: char| !mark.is_ascii_digit()).any(|number| number == code);
        assert!(headings.iter().any(|heading| names(heading.split(':').next().unwrap())), "{code}: {headings:?}");
        let mut rows = table.lines().filter_map(|line| line.strip_prefix("| ")?.split(" |").next());
        assert!(rows.any(names), "{code} is not in the table");
    }
}

#[test]
fn the_message_in_the_readme_is_what_comes_out() {
    let page = Page::read("README.md");
    let text = |action: &Action| page.blocks().iter().find(|block| block.action == *action).unwrap().text.clone();
    let (policy, message) = (text(&Action::Policy), text(&Action::Message));
    let place: usize = message.split(':').nth(1).unwrap().parse().unwrap();
    let mut lines: Vec<&str> = policy.lines().collect();
    lines.insert(place - 1, "wieght = 2");
    let sandbox = Sandbox::new();
    sandbox.write("policy.toml", lines.join("\n"));
    let said = sandbox.throng(&["check", "policy.toml"]).refused(78);
    assert!(said.lines().any(|line| line == message.trim_end()), "{said}");
}

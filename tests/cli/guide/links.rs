//! Checks links between pages and to files of the repository.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use super::blocks::prose;
use super::repository;

/// Returns the targets of all links of a page.
pub fn targets(page: &str) -> Vec<String> {
    let prose = prose(page);
    let targets = prose.split("](").skip(1).filter_map(|rest| rest.split(')').next());
    targets.map(str::to_owned).collect()
}

/// Returns the broken links of a page.
pub fn dangling(name: &str) -> Vec<String> {
    let page = fs::read_to_string(repository(name)).unwrap();
    let folder = Path::new(name).parent().unwrap();
    let mut wrong = Vec::new();
    for target in targets(&page) {
        if target.starts_with("https://") {
            continue;
        }
        let (file, anchor) = target.split_once('#').unwrap_or((&target, ""));
        let path = if file.is_empty() { repository(name) } else { repository("").join(folder).join(file) };
        if !path.exists() {
            wrong.push(format!("{name}: there is no {target}"));
        } else if !anchor.is_empty() && !anchors(&fs::read_to_string(&path).unwrap()).contains(anchor) {
            wrong.push(format!("{name}: there is no heading for {target}"));
        }
    }
    wrong
}

/// Returns the anchors of the headings of a page, as Git hosts and mdBook name them.
fn anchors(page: &str) -> BTreeSet<String> {
    let mut inside = false;
    let mut anchors = BTreeSet::new();
    for line in page.lines() {
        inside ^= line.trim_start().starts_with("```");
        if let Some(heading) = line.strip_prefix('#').filter(|_| !inside) {
            let heading = heading.trim_start_matches('#').trim().to_lowercase();
            let kept = heading.chars().filter(|mark| mark.is_alphanumeric() || [' ', '-', '_'].contains(mark));
            anchors.insert(kept.map(|mark| if mark == ' ' { '-' } else { mark }).collect());
        }
    }
    anchors
}

#[test]
fn a_heading_has_an_anchor() {
    let page = "# A page\n\n## `cluster = \"auto\"`: the *default*\n```sh\n# no heading\n```\n[a](#a-page) `[b](c)`\n";
    assert_eq!(anchors(page), BTreeSet::from(["a-page".to_owned(), "cluster--auto-the-default".to_owned()]));
    assert_eq!(targets(page), ["#a-page"]);
}

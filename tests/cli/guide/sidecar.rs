//! The page about the documents of a release lists every field that they have.

use std::collections::BTreeSet;
use std::fs;
use std::time::SystemTime;

use serde_json::Value;

use super::repository;
use crate::fixture_table::{COLUMNS, people};
use crate::sandbox::Workshop;

const PAGE: &str = "docs/src/reference/sidecar.md";

/// The way to every field that holds a number or a text, with names of columns and stages left out.
fn ways(value: &Value, way: &str, found: &mut BTreeSet<String>) {
    let named = ["utility.columns", "timing_ms"].contains(&way);
    match value {
        Value::Object(fields) => {
            for (name, below) in fields {
                let name = if named { "NAME" } else { name };
                ways(below, format!("{way}.{name}").trim_start_matches('.'), found);
            }
        }
        Value::Array(items) => items.iter().for_each(|item| ways(item, &format!("{way}[]"), found)),
        _ => {
            found.insert(way.to_owned());
        }
    }
}

/// The first cells of the table below a heading.
fn shown(page: &str, heading: &str) -> BTreeSet<String> {
    let (_, section) = page.split_once(&format!("\n## {heading}\n")).unwrap_or_else(|| panic!("no {heading}"));
    let section = section.split("\n## ").next().unwrap();
    section.lines().filter_map(|line| line.strip_prefix("| `")?.split('`').next()).map(str::to_owned).collect()
}

#[test]
fn the_reference_of_the_documents_has_every_field() {
    let (mut metrics, mut manifest) = (BTreeSet::new(), BTreeSet::new());
    for columns in [COLUMNS.to_owned(), COLUMNS.replacen("role = \"quasi\"", "role = \"quasi\"\nrelease = \"mean\"", 1)]
    {
        let workshop = Workshop::with(&people(2000), 4, 2, &columns);
        // Of a file that was written just now a release has no digest.
        let file = fs::File::options().append(true).open(workshop.path("input/people.parquet")).unwrap();
        file.set_modified(SystemTime::UNIX_EPOCH).unwrap();
        workshop.run(&[]);
        for (name, found) in [("metrics", &mut metrics), ("manifest", &mut manifest)] {
            let bytes = fs::read(workshop.release().join(format!("_throng/{name}.json"))).unwrap();
            ways(&serde_json::from_slice(&bytes).unwrap(), "", found);
        }
    }
    let page = fs::read_to_string(repository(PAGE)).unwrap();
    assert_eq!(shown(&page, "`_throng/metrics.json`"), metrics);
    assert_eq!(shown(&page, "`_throng/manifest.json`"), manifest);
}

//! Every policy under `configs/` loads, builds its hierarchies and matches its data.

use std::collections::HashSet;
use std::fs;
use std::path::{Path, PathBuf};

use arrow::array::{Array, ArrayRef};
use arrow::datatypes::{DataType, Field, Schema};
use throng_core::hierarchy::{HierarchySpec, ROOT, Tree, build_tree};
use throng_policy::{Binding, Overrides, Policy, Role};
use throng_synthetic::{CensusBatches, census_schema};

const CONFIGS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../configs");

fn policy_files() -> Vec<PathBuf> {
    let entries = fs::read_dir(CONFIGS).unwrap().map(|entry| entry.unwrap().path());
    let mut files: Vec<PathBuf> = entries.filter(|path| path.extension().is_some_and(|end| end == "toml")).collect();
    files.sort();
    files
}

fn load(path: &Path) -> Policy {
    Policy::load(path, &Overrides::default()).unwrap_or_else(|error| panic!("{error}"))
}

fn named(name: &str) -> Policy {
    load(&Path::new(CONFIGS).join(name))
}

/// Returns the hierarchies of a policy that are given as trees, by column.
fn trees(policy: &Policy) -> Vec<(&str, &Tree)> {
    let quasi = policy.columns.by_name.iter().filter_map(|(name, role)| match role {
        Role::Quasi(quasi) => quasi.hierarchy.as_deref().map(|hierarchy| (name.as_str(), hierarchy)),
        _ => None,
    });
    quasi
        .filter_map(|(name, hierarchy)| match hierarchy {
            HierarchySpec::Tree(tree) => Some((name, tree.as_ref())),
            _ => None,
        })
        .collect()
}

#[test]
fn every_policy_loads_and_its_hierarchies_build() {
    let files = policy_files();
    assert!(files.len() >= 2, "{files:?}");
    for file in files {
        let policy = load(&file);
        for (name, tree) in trees(&policy) {
            assert!(tree.leaf_count() > 1, "{}: {name}", file.display());
            assert_eq!(tree.label(tree.root()), ROOT, "{}: {name}", file.display());
        }
    }
}

#[test]
fn every_hierarchy_file_belongs_to_a_policy() {
    let mut texts = String::new();
    for file in policy_files() {
        texts += &fs::read_to_string(file).unwrap();
    }
    for folder in fs::read_dir(Path::new(CONFIGS).join("hierarchies")).unwrap() {
        let folder = folder.unwrap();
        for file in fs::read_dir(folder.path()).unwrap() {
            let name = file.unwrap().file_name();
            let name = format!("hierarchies/{}/{}", folder.file_name().display(), name.display());
            assert!(texts.contains(&name), "no policy uses {name}");
        }
    }
}

#[test]
fn the_census_policy_binds_to_the_census() {
    let binding = named("census.toml").bind(&census_schema()).unwrap();
    let quasi: Vec<&str> = binding.quasi.iter().map(|quasi| quasi.column.name.as_str()).collect();
    assert_eq!(quasi, ["age", "sex", "marital_status", "race", "birth_place", "region"]);
    assert_eq!(binding.dropped, ["person_id", "name"]);
    assert_eq!(binding.sensitive.len(), 1);
    assert_eq!((binding.k, binding.sensitive[0].p), (10, 3));
}

#[test]
fn the_hierarchies_of_the_census_know_every_value_of_the_census() {
    let binding: Binding = named("census.toml").bind(&census_schema()).unwrap();
    for batch in CensusBatches::new(20_000, 3) {
        for quasi in &binding.quasi {
            let column: &ArrayRef = batch.column(quasi.column.index);
            let built = build_tree(&quasi.spec.hierarchy, column);
            assert!(built.is_ok(), "{}: {:?}", quasi.column.name, built.err());
            assert_eq!(built.unwrap().1.len(), column.len());
        }
    }
}

#[test]
fn the_adult_policy_binds_to_the_columns_of_adult() {
    let numbers = ["age", "fnlwgt", "education-num", "capital-gain", "capital-loss", "hours-per-week"];
    let header = "age,workclass,fnlwgt,education,education-num,marital-status,occupation,relationship,race,sex,\
                  capital-gain,capital-loss,hours-per-week,native-country,income";
    let field =
        |name: &str| Field::new(name, if numbers.contains(&name) { DataType::Int64 } else { DataType::Utf8 }, true);
    let schema = Schema::new(header.split(',').map(field).collect::<Vec<_>>());
    let binding = named("adult.toml").bind(&schema).unwrap();
    let quasi: HashSet<&str> = binding.quasi.iter().map(|quasi| quasi.column.name.as_str()).collect();
    assert_eq!(quasi, HashSet::from(["age", "workclass", "marital-status", "race", "sex", "native-country"]));
    assert_eq!(binding.sensitive[0].column.name, "occupation");
    assert!(binding.dropped.is_empty());
    assert_eq!((binding.k, binding.sensitive[0].p), (10, 3));
}

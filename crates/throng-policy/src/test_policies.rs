//! Shared test policies, and readers that depend on nothing outside the test.

use std::path::Path;

use crate::load;
use crate::overrides::Overrides;
use crate::policy::Policy;
use crate::problem::PolicyError;

/// All tables of the file, with most of the fields.
pub const COMPLETE: &str = r#"version = 1

[input]
location = ["${DATA}/census/", "more.csv"]
format = "csv"
delimiter = ";"
header = false

[output]
location = "s3://bucket/census/"
mode = "overwrite"

[privacy]
k = 10
p = 3

[algorithm]
partition = "mondrian"
cluster = "greedy"
seed = 42

[columns]
default = "drop"

[columns.person_id]
role = "identifier"

[columns.age]
role = "quasi"
release = "bounds"
weight = 2
nulls = "suppress"

[columns.country]
role = "quasi"
hierarchy = "hierarchies/country.csv"

[columns.diagnosis]
role = "sensitive"

[columns."hours per week"]
role = "insensitive"
"#;

/// Fields of the privacy models beyond p-sensitive k-anonymity, and those that a policy needs.
pub const EXTENDED: &str = r#"version = 1

[input]
location = "patients.parquet"

[output]
location = "out"

[privacy]
k = 4
p = 2
alpha = 2
suppression_limit = 0.05

[algorithm]
partition = "basic-mondrian"
cluster = "enhanced-pk"

[columns.age]
role = "quasi"
release = "median"
limit = [18, 65]

[columns.country]
role = "quasi"
hierarchy = "hierarchies/country.csv"
limit = 1

[columns.city]
role = "quasi"
release = "mode"
hierarchy = { tree = { North = ["Oslo", "Bergen"], South = ["Rome"] } }
limit = ["North"]

[columns.zip]
role = "quasi"
limit = 0

[columns.income]
role = "sensitive"

[columns.treatment]
role = "sensitive"
p = 3
hierarchy = { tree = { surgery = ["bypass", "stent"], drug = ["aspirin"], none = ["none"] } }
protected = ["surgery"]

[columns.illness]
role = "sensitive"
p = 4
categories = [["HIV", "Cancer"], { name = "Lung", values = ["Phthisis"] }, ["Asthma"], ["Flu"]]
release = "both"
"#;

/// The content of `hierarchies/country.csv`.
pub const COUNTRIES: &str = "France;Europe;*\nJapan;Asia;*\nSpain;Europe;*\n";

/// Four lines that every policy needs besides its columns, so that a test begins in line 5.
pub const HEAD: &str = "version = 1\ninput.location = \"in\"\noutput.location = \"out\"\nprivacy.k = 10\n";

/// Looks up a variable in the environment of the tests.
pub fn environment(name: &str) -> Option<String> {
    match name {
        "DATA" => Some("/data".to_owned()),
        "URL" => Some("s3://AKIA:hunter2@bucket/".to_owned()),
        "NOTHING" => Some(String::new()),
        _ => None,
    }
}

/// Reads a policy in a folder, with overrides.
pub fn read_in(folder: &Path, text: &str, overrides: &Overrides) -> Result<Policy, PolicyError> {
    load::read("policy.toml", text, folder, overrides, &environment)
}

/// Reads a policy that needs no files.
pub fn read(text: &str) -> Result<Policy, PolicyError> {
    read_in(Path::new("/nowhere"), text, &Overrides::default())
}

/// Returns the error lines of a policy.
pub fn complaints(text: &str) -> Vec<String> {
    complaints_with(text, &Overrides::default())
}

/// Returns the error lines of a policy under these overrides.
pub fn complaints_with(text: &str, overrides: &Overrides) -> Vec<String> {
    match read_in(Path::new("/nowhere"), text, overrides) {
        Ok(_) => Vec::new(),
        Err(error) => error.to_string().lines().map(str::to_owned).collect(),
    }
}

/// Returns the error lines of columns, which begin in line 5.
pub fn complaints_of_columns(columns: &str) -> Vec<String> {
    complaints(&format!("{HEAD}{columns}"))
}

/// Creates a folder with the files of [`COMPLETE`].
pub fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir(folder.path().join("hierarchies")).unwrap();
    std::fs::write(folder.path().join("hierarchies/country.csv"), COUNTRIES).unwrap();
    folder
}

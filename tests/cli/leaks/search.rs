//! Searches everything that a job writes or prints for canaries.

use std::collections::BTreeSet;
use std::fs::File;
use std::ops::Range;
use std::path::Path;

use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use parquet::file::reader::{FileReader, SerializedFileReader};

use crate::sandbox::contents;

/// Prefix of every text canary, followed by the place where it was planted.
pub const CANARY: &str = "canary-";

/// Numbers that occur nowhere else, by the place where they were planted.
pub const NUMBERS: [(&str, Range<i64>); 2] =
    [("number", 7_261_503_000..7_261_504_000), ("amount", 8_310_007_000..8_310_008_000)];

/// Audience of an output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Audience {
    /// Readers of the rows of a release.
    Rows,
    /// Readers of its documents and file names.
    Documents,
    /// The operator of the job, who sees its logs, errors and outcome.
    Operator,
}

/// An output and its audience.
pub struct Seen {
    pub name: String,
    pub audience: Audience,
    pub bytes: Vec<u8>,
}

/// Whether an audience may see a canary of this place. Sensitive values are meant to be released, and an operator knows
/// the location of the input.
fn is_allowed(place: &str, audience: Audience) -> bool {
    matches!((place, audience), ("sensitive", Audience::Rows) | ("folder" | "file", Audience::Operator))
}

/// Returns every canary that an audience must not see.
pub fn leaks(seen: &[Seen]) -> Vec<String> {
    let of = |seen: &Seen| {
        let places = places(&seen.bytes).into_iter().filter(|place| !is_allowed(place, seen.audience));
        places.map(|place| format!("{place} in {}", seen.name)).collect::<Vec<_>>()
    };
    seen.iter().flat_map(of).collect()
}

/// Returns the places of the canaries in these bytes.
pub fn places(bytes: &[u8]) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for start in 0..bytes.len() {
        let rest = &bytes[start..];
        if rest.starts_with(CANARY.as_bytes()) {
            let place = rest[CANARY.len()..].iter().take_while(|byte| byte.is_ascii_lowercase());
            found.insert(place.map(|byte| char::from(*byte)).collect());
        }
        if let Some(number) = rest.first_chunk::<8>() {
            found.extend(planted(i64::from_le_bytes(*number)));
        }
        let starts_number = rest[0].is_ascii_digit() && (start == 0 || !bytes[start - 1].is_ascii_digit());
        if starts_number {
            let digits: String = rest.iter().take_while(|byte| byte.is_ascii_digit()).map(|b| char::from(*b)).collect();
            found.extend(digits.parse().ok().and_then(planted));
        }
    }
    found
}

fn planted(number: i64) -> Option<String> {
    NUMBERS.iter().find(|(_, range)| range.contains(&number)).map(|(place, _)| (*place).to_owned())
}

/// Returns everything below the folder of an output: names, bytes, and the content of compressed pages.
pub fn published(folder: &Path) -> Vec<Seen> {
    let mut seen = Vec::new();
    for (path, bytes) in contents(folder) {
        let name = path.strip_prefix(folder).unwrap().display().to_string();
        let is_rows = path.extension().is_some_and(|extension| extension == "parquet");
        let audience = if is_rows { Audience::Rows } else { Audience::Documents };
        seen.push(Seen { name: format!("the name {name}"), audience: Audience::Documents, bytes: name.clone().into() });
        if is_rows {
            seen.push(Seen { name: format!("pages of {name}"), audience, bytes: pages(&path) });
            seen.push(Seen { name: format!("the schema of {name}"), audience, bytes: schema(&path) });
        }
        seen.push(Seen { name, audience, bytes });
    }
    seen
}

/// Returns the schema of a file as text; inside of the file it is encoded.
fn schema(path: &Path) -> Vec<u8> {
    let reader = ParquetRecordBatchReaderBuilder::try_new(File::open(path).unwrap()).unwrap();
    format!("{:?}", reader.schema()).into_bytes()
}

/// Returns the uncompressed pages of a file, with their dictionaries.
pub fn pages(path: &Path) -> Vec<u8> {
    let reader = SerializedFileReader::new(File::open(path).unwrap()).unwrap();
    let mut bytes = Vec::new();
    for group in 0..reader.num_row_groups() {
        let group = reader.get_row_group(group).unwrap();
        for column in 0..group.num_columns() {
            for page in group.get_column_page_reader(column).unwrap() {
                bytes.extend_from_slice(page.unwrap().buffer());
            }
        }
    }
    bytes
}

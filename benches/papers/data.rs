//! Data sets of the papers. They are not part of the project and are read from a folder next to it.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;

use anyhow::{Context, Result, anyhow};
use arrow::array::{ArrayRef, Float64Array, Int64Array, StringArray};
use throng_core::hierarchy::{HierarchySpec, Tree};

/// Returns the folder of the data sets; prints that the experiment is skipped if it is missing.
pub fn data_or_skip() -> Option<PathBuf> {
    let folder = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/data"));
    let found = folder.join("adult.csv").exists() && folder.join("census-1080.csv").exists();
    if !found {
        println!("skipped: this experiment needs the data sets Adult and Census in ../shared/data");
    }
    found.then_some(folder)
}

/// The 45,222 complete records of UCI Adult.
#[derive(Debug)]
pub struct People {
    folder: PathBuf,
    columns: HashMap<String, Vec<String>>,
}

impl People {
    /// Reads `adult.csv`.
    pub fn read(folder: PathBuf) -> Result<Self> {
        let columns = columns(&folder.join("adult.csv"))?;
        Ok(Self { folder, columns })
    }

    /// Returns the number of records.
    pub fn len(&self) -> usize {
        self.columns.values().next().map_or(0, Vec::len)
    }

    /// Whether there are no records.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns a column of texts for these records.
    pub fn texts(&self, name: &str, records: &[usize]) -> Result<ArrayRef> {
        let column = self.column(name)?;
        Ok(Arc::new(records.iter().map(|record| Some(column[*record].as_str())).collect::<StringArray>()))
    }

    /// Returns a column of integers for these records.
    pub fn numbers(&self, name: &str, records: &[usize]) -> Result<ArrayRef> {
        let column = self.column(name)?;
        let numbers = records.iter().map(|record| column[*record].parse::<i64>());
        Ok(Arc::new(Int64Array::from(numbers.collect::<Result<Vec<_>, _>>().context("a number")?)))
    }

    /// Returns the ages of these records.
    pub fn ages(&self, records: &[usize]) -> Result<Vec<i64>> {
        let column = self.column("age")?;
        records.iter().map(|record| column[*record].parse::<i64>().context("an age")).collect()
    }

    /// Returns the hierarchy of a column, as published with ARX.
    pub fn hierarchy(&self, name: &str) -> Result<HierarchySpec> {
        let path = self.folder.join("adult-hierarchies").join(format!("{name}.csv"));
        let text = std::fs::read_to_string(&path).with_context(|| format!("the hierarchy of {name}"))?;
        let paths: Vec<Vec<&str>> = text.lines().map(|line| line.trim_end().split(';').collect()).collect();
        Ok(HierarchySpec::Tree(Arc::new(Tree::from_paths(&paths)?)))
    }

    fn column(&self, name: &str) -> Result<&Vec<String>> {
        self.columns.get(name).ok_or_else(|| anyhow!("Adult has no column {name}"))
    }
}

/// The Census reference microdata: 1,080 records with 13 numbers each.
#[derive(Debug)]
pub struct Census {
    /// Columns in file order, with their names.
    pub columns: Vec<(String, Vec<f64>)>,
}

impl Census {
    /// Reads `census-1080.csv`.
    pub fn read(folder: &std::path::Path) -> Result<Self> {
        let path = folder.join("census-1080.csv");
        let mut by_name = columns(&path)?;
        let mut names: Vec<String> = csv::Reader::from_path(&path)?.headers()?.iter().map(str::to_owned).collect();
        names.retain(|name| by_name.contains_key(name));
        let numbers = |name: String| {
            let texts = by_name.remove(&name).unwrap_or_default();
            let numbers = texts.iter().map(|text| text.parse::<f64>()).collect::<Result<Vec<_>, _>>();
            Ok((name, numbers.context("a number")?))
        };
        Ok(Self { columns: names.into_iter().map(numbers).collect::<Result<Vec<_>>>()? })
    }

    /// Returns a column as an array.
    pub fn array(&self, column: usize) -> ArrayRef {
        Arc::new(Float64Array::from(self.columns[column].1.clone()))
    }
}

fn columns(path: &std::path::Path) -> Result<HashMap<String, Vec<String>>> {
    let mut reader = csv::Reader::from_path(path)?;
    let names: Vec<String> = reader.headers()?.iter().map(str::to_owned).collect();
    let mut columns: Vec<Vec<String>> = vec![Vec::new(); names.len()];
    for record in reader.records() {
        for (column, field) in columns.iter_mut().zip(record?.iter()) {
            column.push(field.to_owned());
        }
    }
    Ok(names.into_iter().zip(columns).collect())
}

//! The data sets: Adult, a small census, a table with many quasi-identifiers, and those of `made_up`.

use std::sync::Arc;

use anyhow::{Result, bail};
use arrow::array::{ArrayRef, Int64Array, StringArray};
use throng_core::anonymize::{Method, PartitionChoice};
use throng_core::columns::{QuasiSpec, SensitiveSpec};
use throng_core::hierarchy::{HierarchySpec, MaskSide, Tree};
use throng_core::table::Table;
use throng_papers::{Choice, People, SampleRng, category, data_or_skip, interval, survey};

use super::made_up::{self, skewed};

/// The subset of Adult that most papers use: training records without missing values.
const ADULT_ROWS: usize = 30_162;
const CENSUS_ROWS: usize = 100_000;
const RICH_ROWS: usize = 20_000;
const RICH_COLUMNS: usize = 10;
const FEW_COLUMNS: usize = 3;
const SEED: u64 = 1;

/// A data set. Numbers are released as intervals, except for methods that need a hierarchy.
#[derive(Debug)]
pub struct DataSet {
    /// Name with the number of rows.
    pub title: String,
    /// Name of output files.
    pub file: String,
    /// Number of sensitive columns.
    pub sensitive: usize,
    intervals: Table,
    trees: Table,
    grids: Table,
}

/// The table of a data set for methods that release numbers as intervals.
#[derive(Debug)]
pub struct IntervalTable {
    /// Name with the number of rows.
    pub title: String,
    /// Number of sensitive columns.
    pub sensitive: usize,
    /// The table.
    pub table: Table,
}

impl IntervalTable {
    /// Creates a table; returns `None` if its source data is missing.
    pub fn make(choice: &Choice) -> Result<Option<Self>> {
        let Some(columns) = columns(choice)? else { return Ok(None) };
        let table = table(&columns, made_up::weights(&choice.name), &as_intervals)?;
        let title = Choice { rows: Some(table.rows() as usize), ..choice.clone() }.title();
        Ok(Some(Self { title, sensitive: columns.1.len(), table }))
    }
}

/// A quasi-identifier: a category, or a number with the hierarchy for methods that need one.
pub(crate) enum Quasi {
    Category(HierarchySpec),
    Number(HierarchySpec),
}

/// Quasi-identifiers and sensitive columns.
pub(crate) type Columns = (Vec<(&'static str, Quasi, ArrayRef)>, Vec<(&'static str, ArrayRef)>);

/// Returns the columns of a data set, or `None` if its source data is missing.
fn columns(choice: &Choice) -> Result<Option<Columns>> {
    let rows = |default| choice.rows.unwrap_or(default);
    Ok(Some(match choice.name.as_str() {
        "adult" | "adult-three" => {
            let Some(folder) = data_or_skip() else { return Ok(None) };
            adult(&People::read(folder)?, rows(ADULT_ROWS), choice.name == "adult-three")?
        }
        "census" => census(rows(CENSUS_ROWS))?,
        "rich" => rich(rows(RICH_ROWS), RICH_COLUMNS)?,
        "adult-few" => {
            let Some(folder) = data_or_skip() else { return Ok(None) };
            let (mut quasi, sensitive) = adult(&People::read(folder)?, rows(ADULT_ROWS), false)?;
            quasi.truncate(FEW_COLUMNS);
            (quasi, sensitive)
        }
        "numbers-2" => rich(rows(RICH_ROWS), 2)?,
        "numbers-4" => rich(rows(RICH_ROWS), 4)?,
        name => match made_up::columns(name, rows(RICH_ROWS)) {
            Some(columns) => columns,
            None => bail!(
                "there is no data set `{name}`; expected adult, adult-few, adult-three, census, numbers-2, numbers-4, rich, \
                 {}",
                made_up::NAMES.join(", ")
            ),
        },
    }))
}

fn as_intervals(name: &str, quasi: &Quasi) -> QuasiSpec {
    match quasi {
        Quasi::Category(hierarchy) => category(name, hierarchy.clone()),
        Quasi::Number(_) => interval(name),
    }
}

impl DataSet {
    /// Creates a data set; returns `None` if its source data is missing.
    pub fn make(choice: &Choice) -> Result<Option<Self>> {
        let Some(columns) = columns(choice)? else { return Ok(None) };
        let weights = made_up::weights(&choice.name);
        let as_trees = |name: &str, quasi: &Quasi| match quasi {
            Quasi::Category(hierarchy) | Quasi::Number(hierarchy) => category(name, hierarchy.clone()),
        };
        let as_grids = |name: &str, quasi: &Quasi| match quasi {
            Quasi::Category(hierarchy) => category(name, hierarchy.clone()),
            Quasi::Number(_) => category(name, HierarchySpec::MeanDifference),
        };
        let intervals = table(&columns, weights, &as_intervals)?;
        Ok(Some(Self {
            title: Choice { rows: Some(intervals.rows() as usize), ..choice.clone() }.title(),
            file: choice.name.clone(),
            sensitive: columns.1.len(),
            trees: table(&columns, weights, &as_trees)?,
            grids: table(&columns, weights, &as_grids)?,
            intervals,
        }))
    }

    /// Returns the table in the form that a method needs.
    pub fn table_for(&self, method: Method) -> &Table {
        match method.partition {
            PartitionChoice::Incognito => &self.trees,
            PartitionChoice::Mdr => &self.grids,
            _ => &self.intervals,
        }
    }

    /// Returns the table with numbers as intervals.
    pub fn table(&self) -> &Table {
        &self.intervals
    }
}

fn table((quasi, sensitive): &Columns, weights: &[f64], spec: &dyn Fn(&str, &Quasi) -> QuasiSpec) -> Result<Table> {
    let column = |(column, (name, quasi, values)): (usize, &(&str, Quasi, ArrayRef))| {
        let spec = spec(name, quasi);
        let weight = weights.get(column).copied().unwrap_or(spec.weight);
        (QuasiSpec { weight, ..spec }, Arc::clone(values))
    };
    let quasi = quasi.iter().enumerate().map(column).collect();
    let sensitive = sensitive.iter().map(|(name, values)| (SensitiveSpec::plain(*name), Arc::clone(values))).collect();
    Ok(survey(quasi, sensitive)?.table)
}

/// Six quasi-identifiers with the hierarchies of ARX; occupation, or three columns, as sensitive.
fn adult(people: &People, rows: usize, is_three: bool) -> Result<Columns> {
    let records: Vec<usize> = (0..rows.min(people.len())).collect();
    let mut quasi = vec![("age", Quasi::Number(people.hierarchy("age")?), people.numbers("age", &records)?)];
    for name in ["workclass", "marital-status", "race", "sex", "native-country"] {
        quasi.push((name, Quasi::Category(people.hierarchy(name)?), people.texts(name, &records)?));
    }
    let mut sensitive = vec![("occupation", people.texts("occupation", &records)?)];
    if is_three {
        sensitive.push(("education", people.texts("education", &records)?));
        sensitive.push(("education-num", people.numbers("education-num", &records)?));
    }
    Ok((quasi, sensitive))
}

/// Six correlated and skewed quasi-identifiers; about half of 100,000 rows are in small cells.
fn census(rows: usize) -> Result<Columns> {
    let mut draws = SampleRng::new(SEED);
    let (mut ages, mut hours) = (Vec::new(), Vec::new());
    let (mut sexes, mut statuses, mut origins, mut regions) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    let mut occupations = Vec::new();
    for _ in 0..rows {
        let age = (90.0 * draws.share().max(draws.share() * draws.share())) as i64;
        let sex = draws.below(2);
        let is_grown = age >= 18;
        ages.push(age);
        sexes.push(["Female", "Male"][sex]);
        statuses.push(match (is_grown, draws.share() < age as f64 / 60.0) {
            (true, true) => ["Married", "Married", "Married", "Divorced", "Widowed"][draws.below(5)],
            _ => "Never married",
        });
        origins.push(ORIGINS[skewed(&mut draws, ORIGINS.len())]);
        regions.push(format!("{:03}", skewed(&mut draws, 400)));
        hours.push(if is_grown && draws.share() < 0.7 { 40 + 5 * (draws.below(7) as i64 - 3) } else { 0 });
        let first = if is_grown { 4 * sex } else { 0 };
        occupations.push(format!("occupation {}", first + skewed(&mut draws, 30)));
    }
    let numbers = |numbers: Vec<i64>| Arc::new(Int64Array::from(numbers)) as ArrayRef;
    let texts = |texts: Vec<&str>| Arc::new(StringArray::from(texts)) as ArrayRef;
    let codes = |codes: Vec<String>| Arc::new(StringArray::from(codes)) as ArrayRef;
    let statuses_tree = [
        ["Never married", "Single", "*"],
        ["Married", "Married", "*"],
        ["Divorced", "Formerly married", "*"],
        ["Widowed", "Formerly married", "*"],
    ];
    let quasi = vec![
        ("age", Quasi::Number(intervals(&[5.0, 10.0, 20.0, 40.0])), numbers(ages)),
        ("sex", Quasi::Category(HierarchySpec::Flat), texts(sexes)),
        ("marital_status", Quasi::Category(tree(&statuses_tree)?), texts(statuses)),
        ("origin", Quasi::Category(HierarchySpec::Flat), texts(origins)),
        ("region", Quasi::Category(HierarchySpec::Mask(MaskSide::Right)), codes(regions)),
        ("hours", Quasi::Number(intervals(&[10.0, 20.0, 40.0])), numbers(hours)),
    ];
    Ok((quasi, vec![("occupation", codes(occupations))]))
}

const ORIGINS: [&str; 12] = [
    "Here", "Germany", "Poland", "Turkey", "Italy", "Syria", "Romania", "Greece", "Croatia", "Russia", "China",
    "Brazil",
];

/// Nearly unique numbers. Half of each is a common value per person, so that they correlate.
fn rich(rows: usize, width: usize) -> Result<Columns> {
    const NAMES: [&str; RICH_COLUMNS] = ["a", "b", "c", "d", "e", "f", "g", "h", "i", "j"];
    let mut draws = SampleRng::new(SEED);
    let mut measures: Vec<Vec<i64>> = vec![Vec::new(); width];
    let mut diagnoses = Vec::new();
    for _ in 0..rows {
        let common = draws.share();
        for measure in &mut measures {
            measure.push(((common + draws.share()) * 5e8) as i64);
        }
        diagnoses.push(format!("diagnosis {}", skewed(&mut draws, 40)));
    }
    let column = |(name, numbers)| {
        let hierarchy = intervals(&[1e7, 1e8, 5e8]);
        (name, Quasi::Number(hierarchy), Arc::new(Int64Array::from(numbers)) as ArrayRef)
    };
    let quasi = NAMES.into_iter().zip(measures).map(column).collect();
    Ok((quasi, vec![("diagnosis", Arc::new(StringArray::from(diagnoses)) as ArrayRef)]))
}

pub(crate) fn intervals(widths: &[f64]) -> HierarchySpec {
    HierarchySpec::Intervals { origin: 0.0, widths: widths.to_vec() }
}

fn tree(paths: &[[&str; 3]]) -> Result<HierarchySpec> {
    let paths: Vec<Vec<&str>> = paths.iter().map(|path| path.to_vec()).collect();
    Ok(HierarchySpec::Tree(Arc::new(Tree::from_paths(&paths)?)))
}

//! Sensitive columns of lists, counted from outside.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, Int64Array, LargeListArray, ListArray, RecordBatch, StringArray};
use arrow::compute::take;
use arrow::datatypes::{DataType, Field, Int64Type};

use crate::fixture_table::{COLUMNS, QUASI, people};
use crate::release_files::{Rows, data_files, read};
use crate::sandbox::{Sandbox, assert_contains};
use crate::tables::{Draws, table, write_parquet};

/// The fixture table with stays: lists of diagnoses, lists of numbers, and a patient with about three rows.
fn stays(rows: usize) -> RecordBatch {
    let people = people(rows);
    let mut draws = Draws::new(31);
    let names = ["I10", "E11", "J45", "C50", "B20", "F32", "K21", "M54"];
    let mut lists: Vec<Option<Vec<&str>>> = Vec::new();
    for row in 0..rows {
        let mut list: Vec<&str> = (0..draws.below(4)).map(|_| names[draws.below(8) as usize]).collect();
        // High blood pressure is common.
        if draws.below(3) == 0 {
            list.push("I10");
        }
        lists.push((row % 29 != 0).then_some(list));
    }
    let items = StringArray::from(lists.iter().flatten().flatten().copied().collect::<Vec<_>>());
    let lengths = lists.iter().map(|list| list.as_ref().map_or(0, Vec::len));
    let nulls = lists.iter().map(Option::is_some).collect::<Vec<_>>().into();
    let field = Arc::new(Field::new("item", DataType::Utf8, true));
    let offsets = arrow::buffer::OffsetBuffer::from_lengths(lengths);
    let diagnoses: ArrayRef = Arc::new(ListArray::new(field, offsets, Arc::new(items), Some(nulls)));
    let numbers =
        (0..rows).map(|_| Some((0..1 + draws.below(3)).map(|_| Some(draws.below(9) as i64)).collect::<Vec<_>>()));
    let doses: ArrayRef = Arc::new(LargeListArray::from_iter_primitive::<Int64Type, _, _>(numbers.collect::<Vec<_>>()));
    let patients = Int64Array::from_iter_values((0..rows).map(|_| draws.below(rows as u64 / 3) as i64));
    let schema = people.schema();
    let names = schema.fields().iter().map(|field| field.name().as_str());
    let more = [("diagnoses", diagnoses), ("doses", doses), ("patient", Arc::new(patients) as ArrayRef)];
    table(names.zip(people.columns().iter().cloned()).chain(more).collect())
}

const LISTS: &str = r#"
[columns.patient]
role = "identifier"
[columns.diagnoses]
role = "sensitive"
max_share = 0.75
[columns.doses]
role = "sensitive"
p = 2
"#;

/// Returns the elements of each row.
fn elements(column: &ArrayRef) -> Vec<BTreeSet<String>> {
    let of_row = |row: usize| {
        if column.is_null(row) {
            return BTreeSet::new();
        }
        let list = match column.as_list_opt::<i32>() {
            Some(lists) => lists.value(row),
            None => column.as_list::<i64>().value(row),
        };
        crate::tables::texts(list.as_ref()).into_iter().flatten().collect()
    };
    (0..column.len()).map(of_row).collect()
}

/// Returns the largest number of elements with different carriers, by augmenting paths over plain maps.
fn represented(carriers: &[BTreeSet<String>]) -> usize {
    fn find<'a>(
        at: usize,
        carriers: &'a [BTreeSet<String>],
        taken: &mut HashMap<&'a str, usize>,
        seen: &mut BTreeSet<&'a str>,
    ) -> bool {
        carriers[at].iter().any(|element| {
            if !seen.insert(element) {
                return false;
            }
            let holder = taken.get(element.as_str()).copied();
            let is_free = holder.is_none_or(|holder| find(holder, carriers, taken, seen));
            if is_free {
                taken.insert(element, at);
            }
            is_free
        })
    }
    let mut taken = HashMap::new();
    (0..carriers.len()).filter(|at| find(*at, carriers, &mut taken, &mut BTreeSet::new())).count()
}

/// Returns the largest p that a class satisfies, and the largest share of an element. Rows come with their units.
fn measured(rows: &[(usize, &BTreeSet<String>)]) -> (usize, f64) {
    let rows: Vec<&(usize, &BTreeSet<String>)> = rows.iter().filter(|(_, elements)| !elements.is_empty()).collect();
    let all: BTreeSet<&String> = rows.iter().flat_map(|(_, elements)| elements.iter()).collect();
    let mut by_unit: BTreeMap<usize, BTreeSet<String>> = BTreeMap::new();
    rows.iter().for_each(|(unit, elements)| by_unit.entry(*unit).or_default().extend(elements.iter().cloned()));
    let without = |element: &String| {
        let units = rows.iter().filter(|(_, elements)| !elements.contains(element)).map(|(unit, _)| unit);
        units.collect::<BTreeSet<_>>().len()
    };
    let share = |element: &&String| {
        rows.iter().filter(|(_, elements)| elements.contains(*element)).count() as f64 / rows.len() as f64
    };
    let fewest = all.iter().map(|element| without(element) + 1).min().unwrap_or(0);
    let carriers: Vec<BTreeSet<String>> = by_unit.into_values().collect();
    (represented(&carriers).min(fewest), all.iter().map(share).fold(0.0, f64::max))
}

/// Returns the smallest p and the largest share over all classes of a release. `unit` is the unit of each released row.
fn worst(release: &RecordBatch, column: &str, unit: &dyn Fn(usize) -> usize) -> (usize, f64) {
    let rows = Rows::of(&release.project(&QUASI.map(|name| release.schema().index_of(name).unwrap())).unwrap());
    let elements = elements(release.column_by_name(column).unwrap());
    let mut classes: HashMap<_, Vec<(usize, &BTreeSet<String>)>> = HashMap::new();
    for (row, tuple) in rows.tuples(&QUASI).into_iter().enumerate() {
        classes.entry(tuple).or_default().push((unit(row), &elements[row]));
    }
    let measures = classes.values().map(|rows| measured(rows));
    measures.fold((usize::MAX, 0.0), |(p, share), (least, most)| (p.min(least), f64::max(share, most)))
}

#[test]
fn lists_count_by_their_elements() {
    let sandbox = Sandbox::with(&stays(500), 5, 3, &format!("{COLUMNS}{LISTS}"));
    sandbox.run(&[]);
    let release = read(&sandbox.release());
    assert_eq!(release.num_rows(), 500);
    let (p, share) = worst(&release, "diagnoses", &|row| row);
    assert!(p >= 3 && share <= 0.75, "{p} {share}");
    assert!(worst(&release, "doses", &|row| row).0 >= 2);
    sandbox.throng(&["verify", "out/release", "--policy", "policy.toml"]).done();
    let metrics: serde_json::Value =
        serde_json::from_slice(&std::fs::read(sandbox.path("out/release/_throng/metrics.json")).unwrap()).unwrap();
    let models: Vec<&str> = metrics["privacy"]["requirements"]
        .as_array()
        .unwrap()
        .iter()
        .map(|requirement| requirement["model"].as_str().unwrap())
        .collect();
    let expected = ["k-anonymity", "p-sensitivity", "list p-sensitivity", "list p-sensitivity", "(alpha, k)-anonymity"];
    assert_eq!(models, expected);
    let found = &metrics["privacy"]["sensitive"][1];
    assert_eq!((found["column"].as_str(), found["reading"].as_str()), (Some("diagnoses"), Some("elements")), "{found}");

    // The same release under stricter promises.
    for (promised, stricter) in [("max_share = 0.75", "max_share = 0.3"), ("max_share = 0.75", "p = 5")] {
        sandbox.policy(5, 3, &format!("{COLUMNS}{}", LISTS.replace(promised, stricter)));
        let refused = sandbox.throng(&["verify", "out/release", "--policy", "policy.toml"]);
        assert_eq!(refused.code, Some(4), "{refused:?}");
    }
}

#[test]
fn a_doctored_list_is_refused() {
    let sandbox = Sandbox::with(&stays(300), 5, 2, &format!("{COLUMNS}{LISTS}"));
    sandbox.run(&[]);
    let release = read(&sandbox.release());
    let verified = || {
        let arguments =
            ["verify", "doctored", "-k", "5", "-p", "2", "--quasi", "age,sex,country,zip", "--sensitive", "diagnoses"];
        sandbox.throng(&arguments).code
    };
    std::fs::create_dir_all(sandbox.path("doctored")).unwrap();
    let write = |release: &RecordBatch| write_parquet(&sandbox.path("doctored/part-0.parquet"), release);
    write(&release);
    assert_eq!(verified(), Some(0));
    // Every row of the first class gets the list of its first row that has one, with a different list for one row: an element that
    // all of them have.
    let place = release.schema().index_of("diagnoses").unwrap();
    let rows = Rows::of(&release.project(&QUASI.map(|name| release.schema().index_of(name).unwrap())).unwrap());
    let tuples = rows.tuples(&QUASI);
    let elements = elements(release.column(place));
    let source = (0..release.num_rows()).find(|row| tuples[*row] == tuples[0] && !elements[*row].is_empty()).unwrap();
    let from = (0..release.num_rows()).map(|row| if tuples[row] == tuples[0] { source as i64 } else { row as i64 });
    let same = take(release.column(place), &Int64Array::from_iter_values(from), None).unwrap();
    let mut columns = release.columns().to_vec();
    columns[place] = same;
    write(&RecordBatch::try_new(release.schema(), columns).unwrap());
    assert_eq!(verified(), Some(4));
    assert!(!data_files(&sandbox.release()).is_empty());
}

#[test]
fn lists_of_units_count_by_what_each_unit_carries() {
    let input = stays(500);
    let with_unit = format!("unit = \"patient\"\n{COLUMNS}{LISTS}");
    let sandbox = Sandbox::with(&input, 4, 3, &with_unit);
    sandbox.run(&[]);
    let release = read(&sandbox.release());
    let original = Rows::of(&input.project(&[0, input.schema().index_of("patient").unwrap()]).unwrap());
    let patients: HashMap<&str, usize> = original
        .column("row")
        .iter()
        .zip(original.column("patient"))
        .map(|(row, patient)| (row.as_deref().unwrap(), patient.as_deref().unwrap().parse().unwrap()))
        .collect();
    let released = Rows::of(&release.project(&[release.schema().index_of("row").unwrap()]).unwrap());
    let unit = |row: usize| patients[released.column("row")[row].as_deref().unwrap()];
    let (p, share) = worst(&release, "diagnoses", &unit);
    assert!(p >= 3 && share <= 0.75, "{p} {share}");
    assert!(worst(&release, "doses", &unit).0 >= 2);
}

#[test]
fn a_check_tells_the_highest_p_of_lists() {
    let sandbox = Sandbox::with(
        &stays(300),
        9,
        9,
        &format!("{COLUMNS}{LISTS}")
            .replace("role = \"sensitive\"\n[columns.hours]", "role = \"sensitive\"\np = 2\n[columns.hours]"),
    );
    let refused = sandbox.throng(&["check", "policy.toml"]);
    // There are eight diagnoses.
    assert_contains(&refused.refused(3), &["`diagnoses`", "list p-sensitivity"]);
    let found = refused.json();
    let of =
        |name: &str| found["sensitive"].as_array().unwrap().iter().find(|one| one["column"] == name).unwrap().clone();
    assert_eq!(
        (of("diagnoses")["highest_p"].as_u64(), of("diagnoses")["counted"].as_str()),
        (Some(8), Some("elements"))
    );
    assert_eq!(of("doses")["highest_p"], 9);
}

#[test]
fn requirements_without_a_meaning_for_lists_are_named() {
    let sandbox = Sandbox::with(&stays(60), 3, 2, &format!("{COLUMNS}{LISTS}"));
    for (field, value) in [
        ("t", "0.2"),
        ("entropy_l", "2"),
        ("recursive", "{ c = 3.0, l = 2 }"),
        ("beta", "1.0"),
        ("delta_disclosure", "1.0"),
        ("bands", "[3]"),
        ("weight", "2"),
        ("categories", "[[\"a\"], [\"b\"]]"),
    ] {
        sandbox.policy(3, 2, &format!("{COLUMNS}{}", LISTS.replace("p = 2", &format!("{field} = {value}"))));
        let message = sandbox.throng(&["check", "policy.toml"]).refused(78);
        assert_contains(&message, &[&format!("columns.doses.{field}"), "has no meaning for a column of lists"]);
    }
}

//! Small random tables: every release keeps the promise, and every refusal is one of infeasibility.

use std::sync::Arc;

use arrow::array::{ArrayRef, Int64Array, RecordBatch, StringArray};

use super::{Linked, assert_linked_promise, profiles};
use crate::release_files::{Rows, read};
use crate::sandbox::Sandbox;
use crate::tables::{Draws, table, write_parquet};

/// Rows of people, some without a person, with quasi-identifiers that may be null.
fn rows(draws: &mut Draws, people: u64, most: u64) -> RecordBatch {
    let (mut ids, mut ages, mut places, mut values) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    for person in 0..people {
        for _ in 0..draws.below(most + 1) {
            ids.push((draws.below(15) > 0).then_some(person as i64));
            ages.push((draws.below(12) > 0).then(|| draws.below(6) as i64 * 10));
            places.push((draws.below(12) > 0).then(|| ["a", "b", "c"][draws.below(3) as usize]));
            values.push((draws.below(20) > 0).then(|| ["x", "y", "z"][draws.below(3) as usize]));
        }
    }
    table(vec![
        ("id", Arc::new(Int64Array::from(ids)) as ArrayRef),
        ("age", Arc::new(Int64Array::from(ages))),
        ("place", Arc::new(StringArray::from(places))),
        ("value", Arc::new(StringArray::from(values))),
    ])
}

const COLUMNS: &str = "columns.id = { role = \"identifier\", release = \"pseudonym\" }\n\
    columns.age = { role = \"quasi\", nulls = \"suppress\" }\ncolumns.place.role = \"quasi\"\n\
    columns.value.role = \"sensitive\"\n";

#[test]
fn small_random_tables_keep_the_promise_or_are_refused() {
    let mut released = 0;
    for seed in 0..24 {
        let mut draws = Draws::new(seed);
        let (people, k) = (20 + draws.below(200), 2 + draws.below(3));
        let p = 1 + draws.below(2);
        let sandbox = Sandbox::new();
        for (name, most) in [("one", 1 + draws.below(3)), ("two", 1 + draws.below(4))] {
            write_parquet(&sandbox.path(&format!("input/{name}.parquet")), &rows(&mut draws, people, most));
        }
        let policy = format!(
            "version = 1\ntable = \"one\"\ninput.location = \"input/one.parquet\"\noutput.location = \"out/release\"\n\
             privacy = {{ k = {k}, p = {p}, unit = \"id\" }}\n{COLUMNS}\
             [tables.two]\ninput.location = \"input/two.parquet\"\n{COLUMNS}"
        );
        sandbox.write("policy.toml", policy);
        let ended = sandbox.throng(&["run", "policy.toml"]);
        if ended.code == Some(3) {
            assert!(sandbox.out().is_empty());
            continue;
        }
        assert_eq!(ended.code, Some(0), "seed {seed}: {ended:?}");
        released += 1;
        let tables = ["one", "two"].map(|name| Rows::of(&read(&sandbox.release().join(name))));
        let linked = |rows| Linked { rows, pseudonym: "id", quasi: &["age", "place"], sensitive: Some("value") };
        assert_linked_promise(&profiles(&tables.each_ref().map(linked)), k as usize, p as usize);
    }
    assert!(released > 12, "{released} releases");
}

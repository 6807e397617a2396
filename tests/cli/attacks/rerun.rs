//! An intruder who knows all rows except one runs Throng on each candidate for it, and compares.
//!
//! The same input, policy and secret give the same bytes, so an intruder with the secret would find the right
//! candidate. Without it, no candidate gives the bytes of the release, and none stands out by its classes.

use std::collections::BTreeSet;
use std::sync::Arc;

use arrow::array::{ArrayRef, Int64Array, RecordBatch, StringArray};

use crate::release_files::{Rows, read};
use crate::sandbox::{Sandbox, contents};
use crate::tables::{Draws, table};

/// Number of people that are attacked.
const TRIALS: usize = 40;

/// Number of ages that are tried for each of them, including the right one.
const CANDIDATES: usize = 5;

const ROWS: usize = 300;

const COLUMNS: &str = "[columns]\nage.role = \"quasi\"\nheight.role = \"quasi\"\nillness.role = \"sensitive\"\n";

struct Original {
    ages: Vec<i64>,
    heights: Vec<i64>,
    illnesses: Vec<String>,
}

impl Original {
    fn new(seed: u64) -> Self {
        let mut draws = Draws::new(seed);
        let mut column = |from: i64, to: u64| (0..ROWS).map(|_| from + draws.below(to) as i64).collect::<Vec<i64>>();
        let (ages, heights) = (column(18, 60), column(150, 45));
        let illnesses = column(0, 6).into_iter().map(|illness| format!("illness {illness}")).collect();
        Self { ages, heights, illnesses }
    }

    /// Returns the table in which one person has another age.
    fn with_age(&self, person: usize, age: i64) -> RecordBatch {
        let mut ages = self.ages.clone();
        ages[person] = age;
        table(vec![
            ("age", Arc::new(Int64Array::from(ages)) as ArrayRef),
            ("height", Arc::new(Int64Array::from(self.heights.clone())) as ArrayRef),
            ("illness", Arc::new(StringArray::from(self.illnesses.clone())) as ArrayRef),
        ])
    }
}

/// Returns the data files of a release and its classes.
fn released(batch: &RecordBatch, secret: &str) -> (Vec<Vec<u8>>, BTreeSet<String>) {
    let sandbox = Sandbox::with(batch, 10, 3, COLUMNS);
    let mut command = sandbox.command(&["run", "policy.toml"]);
    let ended = command.env("THRONG_SECRET", secret).output().unwrap();
    assert!(ended.status.success(), "{}", String::from_utf8_lossy(&ended.stderr));
    let files = contents(&sandbox.release()).into_iter();
    let data = files.filter(|(path, _)| path.extension().is_some_and(|extension| extension == "parquet"));
    let rows = Rows::of(&read(&sandbox.release()));
    let classes = rows.tuples(&["age", "height"]).into_iter().map(|tuple| format!("{tuple:?}")).collect();
    (data.map(|(_, bytes)| bytes).collect(), classes)
}

/// Returns the ages that a released interval covers.
fn ages(label: &str) -> std::ops::RangeInclusive<i64> {
    match label.strip_prefix('[').and_then(|inner| inner.strip_suffix(']')).and_then(|inner| inner.split_once('-')) {
        Some((from, to)) => from.parse().unwrap()..=to.parse().unwrap(),
        None => label.parse().unwrap()..=label.parse().unwrap(),
    }
}

#[test]
fn who_knows_all_but_one_age_learns_nothing_by_running_the_tool() {
    let original = Original::new(3);
    let truth = original.with_age(0, original.ages[0]);
    let (bytes, classes) = released(&truth, "the secret of the office");
    assert_eq!(released(&truth, "the secret of the office").0, bytes, "the same secret gives the same bytes");
    let rows = Rows::of(&read_again(&truth));
    let labels: Vec<String> = rows.column("age").iter().map(|cell| cell.clone().unwrap()).collect();
    let mut draws = Draws::new(5);
    let (mut same_bytes, mut found, mut expected) = (0, 0, 0.0);
    for trial in 0..TRIALS {
        let person = draws.below(ROWS as u64) as usize;
        // The interval of a class that covers the person.
        let of_person = labels.iter().map(|label| ages(label)).filter(|ages| ages.contains(&original.ages[person]));
        let widest = of_person.max_by_key(|ages| ages.end() - ages.start()).unwrap();
        let mut candidates: Vec<i64> = widest.filter(|age| *age != original.ages[person]).collect();
        while candidates.len() >= CANDIDATES {
            candidates.swap_remove(draws.below(candidates.len() as u64) as usize);
        }
        candidates.push(original.ages[person]);
        // The guess is the candidate whose classes are most similar to those of the release.
        let guesses = candidates.iter().map(|age| {
            let (guessed, of_guess) = released(&original.with_age(person, *age), &format!("a guessed secret {trial}"));
            same_bytes += usize::from(guessed == bytes);
            (of_guess.intersection(&classes).count(), *age)
        });
        let best = guesses.max().unwrap().1;
        found += usize::from(best == original.ages[person]);
        expected += 1.0 / candidates.len() as f64;
    }
    eprintln!("right in {found} of {TRIALS}, by chance in {expected:.1}");
    assert_eq!(same_bytes, 0, "a run without the secret gave the bytes of the release");
    // Three standard deviations above guessing at random.
    assert!((found as f64) < expected + 3.0 * expected.sqrt() + 1.0, "{found} of {TRIALS}, by chance {expected}");
}

fn read_again(batch: &RecordBatch) -> RecordBatch {
    let sandbox = Sandbox::with(batch, 10, 3, COLUMNS);
    let mut command = sandbox.command(&["run", "policy.toml"]);
    assert!(command.env("THRONG_SECRET", "the secret of the office").status().unwrap().success());
    read(&sandbox.release())
}

//! The order of a release is independent of the order of the input, over all rows and within each class.

use std::collections::HashMap;
use std::sync::Arc;

use arrow::array::{Int64Array, RecordBatch};

use crate::release_files::{Rows, read};
use crate::sandbox::Sandbox;
use crate::tables::{Draws, pieces, strings, table, write_parquet};

/// Number of standard deviations from random order that counts as a leak: one in a million by chance, and the seed is
/// fixed.
const DEVIATIONS: f64 = 5.0;

/// Returns the leaks in the order of rows, given the input row and the class of each.
pub fn order_leaks(origins: &[usize], classes: &[usize]) -> Vec<String> {
    let whole = deviation(&[origins.to_vec()]);
    let mut by_class: HashMap<usize, Vec<usize>> = HashMap::new();
    for (origin, class) in origins.iter().zip(classes) {
        by_class.entry(*class).or_default().push(*origin);
    }
    let inside = deviation(&by_class.into_values().collect::<Vec<_>>());
    // The expected number of adjacent rows that are adjacent in the input too is one, for any number of rows.
    let followers = origins.windows(2).filter(|pair| pair[0] + 1 == pair[1]).count();
    let mut found = Vec::new();
    if whole.abs() > DEVIATIONS {
        found.push(format!("the release is in the order of the input ({whole:.1} deviations)"));
    }
    if inside.abs() > DEVIATIONS {
        found.push(format!("classes are in the order of the input ({inside:.1} deviations)"));
    }
    if followers > 12 {
        found.push(format!("{followers} rows follow the row that they followed in the input"));
    }
    found
}

/// Returns the combined deviation of the rank correlations of some lists from zero. Spearman's coefficient of n ranks
/// in random order has a mean of zero and a variance of 1 / (n - 1).
fn deviation(lists: &[Vec<usize>]) -> f64 {
    let lists = lists.iter().filter(|list| list.len() > 2);
    let scores: Vec<f64> = lists.map(|list| spearman(list) * ((list.len() - 1) as f64).sqrt()).collect();
    scores.iter().sum::<f64>() / (scores.len() as f64).sqrt().max(1.0)
}

/// Returns the rank correlation of distinct numbers with their positions.
fn spearman(numbers: &[usize]) -> f64 {
    let mut order: Vec<usize> = (0..numbers.len()).collect();
    order.sort_unstable_by_key(|place| numbers[*place]);
    let squares = order.iter().enumerate().map(|(rank, place)| (rank as f64 - *place as f64).powi(2));
    let n = numbers.len() as f64;
    1.0 - 6.0 * squares.sum::<f64>() / (n * (n * n - 1.0))
}

const COLUMNS: &str = r#"
[columns.token]
role = "insensitive"
[columns.age]
role = "quasi"
[columns.sex]
role = "quasi"
[columns.illness]
role = "sensitive"
"#;

/// Returns a table whose tokens are independent of the row number.
fn people(rows: usize, seed: u64) -> RecordBatch {
    let mut draws = Draws::new(seed);
    let (mut tokens, mut ages, mut sexes, mut ills) = (vec![], vec![], vec![], vec![]);
    for row in 0..rows {
        tokens.push(format!("{:016x}{row:05x}", draws.below(u64::MAX)));
        ages.push((18 + draws.below(60)) as i64);
        sexes.push(["Female", "Male"][draws.below(2) as usize]);
        ills.push(format!("illness {}", draws.below(9)));
    }
    table(vec![
        ("token", strings(tokens)),
        ("age", Arc::new(Int64Array::from(ages))),
        ("sex", strings(sexes)),
        ("illness", strings(ills)),
    ])
}

/// Returns the input row and the class of each row of a release.
fn origins(input: &RecordBatch, release: &RecordBatch) -> (Vec<usize>, Vec<usize>) {
    let (input, release) = (Rows::of(input), Rows::of(release));
    let places = input.by("token");
    let origin = |token: &Option<String>| places[token.as_deref().unwrap()];
    let mut classes = HashMap::new();
    let class_of = release.tuples(&["age", "sex"]).into_iter().map(|class| {
        let next = classes.len();
        *classes.entry(class).or_insert(next)
    });
    let class_of = class_of.collect();
    (release.column("token").iter().map(origin).collect(), class_of)
}

#[test]
fn the_order_of_a_release_says_nothing_of_the_order_of_the_input() {
    const ROWS: usize = 20_000;
    for (seed, more) in [(1, &["--threads", "1"][..]), (2, &["--threads", "2"]), (3, &["--memory-limit", "160MiB"])] {
        let sandbox = Sandbox::new();
        let input = people(ROWS, seed);
        for (number, piece) in pieces(&input, 4).iter().enumerate() {
            write_parquet(&sandbox.path(&format!("input/{number}.parquet")), piece);
        }
        sandbox.policy(5, 2, COLUMNS);
        sandbox.run(more);
        let (origins, classes) = origins(&input, &read(&sandbox.release()));
        assert_eq!(origins.len(), ROWS);
        assert!(classes.iter().max().unwrap() > &50, "too few classes");
        assert_eq!(order_leaks(&origins, &classes), Vec::<String>::new(), "{more:?}");
    }
}

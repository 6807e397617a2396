use super::*;
use crate::columns::ColumnRecoding;
use crate::hierarchy::HierarchySpec;
use crate::published::Mdav;
use crate::recode::Recoding;
use crate::test_tables::{floats, interval, ints, quasi, survey, texts};

fn classes(rows: &crate::test_tables::Surveyed, seed: u64, k: u64, p: u64) -> Vec<Class> {
    let leaf: Vec<u32> = (0..rows.table.cell_count() as u32).collect();
    let privacy = Privacy::p_sensitive_k_anonymity(k, p, rows.table.sensitive().len());
    RandomSeed { seed }.cluster(&leaf, &rows.table, &privacy)
}

#[test]
fn numbers_are_uniform_and_depend_on_seed_and_leaf() {
    let draw = |seed: u64, leaf: &[u32]| {
        let mut numbers = LeafRng::new(seed, leaf);
        (0..1000).map(|_| numbers.uniform()).collect::<Vec<f64>>()
    };
    let drawn = draw(1, &[7, 8]);
    assert_eq!(draw(1, &[7, 8]), drawn);
    assert!(draw(2, &[7, 8]) != drawn && draw(1, &[8]) != drawn);
    assert!(drawn.iter().all(|number| (0.0..1.0).contains(number)));
    let mut tenths = [0; 10];
    drawn.iter().for_each(|number| tenths[(number * 10.0) as usize] += 1);
    assert!(tenths.iter().all(|count| (70..=130).contains(count)), "{tenths:?}");
}

#[test]
fn the_seed_is_the_row_nearest_to_the_drawn_point() {
    // The rows are 0, 2, 4, ... 20, and every class is a row and its nearest neighbour.
    let ages: Vec<i64> = (0..=10).map(|row| 2 * row).collect();
    let rows = survey(&[(interval("x"), ints(&ages))], &[]);
    for seed in 0..20 {
        let drawn = 20.0 * LeafRng::new(seed, &[0]).uniform();
        let nearest = (drawn / 2.0).round() as u32;
        let first = &classes(&rows, seed, 2, 1)[0];
        assert!(first.portions.iter().any(|portion| portion.group == nearest), "{drawn}: {first:?}");
    }
}

#[test]
fn separate_crowds_stay_apart_whatever_the_seed() {
    let rows = survey(&[(interval("x"), ints(&[0, 1, 2, 100, 101, 102]))], &[texts(&["a", "a", "b", "b", "b", "a"])]);
    for seed in 0..20 {
        let mut found = classes(&rows, seed, 3, 2);
        found.sort_by(|a, b| a.portions.cmp(&b.portions));
        assert_eq!(found, rows.clusters(&[&[0, 1, 2], &[3, 4, 5]]));
    }
}

#[test]
fn another_seed_finds_other_classes() {
    let ages: Vec<i64> = (0..100).map(|row| row * row).collect();
    let rows = survey(&[(interval("x"), ints(&ages))], &[]);
    assert_eq!(classes(&rows, 3, 5, 1), classes(&rows, 3, 5, 1));
    assert_ne!(classes(&rows, 3, 5, 1), classes(&rows, 4, 5, 1));
}

/// SSE / SST of H1, and the mean over ten seeds of that of H2, for 600 rows uniform in a square with two values.
fn losses(rare: f64) -> (f64, f64) {
    let mut numbers = LeafRng::new(11, &[]);
    let mut draw = || (0..600).map(|_| numbers.uniform()).collect::<Vec<f64>>();
    let column = |name| quasi(name, ColumnRecoding::Mean, HierarchySpec::Flat);
    let columns = [(column("x"), floats(&draw())), (column("y"), floats(&draw()))];
    let values: Vec<&str> = draw().iter().map(|number| if *number < rare { "a" } else { "b" }).collect();
    let rows = survey(&columns, &[texts(&values)]);
    let leaf: Vec<u32> = (0..rows.table.cell_count() as u32).collect();
    let privacy = Privacy::p_sensitive_k_anonymity(3, 2, 1);
    let loss = |cluster: &dyn ClusterMethod| {
        let recoding = Recoding::new(&rows.table, &cluster.cluster(&leaf, &rows.table, &privacy)).unwrap();
        (0..2).map(|column| recoding.squared_errors(column).unwrap().ratio()).sum::<f64>() / 2.0
    };
    (loss(&Mdav), (0..10).map(|seed| loss(&RandomSeed { seed })).sum::<f64>() / 10.0)
}

#[test]
fn random_seeds_lose_less_where_many_rows_are_left_over() {
    let (mdav, random) = losses(0.1);
    assert!(random < 0.8 * mdav, "{random} is not well below {mdav}");
    let (mdav, random) = losses(0.5);
    assert!(mdav < random, "{mdav} is not below {random}");
}

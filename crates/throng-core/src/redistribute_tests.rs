use super::*;
use crate::cluster::ClusterMethod;
use crate::test_tables::{interval, ints, survey, texts};

/// A single person of age 0 and a lender of age 1 with these counts of the values a, b, c, and so on.
fn lonely(own: &str, lender: &[u32], k: u64, p: u64) -> (crate::test_tables::Surveyed, Privacy) {
    let names = ["a", "b", "c", "d", "e", "f"];
    let mut ages = vec![0];
    let mut values = vec![own];
    for (name, rows) in names.iter().zip(lender) {
        (0..*rows).for_each(|_| {
            ages.push(1);
            values.push(name);
        });
    }
    (survey(&[(interval("age"), ints(&ages))], &[texts(&values)]), Privacy::p_sensitive_k_anonymity(k, p, 1))
}

/// The histogram of the class of the single person, as counts of a, b, c, and so on.
fn drawn(rows: &crate::test_tables::Surveyed, privacy: &Privacy, secret: u64) -> Vec<u32> {
    let leaf: Vec<u32> = (0..rows.table.cell_count() as u32).collect();
    let mut classes = crate::cluster::Greedy::default().cluster(&leaf, &rows.table, privacy);
    SharedCells::of(&rows.table, &classes).redistribute(
        &rows.table,
        privacy,
        &mut classes,
        ReleaseKey::new(&[9; 32], secret),
    );
    assert!(classes.iter().all(|class| privacy.is_satisfied(&class.tally(&rows.table))));
    let total: u64 = classes.iter().map(|class| class.tally(&rows.table).rows()).sum();
    assert_eq!(total, rows.table.rows());
    let own = rows.table.groups(0).start;
    let class = classes.iter().find(|class| class.portions.iter().any(|portion| portion.group == own)).unwrap();
    let tally = class.tally(&rows.table);
    (0..rows.table.sensitive()[0].distinct).map(|code| tally.count(0, code) as u32).collect()
}

/// Returns how often the class has each histogram, over many keys.
fn distribution(own: &str, lender: &[u32], k: u64, p: u64, trials: u64) -> std::collections::BTreeMap<Vec<u32>, f64> {
    let (rows, privacy) = lonely(own, lender, k, p);
    let mut found = std::collections::BTreeMap::new();
    for secret in 0..trials {
        *found.entry(drawn(&rows, &privacy, secret)).or_insert(0.0) += 1.0 / trials as f64;
    }
    found
}

/// The number of ways to choose `of` of `from`.
fn choose(from: u32, of: u32) -> f64 {
    (0..of).map(|i| f64::from(from - i) / f64::from(i + 1)).product()
}

#[test]
fn borrowed_rows_are_a_uniform_draw_of_the_lender() {
    // Four of twelve rows: hypergeometric. The person's own value and the two that p requires are always present.
    let found = distribution("a", &[6, 4, 2], 5, 1, 6000);
    for (histogram, share) in &found {
        let lent = [histogram[0] - 1, histogram[1], histogram[2]];
        let ways: f64 = [6, 4, 2].iter().zip(lent).map(|(rows, lent)| choose(*rows, lent)).product();
        let expected = ways / choose(12, 4);
        assert!((share - expected).abs() < 0.03, "{histogram:?}: {share} in place of {expected}");
    }
    assert!((found.values().sum::<f64>() - 1.0).abs() < 1e-9);
}

#[test]
fn the_value_of_a_lonely_person_is_no_more_likely_than_its_share_of_the_class() {
    // Worlds: all values of thirty people of age 1 and one of age 0, of whom 12 + 10 + 9 have a, b, c; the intruder knows
    // that, and sees the class. All worlds are equally likely, so the single person has a in 12 of 31 of them, and so on.
    let total = [12_u32, 10, 9];
    let mut joint: std::collections::BTreeMap<Vec<u32>, [f64; 3]> = std::collections::BTreeMap::new();
    for (own, name) in ["a", "b", "c"].iter().enumerate() {
        let mut lender = total;
        lender[own] -= 1;
        for (histogram, share) in distribution(name, &lender, 5, 2, 4000) {
            joint.entry(histogram).or_default()[own] += share * f64::from(total[own]) / 31.0;
        }
    }
    let mut worst: f64 = 0.0;
    for (histogram, weights) in joint {
        let sum: f64 = weights.iter().sum();
        if sum < 0.02 {
            continue;
        }
        for (weight, rows) in weights.iter().zip(&histogram) {
            worst = worst.max((weight / sum - f64::from(*rows) / 5.0).abs());
        }
    }
    assert!(worst < 0.06, "the posterior is {worst} away from the share");
}

#[test]
fn without_the_key_the_draw_is_unknown_and_with_it_the_same() {
    let (rows, privacy) = lonely("a", &[6, 6, 6], 6, 2);
    let all: Vec<Vec<u32>> = (0..32).map(|secret| drawn(&rows, &privacy, secret)).collect();
    assert_eq!(all[3], drawn(&rows, &privacy, 3));
    assert!(all.iter().any(|other| *other != all[0]));
}

#[test]
fn nothing_changes_where_no_cell_is_shared() {
    let rows = survey(&[(interval("age"), ints(&[1, 1, 2, 2]))], &[texts(&["a", "b", "a", "b"])]);
    let mut classes = rows.clusters(&[&[0, 1], &[2, 3]]);
    let before = classes.clone();
    let privacy = Privacy::p_sensitive_k_anonymity(2, 2, 1);
    SharedCells::of(&rows.table, &classes).redistribute(&rows.table, &privacy, &mut classes, ReleaseKey::PUBLIC);
    assert_eq!(classes, before);
}

/// Whether every cell is in one class only.
fn has_whole_cells(table: &Table, classes: &[Class]) -> bool {
    shared_portions(table, classes).is_empty()
}

#[test]
fn without_lending_the_rows_of_every_class_are_its_own() {
    use crate::anonymize::{ClusterChoice, Method, PartitionChoice};
    use crate::partition::FeasibleRegions;
    use crate::risk::BorrowedRows;

    let mut random = crate::local_search::rng::SplitMix64::new(5);
    let mut drawn = |below: f32| (random.share() * below) as i64;
    let mut lent = 0;
    for trial in 0..20 {
        let ages: Vec<i64> = (0..300).map(|_| drawn(20.0) * drawn(4.0)).collect();
        let heights: Vec<i64> = (0..300).map(|_| drawn(3.0) * drawn(3.0)).collect();
        let values: Vec<&str> = (0..300).map(|_| ["a", "b", "c", "d"][drawn(4.0) as usize % 4]).collect();
        let rows = survey(&[(interval("age"), ints(&ages)), (interval("height"), ints(&heights))], &[texts(&values)]);
        let lending = Privacy::p_sensitive_k_anonymity(6, 2, 1);
        let whole = lending.clone().without_lending();
        for cluster in [ClusterChoice::Search, ClusterChoice::Greedy, ClusterChoice::None] {
            let method = Method::new(PartitionChoice::Mondrian, cluster);
            let classes = |privacy: &Privacy| {
                let allowed = FeasibleRegions::of(&rows.table, privacy);
                let leaves = method.leaves(&allowed, &rows.table).unwrap();
                method.classes(&leaves, &rows.table, &allowed.privacy, &crate::cluster::IgnoreProgress).classes
            };
            lent += usize::from(!has_whole_cells(&rows.table, &classes(&lending)));
            let classes = classes(&whole);
            assert!(has_whole_cells(&rows.table, &classes), "{trial} {cluster:?}");
            assert!(classes.iter().all(|class| whole.is_satisfied(&class.tally(&rows.table))));
            let total: u64 = classes.iter().map(|class| class.tally(&rows.table).rows()).sum();
            assert_eq!(total, rows.table.rows());
            let mut borrowed = BorrowedRows::default();
            borrowed.add(&rows.table, &whole, &classes);
            assert_eq!(borrowed, BorrowedRows::default());
        }
    }
    assert!(lent > 10, "lending was never of use: {lent}");
}

#[test]
fn classes_that_share_a_cell_are_merged() {
    let (rows, privacy) = lonely("a", &[6, 4, 2], 5, 1);
    let leaf: Vec<u32> = (0..rows.table.cell_count() as u32).collect();
    let classes = crate::cluster::Greedy::default().cluster(&leaf, &rows.table, &privacy);
    assert!(classes.len() == 2 && !has_whole_cells(&rows.table, &classes));
    let merged = merge_sharing(&rows.table, classes);
    assert_eq!(merged, [Class::of_cells(&rows.table, &leaf)]);
}

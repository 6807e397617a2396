use proptest::prelude::*;

use super::*;
use crate::domain::NULL;
use crate::published::literal_reference::{LiteralRows, leaves, sound_classes, without};
use crate::test_tables::{
    Surveyed, cases, interval, ints, paper_figure_1, paper_table_1, paper_table_1_corrected, survey, texts,
};

fn enhanced_pk(rows: &Surveyed, k: u64, p: u64) -> Vec<Class> {
    let privacy = Privacy::p_sensitive_k_anonymity(k, p, rows.table.sensitive().len());
    sound_classes(&EnhancedPk, &rows.table, &privacy)
}

#[test]
fn a_rare_value_is_dealt_to_as_many_classes_as_it_has_rows() {
    // Two b allow two classes. Split distributes them, and each a joins the nearest of them in step 2.
    let rows = survey(&[(interval("age"), ints(&[0, 1, 5, 6]))], &[texts(&["a", "b", "b", "a"])]);
    assert_eq!(enhanced_pk(&rows, 2, 2), rows.clusters(&[&[0, 1], &[2, 3]]));
}

#[test]
fn it_finds_three_classes_where_the_greedy_clustering_finds_two() {
    // Four of seven rows have an a, and three classes are possible. The first class of the greedy clustering takes the
    // b and a c, and only one c is left to go with the a.
    let rows =
        survey(&[(interval("age"), ints(&[0, 1, 2, 7, 7, 8, 8]))], &[texts(&["b", "c", "c", "a", "a", "a", "a"])]);
    let privacy = Privacy::p_sensitive_k_anonymity(2, 2, 1);
    assert_eq!(sound_classes(&GreedyPk, &rows.table, &privacy).len(), 2);
    assert_eq!(enhanced_pk(&rows, 2, 2).len(), 3);
}

#[test]
fn a_frequent_value_may_be_a_row_short() {
    // Four values with three rows each and p = 3: maxClusters = min(12/3, 9/2, 6/1) = 4 and iValue = 2, so that the
    // first value, which counts as the most frequent, should be in four classes and has three rows. Split distributes
    // {d, c}, {d, c}, {d, b}, {c, b}; the fourth class gets no a and then the last b, which does not help it, so it is
    // dissolved.
    let values = ["a", "b", "c", "d"].map(|value| [value; 3]).concat();
    let rows = survey(&[(interval("age"), ints(&[5; 12]))], &[texts(&values)]);
    assert_eq!(enhanced_pk(&rows, 3, 3).len(), 3);
    // With a d that is far away, and is in the first class, that class is the one without an a, and the last b helps it.
    let ages = ints(&[5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 1]);
    let rows = survey(&[(interval("age"), ages)], &[texts(&values)]);
    assert_eq!(enhanced_pk(&rows, 3, 3).len(), 4);
}

#[test]
fn table_1_and_its_mended_form() {
    for (quasi, sensitive) in [paper_table_1(), paper_table_1_corrected()] {
        assert_eq!(enhanced_pk(&survey(&quasi, &sensitive), 3, 2).len(), 2);
    }
}

#[test]
fn figure_1_becomes_one_class() {
    let rows = survey(&[(interval("age"), ints(&[1, 2, 3, 4]))], &paper_figure_1());
    assert_eq!(enhanced_pk(&rows, 2, 2), rows.clusters(&[&[0, 1, 2, 3]]));
}

#[test]
fn without_p_it_is_the_greedy_clustering() {
    let rows = survey(&[(interval("age"), ints(&[1, 2, 30, 31, 60, 61]))], &[texts(&["a"; 6])]);
    assert_eq!(enhanced_pk(&rows, 2, 1), rows.clusters(&[&[0, 1], &[4, 5], &[2, 3]]));
}

/// Condition 2 for one column: `maxClusters`, and `iValue`, the least `i` that reaches it.
fn condition_2(counts: &[usize], p: usize) -> (usize, usize) {
    let n: usize = counts.iter().sum();
    let bound = |i: usize| (n - counts[..p - i].iter().sum::<usize>()) / i;
    let max_clusters = (1..=p).map(bound).min().unwrap();
    (max_clusters, (1..=p).find(|i| bound(*i) == max_clusters).unwrap())
}

/// EnhancedPKClustering as printed, on single rows, with its errors corrected.
fn literal(rows: &LiteralRows<'_>) -> Vec<Class> {
    let sec_of = |column: usize| {
        let mut sec: Vec<Vec<usize>> = Vec::new();
        for code in 0..rows.table.sensitive()[column].distinct {
            assert_ne!(code, NULL);
            sec.push((0..rows.len()).filter(|row| rows.codes(*row)[column] == code).collect());
        }
        sec.sort_by_key(|rows| std::cmp::Reverse(rows.len()));
        sec
    };
    let models = rows.privacy.models().filter_map(|model| model.column().zip(model.distinct_values()));
    let columns: Vec<(usize, usize)> = models.map(|(column, p)| (column, p as usize)).collect();
    let hardness = |(column, p): &(usize, usize)| {
        let counts: Vec<usize> = sec_of(*column).iter().map(Vec::len).collect();
        condition_2(&counts, *p)
    };
    let (column, p) = *columns.iter().min_by_key(|column| hardness(column).0).unwrap();
    let (max_clusters, i_value) = hardness(&(column, p));
    let sec = sec_of(column);
    let k = rows.privacy.least_rows() as usize;

    let mut s: Vec<Vec<usize>> = vec![Vec::new(); max_clusters];
    let mut t: Vec<usize> = (0..rows.len()).collect();
    // Split.
    let mut i = 0;
    'split: for j in (p - i_value..sec.len()).rev() {
        let mut aux_sec = sec[j].clone();
        while !aux_sec.is_empty() {
            let (_, row, _) = rows.best_match(&aux_sec, &[(i, &s[i])]);
            without(&mut aux_sec, row);
            s[i].push(without(&mut t, row));
            i += 1;
            if i == s.len() {
                if s[0].len() == i_value {
                    break 'split;
                }
                i = 0;
            }
        }
    }
    // The frequent SECs.
    for j in (0..p - i_value).rev() {
        let mut aux_sec = sec[j].clone();
        let mut aux_s: Vec<usize> = (0..s.len()).collect();
        while !aux_s.is_empty() && !aux_sec.is_empty() {
            let pairs: Vec<(usize, &Vec<usize>)> = aux_s.iter().map(|at| (*at, &s[*at])).collect();
            let (_, row, cl) = rows.best_match(&aux_sec, &pairs);
            without(&mut aux_sec, row);
            without(&mut aux_s, cl);
            s[cl].push(without(&mut t, row));
        }
    }
    // p-sensitivity for all columns.
    s.sort_by(|a, b| rows.hom(a).total_cmp(&rows.hom(b)));
    let mut h = 0;
    while h < s.len() && rows.hom(&s[h]) == 0.0 {
        h += 1;
    }
    let mut aux = s.len();
    while h < aux {
        while h < aux && !t.is_empty() {
            let (_, row, _) = rows.best_match(&t, &[(h, &s[h])]);
            s[h].push(without(&mut t, row));
            if rows.hom(&s[h]) == 0.0 {
                h += 1;
            }
        }
        if t.is_empty() && h < aux {
            aux -= 1;
            t = s.pop().unwrap();
            t.sort_unstable();
        }
    }
    // k-anonymity.
    s.sort_by_key(|cluster| std::cmp::Reverse(cluster.len()));
    let mut u = 1;
    while u <= aux && s[u - 1].len() >= k {
        u += 1;
    }
    let rest: usize = s[u - 1..].iter().map(Vec::len).sum();
    let v = aux.min(u - 1 + (t.len() + rest) / k);
    t.extend(s.drain(v..).flatten());
    t.sort_unstable();
    for cluster in &mut s {
        while cluster.len() < k {
            let row = rows.nearest(&t, cluster);
            cluster.push(without(&mut t, row));
        }
    }
    if !s.is_empty() {
        rows.spread(t, &mut s);
    }
    rows.classes(&s)
}

proptest! {
    #![proptest_config(cases(256))]

    #[test]
    fn classes_are_sound_and_those_of_the_printed_algorithm(leaf in leaves(40)) {
        let found = leaf.classes(&EnhancedPk);
        let asks = |p: u64| leaf.privacy.models().any(|model| model.distinct_values() >= Some(p));
        if asks(2) {
            prop_assert_eq!(found, literal(&LiteralRows::new(&leaf.rows.table, &leaf.privacy)));
        } else {
            prop_assert_eq!(found, leaf.classes(&GreedyPk));
        }
    }

    /// For one column and p = 2 no partition has more classes: Condition 2 and the number of rows are reached.
    #[test]
    fn one_column_gets_as_many_classes_as_possible(
        people in prop::collection::vec((0_i64..9, prop::sample::select(vec!["a", "a", "a", "b", "b", "c", "d"])), 2..60),
        k in 2_u64..6,
    ) {
        let (ages, values): (Vec<i64>, Vec<&str>) = people.into_iter().unzip();
        let rows = survey(&[(interval("age"), ints(&ages))], &[texts(&values)]);
        let count = |value: &str| values.iter().filter(|other| **other == value).count() as u64;
        let most = ["a", "b", "c", "d"].map(count).into_iter().max().unwrap();
        let n = values.len() as u64;
        let possible = (n / 2).min(n - most).min(n / k);
        prop_assume!(possible > 0);
        prop_assert_eq!(enhanced_pk(&rows, k, 2).len() as u64, possible);
    }
}

use super::*;
use crate::test_tables::{interval, ints, maybe_texts, paper_figure_1, paper_table_1, set_partitions, survey};

fn examine(table: &Table, k: u64, p: u64) -> Feasibility {
    let privacy = Privacy::p_sensitive_k_anonymity(k, p, table.sensitive().len());
    Feasibility::of(table, &privacy, &FeasibleRegions::of(table, &privacy))
}

/// Every list of `values` counts, in descending order, that sums to at most `rows`.
fn frequencies(rows: u64, values: usize, highest: u64) -> Vec<Vec<u64>> {
    if values == 0 {
        return vec![Vec::new()];
    }
    (0..=rows.min(highest))
        .flat_map(|first| {
            let rest = frequencies(rows - first, values - 1, first);
            rest.into_iter().map(move |rest| std::iter::once(first).chain(rest).collect())
        })
        .collect()
}

/// Returns the largest number of p-sensitive groups of rows with these value counts. A group can give up rows beyond
/// its need, and leftover rows can join any group, so it suffices to try all ways of repeatedly removing `p` rows with
/// distinct values.
fn most_groups(counts: &mut Vec<u64>, p: u32) -> u64 {
    let choices = (0_u32..1 << counts.len()).filter(|choice| choice.count_ones() == p);
    let mut most = 0;
    for choice in choices {
        let chosen = |value: &usize| choice & (1 << value) != 0;
        if !(0..counts.len()).filter(chosen).all(|value| counts[value] > 0) {
            continue;
        }
        (0..counts.len()).filter(chosen).for_each(|value| counts[value] -= 1);
        most = most.max(1 + most_groups(counts, p));
        (0..counts.len()).filter(chosen).for_each(|value| counts[value] += 1);
    }
    most
}

#[test]
fn condition_2_is_exact_for_one_column() {
    let mut tried = 0;
    for mut counts in frequencies(8, 4, 8) {
        for p in 2..=4 {
            let occurring: Vec<u64> = counts.iter().copied().filter(|count| *count > 0).collect();
            let bound = max_classes(occurring, u64::from(p));
            assert_eq!(bound, most_groups(&mut counts, p), "counts {counts:?}, p = {p}");
            tried += 1;
        }
    }
    assert!(tried > 150, "{tried} cases");
}

#[test]
fn taking_rows_away_finds_what_all_partitions_find() {
    for mut counts in frequencies(6, 3, 6) {
        let rows: Vec<usize> =
            counts.iter().enumerate().flat_map(|(value, count)| vec![value; *count as usize]).collect();
        for p in 2..=3 {
            let distinct = |block: &Vec<usize>| {
                let mut values: Vec<usize> = block.iter().map(|row| rows[*row]).collect();
                values.sort_unstable();
                values.dedup();
                values.len()
            };
            let partitions = set_partitions(rows.len()).into_iter();
            let valid = partitions.filter(|partition| partition.iter().all(|block| distinct(block) >= p as usize));
            let most = valid.map(|partition| partition.len() as u64).max().unwrap_or(0);
            assert_eq!(most_groups(&mut counts, p), most, "counts {counts:?}, p = {p}");
        }
    }
}

/// All multisets of `size` of the nine pairs of two columns with three values each.
fn pairs(size: usize, from: u8) -> Vec<Vec<u8>> {
    if size == 0 {
        return vec![Vec::new()];
    }
    (from..9).flat_map(|pair| pairs(size - 1, pair).into_iter().map(move |rest| [vec![pair], rest].concat())).collect()
}

/// For more columns the bound need not be tight; Fig. 1 of [Truta 2007] shows it with three.
#[test]
fn condition_2_bounds_the_classes_of_two_columns() {
    for size in 1..=6 {
        let partitions = set_partitions(size);
        for rows in pairs(size, 0) {
            let values = |block: &[usize], column: u8| {
                let mut seen = [0_u64; 3];
                for row in block {
                    seen[usize::from(if column == 0 { rows[*row] / 3 } else { rows[*row] % 3 })] += 1;
                }
                seen.into_iter().filter(|count| *count > 0).collect::<Vec<u64>>()
            };
            let all: Vec<usize> = (0..size).collect();
            for p in 2..=3 {
                let bound = (0..2).map(|column| max_classes(values(&all, column), p)).min().unwrap_or(0);
                let sensitive = |block: &Vec<usize>| (0..2).all(|column| values(block, column).len() as u64 >= p);
                let valid = partitions.iter().filter(|partition| partition.iter().all(sensitive));
                let truth = valid.map(|partition| partition.len() as u64).max().unwrap_or(0);
                assert!(bound >= truth, "{rows:?}, p = {p}: {bound} < {truth}");
                assert_eq!(bound == 0, truth == 0, "{rows:?}, p = {p}");
            }
        }
    }
}

#[test]
fn condition_2_by_hand() {
    // n = 10 with frequencies 6, 3, 1. p = 2: min(10 / 2, (10 - 6) / 1) = 4. p = 3: min(10 / 3, 4 / 2, 1 / 1) = 1.
    assert_eq!(max_classes(vec![3, 6, 1], 1), 10);
    assert_eq!(max_classes(vec![3, 6, 1], 2), 4);
    assert_eq!(max_classes(vec![3, 6, 1], 3), 1);
    assert_eq!(max_classes(vec![3, 6, 1], 4), 0);
    assert_eq!(max_classes(Vec::new(), 2), 0);
}

#[test]
fn figure_1_seems_to_allow_two_classes() {
    let table = survey(&[(interval("Age"), ints(&[1, 2, 3, 4]))], &paper_figure_1()).table;
    let feasibility = examine(&table, 2, 2);
    assert_eq!(feasibility.max_classes, 2);
    assert!(feasibility.columns.iter().all(|column| column.max_classes == 2 && column.distinct == 2));
    assert!(feasibility.shortfalls.is_empty());
}

#[test]
fn k_bounds_the_classes_too() {
    let table = survey(&[(interval("Age"), ints(&[1, 2, 3, 4]))], &paper_figure_1()).table;
    assert_eq!(examine(&table, 3, 2).max_classes, 1);
    assert_eq!(examine(&table, 2, 1).max_classes, 2);
    assert_eq!(examine(&table, 1, 1).max_classes, 4);
}

#[test]
fn too_few_rows_and_every_column_with_too_few_values_are_reported() {
    let (quasi, sensitive) = paper_table_1();
    let feasibility = examine(&survey(&quasi, &sensitive).table, 8, 4);
    assert_eq!(
        feasibility.shortfalls,
        [
            Shortfall::Rows { rows: 7, k: 8 },
            Shortfall::Distinct { column: "s0".to_owned(), distinct: 3, p: 4 },
            Shortfall::Distinct { column: "s1".to_owned(), distinct: 3, p: 4 },
        ]
    );
    assert_eq!(feasibility.max_classes, 0);
    let text = feasibility.shortfalls[1].to_string();
    assert!(text.contains("`s0`") && text.contains("highest p that works for it is 3"), "{text}");
}

#[test]
fn nulls_are_no_values_and_bring_no_classes() {
    let sensitive = maybe_texts(&[Some("a"), Some("a"), Some("b"), None, None, None]);
    let table = survey(&[(interval("Age"), ints(&[1, 2, 3, 4, 5, 6]))], &[sensitive]).table;
    let feasibility = examine(&table, 2, 2);
    assert_eq!((feasibility.columns[0].distinct, feasibility.max_classes), (2, 1));
    assert!(feasibility.shortfalls.is_empty());
    assert_eq!(examine(&table, 2, 3).shortfalls, [Shortfall::Distinct { column: "s0".to_owned(), distinct: 2, p: 3 }]);
}

#[test]
fn with_p_of_one_a_column_of_nulls_is_fine() {
    let table = survey(&[(interval("Age"), ints(&[1, 2]))], &[maybe_texts(&[None, None])]).table;
    assert!(examine(&table, 2, 1).shortfalls.is_empty());
    assert_eq!(examine(&table, 2, 2).shortfalls.len(), 1);
}

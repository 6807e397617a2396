use proptest::prelude::*;

use super::*;
use crate::cluster::{ClusterMethod, Greedy, IgnoreProgress};
use crate::local_search::LocalSearch;
use crate::metrics::estimated_ncp;
use crate::model::{FrequencyRequirement, frequency_model};
use crate::test_tables::{Surveyed, ancestor, cases, countries, interval, ints, maybe_ints, survey, texts, tree};

fn leaves(table: &Table) -> Vec<Leaf> {
    vec![Leaf::of((0..table.cell_count() as u32).collect())]
}

fn grouped(table: &Table, privacy: &Privacy, seed: u64) -> Option<Vec<Class>> {
    level_groups(&leaves(table), table, privacy, seed, &ClusterContext::new(1, &IgnoreProgress))
}

/// A wide category whose values are all different, and a narrow one.
fn wide_and_narrow(rows: usize) -> Surveyed {
    let wide: Vec<String> = (0..rows).map(|row| format!("value {row};*")).collect();
    let lines: Vec<&str> = wide.iter().map(String::as_str).collect();
    let narrow = tree(&["a;*", "b;*", "c;*", "d;*"]);
    let names: Vec<&str> = lines.iter().map(|line| line.trim_end_matches(";*")).collect();
    let letters: Vec<&str> = (0..rows).map(|row| ["a", "b", "c", "d"][row * 7 / 3 % 4]).collect();
    survey(&[(ancestor("wide", &tree(&lines)), texts(&names)), (ancestor("narrow", &narrow), texts(&letters))], &[])
}

#[test]
fn cells_that_agree_in_the_narrow_column_are_a_class() {
    let rows = wide_and_narrow(120);
    let privacy = Privacy::p_sensitive_k_anonymity(10, 1, 0);
    for seed in 0..10 {
        let classes = grouped(&rows.table, &privacy, seed).unwrap();
        assert_eq!(classes.len(), 4);
        // The wide column loses everything, and the narrow one nothing.
        assert_eq!(estimated_ncp(&rows.table, &classes), (60.0, 120));
    }
}

#[test]
fn a_search_starts_from_the_groups_where_they_lose_less() {
    let rows = wide_and_narrow(120);
    let privacy = Privacy::p_sensitive_k_anonymity(10, 1, 0);
    let cells: Vec<u32> = (0..120).collect();
    let scattered: Vec<Leaf> = cells.chunks(20).map(|cells| Leaf::of(cells.to_vec())).collect();
    let greedy = Greedy::default();
    for cycles in [0, 1, 3] {
        let context = ClusterContext::new(cycles, &IgnoreProgress);
        let alone = greedy.cluster_region(&scattered, &rows.table, &privacy, &context).classes;
        assert!(estimated_ncp(&rows.table, &alone).0 > 60.0);
        let search = LocalSearch { start: greedy, seed: 1 };
        let found = search.cluster_region(&scattered, &rows.table, &privacy, &context).classes;
        assert_eq!(estimated_ncp(&rows.table, &found).0, 60.0, "{cycles} cycles");
    }
}

#[test]
fn the_rest_joins_the_last_class() {
    let rows =
        survey(&[(ancestor("country", &countries()), texts(&["Italy", "Italy", "France", "France", "Japan"]))], &[]);
    let classes = grouped(&rows.table, &Privacy::p_sensitive_k_anonymity(2, 1, 0), 0).unwrap();
    let mut sizes: Vec<u64> = classes.iter().map(|class| class.tally(&rows.table).rows()).collect();
    sizes.sort_unstable();
    assert_eq!(sizes, [2, 3]);
}

#[test]
fn null_is_an_interval_of_its_own() {
    let ages: Vec<Option<i64>> = (0..40).map(|row| (row % 4 > 0).then_some(row)).collect();
    let columns = [
        (interval("age"), maybe_ints(&ages)),
        (ancestor("a", &countries()), texts(&["Italy"; 40])),
        (ancestor("b", &countries()), texts(&["Italy"; 40])),
    ];
    let rows = survey(&columns, &[]);
    let classes = grouped(&rows.table, &Privacy::p_sensitive_k_anonymity(5, 1, 0), 0).unwrap();
    let nulls = |class: &&Class| class.portions.iter().any(|portion| rows.table.positions(portion.group)[0] == 0);
    let with_nulls: Vec<&Class> = classes.iter().filter(nulls).collect();
    assert_eq!(with_nulls.len(), 1);
    assert_eq!(with_nulls[0].tally(&rows.table).rows(), 10);
}

#[test]
fn tables_for_which_grouping_is_not_made_are_left_to_others() {
    let plain = Privacy::p_sensitive_k_anonymity(2, 1, 1);
    let numbers = survey(
        &[(interval("a"), ints(&[1, 2, 3, 4])), (ancestor("b", &countries()), texts(&["Italy"; 4]))],
        &[ints(&[1, 2, 1, 2])],
    );
    assert!(grouped(&numbers.table, &plain, 0).is_none(), "as many numbers as categories");
    let categories = survey(&[(ancestor("b", &countries()), texts(&["Italy"; 4]))], &[ints(&[1, 2, 1, 2])]);
    assert!(grouped(&categories.table, &plain, 0).is_some());
    let shares = plain.with([frequency_model(FrequencyRequirement::MaxShare(0.5), 0)]);
    assert!(grouped(&categories.table, &shares, 0).is_none(), "a model that is closed under merging only");
}

#[test]
fn very_many_levels_and_small_regions_of_wide_domains_are_left_to_others() {
    let plain = Privacy::p_sensitive_k_anonymity(2, 1, 0);
    let lattice = |columns: usize| {
        let of_two = |column: usize| (ancestor(&format!("c{column}"), &countries()), texts(&["Italy", "Japan"]));
        survey(&(0..columns).map(of_two).collect::<Vec<_>>(), &[])
    };
    assert!(grouped(&lattice(8).table, &plain, 0).is_some());
    // Few cells, so that looking all of them up at every node would not be too much.
    assert!(grouped(&lattice(11).table, &plain, 0).is_none());

    let wide: Vec<String> = (0..40_000).map(|row| format!("value {row};*")).collect();
    let lines: Vec<&str> = wide.iter().map(String::as_str).collect();
    let domain = tree(&lines);
    let of_rows = |rows: usize| {
        let names: Vec<&str> = lines[..rows].iter().map(|line| line.trim_end_matches(";*")).collect();
        survey(&[(ancestor("a", &domain), texts(&names)), (ancestor("b", &domain), texts(&names))], &[])
    };
    assert!(grouped(&of_rows(2).table, &plain, 0).is_none());
    assert!(grouped(&of_rows(2_000).table, &plain, 0).is_some());
}

proptest! {
    #![proptest_config(cases(60))]

    #[test]
    fn every_cell_is_in_one_class_that_satisfies_the_models(
        people in prop::collection::vec((0_usize..4, 0_i64..30, 0_usize..4, 0_i64..3), 6..60),
        (k, p, seed) in (1_u64..6, 1_u64..3, 0_u64..4),
    ) {
        let names = ["Italy", "France", "Japan", "China"];
        let of = |name: fn(&(usize, i64, usize, i64)) -> usize| people.iter().map(name).map(|at| names[at]).collect::<Vec<_>>();
        let ages: Vec<i64> = people.iter().map(|person| person.1).collect();
        let illness: Vec<i64> = people.iter().map(|person| person.3).collect();
        let columns = [
            (ancestor("born", &countries()), texts(&of(|person| person.0))),
            (ancestor("lives", &countries()), texts(&of(|person| person.2))),
            (interval("age"), ints(&ages)),
        ];
        let table = survey(&columns, &[ints(&illness)]).table;
        let privacy = Privacy::p_sensitive_k_anonymity(k, p, 1);
        prop_assume!(privacy.is_satisfied_by(&table, 0..table.cell_count() as u32));
        let classes = grouped(&table, &privacy, seed).unwrap();
        prop_assert_eq!(&classes, &grouped(&table, &privacy, seed).unwrap());
        prop_assert!(classes.iter().all(|class| privacy.is_satisfied(&class.tally(&table))));
        let placed = Class::of_portions(classes.into_iter().flat_map(|class| class.portions).collect());
        prop_assert_eq!(placed, Class::of_cells(&table, &(0..table.cell_count() as u32).collect::<Vec<_>>()));
    }
}

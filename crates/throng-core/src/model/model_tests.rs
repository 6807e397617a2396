use arrow::array::ArrayRef;
use proptest::prelude::*;

use super::*;
use crate::anonymize::Method;
use crate::cluster::IgnoreProgress;
use crate::columns::QuasiSpec;
use crate::domain::NULL;
use crate::feasibility::Feasibility;
use crate::partition::FeasibleRegions;
use crate::recode::Recoding;
use crate::test_tables::{
    cases, interval, ints, maybe_texts, paper_figure_1, paper_table_1, paper_table_1_corrected, set_partitions, survey,
};

/// Whether every cell, taken as a class, is p-sensitive k-anonymous.
fn all_cells_satisfy((quasi, sensitive): &(Vec<(QuasiSpec, ArrayRef)>, Vec<ArrayRef>), k: u64, p: u64) -> bool {
    let table = survey(quasi, sensitive).table;
    let privacy = Privacy::p_sensitive_k_anonymity(k, p, sensitive.len());
    (0..table.cell_count() as u32).all(|cell| privacy.is_satisfied(&Tally::of_cell(&table, cell)))
}

#[test]
fn table_1_is_3_anonymous_and_no_more_than_1_sensitive() {
    let data = paper_table_1();
    assert!(all_cells_satisfy(&data, 3, 1));
    assert!(!all_cells_satisfy(&data, 4, 1));
    assert!(!all_cells_satisfy(&data, 3, 2));
}

#[test]
fn table_1_with_another_illness_is_2_sensitive() {
    let data = paper_table_1_corrected();
    assert!(all_cells_satisfy(&data, 3, 2));
    assert!(!all_cells_satisfy(&data, 3, 3));
}

#[test]
fn table_1_lacks_one_illness() {
    let (quasi, sensitive) = paper_table_1();
    let table = survey(&quasi, &sensitive).table;
    let young = Tally::of_cell(&table, 0);
    assert_eq!((young.rows(), young.distinct(0), young.distinct(1)), (3, 1, 2));
    let privacy = Privacy::p_sensitive_k_anonymity(3, 2, 2);
    let deficits: Vec<u64> = privacy.models().map(|model| model.deficit(&young)).collect();
    assert_eq!(deficits, [0, 1, 0]);
    assert_eq!((privacy.deficit(&young), privacy.need(&young)), (1, Need::DiverseRow(1)));
    let columns: Vec<Option<usize>> = privacy.models().map(Model::column).collect();
    assert_eq!(columns, [None, Some(0), Some(1)]);
}

#[test]
fn figure_1_allows_two_classes_by_condition_2_and_has_only_one() {
    let columns = paper_figure_1();
    let rows = survey(&[(interval("Age"), ints(&[1, 2, 3, 4]))], &columns);
    let privacy = Privacy::p_sensitive_k_anonymity(2, 2, columns.len());
    let allowed = FeasibleRegions::of(&rows.table, &privacy);
    assert_eq!(Feasibility::of(&rows.table, &privacy, &allowed).max_classes, 2);
    let valid = |partition: &Vec<Vec<usize>>| {
        let satisfied =
            |block: &Vec<usize>| privacy.is_satisfied(&rows.cluster(block.iter().copied()).tally(&rows.table));
        partition.iter().all(satisfied)
    };
    let valid: Vec<_> = set_partitions(4).into_iter().filter(valid).collect();
    assert_eq!(valid, [[[0, 1, 2, 3]]]);
    // Every method forms the only valid class.
    for method in Method::ALL {
        let leaves = method.leaves(&allowed, &rows.table).unwrap();
        let classes = method.classes(&leaves, &rows.table, &privacy, &IgnoreProgress).classes;
        assert_eq!(Recoding::new(&rows.table, &classes).unwrap().class_rows(), [4], "{method:?}");
    }
}

#[test]
fn null_is_no_sensitive_value() {
    let sensitive = maybe_texts(&[Some("a"), None, None, Some("a")]);
    let table = survey(&[(interval("Age"), ints(&[1, 1, 1, 1]))], &[sensitive]).table;
    let all = Tally::of_cell(&table, 0);
    assert_eq!((all.rows(), all.distinct(0), all.count(0, 0), all.count(0, NULL)), (4, 1, 2, 0));
    let two = PSensitive::new(2, 0, CodeMeaning::Values);
    assert_eq!(two.deficit(&all), 1);
    assert_eq!(two.gain(&all, &[NULL]), 0);
    assert_eq!(two.gain(&all, &[0]), 0);
    assert_eq!(two.gain(&all, &[1]), 1);
}

#[test]
fn a_class_takes_any_row_while_there_is_room_for_the_ones_that_help() {
    let privacy = Privacy::p_sensitive_k_anonymity(5, 3, 1);
    let mut class = Tally::empty(TallyShape::without_units(1));
    assert_eq!(privacy.need(&class), Need::AnyRow(2));
    class.add(&[7], 1);
    // Four rows and two values are missing, so two rows may be of any kind.
    assert_eq!(privacy.need(&class), Need::AnyRow(2));
    class.add(&[7], 2);
    assert_eq!(privacy.need(&class), Need::DiverseRow(2));
    class.add(&[8], 1);
    assert_eq!(privacy.need(&class), Need::DiverseRow(1));
    class.add(&[7], 1);
    assert_eq!((class.rows(), privacy.need(&class)), (5, Need::DiverseRow(1)));
    assert!(privacy.helps(&class, &[9]));
    assert!(!privacy.helps(&class, &[8]));
    class.add(&[9], 1);
    assert_eq!(privacy.need(&class), Need::Nothing);
}

#[test]
fn with_p_of_one_the_sensitive_columns_promise_nothing() {
    for p in [0, 1] {
        let privacy = Privacy::p_sensitive_k_anonymity(2, p, 3);
        assert_eq!(privacy.models().count(), 1);
        let mut class = Tally::empty(TallyShape::without_units(3));
        class.add(&[NULL, NULL, NULL], 2);
        assert!(privacy.is_satisfied(&class));
    }
}

#[test]
fn models_name_what_they_require_and_what_was_achieved() {
    let mut class = Tally::empty(TallyShape::without_units(1));
    class.add(&[3], 4);
    class.add(&[5], 1);
    let (k, p) = (KAnonymity::new(7), PSensitive::new(2, 0, CodeMeaning::Values));
    assert_eq!((k.name(), k.required(), k.achieved(&class), k.deficit(&class)), ("k-anonymity", 7, 5, 2));
    assert_eq!((p.name(), p.required(), p.achieved(&class), p.deficit(&class)), ("p-sensitivity", 2, 2, 0));
    assert_eq!((class.count(0, 3), class.count(0, 4), class.count(0, 5)), (4, 0, 1));
}

proptest! {
    #![proptest_config(cases(128))]

    #[test]
    fn what_is_added_can_be_removed(
        // Enough values to convert the histogram to a map.
        rows in prop::collection::vec((0_u32..60, 0_u32..4, 1_u64..4), 0..80),
        more in prop::collection::vec((0_u32..60, 0_u32..4, 1_u64..4), 0..80),
    ) {
        // Code 0 is null here.
        let codes = |a: u32, b: u32| [a.checked_sub(1).unwrap_or(NULL), b.checked_sub(1).unwrap_or(NULL)];
        let mut tally = Tally::empty(TallyShape::without_units(2));
        rows.iter().for_each(|(a, b, rows)| tally.add(&codes(*a, *b), *rows));
        let before = tally.clone();
        more.iter().for_each(|(a, b, rows)| tally.add(&codes(*a, *b), *rows));
        more.iter().for_each(|(a, b, rows)| tally.remove(&codes(*a, *b), *rows));
        let seen = |tally: &Tally| -> Vec<u64> {
            let counts = (0..2).flat_map(|column| (0..60).map(move |code| (column, code)));
            let counts = counts.map(|(column, code)| tally.count(column, code));
            counts.chain([tally.rows(), tally.distinct(0), tally.distinct(1)]).collect()
        };
        prop_assert_eq!(seen(&tally), seen(&before));
        let mut counted = std::collections::BTreeMap::new();
        for (a, _, rows) in rows.iter().filter(|(a, _, _)| *a > 0) {
            *counted.entry(a - 1).or_insert(0) += rows;
        }
        prop_assert_eq!(tally.distinct(0), counted.len() as u64);
        for (code, rows) in counted {
            prop_assert_eq!(tally.count(0, code), rows);
        }
    }

    #[test]
    fn a_row_that_joins_never_raises_a_deficit_and_one_that_helps_lowers_it(
        rows in prop::collection::vec((0_u32..5, 0_u32..4), 0..20),
        new in (0_u32..5, 0_u32..4),
        k in 1_u64..10,
        p in 1_u64..6,
    ) {
        let codes = |(a, b): (u32, u32)| [a.checked_sub(1).unwrap_or(NULL), b.checked_sub(1).unwrap_or(NULL)];
        let mut before = Tally::empty(TallyShape::without_units(2));
        rows.iter().for_each(|row| before.add(&codes(*row), 1));
        let mut after = before.clone();
        after.add(&codes(new), 1);
        let privacy = Privacy::p_sensitive_k_anonymity(k, p, 2);
        for model in privacy.models() {
            let (old, new_deficit) = (model.deficit(&before), model.deficit(&after));
            prop_assert!(new_deficit <= old);
            if old > 0 {
                prop_assert_eq!(model.helps(&before, &codes(new)), new_deficit + 1 == old);
            }
        }
        if privacy.is_satisfied(&after) {
            prop_assert_eq!(privacy.can_lose(&after, &codes(new)), privacy.is_satisfied(&before));
        }
        prop_assert_eq!(privacy.is_satisfied(&after), privacy.deficit(&after) == 0);
        prop_assert_eq!(privacy.need(&after) == Need::Nothing, privacy.is_satisfied(&after));
    }
}

/// Codes are categories from 0, the most sensitive, to 3.
fn of_categories(categories: &[u32]) -> Tally {
    let mut class = Tally::empty(TallyShape::without_units(1));
    for category in categories {
        class.add(&[*category], 1);
    }
    class
}

#[test]
fn the_weight_of_one_value_of_each_category_is_two() {
    // {Cancer, Phthisis, Asthma, Flu} of [Sun 2008]: 0 + 1/3 + 2/3 + 1.
    let model = CategoryWeight::new(2.0, 0, 4);
    let class = of_categories(&[0, 1, 2, 3]);
    assert_eq!(model.weight(model.achieved(&class)), 2.0);
    assert_eq!((model.required(), model.shortage(&class)), (6, 0));
}

#[test]
fn the_deficit_of_a_weight_is_counted_in_rows() {
    let model = CategoryWeight::new(2.0, 0, 4);
    // One unit is present, so five are missing, and a row adds at most three.
    let class = of_categories(&[0, 1, NULL]);
    assert_eq!((model.achieved(&class), model.shortage(&class), model.deficit(&class)), (1, 5, 2));
    let brought: Vec<u64> = [0, 1, 2, 3, NULL].iter().map(|code| model.gain(&class, &[*code])).collect();
    assert_eq!(brought, [0, 1, 2, 3, 0]);
    let rich = of_categories(&[3, 3, 1]);
    let spared: Vec<bool> = [0, 1, 2, 3].iter().map(|code| model.can_lose(&rich, &[*code])).collect();
    assert_eq!(spared, [true, true, false, false]);
}

#[test]
fn fractions_of_alpha_are_rounded_up_to_what_categories_can_weigh() {
    assert_eq!(CategoryWeight::new(0.0, 0, 4).required(), 0);
    assert_eq!(CategoryWeight::new(1.0 / 3.0, 0, 4).required(), 1);
    assert_eq!(CategoryWeight::new(0.34, 0, 4).required(), 2);
    assert_eq!(CategoryWeight::new(0.1 + 0.2, 0, 11).required(), 3);
}

#[test]
fn diversity_and_homogeneity_by_hand() {
    // p = 3 over two columns, equal weights: [Truta 2007, Def. 11 and 12].
    let privacy = Privacy::p_sensitive_k_anonymity(5, 3, 2);
    let mut class = Tally::empty(TallyShape::without_units(2));
    assert_eq!(privacy.homogeneity(&class), 3.0);
    class.add(&[1, 1], 1);
    class.add(&[2, 1], 1);
    // Column 0 has two of three values, column 1 one.
    assert_eq!(privacy.homogeneity(&class), (1.0 + 2.0) / 2.0);
    assert_eq!(privacy.diversity(&class, &[1, 1]), 0.0);
    assert_eq!(privacy.diversity(&class, &[3, 1]), 0.5);
    assert_eq!(privacy.diversity(&class, &[1, 7]), 1.0);
    assert_eq!(privacy.diversity(&class, &[3, 7]), 1.5);
    assert_eq!(privacy.diversity(&class, &[NULL, NULL]), 0.0);
    class.add(&[3, 2], 1);
    class.add(&[4, 3], 1);
    assert_eq!((privacy.homogeneity(&class), privacy.diversity(&class, &[9, 9])), (0.0, 0.0));
}

use std::sync::Arc;

use arrow::array::{ArrayRef, StringArray};
use proptest::prelude::*;

use super::*;
use crate::metrics::Utility;
use crate::recode::Recoding;
use crate::test_tables::{
    Surveyed, all_shown, ancestor, cases, countries, interval, ints, paper_figure_1, survey, texts,
};

fn greedy(rows: &Surveyed, k: u64, p: u64) -> Vec<Class> {
    let leaf: Vec<u32> = (0..rows.table.cell_count() as u32).collect();
    let privacy = Privacy::p_sensitive_k_anonymity(k, p, rows.table.sensitive().len());
    let classes = Greedy::default().cluster(&leaf, &rows.table, &privacy);
    for class in &classes {
        assert!(privacy.is_satisfied(&class.tally(&rows.table)), "{class:?}");
        assert!(class.portions.is_sorted_by(|a, b| a.group < b.group), "{class:?}");
        assert!(class.portions.iter().all(|portion| portion.rows > 0), "{class:?}");
    }
    classes
}

/// Returns the released labels of the only column, with the sizes of the classes.
fn release(rows: &Surveyed, k: u64, p: u64) -> Vec<(String, u64)> {
    let recoding = Recoding::new(&rows.table, &greedy(rows, k, p)).unwrap();
    let labels = all_shown(&recoding, 0).into_iter().map(Option::unwrap);
    labels.zip(recoding.class_rows().iter().copied()).collect()
}

fn named(classes: &[(&str, u64)]) -> Vec<(String, u64)> {
    classes.iter().map(|(label, rows)| ((*label).to_owned(), *rows)).collect()
}

#[test]
fn a_rich_cell_costs_nothing() {
    let rows = survey(&[(interval("age"), ints(&[20, 20, 20, 30, 30, 30, 30]))], &[]);
    assert_eq!(release(&rows, 3, 1), named(&[("20", 3), ("30", 4)]));
    let recoding = Recoding::new(&rows.table, &greedy(&rows, 3, 1)).unwrap();
    assert_eq!(Utility::of(&rows.table, &recoding, 3).ncp, 0.0);
}

#[test]
fn a_lonely_row_hides_among_borrowed_rows_of_the_nearest_rich_cell() {
    // 20 has five rows and two surplus rows; so has 60, which is farther away.
    let rows = survey(&[(interval("age"), ints(&[20, 20, 20, 20, 20, 22, 60, 60, 60, 60, 60]))], &[]);
    assert_eq!(release(&rows, 3, 1), named(&[("20", 3), ("[20-22]", 3), ("60", 5)]));
}

#[test]
fn a_donor_without_enough_to_spare_takes_the_lonely_row_in() {
    // 20 has one surplus row of four, which is not enough for a class of three.
    let rows = survey(&[(interval("age"), ints(&[20, 20, 20, 20, 22]))], &[]);
    assert_eq!(release(&rows, 3, 1), named(&[("[20-22]", 5)]));
}

#[test]
fn donors_keep_their_own_values() {
    // The cell of 20 has six rows, but its only b may not leave it: p = 2.
    let rows = survey(
        &[(interval("age"), ints(&[20, 20, 20, 20, 20, 20, 22, 22]))],
        &[texts(&["a", "a", "a", "a", "a", "b", "a", "a"])],
    );
    // The rows of 22 need a b and can't have it, so that all share one class.
    assert_eq!(release(&rows, 3, 2), named(&[("[20-22]", 8)]));
    let rows = survey(
        &[(interval("age"), ints(&[20, 20, 20, 20, 20, 20, 22, 22]))],
        &[texts(&["a", "a", "a", "a", "b", "b", "a", "a"])],
    );
    // With two of them one may leave.
    assert_eq!(release(&rows, 3, 2), named(&[("20", 5), ("[20-22]", 3)]));
}

#[test]
fn poor_cells_are_taken_whole_and_the_nearest_first() {
    let rows = survey(&[(interval("age"), ints(&[1, 1, 2, 50, 51, 52]))], &[]);
    assert_eq!(release(&rows, 3, 1), named(&[("[1-2]", 3), ("[50-52]", 3)]));
}

#[test]
fn rows_that_must_bring_new_values_are_chosen_for_them() {
    // 1 and 2 are nearest to each other, and both are a; the b of 9 is what each class needs.
    let rows = survey(&[(interval("age"), ints(&[1, 2, 9, 10]))], &[texts(&["a", "a", "b", "b"])]);
    let classes = greedy(&rows, 2, 2);
    assert_eq!(classes.len(), 2);
}

#[test]
fn figure_1_becomes_one_class() {
    let rows = survey(&[(interval("age"), ints(&[1, 2, 3, 4]))], &paper_figure_1());
    assert_eq!(release(&rows, 2, 2), named(&[("[1-4]", 4)]));
}

#[test]
fn one_cell_is_one_class() {
    let rows = survey(&[(interval("age"), ints(&[5, 5, 5]))], &[texts(&["a", "b", "a"])]);
    assert_eq!(release(&rows, 2, 2), named(&[("5", 3)]));
}

#[test]
fn more_hopeless_seeds_than_are_tried_still_find_a_home() {
    // One b for 100 isolated rows: a single class can have it, and all others must join that class.
    let ages: Vec<i64> = (0..100).collect();
    let mut values = vec!["a"; 100];
    values[99] = "b";
    let rows = survey(&[(interval("age"), ints(&ages))], &[texts(&values)]);
    assert_eq!(release(&rows, 2, 2), named(&[("[0-99]", 100)]));
}

proptest! {
    #![proptest_config(cases(96))]

    #[test]
    fn classes_satisfy_the_model_and_no_row_is_lost(
        rows in prop::collection::vec((0_i64..6, 0_usize..5, prop::option::weighted(0.9, 0_u8..4), 0_u8..3), 1..80),
        k in 1_u64..7,
        p in 1_u64..4,
    ) {
        let names = ["France", "Spain", "Italy", "Japan", "China"];
        let first: ArrayRef =
            Arc::new(rows.iter().map(|row| row.2.map(|value| value.to_string())).collect::<StringArray>());
        let second: ArrayRef = Arc::new(rows.iter().map(|row| Some(row.3.to_string())).collect::<StringArray>());
        let rows = survey(
            &[
                (interval("age"), ints(&rows.iter().map(|row| row.0).collect::<Vec<_>>())),
                (ancestor("c", &countries()), texts(&rows.iter().map(|row| names[row.1]).collect::<Vec<_>>())),
            ],
            &[first, second],
        );
        let table = &rows.table;
        let privacy = Privacy::p_sensitive_k_anonymity(k, p, 2);
        let cells = || 0..table.cell_count() as u32;
        prop_assume!(privacy.is_satisfied(&Tally::of_cells(table, cells())));
        let classes = greedy(&rows, k, p);
        let mut placed = vec![0; table.group_count()];
        for portion in classes.iter().flat_map(|class| &class.portions) {
            placed[portion.group as usize] += portion.rows;
        }
        prop_assert!((0..table.group_count() as u32).all(|group| placed[group as usize] == table.group_rows(group)));
        // A rich cell is a class of its own, possibly with other rows, and keeps enough rows to satisfy the model
        // alone.
        for cell in cells().filter(|cell| privacy.is_satisfied(&Tally::of_cell(table, *cell))) {
            let own = |class: &Class| {
                let portions = class.portions.iter().filter(|portion| table.groups(cell).contains(&portion.group));
                Class::of_portions(portions.copied().collect()).tally(table)
            };
            prop_assert!(classes.iter().any(|class| privacy.is_satisfied(&own(class))));
        }
    }
}

use proptest::prelude::*;

use super::*;
use crate::cluster::{ClusterMethod, Greedy, Portion};
use crate::metrics::estimated_ncp;
use crate::test_tables::{Surveyed, ancestor, cases, countries, interval, ints, maybe_ints, survey, texts};

const ALWAYS: &(dyn Fn() -> bool + Sync) = &|| true;

fn search(rows: &Surveyed, privacy: &Privacy, classes: Vec<Class>, cycles: u32) -> Vec<Class> {
    let found = improve(
        &rows.table,
        privacy,
        classes,
        Effort { cycles, most_proposals: u32::MAX, seed: 7, may_continue: ALWAYS },
    )
    .0;
    for class in &found {
        assert!(privacy.is_satisfied(&class.tally(&rows.table)), "{class:?}");
    }
    found
}

fn loss(rows: &Surveyed, classes: &[Class]) -> f64 {
    estimated_ncp(&rows.table, classes).0
}

/// Total rows by group.
fn placed(classes: &[Class]) -> Vec<Portion> {
    Class::of_portions(classes.iter().flat_map(|class| class.portions.iter().copied()).collect()).portions
}

#[test]
fn an_interrupted_search_keeps_what_it_has_found() {
    use std::sync::atomic::{AtomicU32, Ordering};
    let ages: Vec<i64> = (0..400).map(|row| row * 7919 % 97).collect();
    let countries_of: Vec<&str> = (0..400).map(|row| ["Italy", "France", "Japan", "China"][row * 31 % 4]).collect();
    let columns = [
        (ancestor("country", &countries()), texts(&countries_of)),
        (ancestor("other", &countries()), texts(&countries_of)),
        (interval("age"), ints(&ages)),
    ];
    let rows = survey(&columns, &[]);
    let (table, privacy) = (&rows.table, Privacy::p_sensitive_k_anonymity(9, 1, 0));
    let cells: Vec<u32> = (0..table.cell_count() as u32).collect();
    let of_twelve: Vec<Class> = cells.chunks(12).map(|cells| Class::of_cells(table, cells)).collect();
    let of_all = vec![Class::of_cells(table, &cells)];
    let loss_after = |polls: u32, cycles: u32| {
        let polled = AtomicU32::new(0);
        let may_continue = || polled.fetch_add(1, Ordering::Relaxed) < polls;
        let effort = Effort { cycles, most_proposals: u32::MAX, seed: 3, may_continue: &may_continue };
        let (classes, done) = improve_better(table, &privacy, [of_twelve.clone(), of_all.clone()], effort);
        assert_eq!(placed(&classes), placed(&of_all));
        (total_loss(table, &classes), done, polled.load(Ordering::Relaxed))
    };
    let (once, _, polls) = loss_after(u32::MAX, 1);
    assert!(once < total_loss(table, &of_twelve) && once < total_loss(table, &of_all));
    for more in 0..2 * polls {
        let (loss, done, _) = loss_after(polls + more, WITHOUT_LIMIT);
        assert!(done >= 1 && loss <= once * (1.0 + 1e-9), "{loss} after {done} cycles");
    }
}

#[test]
fn a_border_between_leaves_is_crossed() {
    // The leaf border is between 2 and 3, and each leaf paired its own cells.
    let rows = survey(&[(interval("age"), ints(&[1, 50, 2, 51, 3, 52, 4, 53]))], &[]);
    let privacy = Privacy::p_sensitive_k_anonymity(2, 1, 0);
    let classes = rows.clusters(&[&[0, 1], &[2, 3], &[4, 5], &[6, 7]]);
    let best = rows.clusters(&[&[0, 2], &[4, 6], &[1, 3], &[5, 7]]);
    let found = search(&rows, &privacy, classes, 8);
    assert!((loss(&rows, &found) - loss(&rows, &best)).abs() < 1e-6, "{found:?}");
}

#[test]
fn tangled_classes_are_parted_in_one_step() {
    // Both classes span the whole domain until the last of three exchanges.
    let ages = [1, 2, 3, 51, 52, 53, 4, 5, 6, 54, 55, 56];
    let rows = survey(&[(interval("age"), ints(&ages))], &[]);
    let privacy = Privacy::p_sensitive_k_anonymity(6, 1, 0);
    let classes = rows.clusters(&[&[0, 1, 2, 3, 4, 5], &[6, 7, 8, 9, 10, 11]]);
    let best = rows.clusters(&[&[0, 1, 2, 6, 7, 8], &[3, 4, 5, 9, 10, 11]]);
    let found = search(&rows, &privacy, classes, 1);
    assert!((loss(&rows, &found) - loss(&rows, &best)).abs() < 1e-6, "{found:?}");
}

#[test]
fn a_class_with_rows_for_two_is_parted() {
    let ages = [1, 2, 3, 51, 52, 53, 90, 91, 92];
    let rows = survey(&[(interval("age"), ints(&ages))], &[]);
    let privacy = Privacy::p_sensitive_k_anonymity(3, 1, 0);
    let classes = rows.clusters(&[&[0, 1, 2, 3, 4, 5], &[6, 7, 8]]);
    let best = rows.clusters(&[&[0, 1, 2], &[3, 4, 5], &[6, 7, 8]]);
    let found = search(&rows, &privacy, classes, 1);
    assert!((loss(&rows, &found) - loss(&rows, &best)).abs() < 1e-6, "{found:?}");
}

#[test]
fn a_loan_moves_to_a_nearer_lender() {
    // The row of 22 was in a class with rows of 60, although 20 has surplus rows.
    let ages = [20, 20, 20, 20, 20, 22, 60, 60, 60, 60, 60, 64, 65, 66];
    let rows = survey(&[(interval("age"), ints(&ages))], &[]);
    let privacy = Privacy::p_sensitive_k_anonymity(3, 1, 0);
    let classes = rows.clusters(&[&[0, 1, 2, 3, 4], &[5, 6, 7], &[8, 9, 10], &[11, 12, 13]]);
    let best = rows.clusters(&[&[0, 1, 2], &[3, 4, 5], &[6, 7, 8, 9, 10], &[11, 12, 13]]);
    let found = search(&rows, &privacy, classes, 8);
    assert!((loss(&rows, &found) - loss(&rows, &best)).abs() < 1e-6, "{found:?}");
}

#[test]
fn sensitive_values_hold_rows_where_they_are_needed() {
    // By age alone the first two and the last two would be classes and lose 4/3, but each pair has one value only.
    let rows = survey(&[(interval("age"), ints(&[1, 2, 3, 4]))], &[texts(&["a", "a", "b", "b"])]);
    let privacy = Privacy::p_sensitive_k_anonymity(2, 2, 1);
    let classes = rows.clusters(&[&[0, 3], &[1, 2]]);
    let found = search(&rows, &privacy, classes, 8);
    assert!((loss(&rows, &found) - 8.0 / 3.0).abs() < 1e-6, "{found:?}");
}

#[test]
fn nothing_is_done_without_a_cycle_or_when_asked_to_stop() {
    let rows = survey(&[(interval("age"), ints(&[1, 50, 2, 51]))], &[]);
    let privacy = Privacy::p_sensitive_k_anonymity(2, 1, 0);
    let classes = rows.clusters(&[&[0, 1], &[2, 3]]);
    assert_eq!(search(&rows, &privacy, classes.clone(), 0), classes);
    let stopped = Effort { cycles: 5, most_proposals: u32::MAX, seed: 0, may_continue: &|| false };
    assert_eq!(improve(&rows.table, &privacy, classes.clone(), stopped), (classes, 0));
}

#[test]
fn what_cannot_be_changed_stays() {
    // A class with a cover, and a cell divided between two classes.
    let rows = survey(&[(interval("age"), ints(&[1, 1, 1, 1, 9, 9, 9, 9, 5, 7]))], &[]);
    let privacy = Privacy::p_sensitive_k_anonymity(2, 1, 0);
    let mut classes = rows.clusters(&[&[0, 1], &[2, 3], &[4, 5, 8], &[6, 7, 9]]);
    classes[2].cover = Some(vec![(0, 3)]);
    let found = search(&rows, &privacy, classes.clone(), 3);
    assert!(found.contains(&classes[2]), "{found:?}");
    assert_eq!(placed(&found), placed(&classes));
}

fn random_rows() -> impl Strategy<Value = Vec<(Option<i64>, usize, usize)>> {
    let age = prop_oneof![9 => (0_i64..60).prop_map(Some), 1 => Just(None)];
    proptest::collection::vec((age, 0_usize..5, 0_usize..4), 4..150)
}

proptest! {
    #![proptest_config(cases(128))]

    /// On any table: no row is lost, every class satisfies the model, no number of cycles loses more than none or one,
    /// and the result does not depend on the number of threads.
    #[test]
    fn no_search_loses_more_than_a_shorter_one(people in random_rows(), k in 2_u64..8, p in 1_u64..4) {
        let ages: Vec<Option<i64>> = people.iter().map(|(age, _, _)| *age).collect();
        let places: Vec<&str> =
            people.iter().map(|(_, place, _)| ["France", "Spain", "Italy", "Japan", "China"][*place]).collect();
        let secrets: Vec<&str> = people.iter().map(|(_, _, secret)| ["a", "b", "c", "d"][*secret]).collect();
        let columns = [(interval("age"), maybe_ints(&ages)), (ancestor("country", &countries()), texts(&places))];
        let rows = survey(&columns, &[texts(&secrets)]);
        let privacy = Privacy::p_sensitive_k_anonymity(k, p.min(k), 1);
        let cells: Vec<u32> = (0..rows.table.cell_count() as u32).collect();
        prop_assume!(privacy.is_satisfied_by(&rows.table, cells.iter().copied()));
        let classes = Greedy::default().cluster(&cells, &rows.table, &privacy);
        let mut before = loss(&rows, &classes);
        let one_thread = rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
        for cycles in 0..4 {
            let found = search(&rows, &privacy, classes.clone(), cycles);
            prop_assert_eq!(placed(&found), placed(&classes));
            let now = loss(&rows, &found);
            prop_assert!(now <= before + 1e-4, "{} cycles lose {}, fewer {}", cycles, now, before);
            prop_assert_eq!(&one_thread.install(|| search(&rows, &privacy, classes.clone(), cycles)), &found);
            if cycles < 2 {
                before = now;
            }
        }
    }
}

use std::sync::Arc;

use arrow::array::{ArrayRef, StringArray};
use proptest::prelude::*;

use crate::cluster::{Class, ClusterMethod};
use crate::columns::ColumnRecoding;
use crate::hierarchy::HierarchySpec;
use crate::model::{CategoryWeight, CodeMeaning, KAnonymity, PSensitive, Privacy, Tally};
use crate::published::{Mdav, RandomSeed};
use crate::test_tables::{ancestor, cases, countries, interval, ints, maybe_ints, quasi, survey, texts};

#[test]
fn a_leftover_row_joins_the_closest_centroid_as_it_was_when_growing_ended() {
    // H1: the mean is 10.5, so that 26 is the first seed and takes the a of 14; of the rows left 0 is the farthest from
    // their mean, and takes the b of 2. The centroids are 20 and 1. The b of 10 is 9 from the lower one and joins it.
    // The b of 11 is 9 from the upper one and 10 from the lower one, which would be 7 if it had moved to 4 with the 10.
    let rows = survey(&[(interval("x"), ints(&[0, 2, 10, 11, 14, 26]))], &[texts(&["a", "b", "b", "b", "a", "b"])]);
    let privacy = Privacy::p_sensitive_k_anonymity(2, 2, 1);
    let classes = Mdav.cluster(&[0, 1, 2, 3, 4, 5], &rows.table, &privacy);
    assert_eq!(classes, rows.clusters(&[&[5, 4, 3], &[0, 1, 2]]));
}

#[test]
fn where_one_class_is_possible_it_has_all_rows() {
    // Every class needs a c, and there is one.
    let rows = survey(&[(interval("x"), ints(&[0, 1, 5, 6]))], &[texts(&["a", "b", "c", "a"])]);
    let privacy = Privacy::p_sensitive_k_anonymity(2, 3, 1);
    for cluster in [&Mdav as &dyn ClusterMethod, &RandomSeed { seed: 1 }] {
        let classes = cluster.cluster(&[0, 1, 2, 3], &rows.table, &privacy);
        assert_eq!(classes, [Class::of_cells(&rows.table, &[0, 1, 2, 3])]);
    }
}

proptest! {
    #![proptest_config(cases(96))]

    #[test]
    fn classes_satisfy_the_models_and_no_row_is_lost(
        rows in prop::collection::vec(
            (prop::option::weighted(0.9, 0_i64..9), 0_usize..5, prop::option::weighted(0.9, 0_u8..4), 0_u8..3),
            1..80,
        ),
        k in 1_u64..7,
        p in 1_u64..4,
        alpha in prop::option::of(0_u8..6),
        lowest in 0_usize..3,
        seed in 0_u64..4,
    ) {
        let names = ["France", "Spain", "Italy", "Japan", "China"];
        let first: ArrayRef =
            Arc::new(rows.iter().map(|row| row.2.map(|value| value.to_string())).collect::<StringArray>());
        let second: ArrayRef = Arc::new(rows.iter().map(|row| Some(row.3.to_string())).collect::<StringArray>());
        let number = quasi("x", ColumnRecoding::Mean, HierarchySpec::Flat);
        let rows = survey(
            &[
                (number, maybe_ints(&rows.iter().map(|row| row.0).collect::<Vec<_>>())),
                (ancestor("c", &countries()), texts(&rows.iter().map(|row| names[row.1]).collect::<Vec<_>>())),
            ],
            &[first, second],
        );
        let table = &rows.table;
        let mut privacy = Privacy::p_sensitive_k_anonymity(k, p, 2);
        if let Some(alpha) = alpha {
            privacy = Privacy::new(vec![
                Arc::new(KAnonymity::new(k)),
                Arc::new(PSensitive::new(p, 0, CodeMeaning::Values)),
                Arc::new(CategoryWeight::new(f64::from(alpha) / 2.0, 1, 3)),
            ]);
        }
        // A leaf need not have all cells.
        let leaf: Vec<u32> = (lowest as u32..table.cell_count() as u32).collect();
        prop_assume!(privacy.is_satisfied(&Tally::of_cells(table, leaf.iter().copied())));
        for cluster in [&Mdav as &dyn ClusterMethod, &RandomSeed { seed }] {
            let classes = cluster.cluster(&leaf, table, &privacy);
            let mut placed = vec![0; table.group_count()];
            for class in &classes {
                prop_assert!(privacy.is_satisfied(&class.tally(table)), "{:?}", class);
                prop_assert!(class.portions.is_sorted_by(|a, b| a.group < b.group), "{:?}", class);
                for portion in &class.portions {
                    prop_assert!(portion.rows > 0);
                    placed[portion.group as usize] += portion.rows;
                }
            }
            let mut expected = vec![0; table.group_count()];
            for group in leaf.iter().flat_map(|cell| table.groups(*cell)) {
                expected[group as usize] = table.group_rows(group);
            }
            prop_assert_eq!(placed, expected);
            prop_assert_eq!(&cluster.cluster(&leaf, table, &privacy), &classes);
        }
    }
}

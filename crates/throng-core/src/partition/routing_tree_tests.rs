use std::sync::Arc;

use proptest::prelude::*;

use super::*;
use crate::columns::{Limit, QuasiSpec};
use crate::model::Tally;
use crate::partition::FeasibleRegions;
use crate::test_tables::{cases, interval, ints, survey, texts};

fn bands(borders: &[f64]) -> QuasiSpec {
    QuasiSpec { limit: Some(Limit::Bands(Arc::from(borders))), ..interval("x") }
}

#[test]
fn a_table_of_few_cells_is_one_part() {
    let rows = survey(&[(interval("x"), ints(&[1, 2, 3, 4]))], &[]);
    let parts = RoutingTree::of(&rows.table, &Privacy::p_sensitive_k_anonymity(2, 1, 0), 4);
    assert_eq!(parts, RoutingTree::one());
}

#[test]
fn positions_that_the_sample_does_not_have_are_routed_too() {
    let rows = survey(&[(interval("x"), ints(&(0..100).collect::<Vec<_>>()))], &[]);
    let parts = RoutingTree::of(&rows.table, &Privacy::p_sensitive_k_anonymity(2, 1, 0), 30);
    assert_eq!(parts.len(), 4);
    let routed: Vec<u32> = (0..1000).map(|position| parts.part(&[position])).collect();
    assert!(routed.is_sorted());
    assert_eq!((routed[0], routed[999]), (0, 3));
}

#[test]
fn blocks_of_a_limited_column_are_not_parted_before_each_is_alone() {
    let rows = survey(&[(bands(&[10.0, 20.0]), ints(&(0..30).collect::<Vec<_>>()))], &[]);
    let parts = RoutingTree::of(&rows.table, &Privacy::p_sensitive_k_anonymity(2, 1, 0), 10);
    let of = |positions: std::ops::Range<u32>| positions.map(|at| parts.part(&[at])).collect::<Vec<_>>();
    assert_eq!(of(0..10), [0; 10]);
    assert_eq!(of(10..20), [1; 10]);
    assert_eq!(of(20..30), [2; 10]);
}

proptest! {
    #![proptest_config(cases(200))]

    /// Samples every other cell and routes the rows of all cells.
    #[test]
    fn parts_satisfy_the_model_and_suppress_what_the_whole_table_suppresses(
        people in prop::collection::vec((0_i64..40, 0_i64..40, 0_u8..4), 20..200),
        k in 2_u64..5, p in 1_u64..3, part_cells in 1_usize..20, is_limited: bool,
    ) {
        let x = if is_limited { bands(&[7.0, 20.0]) } else { interval("x") };
        let column = |of: fn(&(i64, i64, u8)) -> i64| people.iter().map(of).collect::<Vec<i64>>();
        let secrets: Vec<String> = people.iter().map(|person| person.2.to_string()).collect();
        let rows = survey(
            &[(x, ints(&column(|person| person.0))), (interval("y"), ints(&column(|person| person.1)))],
            &[texts(&secrets.iter().map(String::as_str).collect::<Vec<_>>())],
        );
        let table = &rows.table;
        let privacy = Privacy::p_sensitive_k_anonymity(k, p, 1);
        let whole = FeasibleRegions::of(table, &privacy);
        prop_assume!(!whole.classes.is_empty());
        let sampled: Vec<u32> = (0..table.cell_count() as u32).step_by(2).collect();
        let mut parts = RoutingTree { nodes: Vec::new(), parts: 0 };
        let region = table.quasi().iter().map(|quasi| (0, quasi.domain.len() as u32 - 1)).collect();
        parts.grow(sampled, region, table, Some(&privacy), part_cells);

        let mut cells = vec![Vec::new(); parts.len()];
        for cell in 0..table.cell_count() as u32 {
            cells[parts.part(table.positions(cell)) as usize].push(cell);
        }
        // Classes of the maximum allowed microdata within each part.
        let mut suppressed = 0;
        for cells in &cells {
            let mut blocks: Vec<(Vec<u32>, u32)> = cells
                .iter()
                .map(|cell| {
                    let key = table.quasi().iter().zip(table.positions(*cell)).map(|(q, at)| q.domain.block(*at));
                    (key.collect(), *cell)
                })
                .collect();
            blocks.sort();
            for class in blocks.chunk_by(|a, b| a.0 == b.0) {
                let tally = Tally::of_cells(table, class.iter().map(|(_, cell)| *cell));
                suppressed += if privacy.is_satisfied(&tally) { 0 } else { tally.rows() };
            }
        }
        prop_assert_eq!(suppressed, whole.suppressed_rows(table));

        // Between blocks, every class of the maximum allowed microdata is in one part as a whole.
        let parts = RoutingTree::between_blocks(table, part_cells);
        for class in &whole.classes {
            let mut found: Vec<u32> = class.iter().map(|cell| parts.part(table.positions(*cell))).collect();
            found.dedup();
            prop_assert_eq!(found.len(), 1);
        }
        prop_assert!(is_limited || parts.len() == 1);
    }
}

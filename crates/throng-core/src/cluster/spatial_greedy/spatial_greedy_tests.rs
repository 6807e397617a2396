use super::*;
use crate::cluster::{ClusterMethod, Greedy};
use crate::metrics::Utility;
use crate::model::{Need, Tally};
use crate::partition::{Mondrian, PartitionMethod};
use crate::recode::Recoding;
use crate::test_tables::{Surveyed, interval, ints, maybe_ints, survey, texts};

/// Distinct numbers in no particular order.
fn scattered(column: u64, row: u64) -> i64 {
    let mixed = (row + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15).wrapping_add(column.wrapping_mul(0xBF58_476D_1CE4_E5B9));
    let mixed = (mixed ^ (mixed >> 29)).wrapping_mul(0x94D0_49BB_1331_11EB);
    (mixed >> 34) as i64
}

/// Rows that differ in every column, with one of several diseases each.
fn people(rows: u64, columns: u64) -> Surveyed {
    let quasi = |column: u64| {
        let numbers: Vec<i64> = (0..rows).map(|row| scattered(column, row)).collect();
        (interval(&format!("number {column}")), ints(&numbers))
    };
    let diseases: Vec<&str> = (0..rows).map(|row| ["flu", "flu", "flu", "gout"][(row % 4) as usize]).collect();
    survey(&(0..columns).map(quasi).collect::<Vec<_>>(), &[texts(&diseases)])
}

fn all(rows: &Surveyed) -> Vec<u32> {
    (0..rows.table.cell_count() as u32).collect()
}

fn loss(table: &Table, cells: &[u32]) -> f64 {
    let column = |(at, quasi): (usize, &crate::table::QuasiColumn)| {
        let positions = || cells.iter().map(|cell| table.positions(*cell)[at]);
        quasi.domain.loss(positions().min().unwrap(), positions().max().unwrap())
    };
    table.quasi().iter().enumerate().map(column).sum()
}

/// Brute force: evaluates every free cell for every cell that is taken. The last cells are in no class.
fn by_brute_force(table: &Table, privacy: &Privacy, seeds: Vec<u32>) -> Vec<Vec<u32>> {
    let mut free = vec![true; seeds.len()];
    let mut classes = Vec::new();
    for seed in seeds {
        let mut class = Vec::new();
        let mut next = free[seed as usize].then_some(seed);
        while let Some(cell) = next {
            class.push(cell);
            free[cell as usize] = false;
            let tally = Tally::of_cells(table, class.iter().copied());
            let need = privacy.need(&tally);
            let helps = |cell: u32| table.groups(cell).any(|group| privacy.helps(&tally, table.codes(group)));
            let left = (0..free.len() as u32).filter(|cell| free[*cell as usize]);
            let wanted = left.filter(|cell| !matches!(need, Need::DiverseRow(_)) || helps(*cell));
            let with = |cell: u32| loss(table, &class.iter().copied().chain([cell]).collect::<Vec<_>>());
            next = match need {
                Need::Nothing => None,
                _ => wanted.map(|cell| (with(cell), cell)).min_by(|a, b| a.0.total_cmp(&b.0)).map(|(_, cell)| cell),
            };
            if next.is_none() && need != Need::Nothing {
                class.drain(..).for_each(|cell| free[cell as usize] = true);
            }
        }
        if !class.is_empty() {
            class.sort_unstable();
            classes.push(class);
        }
    }
    classes
}

#[test]
fn classes_are_those_of_a_look_at_all_cells_where_all_are_near() {
    for columns in [1, 2, 7] {
        let rows = people(100, columns);
        let privacy = Privacy::p_sensitive_k_anonymity(3, 2, 1);
        let leaf = all(&rows);
        let (axes, places) = LossSpace::new(&rows.table, leaf.iter().copied());
        let seeds = seed_order::in_order(&axes, &places, 0);
        let mut free_cells = FreeCells::new(&axes, leaf.clone(), places);
        let grower = Grower::new(&axes, &leaf, &rows.table, &privacy);
        let mut found: Vec<Vec<u32>> =
            form(&grower, &mut free_cells, seeds.clone()).into_iter().map(|class| class.cells).collect();
        found.iter_mut().for_each(|class| class.sort_unstable());
        assert_eq!(found, by_brute_force(&rows.table, &privacy, seeds), "{columns} columns");
        assert!(found.len() > 20);
    }
}

/// Checks that every row is in exactly one class, and that all classes satisfy the model.
fn checked(rows: &Surveyed, privacy: &Privacy) -> Vec<Class> {
    let classes = classes(&all(rows), &rows.table, privacy, 0);
    let mut groups: Vec<u32> = classes.iter().flat_map(|class| &class.portions).map(|portion| portion.group).collect();
    groups.sort_unstable();
    assert_eq!(groups, (0..rows.table.group_count() as u32).collect::<Vec<_>>());
    assert!(classes.iter().all(|class| privacy.is_satisfied(&class.tally(&rows.table))));
    classes
}

#[test]
fn many_cells_lose_less_than_in_leaves_and_the_same_with_any_number_of_threads() {
    for columns in [2, 8] {
        let rows = people(3000, columns);
        let privacy = Privacy::p_sensitive_k_anonymity(5, 2, 1);
        let with_threads = |threads| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| checked(&rows, &privacy))
        };
        let classes = with_threads(1);
        assert_eq!(classes, with_threads(4));
        let leaves = Mondrian::for_clustering(&privacy).partition(all(&rows), &rows.table, &privacy).unwrap();
        assert!(leaves.len() > 10);
        let in_leaves =
            leaves.iter().flat_map(|leaf| Greedy::default().cluster(&leaf.cells, &rows.table, &privacy)).collect();
        let ncp = |classes: Vec<Class>| Utility::of(&rows.table, &Recoding::new(&rows.table, &classes).unwrap(), 5).ncp;
        let (uncut, in_leaves) = (ncp(classes), ncp(in_leaves));
        assert!(uncut < 0.97 * in_leaves, "{columns} columns: {uncut} against {in_leaves}");
    }
}

#[test]
fn what_is_not_near_is_looked_for_everywhere() {
    // Gout is far from all other rows, and too rare for more than ten classes.
    let ages: Vec<i64> = (0..5000).map(|row| if row < 10 { 1_000_000 + row } else { row }).collect();
    let diseases: Vec<&str> = (0..5000).map(|row| if row < 10 { "gout" } else { "flu" }).collect();
    let rows = survey(&[(interval("age"), ints(&ages))], &[texts(&diseases)]);
    let found = checked(&rows, &Privacy::p_sensitive_k_anonymity(2, 2, 1));
    assert_eq!(found.len(), 10);
}

#[test]
fn null_is_near_to_null_alone() {
    let numbers: Vec<Option<i64>> = (0..600).map(|row| (row % 6 > 0).then(|| scattered(2, row))).collect();
    let others: Vec<i64> = (0..600).map(|row| scattered(1, row)).collect();
    let rows = survey(&[(interval("maybe"), maybe_ints(&numbers)), (interval("number"), ints(&others))], &[]);
    let found = checked(&rows, &Privacy::p_sensitive_k_anonymity(4, 1, 0));
    let has_null = |portion: &crate::cluster::Portion| {
        let cell = (0..rows.table.cell_count() as u32).find(|cell| rows.table.groups(*cell).contains(&portion.group));
        rows.table.positions(cell.unwrap())[0] == 0
    };
    let mixed = found.iter().filter(|class| {
        let nulls = class.portions.iter().filter(|portion| has_null(portion)).count();
        nulls > 0 && nulls < class.portions.len()
    });
    assert!(mixed.count() <= 1);
    assert!(found.iter().any(|class| class.portions.iter().all(has_null)));
}

#[test]
fn what_cannot_be_promised_is_one_class() {
    let rows = people(300, 2);
    let found = classes(&all(&rows), &rows.table, &Privacy::p_sensitive_k_anonymity(400, 1, 1), 0);
    assert_eq!(found.len(), 1);
    let found = checked(&rows, &Privacy::p_sensitive_k_anonymity(300, 2, 1));
    assert_eq!(found.len(), 1);
}

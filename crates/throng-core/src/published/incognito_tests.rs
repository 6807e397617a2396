use std::sync::Arc;

use proptest::prelude::*;

use super::*;
use crate::cluster::Class;
use crate::columns::{ColumnRecoding, Limit, QuasiSpec};
use crate::domain::DomainKind;
use crate::hierarchy::HierarchySpec;
use crate::model::Tally;
use crate::partition::FeasibleRegions;
use crate::recode::Recoding;
use crate::test_tables::{
    all_shown, ancestor, cases, countries, interval, ints, maybe_ints, maybe_texts, quasi, survey, texts, tree,
};

fn k_anonymity(k: u64) -> Privacy {
    Privacy::p_sensitive_k_anonymity(k, 1, 0)
}

fn all_cells(table: &Table) -> Vec<u32> {
    (0..table.cell_count() as u32).collect()
}

fn leaves(table: &Table, privacy: &Privacy) -> Vec<Leaf> {
    Incognito.partition(all_cells(table), table, privacy).unwrap()
}

fn release(table: &Table, leaves: &[Leaf], out: &[u32]) -> Recoding {
    let class = |leaf: &Leaf| Class { cover: leaf.cover.clone(), ..Class::of_cells(table, &leaf.cells) };
    Recoding::without(table, &leaves.iter().map(class).collect::<Vec<_>>(), out).unwrap()
}

fn shown(table: &Table, leaves: &[Leaf], column: usize) -> Vec<String> {
    all_shown(&release(table, leaves, &[]), column)
        .into_iter()
        .map(|label| label.unwrap_or("null".to_owned()))
        .collect()
}

/// The range that each cell shows in each column at a level vector. Trees in these tests are equally deep except for
/// null.
fn covers(table: &Table, levels: &[u32]) -> Vec<Vec<(u32, u32)>> {
    let has_null = |column: usize| {
        let null = table.quasi()[column].domain.null_position();
        all_cells(table).iter().any(|cell| Some(table.positions(*cell)[column]) == null)
    };
    let cover = |column: usize, position: u32| {
        let domain = &table.quasi()[column].domain;
        let is_null = domain.null_position() == Some(position);
        match domain.kind() {
            DomainKind::Ordered { .. } if levels[column] == 0 => (position, position),
            DomainKind::Ordered { .. } => {
                let first = u32::from(domain.null_position().is_some() && !has_null(column));
                (first, domain.len() as u32 - 1)
            }
            DomainKind::Category(tree) if is_null && levels[column] < tree.height(tree.root()) => (position, position),
            DomainKind::Category(tree) => tree.leaf_range(tree.ancestor(position, levels[column])),
        }
    };
    let of_cell = |cell: &u32| table.positions(*cell).iter().enumerate().map(|(at, position)| cover(at, *position));
    all_cells(table).iter().map(|cell| of_cell(cell).collect()).collect()
}

fn classes(table: &Table, levels: &[u32]) -> BTreeMap<Vec<(u32, u32)>, Vec<u32>> {
    let mut classes: BTreeMap<_, Vec<u32>> = BTreeMap::new();
    for (cell, cover) in covers(table, levels).into_iter().enumerate() {
        classes.entry(cover).or_default().push(cell as u32);
    }
    classes
}

fn loss(table: &Table, levels: &[u32]) -> f64 {
    let of_cell = |(cell, cover): (usize, Vec<(u32, u32)>)| {
        let of_column = cover.iter().zip(table.quasi());
        let weighted = of_column.map(|((lo, hi), quasi)| quasi.spec.weight * quasi.domain.information_loss(*lo, *hi));
        weighted.sum::<f64>() * table.cell_rows(cell as u32) as f64
    };
    covers(table, levels).into_iter().enumerate().map(of_cell).sum()
}

/// Returns every level vector, in lexicographic order.
fn all_vectors(table: &Table) -> Vec<Vec<u32>> {
    let top = |quasi: &crate::table::QuasiColumn| match quasi.domain.kind() {
        DomainKind::Ordered { .. } => 1,
        DomainKind::Category(tree) => tree.height(tree.root()),
    };
    table.quasi().iter().fold(vec![Vec::new()], |vectors, quasi| {
        let longer = |vector: &Vec<u32>| {
            let vector = vector.clone();
            (0..=top(quasi)).map(move |level| [vector.as_slice(), &[level]].concat())
        };
        vectors.iter().flat_map(longer).collect()
    })
}

/// Searches the whole lattice: returns the first of the minimal passing vectors with the least loss.
fn brute_force(table: &Table, privacy: &Privacy) -> Vec<u32> {
    let satisfied = |cells: &Vec<u32>| privacy.is_satisfied(&Tally::of_cells(table, cells.iter().copied()));
    let passing: Vec<Vec<u32>> =
        all_vectors(table).into_iter().filter(|vector| classes(table, vector).values().all(satisfied)).collect();
    let is_below = |a: &Vec<u32>, b: &Vec<u32>| a != b && a.iter().zip(b).all(|(a, b)| a <= b);
    let minimal = passing.iter().filter(|vector| !passing.iter().any(|other| is_below(other, vector)));
    let measured: Vec<(f64, &Vec<u32>)> = minimal.map(|vector| (loss(table, vector), vector)).collect();
    let least = measured.iter().map(|(loss, _)| *loss).fold(f64::INFINITY, f64::min);
    measured.into_iter().find(|(loss, _)| *loss <= least + 1e-9).unwrap().1.clone()
}

fn as_map(leaves: Vec<Leaf>) -> BTreeMap<Vec<(u32, u32)>, Vec<u32>> {
    leaves.into_iter().map(|leaf| (leaf.cover.unwrap(), leaf.cells)).collect()
}

/// Ages in fives and tens.
fn ages() -> crate::hierarchy::Tree {
    tree(&[
        "21;20-24;20-29;*",
        "23;20-24;20-29;*",
        "26;25-29;20-29;*",
        "31;30-34;30-39;*",
        "32;30-34;30-39;*",
        "36;35-39;30-39;*",
    ])
}

#[test]
fn all_values_of_a_column_rise_to_one_level() {
    // France twice, and the other countries once each: with k = 2 all countries must become continents.
    let names = ["France", "France", "Spain", "Japan", "China"];
    let rows = survey(&[(ancestor("country", &countries()), texts(&names))], &[]);
    let found = leaves(&rows.table, &k_anonymity(2));
    assert_eq!(shown(&rows.table, &found, 0), ["Europe", "Asia"]);
    assert_eq!(found[0], Leaf { cover: Some(vec![(0, 2)]), ..Leaf::of(vec![0, 1]) });
    // Asia has two rows only.
    assert_eq!(shown(&rows.table, &leaves(&rows.table, &k_anonymity(3)), 0), ["*"]);
    assert_eq!(shown(&rows.table, &leaves(&rows.table, &k_anonymity(1)), 0), ["France", "Spain", "Japan", "China"]);
}

#[test]
fn a_class_of_one_value_still_shows_the_level() {
    // 31 and 32 must be merged for two illnesses, and so 21, which has both, becomes 20-24 too.
    let rows = survey(&[(ancestor("age", &ages()), texts(&["21", "21", "31", "32"]))], &[texts(&["a", "b", "a", "b"])]);
    let privacy = Privacy::p_sensitive_k_anonymity(2, 2, 1);
    assert_eq!(shown(&rows.table, &leaves(&rows.table, &privacy), 0), ["20-24", "30-34"]);
    // 26 is alone up to level 2, where 31 and 32 show more than they need.
    let rows = survey(&[(ancestor("age", &ages()), texts(&["21", "21", "26", "31", "32"]))], &[]);
    let found = leaves(&rows.table, &k_anonymity(2));
    assert_eq!(shown(&rows.table, &found, 0), ["20-29", "30-39"]);
    // A node with a single leaf reads as that leaf: 25-29 holds nothing but 26.
    let rows = survey(&[(ancestor("age", &ages()), texts(&["21", "23", "26", "26", "31", "32"]))], &[]);
    assert_eq!(shown(&rows.table, &leaves(&rows.table, &k_anonymity(2)), 0), ["20-24", "26", "30-34"]);
}

#[test]
fn the_minimal_node_with_the_least_loss_is_taken() {
    // Cells (21, France) (23, Spain) (31, France) (32, Spain). With k = 2 both (1, 0) fails, as 21 and 23 are in
    // different countries, and (0, 1) fails, as ages differ. (1, 1) passes: 20-24 in Europe, 30-34 in Europe. So does
    // (3, 0): * in France and Spain.
    // Losses: 4 * (1/3 + 1/2) = 3.33 against 4 * (1 + 0) = 4.
    let columns = |weight: f64| {
        let mut age = ancestor("age", &ages());
        age.weight = weight;
        let country = ancestor("country", &countries());
        [(age, texts(&["21", "23", "31", "32"])), (country, texts(&["France", "Spain", "France", "Spain"]))]
    };
    let table = survey(&columns(1.0), &[]).table;
    let found = leaves(&table, &k_anonymity(2));
    assert_eq!(shown(&table, &found, 0), ["20-24", "30-34"]);
    assert_eq!(shown(&table, &found, 1), ["Europe", "Europe"]);
    // With half the weight on ages: 4 * (1/6 + 1/2) = 2.67 against 4 * 0.5 = 2.
    let table = survey(&columns(0.5), &[]).table;
    let found = leaves(&table, &k_anonymity(2));
    assert_eq!(shown(&table, &found, 0), ["*", "*"]);
    assert_eq!(shown(&table, &found, 1), ["France", "Spain"]);
}

#[test]
fn equal_losses_go_to_the_first_level_vector() {
    let columns = [(interval("x"), ints(&[0, 0, 9, 9])), (interval("y"), ints(&[0, 9, 0, 9]))];
    let table = survey(&columns, &[]).table;
    let found = leaves(&table, &k_anonymity(2));
    assert_eq!(shown(&table, &found, 0), ["0", "9"]);
    assert_eq!(shown(&table, &found, 1), ["[0-9]", "[0-9]"]);
}

#[test]
fn a_number_without_a_hierarchy_is_shown_or_hidden_as_a_whole() {
    let rows = survey(&[(interval("age"), ints(&[1, 1, 2, 2, 9]))], &[]);
    assert_eq!(shown(&rows.table, &leaves(&rows.table, &k_anonymity(1)), 0), ["1", "2", "9"]);
    assert_eq!(shown(&rows.table, &leaves(&rows.table, &k_anonymity(2)), 0), ["[1-9]"]);
    // Null is included only if a row has null.
    let rows = survey(&[(interval("age"), maybe_ints(&[Some(1), Some(2), None, None]))], &[]);
    assert_eq!(shown(&rows.table, &leaves(&rows.table, &k_anonymity(2)), 0), ["*"]);
    let values = Incognito.partition(vec![1, 2], &rows.table, &k_anonymity(2)).unwrap();
    assert_eq!(values, [Leaf { cover: Some(vec![(1, 2)]), ..Leaf::of(vec![1, 2]) }]);
}

#[test]
fn null_stays_null_until_everything_is_one() {
    let names = [Some("France"), Some("Spain"), Some("Japan"), Some("China"), None, None];
    let rows = survey(&[(ancestor("country", &countries()), maybe_texts(&names))], &[]);
    assert_eq!(shown(&rows.table, &leaves(&rows.table, &k_anonymity(2)), 0), ["Europe", "Asia", "null"]);
    assert_eq!(shown(&rows.table, &leaves(&rows.table, &k_anonymity(3)), 0), ["*"]);
}

#[test]
fn the_tails_of_a_recommended_tree_stay_tails_beside_intervals() {
    // 9 rows each of 1 to 10 and one of 60: mean 6.1, deviation 6.1, so that 60 is in the tail. MD is 1, and the levels
    // are 1, [1-2], [1-4], *. With k = 1 and p = 2 the values must be paired.
    let ages: Vec<i64> = (1..=10).flat_map(|age| [age; 9]).chain([60, 60]).collect();
    let illness: Vec<&str> = ages.iter().map(|age| if age % 2 == 0 { "a" } else { "b" }).collect();
    let mut illness = illness;
    illness[90] = "b";
    let age = quasi("age", ColumnRecoding::Ancestor, HierarchySpec::MeanDifference);
    let rows = survey(&[(age, ints(&ages))], &[texts(&illness)]);
    let found = leaves(&rows.table, &Privacy::p_sensitive_k_anonymity(1, 2, 1));
    assert_eq!(shown(&rows.table, &found, 0), ["[1-2]", "[3-4]", "[5-6]", "[7-8]", "[9-10]", ">10"]);
}

#[test]
fn more_levels_than_can_be_searched_are_refused() {
    let column = |index: usize| (interval(&format!("c{index}")), ints(&[0, 1]));
    let wide: Vec<(QuasiSpec, _)> = (0..20).map(column).collect();
    let table = survey(&wide, &[]).table;
    let error = Incognito.partition(all_cells(&table), &table, &k_anonymity(2)).unwrap_err();
    assert!(matches!(error, CoreError::Lattice { nodes: 1_048_576, limit: 1_000_000 }), "{error}");
    // Half as many are searched, and columns with a single value do not count.
    let mut narrow: Vec<(QuasiSpec, _)> = (0..19).map(column).collect();
    narrow.extend((0..30).map(|index| (interval(&format!("d{index}")), ints(&[7, 7]))));
    let table = survey(&narrow, &[]).table;
    let found = leaves(&table, &k_anonymity(2));
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].cover.as_ref().unwrap()[18..20], [(0, 1), (0, 0)]);
}

#[test]
fn passes_that_cost_more_than_they_save_are_left_out() {
    // Subsets of 5 of 19 columns with two levels have 11,628 * 32 nodes, subsets of 6 already 27,132 * 64.
    assert_eq!(worthwhile_sizes(&[2; 19]), [1, 2, 3, 4, 5, 19]);
    assert_eq!(worthwhile_sizes(&[5, 3, 3, 2, 2, 3]), [1, 2, 3, 4, 5, 6]);
    assert_eq!(worthwhile_sizes(&[]), [0]);
    assert_eq!(subsets(&[1, 4, 6], 2), [[1, 4], [1, 6], [4, 6]]);
}

#[test]
fn keys_too_long_for_a_number_are_renumbered() {
    // Seven columns of 1,000 values have 10^21 combinations.
    let column = |index: i64| {
        // Odd factors that do not end in 5 generate all residues.
        let values: Vec<i64> = (0..2000).map(|row| (row % 1000) * (2 * index + 1) % 1000).collect();
        (interval(&format!("c{index}")), ints(&values))
    };
    let columns: Vec<(QuasiSpec, _)> = [0, 1, 3, 4, 5, 6, 8].into_iter().map(column).collect();
    let table = survey(&columns, &[]).table;
    let distinct: Vec<usize> = table.quasi().iter().map(|quasi| quasi.domain.len()).collect();
    assert_eq!((table.cell_count(), distinct), (1000, vec![1000; 7]));
    // Each cell has two rows, so nothing needs to be generalized with k = 2.
    assert_eq!(leaves(&table, &k_anonymity(2)).len(), 1000);
    assert_eq!(leaves(&table, &k_anonymity(3)).len(), 1);
}

#[test]
fn no_level_reaches_beyond_a_limit() {
    let mut age = interval("age");
    age.limit = Some(Limit::Bands(Arc::from([18.0])));
    let mut country = ancestor("country", &countries());
    country.limit = Some(Limit::Level(1));
    let columns = [
        (age, ints(&[3, 9, 17, 30, 40, 50, 60])),
        (country, texts(&["France", "Spain", "Italy", "Japan", "China", "Japan", "China"])),
    ];
    let table = survey(&columns, &[]).table;
    let allowed = FeasibleRegions::of(&table, &k_anonymity(2));
    assert_eq!((allowed.classes.len(), allowed.suppressed_cells.len()), (2, 0));
    let mut found = Vec::new();
    for cells in allowed.classes {
        found.extend(Incognito.partition(cells, &table, &k_anonymity(2)).unwrap());
    }
    // The children are hidden among children of one continent, and no two of them are alike. The four others are two
    // in each country once their ages are hidden.
    assert_eq!(shown(&table, &found, 0), ["[3-17]", "[30-60]", "[30-60]"]);
    assert_eq!(shown(&table, &found, 1), ["Europe", "Japan", "China"]);
}

#[test]
fn a_table_without_quasi_identifiers_is_one_leaf() {
    let rows = survey(&[], &[texts(&["a", "b"])]);
    let found = leaves(&rows.table, &Privacy::p_sensitive_k_anonymity(2, 2, 1));
    assert_eq!(found, [Leaf { cover: Some(Vec::new()), ..Leaf::of(vec![0]) }]);
}

const ADULT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/data");

/// Returns the first `rows` rows of the experiment of [Truta 2007]; `None` if the data is absent.
fn adult(rows: usize) -> Option<Table> {
    let text = std::fs::read_to_string(format!("{ADULT}/adult.csv")).ok()?;
    let rows: Vec<Vec<&str>> = text.lines().skip(1).take(rows).map(|line| line.split(',').collect()).collect();
    let column = |at: usize| texts(&rows.iter().map(|row| row[at]).collect::<Vec<_>>());
    let names = [("age", 0), ("workclass", 1), ("marital-status", 5), ("race", 8), ("sex", 9), ("native-country", 13)];
    let quasi = names.map(|(name, at)| {
        let lines = std::fs::read_to_string(format!("{ADULT}/adult-hierarchies/{name}.csv")).unwrap();
        (ancestor(name, &tree(&lines.lines().collect::<Vec<_>>())), column(at))
    });
    Some(survey(&quasi, &[column(4), column(3), column(6)]).table)
}

#[test]
fn the_search_on_adult_agrees_with_brute_force() {
    let Some(table) = adult(1_000) else {
        crate::test_tables::skip::skip("the Adult data is not there");
        return;
    };
    for (k, p) in [(5, 1), (20, 2), (20, 6)] {
        let privacy = Privacy::p_sensitive_k_anonymity(k, p, 3);
        let expected = brute_force(&table, &privacy);
        assert_eq!(as_map(leaves(&table, &privacy)), classes(&table, &expected), "k = {k}, p = {p}");
    }
}

type Row = (Option<i64>, Option<usize>, usize, u8);

fn random_table(rows: &[Row], weights: &[f64], limited: bool) -> Table {
    let names = ["France", "Spain", "Italy", "Japan", "China"];
    let years = ["21", "23", "26", "31", "32"];
    let [mut income, mut country, mut age] =
        [interval("income"), ancestor("country", &countries()), ancestor("age", &ages())];
    (income.weight, country.weight, age.weight) = (weights[0], weights[1], weights[2]);
    if limited {
        income.limit = Some(Limit::Bands(Arc::from([2.0])));
        country.limit = Some(Limit::Values(Arc::from(["Europe".to_owned()])));
        age.limit = Some(Limit::Level(2));
    }
    let illness: Vec<String> = rows.iter().map(|row| row.3.to_string()).collect();
    let columns = [
        (income, maybe_ints(&rows.iter().map(|row| row.0).collect::<Vec<_>>())),
        (country, maybe_texts(&rows.iter().map(|row| row.1.map(|at| names[at])).collect::<Vec<_>>())),
        (age, texts(&rows.iter().map(|row| years[row.2]).collect::<Vec<_>>())),
    ];
    survey(&columns, &[texts(&illness.iter().map(String::as_str).collect::<Vec<_>>())]).table
}

fn rows(count: std::ops::Range<usize>) -> impl Strategy<Value = Vec<Row>> {
    let income = prop::option::weighted(0.9, 0_i64..4);
    let country = prop::option::weighted(0.9, 0_usize..5);
    prop::collection::vec((income, country, 0_usize..5, 0_u8..3), count)
}

proptest! {
    #![proptest_config(cases(128))]

    #[test]
    fn the_search_agrees_with_brute_force(
        rows in rows(1..40),
        k in 1_u64..5,
        p in 1_u64..4,
        weights in prop::collection::vec(prop::sample::select(vec![0.5, 1.0, 3.0]), 3),
    ) {
        let table = random_table(&rows, &weights, false);
        let privacy = Privacy::p_sensitive_k_anonymity(k, p, 1);
        prop_assume!(privacy.is_satisfied_by(&table, all_cells(&table)));
        let found = leaves(&table, &privacy);
        for leaf in &found {
            prop_assert!(privacy.is_satisfied(&Tally::of_cells(&table, leaf.cells.iter().copied())));
        }
        let levels = brute_force(&table, &privacy);
        prop_assert_eq!(as_map(found.clone()), classes(&table, &levels));
        // Released nodes are on the chosen level, or have a single leaf.
        let recoding = release(&table, &found, &[]);
        for (column, level) in levels.iter().enumerate().skip(1) {
            let DomainKind::Category(tree) = table.quasi()[column].domain.kind() else { panic!("a category") };
            let of_level: Vec<Option<&str>> = (0..tree.leaf_count() as u32)
                .map(|position| {
                    let is_null = tree.null_leaf() == Some(position);
                    let top = *level == tree.height(tree.root());
                    let (lo, hi) = tree.leaf_range(tree.ancestor(position, *level));
                    if is_null && !top { None } else { Some(tree.label(tree.common_ancestor(lo, hi))) }
                })
                .collect();
            prop_assert!(all_shown(&recoding, column).iter().all(|label| of_level.contains(&label.as_deref())));
        }
    }

    #[test]
    fn within_limits_every_cell_is_in_one_leaf_that_satisfies_the_model(
        rows in rows(1..80),
        k in 1_u64..5,
        p in 1_u64..3,
    ) {
        let table = random_table(&rows, &[1.0; 3], true);
        let privacy = Privacy::p_sensitive_k_anonymity(k, p, 1);
        let allowed = FeasibleRegions::of(&table, &privacy);
        let mut found = Vec::new();
        for cells in &allowed.classes {
            let leaves = Incognito.partition(cells.clone(), &table, &privacy).unwrap();
            let mut all: Vec<u32> = leaves.iter().flat_map(|leaf| leaf.cells.clone()).collect();
            all.sort_unstable();
            prop_assert_eq!(&all, cells);
            for leaf in &leaves {
                prop_assert!(privacy.is_satisfied(&Tally::of_cells(&table, leaf.cells.iter().copied())));
                for ((lo, hi), (column, quasi)) in leaf.cover.iter().flatten().zip(table.quasi().iter().enumerate()) {
                    prop_assert_eq!(quasi.domain.block(*lo), quasi.domain.block(*hi));
                    let mut positions = leaf.cells.iter().map(|cell| table.positions(*cell)[column]);
                    prop_assert!(positions.all(|position| *lo <= position && position <= *hi));
                }
            }
            found.extend(leaves);
        }
        // Fails if a class exceeds a limit or a row is misplaced.
        release(&table, &found, &allowed.suppressed_cells);
    }
}

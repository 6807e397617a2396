//! Distances of distributions over a hierarchy against the cheapest of all transports.

use proptest::prelude::*;

use super::CodeTree;
use crate::hierarchy::{Node, Tree};
use crate::test_tables::cases;

/// Paths of leaves below up to three levels of groups, some of which are skipped.
fn trees() -> impl Strategy<Value = Tree> {
    prop::collection::vec((0_u8..3, 0_u8..3, any::<bool>()), 1..7).prop_map(|leaves| {
        let path = |(number, (high, low, is_skipped)): (usize, &(u8, u8, bool))| {
            let own = format!("leaf {number}");
            let low = if *is_skipped { own.clone() } else { format!("group {high}.{low}") };
            vec![own, low, format!("group {high}"), "*".to_owned()]
        };
        Tree::from_paths(&leaves.iter().enumerate().map(path).collect::<Vec<_>>()).unwrap()
    })
}

fn distance(tree: &Tree, one: u32, other: u32) -> f64 {
    let above = tree.common_ancestor(one.min(other), one.max(other));
    if one == other { 0.0 } else { f64::from(tree.height(above)) / f64::from(tree.height(tree.root())) }
}

/// Returns the least cost of moving each unit of `from` to another unit of `to`, over all ways to do so.
fn cheapest(tree: &Tree, from: &[u32], to: &[u32]) -> f64 {
    // `least[taken]` is the least cost of moving the first units to the set of targets `taken`.
    let mut least = vec![f64::INFINITY; 1 << to.len()];
    least[0] = 0.0;
    for taken in 0_usize..1 << to.len() {
        let Some(unit) = from.get(taken.count_ones() as usize) else { continue };
        for (number, target) in to.iter().enumerate().filter(|(number, _)| taken & (1 << number) == 0) {
            let cost = least[taken] + distance(tree, *unit, *target);
            let slot = &mut least[taken | 1 << number];
            *slot = slot.min(cost);
        }
    }
    least[(1 << to.len()) - 1] / to.len() as f64
}

proptest! {
    #![proptest_config(cases(400))]

    #[test]
    fn the_cost_is_that_of_the_cheapest_transport(tree in trees(), units in prop::collection::vec((0_u32..6, 0_u32..6), 1..9)) {
        let leaves = tree.leaf_count() as u32;
        let (from, to): (Vec<u32>, Vec<u32>) = units.iter().map(|(from, to)| (from % leaves, to % leaves)).unzip();
        let nodes: Vec<Node> = (0..leaves).map(|leaf| tree.leaf_node(leaf)).collect();
        let mut surplus = vec![0.0; leaves as usize];
        for (from, to) in from.iter().zip(&to) {
            surplus[*from as usize] += 1.0 / units.len() as f64;
            surplus[*to as usize] -= 1.0 / units.len() as f64;
        }
        let cost = CodeTree::new(&tree, &nodes).cost_of_moving(&surplus);
        let expected = cheapest(&tree, &from, &to);
        prop_assert!((cost - expected).abs() < 1e-9, "{cost} in place of {expected}");
    }
}

#[test]
fn distances_of_the_example_of_the_paper() {
    // [Li 2007, section 4.3]: in the hierarchy of occupations and diseases, values below one node are nearer to each other.
    let paths = [
        vec!["gastric ulcer", "stomach", "digestive", "*"],
        vec!["gastritis", "stomach", "digestive", "*"],
        vec!["stomach cancer", "stomach", "digestive", "*"],
        vec!["flu", "infection", "respiratory", "*"],
        vec!["bronchitis", "infection", "respiratory", "*"],
        vec!["pneumonia", "infection", "respiratory", "*"],
    ];
    let tree = Tree::from_paths(&paths).unwrap();
    let nodes: Vec<Node> = (0..6).map(|leaf| tree.leaf_node(leaf)).collect();
    let codes = CodeTree::new(&tree, &nodes);
    let ninth = 1.0 / 9.0;
    // Three of nine have each disease of one organ; all nine are spread over six diseases.
    let surplus = [1.0 / 3.0 - 1.5 * ninth, 1.0 / 3.0 - 1.5 * ninth, 1.0 / 3.0 - 1.5 * ninth]
        .into_iter()
        .chain([-1.5 * ninth; 3])
        .collect::<Vec<_>>();
    assert!((codes.cost_of_moving(&surplus) - 0.5).abs() < 1e-12);
    // One disease in place of two others below the same node moves by a third of the height.
    assert!((codes.cost_of_moving(&[0.5, -0.25, -0.25, 0.0, 0.0, 0.0]) - 0.5 / 3.0).abs() < 1e-12);
}

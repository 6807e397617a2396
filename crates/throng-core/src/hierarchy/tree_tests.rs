use proptest::prelude::*;

use super::*;
use crate::test_tables::{cases, countries, tree};

fn paths(lines: &[&str]) -> Vec<Vec<String>> {
    lines.iter().map(|line| line.split(';').map(str::to_owned).collect()).collect()
}

fn error(lines: &[&str]) -> TreeError {
    Tree::from_paths(&paths(lines)).unwrap_err()
}

/// Returns the path from a leaf to the root, both included.
fn climb(tree: &Tree, position: u32) -> Vec<Node> {
    std::iter::successors(Some(tree.leaf_node(position)), |node| tree.parent(*node)).collect()
}

fn naive_ancestor(tree: &Tree, lo: u32, hi: u32) -> Node {
    let right = climb(tree, hi);
    climb(tree, lo).into_iter().find(|node| right.contains(node)).unwrap()
}

/// Valid paths: a node is named by the digits of its path, so that no two parents share a child. The number of a leaf
/// makes it unique.
fn random_paths() -> impl Strategy<Value = Vec<Vec<String>>> {
    (1_usize..=4).prop_flat_map(|inner| {
        let digits = prop::collection::vec(0_u8..3, inner);
        prop::collection::vec(digits, 1..40).prop_map(|leaves| {
            let path = |(number, digits): (usize, &Vec<u8>)| {
                let name = |depth: usize| format!("{:?}", &digits[..depth]);
                let middle = (1..=digits.len()).rev().map(name);
                std::iter::once(format!("leaf {number}")).chain(middle).chain(["*".to_owned()]).collect()
            };
            leaves.iter().enumerate().map(path).collect()
        })
    })
}

proptest! {
    #![proptest_config(cases(64))]

    #[test]
    fn a_common_ancestor_is_what_a_climb_finds(paths in random_paths(), with_null: bool) {
        let tree = Tree::from_paths(&paths).unwrap();
        let tree = if with_null { tree.with_null() } else { tree };
        for lo in 0..tree.leaf_count() as u32 {
            for hi in lo..tree.leaf_count() as u32 {
                let node = tree.common_ancestor(lo, hi);
                prop_assert_eq!(node, naive_ancestor(&tree, lo, hi));
                prop_assert!((lo..=hi).all(|leaf| climb(&tree, leaf).contains(&node)));
            }
        }
    }

    #[test]
    fn leaves_below_a_node_are_a_run_of_positions(paths in random_paths()) {
        let tree = Tree::from_paths(&paths).unwrap();
        for node in (0..tree.node_count() as u32).map(Node) {
            let below: Vec<u32> =
                (0..tree.leaf_count() as u32).filter(|leaf| climb(&tree, *leaf).contains(&node)).collect();
            let (first, last) = tree.leaf_range(node);
            prop_assert_eq!(&below, &(first..=last).collect::<Vec<u32>>());
            prop_assert_eq!(tree.leaves_below(node) as usize, below.len());
        }
    }

    #[test]
    fn a_height_is_the_longest_way_down(paths in random_paths()) {
        let tree = Tree::from_paths(&paths).unwrap();
        for node in (0..tree.node_count() as u32).map(Node) {
            let steps = |leaf: u32| climb(&tree, leaf).iter().position(|above| *above == node);
            let longest = (0..tree.leaf_count() as u32).filter_map(steps).max().unwrap();
            prop_assert_eq!(tree.height(node) as usize, longest);
        }
    }

    #[test]
    fn every_leaf_keeps_its_path(paths in random_paths()) {
        let tree = Tree::from_paths(&paths).unwrap();
        prop_assert_eq!(tree.leaf_count(), paths.len());
        for path in &paths {
            let nodes = climb(&tree, tree.leaf(&path[0]).unwrap());
            let labels: Vec<&str> = nodes.iter().map(|node| tree.label(*node)).collect();
            prop_assert_eq!(labels, path.iter().map(String::as_str).collect::<Vec<_>>());
        }
    }
}

#[test]
fn scattered_lines_of_one_parent_become_neighbours() {
    let tree = tree(&["France;Europe;*", "Japan;Asia;*", "Spain;Europe;*"]);
    let at = |label: &str| tree.leaf(label).unwrap();
    assert_eq!((at("France"), at("Spain"), at("Japan")), (0, 1, 2));
    assert_eq!(tree.label(tree.common_ancestor(0, 1)), "Europe");
    assert_eq!(tree.label(tree.common_ancestor(1, 2)), "*");
    assert_eq!(tree.leaf("Europe"), None);
    assert_eq!(tree.leaf("Atlantis"), None);
}

#[test]
fn heights_count_from_the_leaves() {
    let tree = countries();
    let europe = tree.common_ancestor(0, 2);
    assert_eq!(tree.height(tree.leaf_node(0)), 0);
    assert_eq!((tree.height(europe), tree.leaves_below(europe)), (1, 3));
    assert_eq!((tree.height(tree.root()), tree.leaves_below(tree.root())), (2, 5));
    assert_eq!(tree.parent(europe), Some(tree.root()));
    assert_eq!(tree.parent(tree.root()), None);
}

#[test]
fn a_label_that_repeats_upwards_skips_a_level() {
    let tree = tree(&["Private;Work;*", "Public;Work;*", "Other;Other;*", "*;*;*"]);
    let other = tree.leaf("Other").unwrap();
    assert_eq!(other, 2);
    assert_eq!(tree.leaf("*"), Some(3));
    assert_eq!(tree.label(tree.parent(tree.leaf_node(other)).unwrap()), "Other");
    // A class with only Other is the leaf itself, not its parent.
    assert_eq!(tree.common_ancestor(other, other), tree.leaf_node(other));
    assert_eq!(tree.common_ancestor(1, other), tree.root());
    assert_eq!((tree.leaf_count(), tree.height(tree.root())), (4, 2));
}

#[test]
fn a_single_leaf_hangs_below_its_root() {
    let tree = tree(&["A;*"]);
    assert_eq!((tree.leaf_count(), tree.node_count(), tree.height(tree.root())), (1, 2, 1));
    assert_eq!(tree.label(tree.common_ancestor(0, 0)), "A");
    assert_eq!(tree.leaf_range(tree.root()), (0, 0));
}

#[test]
fn a_root_alone_is_its_own_leaf() {
    let tree = tree(&["A"]);
    assert_eq!((tree.leaf_count(), tree.node_count(), tree.height(tree.root())), (1, 1, 0));
    assert_eq!(tree.leaf("A"), Some(0));
    assert_eq!(tree.common_ancestor(0, 0), tree.root());
}

#[test]
fn null_never_takes_the_place_of_a_value() {
    let tree = tree(&["A"]).with_null();
    assert_ne!(tree.leaf("A"), None);
    assert_ne!(tree.leaf("A"), tree.null_leaf());
    assert_eq!(tree.leaf("A"), Some(0), "positions that were handed out before must still hold");
}

#[test]
fn the_leaf_of_null_is_the_last_below_the_root_and_has_no_name() {
    let tree = countries().with_null();
    assert_eq!((tree.leaf_count(), tree.null_leaf()), (6, Some(5)));
    assert_eq!(tree.leaf(""), None);
    assert_eq!(tree.common_ancestor(4, 5), tree.root());
    assert_eq!(tree.parent(tree.leaf_node(5)), Some(tree.root()));
    assert_eq!(tree.leaf("China"), Some(4));
    assert_eq!(countries().null_leaf(), None);
}

#[test]
fn an_empty_text_is_a_value_and_not_null() {
    let tree = Tree::flat(&["", "a"]).with_null();
    assert_eq!((tree.leaf(""), tree.leaf("a"), tree.null_leaf()), (Some(0), Some(1), Some(2)));
}

#[test]
fn a_column_of_nothing_but_null_has_its_leaf() {
    let tree = Tree::flat::<&str>(&[]).with_null();
    let null = tree.null_leaf().unwrap();
    assert!(tree.label(tree.leaf_node(null)).is_empty());
}

#[test]
fn no_line_is_an_empty_hierarchy() {
    assert_eq!(Tree::from_paths::<&str>(&[]).unwrap_err(), TreeError::Empty);
    assert_eq!(Tree::from_paths::<&str>(&[vec![]]).unwrap_err(), TreeError::Empty);
}

#[test]
fn a_line_of_another_length_is_named() {
    let lines = ["a;X;*", "b;X;*", "c;*", "d;X;Y;*"];
    assert_eq!(error(&lines), TreeError::Ragged { line: 3, found: 2, expected: 3 });
    let longer = ["a;*", "b;X;*"];
    assert_eq!(error(&longer), TreeError::Ragged { line: 2, found: 3, expected: 2 });
    let none = [vec!["a", "*"], vec![]];
    assert_eq!(Tree::from_paths(&none).unwrap_err(), TreeError::Ragged { line: 2, found: 0, expected: 2 });
}

#[test]
fn a_line_with_another_root_is_named() {
    assert_eq!(error(&["a;*", "b;*", "c;All"]), TreeError::Roots { line: 3 });
    assert_eq!(error(&["a", "b"]), TreeError::Roots { line: 2 });
}

#[test]
fn both_lines_of_a_repeated_value_are_named() {
    assert_eq!(error(&["a;X;*", "b;X;*", "c;X;*", "b;Y;*"]), TreeError::DuplicateLeaf { line: 4, first: 2 });
    assert_eq!(error(&["a", "a"]), TreeError::DuplicateLeaf { line: 2, first: 1 });
}

#[test]
fn both_lines_of_a_value_with_two_parents_are_named() {
    let lines = ["a;X;P;*", "b;Y;P;*", "c;Y;Q;*"];
    assert_eq!(error(&lines), TreeError::TwoParents { line: 3, first: 2, level: 1 });
    let higher = ["a;X;P;S;*", "b;Y;P;T;*"];
    assert_eq!(error(&higher), TreeError::TwoParents { line: 2, first: 1, level: 2 });
}

#[test]
fn a_value_above_itself_is_a_cycle() {
    assert_eq!(error(&["x;Y;*", "a;B;a"]), TreeError::Roots { line: 2 });
    assert_eq!(error(&["x;Y;Z;*", "a;B;a;*"]), TreeError::Cycle { line: 2, lower: 0, upper: 2 });
    assert_eq!(error(&["a;B;C;B;*"]), TreeError::Cycle { line: 1, lower: 1, upper: 3 });
    assert_eq!(error(&["*;B;*"]), TreeError::Cycle { line: 1, lower: 0, upper: 2 });
    assert_eq!(error(&["a;a;B;B;a;a;*"]), TreeError::Cycle { line: 1, lower: 0, upper: 4 });
}

#[test]
fn one_label_at_two_levels_is_two_nodes() {
    let tree = tree(&["a;b;*", "b;c;*"]);
    assert_eq!((tree.leaf_count(), tree.node_count()), (2, 5));
    assert_eq!(tree.common_ancestor(0, 1), tree.root());
}

#[test]
fn no_error_quotes_a_label() {
    let errors = [
        error(&["secret;*", "secret;*"]),
        error(&["secret;*", "b;x;*"]),
        error(&["a;*", "b;secret"]),
        error(&["a;secret;P;*", "b;secret;Q;*"]),
        error(&["secret;B;secret;*"]),
    ];
    for error in errors {
        assert!(!error.to_string().contains("secret"), "{error}");
    }
}

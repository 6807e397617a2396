//! Any text as a hierarchy file: it is refused, or is a tree of exactly these lines.

use throng_core::hierarchy::{Node, Tree};

/// Maximum number of leaves that are compared pairwise.
const PAIRED: usize = 40;

/// Reads bytes as a hierarchy.
pub fn check(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    match throng_policy::parse_hierarchy(text) {
        Err(error) => assert!(!error.to_string().is_empty()),
        Ok(tree) => {
            check_tree(&tree);
            if !text.contains('"') {
                check_lines(&tree, text.strip_prefix('\u{feff}').unwrap_or(text));
            }
        }
    }
}

/// Returns the nodes from a leaf to the root.
fn way(tree: &Tree, leaf: u32) -> Vec<Node> {
    std::iter::successors(Some(tree.leaf_node(leaf)), |node| tree.parent(*node)).collect()
}

fn labels(tree: &Tree, way: &[Node]) -> Vec<String> {
    let mut labels: Vec<String> = way.iter().map(|node| tree.label(*node).to_owned()).collect();
    labels.dedup();
    labels
}

fn check_tree(tree: &Tree) {
    let leaves = tree.leaf_count() as u32;
    assert!(leaves > 0 && tree.node_count() > leaves as usize);
    let ways: Vec<Vec<Node>> = (0..leaves).map(|leaf| way(tree, leaf)).collect();
    for (leaf, way) in ways.iter().enumerate() {
        assert_eq!(way.last(), Some(&tree.root()));
        assert_eq!(tree.leaf(tree.label(way[0])), Some(leaf as u32), "a leaf is not found by its label");
        for node in way {
            let (first, last) = tree.leaf_range(*node);
            assert!((first..=last).contains(&(leaf as u32)));
            assert_eq!(tree.leaves_below(*node), last - first + 1);
        }
    }
    for (lo, low_way) in ways.iter().enumerate().take(PAIRED) {
        for (hi, high_way) in ways.iter().enumerate().take(PAIRED).skip(lo) {
            let met = low_way.iter().find(|node| high_way.contains(node)).expect("all ways meet");
            assert_eq!(tree.common_ancestor(lo as u32, hi as u32), *met, "of the leaves {lo} and {hi}");
        }
    }
}

/// Checks that the lines are exactly the paths of the leaves.
fn check_lines(tree: &Tree, text: &str) {
    let lines: Vec<&str> = text.split(['\n', '\r']).filter(|line| !line.is_empty()).collect();
    assert_eq!(tree.leaf_count(), lines.len());
    for line in lines {
        let mut written: Vec<&str> = line.split(';').collect();
        let leaf = tree.leaf(written[0]).expect("the value of a line is a leaf");
        written.dedup();
        assert_eq!(labels(tree, &way(tree, leaf)), written);
    }
}

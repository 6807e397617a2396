use std::sync::Arc;

use arrow::array::{ArrayRef, Date32Array, Float64Array, Int64Array};
use proptest::prelude::*;

use super::*;
use crate::hierarchy::{Node, Tree, build_tree};

fn above(tree: &Tree, leaf: u32) -> Vec<Node> {
    let root = tree.root();
    std::iter::successors(tree.parent(tree.leaf_node(leaf)), |node| tree.parent(*node))
        .filter(|node| *node != root)
        .collect()
}

proptest! {
    /// Every label above a value, as a release would show it, stands for a range that has exactly the values below it.
    #[test]
    fn ranges_have_the_values_below_their_labels(
        mut numbers in prop::collection::vec(-500_i64..500, 1..40),
        kind in 0_usize..4,
        origin in -7_i32..7,
    ) {
        numbers.sort_unstable();
        numbers.dedup();
        let halves: Vec<f64> = numbers.iter().map(|number| *number as f64 / 2.0).collect();
        let dates: Vec<i32> = numbers.iter().map(|number| *number as i32 * 97).collect();
        let origin = f64::from(origin);
        let all = vec![DatePart::Day, DatePart::Month, DatePart::Quarter, DatePart::Year, DatePart::Decade];
        let (values, spec, numbers): (ArrayRef, HierarchySpec, Vec<f64>) = match kind {
            0 => {
                let spec = HierarchySpec::Intervals { origin, widths: vec![5.0, 10.0, 100.0] };
                let as_f64 = numbers.iter().map(|number| *number as f64).collect();
                (Arc::new(Int64Array::from(numbers)), spec, as_f64)
            }
            1 => {
                let spec = HierarchySpec::Intervals { origin, widths: vec![2.5, 10.0] };
                (Arc::new(Float64Array::from(halves.clone())), spec, halves)
            }
            2 => {
                let spec = HierarchySpec::DateParts(all);
                let days = dates.iter().map(|day| f64::from(*day)).collect();
                (Arc::new(Date32Array::from(dates)), spec, days)
            }
            _ => {
                let spec = HierarchySpec::DateParts(vec![DatePart::Quarter, DatePart::Decade]);
                let days = dates.iter().map(|day| f64::from(*day)).collect();
                (Arc::new(Date32Array::from(dates)), spec, days)
            }
        };
        let (tree, positions) = build_tree(&spec, &values).unwrap();
        for leaf in 0..tree.leaf_count() as u32 {
            for node in above(&tree, leaf) {
                let band = label_range(&spec, tree.label(node));
                prop_assert!(band.is_some(), "{}", tree.label(node));
                for (number, position) in numbers.iter().zip(&positions) {
                    let is_below = (tree.leaf_range(node).0..=tree.leaf_range(node).1).contains(position);
                    prop_assert_eq!(band.unwrap().contains(*number), is_below, "{} {}", number, tree.label(node));
                }
            }
        }
    }
}

#[test]
fn other_texts_are_no_labels() {
    let tens = HierarchySpec::Intervals { origin: 0.0, widths: vec![10.0] };
    assert_eq!(label_range(&tens, "[-10--1]"), Some(ValueBand { from: -10.0, below: 0.0 }));
    for text in ["", "20", "[20-29", "[20-39]", "[21-30]", "[29-20]", "[a-b]", "[20]", "[NaN-inf)", "*"] {
        assert_eq!(label_range(&tens, text), None, "{text}");
    }
    let months = HierarchySpec::DateParts(vec![DatePart::Month, DatePart::Year]);
    assert_eq!(label_range(&months, "1970-02"), Some(ValueBand { from: 31.0, below: 59.0 }));
    assert_eq!(label_range(&months, "1971"), Some(ValueBand { from: 365.0, below: 730.0 }));
    for text in ["1970-2", "1970-13", "1970-Q1", "1970s", "1970-01-01", "+1970", "year", "*"] {
        assert_eq!(label_range(&months, text), None, "{text}");
    }
    assert_eq!(mask_affix(MaskSide::Right, "41***"), Some("41"));
    assert_eq!(mask_affix(MaskSide::Left, "*41"), Some("41"));
    for (side, text) in
        [(MaskSide::Right, "41"), (MaskSide::Right, "***"), (MaskSide::Left, "41*"), (MaskSide::Left, "")]
    {
        assert_eq!(mask_affix(side, text), None, "{text}");
    }
}

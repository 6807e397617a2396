use std::sync::Arc;

use arrow::array::{Date32Array, Float64Array};

use super::*;
use crate::hierarchy::DatePart;
use crate::test_tables::{ints, texts};

fn codes(hierarchy: HierarchySpec, protected: &[&str], rule: &LookAlikeRule, values: &ArrayRef) -> Vec<u32> {
    let protected = protected.iter().map(|label| (*label).to_owned()).collect();
    let protection = Protection { hierarchy: Arc::new(hierarchy), protected };
    let (codes, distinct) = codes_by_rule(&protection, rule, "secret", values).unwrap();
    assert_eq!(distinct, codes.iter().filter(|code| **code != NULL).max().map_or(0, |code| code + 1));
    codes
}

#[test]
fn codes_below_a_protected_mask_are_one_however_long_they_are() {
    let values = texts(&["E1", "E10", "E110", "E2", "F10", "e112"]);
    let right = || HierarchySpec::Mask(MaskSide::Right);
    for label in ["E1*", "E1**", "E1*****"] {
        assert_eq!(codes(right(), &[label], &LookAlikeRule::distinct(), &values), [0, 0, 0, 1, 2, 3], "{label}");
        assert_eq!(codes(right(), &[label], &LookAlikeRule::default(), &values), [0, 0, 0, 1, 2, 0], "{label}");
    }
    assert_eq!(codes(right(), &["E11*", "E*"], &LookAlikeRule::default(), &values), [0, 0, 0, 0, 1, 0]);
    let missing = LookAlikeRule { merges: true, missing: Arc::new(["e2".to_owned()]) };
    assert_eq!(codes(right(), &["E1*"], &missing, &values), [0, 0, 0, NULL, 1, 0]);
    let left = codes(HierarchySpec::Mask(MaskSide::Left), &["*10"], &LookAlikeRule::default(), &values);
    assert_eq!(left, [0, 1, 1, 2, 1, 3]);
}

#[test]
fn numbers_and_dates_below_a_protected_range_are_one() {
    let rule = LookAlikeRule::default();
    let tens = || HierarchySpec::Intervals { origin: 0.0, widths: vec![10.0, 100.0] };
    let numbers = ints(&[19, 20, 29, 30, 31, 140]);
    assert_eq!(codes(tens(), &["[20-29]"], &rule, &numbers), [0, 1, 1, 2, 3, 4]);
    assert_eq!(codes(tens(), &["[20-29]", "[0-99]"], &rule, &numbers), [0, 0, 0, 0, 0, 1]);
    let tenths = HierarchySpec::Intervals { origin: 0.0, widths: vec![0.1] };
    let floats: ArrayRef = Arc::new(Float64Array::from(vec![0.3, 0.1 + 0.2, 0.35, 0.4]));
    assert_eq!(codes(tenths, &["[0.3-0.4)"], &rule, &floats), [0, 0, 0, 1]);
    let days: ArrayRef = Arc::new(Date32Array::from(vec![-1, 0, 30, 31, 400]));
    let parts = || HierarchySpec::DateParts(vec![DatePart::Month, DatePart::Year]);
    assert_eq!(codes(parts(), &["1970-01"], &rule, &days), [0, 1, 1, 2, 3]);
    assert_eq!(codes(parts(), &["1970-01", "1970"], &rule, &days), [0, 1, 1, 1, 2]);
}

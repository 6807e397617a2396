//! Rule-based hierarchies, and categories by prefix and band: the verifier against the codes that the algorithms use, and
//! against counts by hand.

use std::collections::BTreeSet;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, Date32Array, Float64Array, Int64Array, RecordBatch, StringArray};
use proptest::prelude::*;

use super::tests::promise;
use super::{
    CategoryRules, Findings, LevelRule, Promise, ProtectedLabels, SensitivePromise, SensitiveReading, Verifier,
};
use crate::columns::{Categories, Category, Protection, SensitiveCoding, ValueBand};
use crate::domain::NULL;
use crate::hierarchy::{DatePart, HierarchySpec, MaskSide, label_range, mask_affix};
use crate::look_alikes::LookAlikeRule;
use crate::model::{FrequencyRequirement, GroundDistance, Tally, TallyShape, frequency_model};
use crate::sensitive_coding::{codes, tree_of_codes};
use crate::table::SensitiveColumn;
use crate::test_tables::cases;

fn findings(classes: &[u8], secrets: &ArrayRef, sensitive: SensitivePromise) -> Findings {
    let classes: ArrayRef = Arc::new(classes.iter().map(|class| Some(i64::from(*class))).collect::<Int64Array>());
    let release =
        RecordBatch::try_from_iter_with_nullable([("age", classes, false), ("secret", Arc::clone(secrets), true)]);
    let release = release.unwrap();
    let promise = Promise { sensitive: vec![sensitive], ..promise(&["age"], &[], 1, 1) };
    let verifier = || Verifier::new(promise.clone(), &release.schema()).unwrap();
    let (mut first, mut second) = (verifier(), verifier());
    let middle = release.num_rows() / 2;
    first.push(&release.slice(0, middle)).unwrap();
    second.push(&release.slice(middle, release.num_rows() - middle)).unwrap();
    first.merge(second);
    let summary = first.summary();
    let concluded = verifier().conclude([summary.as_slice()]).unwrap();
    let found = first.finish();
    assert_eq!(concluded, found);
    found
}

/// Returns the code of each row under a coding of its distinct values.
fn coded(coding: &SensitiveCoding, rule: &LookAlikeRule, secrets: &ArrayRef) -> (ArrayRef, Vec<u32>) {
    let ranks = crate::survey::DenseRanks::of(secrets).unwrap();
    let (of_value, _) = codes(coding, rule, "secret", &ranks.values, None).unwrap();
    (ranks.values, ranks.rank.iter().map(|rank| of_value[*rank as usize]).collect())
}

/// Returns the least number of distinct codes of a class.
fn fewest(classes: &[u8], codes: &[u32]) -> u64 {
    let present: BTreeSet<u8> = classes.iter().copied().collect();
    let distinct = |class: u8| {
        let codes = classes.iter().zip(codes).filter(|(of, code)| **of == class && **code != NULL);
        codes.map(|(_, code)| *code).collect::<BTreeSet<_>>().len() as u64
    };
    present.into_iter().map(distinct).min().unwrap_or(0)
}

/// A column with a rule-based hierarchy that fits it, and labels of the hierarchy.
fn column() -> impl Strategy<Value = (ArrayRef, HierarchySpec, Vec<String>)> {
    let texts = prop::collection::vec("[aAbB]{1,4}", 4..20)
        .prop_map(|texts| Arc::new(StringArray::from_iter_values(texts)) as ArrayRef);
    let mask =
        (texts, any::<bool>(), prop::collection::vec("[aAbB]{1,2}", 1..3)).prop_map(|(texts, is_right, affixes)| {
            let side = if is_right { MaskSide::Right } else { MaskSide::Left };
            let label = |affix: String| if is_right { format!("{affix}**") } else { format!("**{affix}") };
            (texts, HierarchySpec::Mask(side), affixes.into_iter().map(label).collect())
        });
    let ints = (prop::collection::vec(-40_i64..40, 4..20), -4_i64..4).prop_map(|(numbers, at)| {
        let spec = HierarchySpec::Intervals { origin: 0.0, widths: vec![5.0, 20.0] };
        let labels = vec![format!("[{}-{}]", at * 5, at * 5 + 4), format!("[{}-{})", at / 2 * 20, at / 2 * 20 + 20)];
        (Arc::new(Int64Array::from(numbers)) as ArrayRef, spec, labels)
    });
    let tenths = prop::collection::vec(-20_i32..20, 4..20).prop_map(|numbers| {
        let numbers: Float64Array = numbers.iter().map(|number| Some(f64::from(*number) * 0.1)).collect();
        let spec = HierarchySpec::Intervals { origin: 0.0, widths: vec![0.3, 0.6] };
        (Arc::new(numbers) as ArrayRef, spec, vec!["[0.3-0.6)".to_owned(), "[-0.6-0)".to_owned()])
    });
    let days = (prop::collection::vec(-900_i32..900, 4..20), 0_i32..3).prop_map(|(days, year)| {
        let spec = HierarchySpec::DateParts(vec![DatePart::Month, DatePart::Year]);
        (Arc::new(Date32Array::from(days)) as ArrayRef, spec, vec![(1969 + year).to_string(), "1970-02".to_owned()])
    });
    prop_oneof![mask, ints, tenths, days]
}

fn strong_reading(spec: &HierarchySpec, labels: &[String]) -> SensitiveReading {
    SensitiveReading::StrongByRule(match spec {
        HierarchySpec::Mask(side) => {
            let affixes = labels.iter().map(|label| mask_affix(*side, label).unwrap().to_owned()).collect();
            if *side == MaskSide::Right {
                ProtectedLabels::Prefixes(affixes)
            } else {
                ProtectedLabels::Suffixes(affixes)
            }
        }
        spec => ProtectedLabels::Ranges(labels.iter().map(|label| label_range(spec, label).unwrap()).collect()),
    })
}

fn level_reading(spec: &HierarchySpec) -> SensitiveReading {
    SensitiveReading::Levels(match spec {
        HierarchySpec::Mask(side) => LevelRule::Mask(*side),
        HierarchySpec::Intervals { origin, widths } => {
            LevelRule::Intervals { origin: *origin, widths: widths.as_slice().into() }
        }
        HierarchySpec::DateParts(parts) => LevelRule::DateParts(parts.as_slice().into()),
        other => panic!("{other:?}"),
    })
}

proptest! {
    #![proptest_config(cases(200))]

    #[test]
    fn strong_values_are_counted_as_the_algorithms_count_them(
        (secrets, spec, labels) in column(),
        classes in prop::collection::vec(0_u8..3, 20),
        merges: bool,
    ) {
        let classes = &classes[..secrets.len()];
        let rule = LookAlikeRule { merges, missing: Arc::new(["aB".to_owned(), "7".to_owned()]) };
        let protection = Protection { hierarchy: Arc::new(spec.clone()), protected: labels.clone() };
        let (_, codes) = coded(&SensitiveCoding::Strong(Arc::new(protection)), &rule, &secrets);
        let reading = strong_reading(&spec, &labels);
        let found = findings(classes, &secrets, SensitivePromise {
            reading, look_alikes: rule, ..SensitivePromise::plain("secret", 2)
        });
        prop_assert_eq!(found.diversity[0].fewest, fewest(classes, &codes));
        prop_assert_eq!(found.holds(), fewest(classes, &codes) >= 2);
    }

    #[test]
    fn distances_by_rule_are_those_of_the_algorithms(
        (secrets, spec, _) in column(),
        classes in prop::collection::vec(0_u8..3, 20),
        t in 0.0_f64..0.9,
        has_missing: bool,
    ) {
        let classes = &classes[..secrets.len()];
        let missing: Arc<[String]> = if has_missing { ["aB".to_owned(), "7".to_owned()].into() } else { [].into() };
        let rule = LookAlikeRule { merges: true, missing };
        let (values, codes) = coded(&SensitiveCoding::Leaves(Arc::new(spec.clone())), &rule, &secrets);
        let tree = tree_of_codes(&spec, &rule, "secret", &values).unwrap();
        let column = SensitiveColumn {
            name: "secret".into(), counted: "values", distinct: values.len() as u32, numbers: None,
            tree: Some(Arc::new(tree)), elements: None, is_unit: false,
        };
        let tally = |class: Option<u8>| {
            let mut tally = Tally::empty(TallyShape::without_units(1));
            let rows = classes.iter().zip(&codes).filter(|(of, _)| class.is_none_or(|class| **of == class));
            rows.for_each(|(_, code)| tally.add(&[*code], 1));
            tally
        };
        let requirement = FrequencyRequirement::Closeness { t, distance: GroundDistance::Hierarchical };
        let model = frequency_model(requirement, 0).for_release(&[column], &tally(None)).unwrap();
        let satisfied = (0..3).map(|class| tally(Some(class))).all(|class| model.deficit(&class) == 0);
        // A value that is missing and longer than all others makes the mask of the algorithms higher by its length.
        prop_assume!(!has_missing || !matches!(spec, HierarchySpec::Mask(_)));
        let found = findings(classes, &secrets, SensitivePromise {
            reading: level_reading(&spec), frequencies: vec![requirement], look_alikes: rule,
            ..SensitivePromise::plain("secret", 1)
        });
        prop_assert_eq!(found.holds(), satisfied, "{:?}", found.requirements);
    }

    #[test]
    fn categories_by_prefix_and_band_are_counted_by_hand(
        texts in prop::collection::vec("[CD][0-2]{0,2}", 4..20),
        numbers in prop::collection::vec(-30_i64..30, 4..20),
        classes in prop::collection::vec(0_u8..3, 20),
    ) {
        let secrets: ArrayRef = Arc::new(StringArray::from_iter_values(&texts));
        let prefixed = |name: &str, values: &[&str], prefixes: &[&str]| Category {
            name: name.into(),
            values: values.iter().map(|text| (*text).to_owned()).collect(),
            prefixes: prefixes.iter().map(|text| (*text).to_owned()).collect(),
            bands: Vec::new(),
        };
        let list = vec![prefixed("a", &["D1"], &["C"]), prefixed("b", &[], &["C1", "D"]), prefixed("c", &["C12"], &["D11"])];
        let by_hand = |text: &String| match text.as_str() {
            "D1" => 0,
            "C12" => 2,
            text if text.starts_with("D11") => 2,
            text if text.starts_with("C1") || text.starts_with('D') => 1,
            _ => 0,
        };
        let expected: Vec<u32> = texts.iter().map(by_hand).collect();
        check(&secrets, Categories { list }, &expected, &classes[..texts.len()])?;

        let secrets: ArrayRef = Arc::new(Int64Array::from(numbers.clone()));
        let (whole, none) = (f64::INFINITY, f64::NEG_INFINITY);
        let banded = |name: &str, values: &[&str], bands: &[(f64, f64)]| Category {
            bands: bands.iter().map(|(from, below)| ValueBand { from: *from, below: *below }).collect(),
            ..prefixed(name, values, &[])
        };
        let list = vec![
            banded("a", &["7"], &[(none, -10.0), (20.0, whole)]),
            banded("b", &[], &[(-10.0, 0.0)]),
            banded("c", &["25"], &[(0.0, 20.0)]),
        ];
        let by_hand = |number: &i64| match number {
            7 => 0,
            25 => 2,
            ..-10 | 20.. => 0,
            -10..0 => 1,
            0..20 => 2,
        };
        let expected: Vec<u32> = numbers.iter().map(by_hand).collect();
        check(&secrets, Categories { list }, &expected, &classes[..numbers.len()])?;
    }
}

/// Compares the codes of the algorithms and the counts of the verifier with categories that are known.
fn check(secrets: &ArrayRef, categories: Categories, expected: &[u32], classes: &[u8]) -> Result<(), TestCaseError> {
    let coding = SensitiveCoding::Categories(Arc::new(categories.clone()));
    prop_assert_eq!(&coded(&coding, &LookAlikeRule::default(), secrets).1, expected);
    let numbered = || categories.list.iter().zip(0_u32..);
    let of = numbered().flat_map(|(one, code)| one.values.iter().map(move |value| (value.clone(), code)));
    let prefixes = numbered().flat_map(|(one, code)| one.prefixes.iter().map(move |text| (text.clone(), code)));
    let bands = numbered().flat_map(|(one, code)| one.bands.iter().map(move |band| (*band, code)));
    let rules = CategoryRules { prefixes: prefixes.collect(), bands: bands.collect() };
    let reading = SensitiveReading::Categories { of: Arc::new(of.collect()), rules, count: 3, labels: None };
    let found = findings(classes, secrets, SensitivePromise { reading, ..SensitivePromise::plain("secret", 2) });
    prop_assert_eq!(found.diversity[0].fewest, fewest(classes, expected));
    prop_assert_eq!(found.holds(), fewest(classes, expected) >= 2);
    Ok(())
}

#[test]
fn a_value_without_a_category_counts_for_nothing() {
    let secrets: ArrayRef = Arc::new(StringArray::from(vec!["C1", "D1", "E1"]));
    let rules =
        CategoryRules { prefixes: [("C".to_owned(), 0), ("D".to_owned(), 1)].into(), ..CategoryRules::default() };
    let reading = SensitiveReading::Categories { of: Arc::default(), rules, count: 2, labels: None };
    let found = findings(&[1, 1, 1], &secrets, SensitivePromise { reading, ..SensitivePromise::plain("secret", 3) });
    assert_eq!((found.diversity[0].fewest, found.holds()), (2, false));
}

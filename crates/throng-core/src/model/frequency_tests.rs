//! Models of frequencies against formulas written out on lists of values.

use std::sync::Arc;

use proptest::prelude::*;

use super::*;
use crate::domain::NULL;
use crate::hierarchy::{CodeTree, Tree};
use crate::table::SensitiveColumn;
use crate::test_tables::{cases, frequency_requirement};

const VALUES: u32 = 5;

/// Groups of the values below the root: 0 and 1 below one, 2 and 3 below another, which are one level below the root, and 4
/// directly below the root.
const PATHS: [[&str; 4]; 5] = [
    ["0", "low", "known", "*"],
    ["1", "low", "known", "*"],
    ["2", "high", "known", "*"],
    ["3", "high", "known", "*"],
    ["4", "4", "4", "*"],
];

fn tree() -> Arc<CodeTree> {
    let tree = Tree::from_paths(&PATHS.map(|path| path.to_vec())).unwrap();
    let leaves: Vec<_> = (0..VALUES).map(|code| tree.leaf_node(tree.leaf(&code.to_string()).unwrap())).collect();
    Arc::new(CodeTree::new(&tree, &leaves))
}

fn column() -> SensitiveColumn {
    let numbers: Arc<[f64]> = (0..VALUES).map(|code| f64::from(code * code)).collect();
    SensitiveColumn {
        name: "s".into(),
        counted: "values",
        distinct: VALUES,
        numbers: Some(numbers),
        tree: Some(tree()),
        elements: None,
        is_unit: false,
    }
}

fn class(codes: &[u32]) -> Tally {
    let mut tally = Tally::empty(TallyShape::without_units(1));
    codes.iter().for_each(|code| tally.add(&[*code], 1));
    tally
}

fn shares(codes: &[u32]) -> Vec<f64> {
    let known: Vec<u32> = codes.iter().copied().filter(|code| *code != NULL).collect();
    let of = |value: u32| known.iter().filter(|code| **code == value).count() as f64 / known.len().max(1) as f64;
    (0..VALUES).map(of).collect()
}

/// Whether a class satisfies a requirement, from its definition.
fn holds(requirement: FrequencyRequirement, codes: &[u32], release: &[u32]) -> bool {
    let known = codes.iter().filter(|code| **code != NULL).count();
    let (own, all) = (shares(codes), shares(release));
    let mut descending = own.clone();
    descending.sort_by(|a, b| b.total_cmp(a));
    match requirement {
        _ if known == 0 => !matches!(
            requirement,
            FrequencyRequirement::EntropyDiversity { .. }
                | FrequencyRequirement::RecursiveDiversity { .. }
                | FrequencyRequirement::ValueRange(_)
        ),
        FrequencyRequirement::MaxShare(share) => descending[0] <= share + 1e-12,
        FrequencyRequirement::EntropyDiversity { l } => {
            let entropy: f64 = own.iter().filter(|share| **share > 0.0).map(|share| -share * share.ln()).sum();
            entropy >= l.ln() - 1e-12
        }
        FrequencyRequirement::RecursiveDiversity { c, l } => {
            descending[0] < c * descending[l as usize - 1..].iter().sum::<f64>() - 1e-12
        }
        FrequencyRequirement::Closeness { t, distance: GroundDistance::Equal } => {
            own.iter().zip(&all).map(|(own, all)| (own - all).abs()).sum::<f64>() / 2.0 <= t + 1e-12
        }
        FrequencyRequirement::Closeness { t, distance: GroundDistance::Ordered } => {
            let present: Vec<usize> = (0..all.len()).filter(|value| all[*value] > 0.0).collect();
            let upto = |shares: &[f64], end: usize| present[..end].iter().map(|value| shares[*value]).sum::<f64>();
            let steps = (1..=present.len()).map(|end| (upto(&own, end) - upto(&all, end)).abs());
            present.len() < 2 || steps.sum::<f64>() / (present.len() - 1) as f64 <= t + 1e-12
        }
        FrequencyRequirement::Closeness { t, distance: GroundDistance::Hierarchical } => {
            // Whatever is moved out of or into a subtree crosses the edge above it.
            let moved = |of: &[usize], length: f64| {
                of.iter().map(|value| own[*value] - all[*value]).sum::<f64>().abs() * length / 6.0
            };
            let leaves: f64 = (0..4).map(|value| moved(&[value], 1.0)).sum();
            let inner = moved(&[0, 1], 1.0) + moved(&[2, 3], 1.0) + moved(&[0, 1, 2, 3], 1.0);
            leaves + inner + moved(&[4], 3.0) <= t + 1e-12
        }
        FrequencyRequirement::Likeness { beta } => {
            own.iter().zip(&all).all(|(own, all)| *own <= (1.0 + beta) * all + 1e-12)
        }
        FrequencyRequirement::Disclosure { delta } => {
            let changes = own.iter().zip(&all).filter(|(_, all)| **all > 0.0).map(|(own, all)| (own / all).ln().abs());
            own.iter().sum::<f64>() == 0.0 || changes.fold(0.0, f64::max) <= delta + 1e-12
        }
        FrequencyRequirement::ValueRange(least) => {
            let numbers = codes.iter().filter(|code| **code != NULL).map(|code| f64::from(code * code));
            let (lo, hi) = numbers.fold((f64::MAX, f64::MIN), |(lo, hi), number| (lo.min(number), hi.max(number)));
            hi - lo >= least
        }
    }
}

fn codes(most: usize) -> impl Strategy<Value = Vec<u32>> {
    prop::collection::vec(prop_oneof![8 => 0..VALUES, 1 => Just(NULL)], 1..most)
}

fn bound(requirement: FrequencyRequirement, release: &[u32]) -> Arc<dyn Model> {
    let model = frequency_model(requirement, 0);
    let bound = model.for_release(&[column()], &class(release));
    assert_eq!(bound.is_some(), model.needs_release());
    bound.unwrap_or(model)
}

proptest! {
    #![proptest_config(cases(2000))]

    #[test]
    fn the_deficit_is_zero_exactly_where_the_definition_holds(
        requirement in frequency_requirement(1.0..12.0),
        own in codes(12),
        others in codes(20),
    ) {
        let release = [own.clone(), others].concat();
        let (model, tally) = (bound(requirement, &release), class(&own));
        prop_assert_eq!(model.deficit(&tally) == 0, holds(requirement, &own, &release), "{:?}", requirement);
        if model.deficit(&tally) == 0 && own.len() > 1 {
            let is_left = holds(requirement, &own[1..], &release);
            prop_assert_eq!(model.can_lose(&tally, &own[..1]), is_left, "{:?} without the first", requirement);
        }
    }

    #[test]
    fn models_are_closed_under_what_they_declare(requirement in frequency_requirement(1.0..12.0), a in codes(10), b in codes(10), more in codes(9)) {
        let release = [a.clone(), b.clone(), more].concat();
        let model = bound(requirement, &release);
        let (of_a, of_b) = (class(&a), class(&b));
        let mut together = of_a.clone();
        together.merge(&of_b);
        if model.deficit(&of_a) == 0 && model.deficit(&of_b) == 0 {
            prop_assert_eq!(model.deficit(&together), 0, "{:?} merged", requirement);
        }
        if model.closed_under() == ClosedUnder::AddingRows && model.deficit(&of_a) == 0 {
            prop_assert_eq!(model.deficit(&together), 0, "{:?} with more rows", requirement);
        }
    }

    #[test]
    fn a_row_helps_where_it_brings_a_class_closer(t in 0.05_f64..0.6, own in codes(12), others in codes(20)) {
        let release = [own.clone(), others].concat();
        let model = bound(FrequencyRequirement::Closeness { t, distance: GroundDistance::Equal }, &release);
        let distance = |codes: &[u32]| {
            let differences = shares(codes).into_iter().zip(shares(&release)).map(|(own, all)| (own - all).abs());
            if codes.iter().all(|code| *code == NULL) { 0.0 } else { differences.sum::<f64>() / 2.0 }
        };
        let (before, tally) = (distance(&own), class(&own));
        let helps = model.helper(&tally);
        for code in (0..VALUES).chain([NULL]) {
            let after = distance(&[own.clone(), vec![code]].concat());
            if (after - before).abs() > 1e-9 && (before - t).abs() > 1e-9 {
                prop_assert_eq!(helps(&[code]), before > t && after < before, "{} to {} by {}", before, after, code);
            }
            prop_assert_eq!(helps(&[code]), model.helps(&tally, &[code]));
        }
    }

    #[test]
    fn as_many_rows_as_the_deficit_says_are_needed_at_least(requirement in frequency_requirement(1.0..12.0), own in codes(6), others in codes(20)) {
        let release = [own.clone(), others].concat();
        let model = bound(requirement, &release);
        let deficit = model.deficit(&class(&own));
        // Fewer rows than the deficit never suffice, whatever their values: all multisets of up to two rows are tried.
        for missing in 0..deficit.min(3) {
            for first in 0..VALUES {
                for second in 0..VALUES {
                    let added: Vec<u32> = [first, second].into_iter().take(missing as usize).collect();
                    let grown = class(&[own.clone(), added].concat());
                    prop_assert!(model.deficit(&grown) > 0, "{:?}: {} rows suffice", requirement, missing);
                }
            }
        }
    }
}

#[test]
fn requirements_without_words_of_their_own_are_named() {
    assert_eq!(describe_requirement("a model of tomorrow", "s", 4), "s with a model of tomorrow of at least 4");
    for requirement in [
        FrequencyRequirement::MaxShare(0.5),
        FrequencyRequirement::EntropyDiversity { l: 3.0 },
        FrequencyRequirement::RecursiveDiversity { c: 2.0, l: 2 },
        FrequencyRequirement::Closeness { t: 0.2, distance: GroundDistance::Equal },
        FrequencyRequirement::Likeness { beta: 1.0 },
        FrequencyRequirement::Disclosure { delta: 1.0 },
        FrequencyRequirement::ValueRange(10.0),
    ] {
        assert!(!describe_requirement(requirement.name(), "s", 1).contains(requirement.name()), "{requirement:?}");
    }
}

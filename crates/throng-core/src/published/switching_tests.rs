use std::sync::Arc;

use arrow::array::{Array, ArrayRef};
use proptest::prelude::*;

use super::*;
use crate::columns::{Categories, Category, ColumnRecoding, SensitiveCoding, SensitiveSpec};
use crate::hierarchy::{HierarchySpec, MaskSide};
use crate::model::{CategoryWeight, CodeMeaning, KAnonymity, Model, PSensitive};
use crate::published::literal_reference::{leaves, sound_classes};
use crate::survey::{Survey, SurveySpec};
use crate::test_tables::{
    SUN_AGES, SUN_CATEGORIES, SUN_CONDITIONS, SUN_COUNTRIES, SUN_ZIPS, Surveyed, ancestor, cases, interval, ints,
    quasi, survey, texts, tree,
};

/// [Sun 2008, Table 1], with the categories of its Table 4.
fn patients() -> Surveyed {
    let country = tree(&["USA;America;*", "Canada;America;*", "China;Asia;*", "Japan;Asia;*", "India;Asia;*"]);
    let columns: Vec<ArrayRef> = vec![ints(&SUN_AGES), texts(&SUN_COUNTRIES), texts(&SUN_ZIPS), texts(&SUN_CONDITIONS)];
    let category = |(name, values): (&str, [&str; 2])| Category {
        name: name.to_owned(),
        values: values.map(str::to_owned).to_vec(),
        ..Category::default()
    };
    let categories = Categories { list: SUN_CATEGORIES.into_iter().map(category).collect() };
    let zip = quasi("zip", ColumnRecoding::Ancestor, HierarchySpec::Mask(MaskSide::Right));
    let facets = vec![SensitiveCoding::Values, SensitiveCoding::Categories(Arc::new(categories))];
    let kinds = [interval("age"), ancestor("country", &country), zip];
    let spec = SurveySpec {
        quasi: kinds.into_iter().zip(&columns).map(|(spec, column)| (spec, column.data_type().clone())).collect(),
        sensitive: vec![(SensitiveSpec { facets, ..SensitiveSpec::plain("health") }, columns[3].data_type().clone())],
    };
    let mut survey = Survey::new(Arc::new(spec)).unwrap();
    let numbers = survey.push(&columns).unwrap();
    let merged = Survey::merge(vec![survey]).unwrap();
    let groups = numbers.into_iter().map(|number| merged.groups[0][number as usize]).collect();
    Surveyed { table: merged.table, groups, suppressed: merged.suppressed }
}

/// 2-sensitive 4-anonymity and (2+, 2)-sensitivity.
fn two_plus_two() -> Privacy {
    let models: Vec<Arc<dyn Model>> = vec![
        Arc::new(KAnonymity::new(4)),
        Arc::new(PSensitive::new(2, 0, CodeMeaning::Values)),
        Arc::new(PSensitive::new(2, 1, CodeMeaning::Categories)),
        Arc::new(CategoryWeight::new(2.0, 1, 4)),
    ];
    Privacy::new(models)
}

/// 2+-sensitive 2-anonymity.
fn two_categories() -> Privacy {
    let models: Vec<Arc<dyn Model>> =
        vec![Arc::new(KAnonymity::new(2)), Arc::new(PSensitive::new(2, 0, CodeMeaning::Categories))];
    Privacy::new(models)
}

/// Applies switching to given classes.
fn switched(rows: &Surveyed, privacy: &Privacy, start: &[&[usize]]) -> Vec<Class> {
    let cells: Vec<u32> = (0..rows.table.cell_count() as u32).collect();
    let frame = LeafView::new(&cells, &rows.table, LossMeasure::InformationLoss);
    let mut exchange = Exchange::new(&frame, privacy, rows.clusters(start));
    while exchange.switch_best() {}
    exchange.classes.into_iter().map(|held| Class::of_portions(held.portions)).collect()
}

#[test]
fn table_1_of_sun_2008_gets_three_classes() {
    let rows = patients();
    let classes = sound_classes(&Switching, &rows.table, &two_plus_two());
    // All weights together are 6, and each class needs 2 of them.
    assert_eq!(classes.len(), 3);
    assert!(classes.iter().all(|class| class.tally(&rows.table).rows() == 4));
}

#[test]
fn table_5_of_sun_2008_becomes_sensitive_by_two_switches() {
    let (rows, privacy) = (patients(), two_plus_two());
    let table_5: [&[usize]; 3] = [&[0, 1, 2, 3], &[4, 5, 6, 7], &[8, 9, 10, 11]];
    let is_satisfied = |class: &Class| privacy.is_satisfied(&class.tally(&rows.table));
    let satisfied: Vec<bool> = rows.clusters(&table_5).iter().map(is_satisfied).collect();
    assert_eq!(satisfied, [false, true, false]);
    let classes = switched(&rows, &privacy, &table_5);
    assert!(classes.iter().all(is_satisfied));
    // As in Table 6, two rows of the first class are exchanged for two of the last.
    assert_eq!(classes.len(), 3);
    assert_eq!(classes[1], rows.cluster([4, 5, 6, 7]));
    let stayed = |class: &Class, rows: &Class| rows.portions.iter().filter(|row| class.portions.contains(row)).count();
    assert_eq!(stayed(&classes[0], &rows.cluster([0, 1, 2, 3])), 2);
    assert_eq!(stayed(&classes[2], &rows.cluster([8, 9, 10, 11])), 2);
}

#[test]
fn what_is_satisfied_stays_as_it_is() {
    let rows = survey(&[(interval("age"), ints(&[1, 2, 30, 31]))], &[texts(&["a", "b", "a", "b"])]);
    let privacy = Privacy::p_sensitive_k_anonymity(2, 2, 1);
    assert_eq!(sound_classes(&Switching, &rows.table, &privacy), rows.clusters(&[&[0, 1], &[2, 3]]));
}

#[test]
fn the_switch_that_loses_least_is_taken() {
    // The first class {1, 2} lacks a second category. Switching with {10, 12} would lose least, but its only b may not
    // leave it. With {20, 20, 22} the 2 and the 22 switch at the least loss:
    // 2 * 21 + 3 * 18 = 96; the 1 and the 22: 97; the 2 and a 20: 98; the 1 and a 20: 99.
    let rows =
        survey(&[(interval("age"), ints(&[1, 2, 10, 12, 20, 20, 22]))], &[texts(&["a", "a", "a", "b", "b", "b", "b"])]);
    let found = switched(&rows, &two_categories(), &[&[0, 1], &[2, 3], &[4, 5, 6]]);
    assert_eq!(found, rows.clusters(&[&[0, 6], &[2, 3], &[1, 4, 5]]));
}

#[test]
fn where_no_switch_helps_classes_merge() {
    // One b is enough for one class, and every other class joins the nearest one until it has it.
    let rows = survey(&[(interval("age"), ints(&[1, 2, 10, 12, 30, 32]))], &[texts(&["a", "a", "a", "a", "a", "b"])]);
    assert_eq!(sound_classes(&Switching, &rows.table, &two_categories()), rows.clusters(&[&[0, 1, 2, 3, 4, 5]]));
}

/// Returns the total information loss.
fn total(exchange: &Exchange<'_>) -> f64 {
    exchange.classes.iter().map(|held| held.rows() * held.loss).sum()
}

/// Returns the total information loss after each allowed switch, by applying it.
fn allowed_totals(exchange: &Exchange<'_>, failing: usize) -> Vec<f64> {
    let mut totals = Vec::new();
    for (other, donor) in exchange.classes.iter().enumerate().filter(|(other, _)| *other != failing) {
        for leaves in &exchange.classes[failing].portions {
            for comes in &donor.portions {
                let mut tried = Exchange {
                    frame: exchange.frame,
                    privacy: exchange.privacy,
                    places: exchange.places.clone(),
                    kinds: exchange.kinds,
                    classes: exchange.classes.clone(),
                };
                tried.switch(Switch { failing, other, leaves: leaves.group, comes: comes.group });
                let is_better = tried.classes[failing].shortage < exchange.classes[failing].shortage;
                if is_better && tried.classes[other].shortage <= donor.shortage {
                    totals.push(total(&tried));
                }
            }
        }
    }
    totals
}

proptest! {
    #![proptest_config(cases(128))]

    #[test]
    fn classes_are_sound(leaf in leaves(50)) {
        leaf.classes(&Switching);
    }

    #[test]
    fn every_step_is_the_cheapest_that_helps_and_breaks_no_class(leaf in leaves(24)) {
        let table = &leaf.rows.table;
        let cells: Vec<u32> = (0..table.cell_count() as u32).collect();
        let frame = LeafView::new(&cells, table, LossMeasure::InformationLoss);
        let start = GreedyPk.cluster(&cells, table, &leaf.privacy.without_p_plus_alpha());
        let mut exchange = Exchange::new(&frame, &leaf.privacy, start);
        loop {
            let before: Vec<u64> = exchange.classes.iter().map(|held| held.shortage).collect();
            let totals = before.iter().position(|lacks| *lacks > 0).map(|at| allowed_totals(&exchange, at));
            if !exchange.switch_best() {
                prop_assert!(before.iter().all(|lacks| *lacks == 0));
                break;
            }
            let after: Vec<u64> = exchange.classes.iter().map(|held| held.shortage).collect();
            let fine = |list: &[u64]| list.iter().filter(|lacks| **lacks == 0).count();
            let least = totals.unwrap_or_default().into_iter().min_by(f64::total_cmp);
            if let Some(least) = least {
                prop_assert_eq!(total(&exchange), least);
                prop_assert!(after.iter().sum::<u64>() < before.iter().sum::<u64>());
                prop_assert!(before.iter().zip(&after).all(|(before, after)| *before > 0 || *after == 0));
            } else {
                prop_assert_eq!(after.len() + 1, before.len());
                prop_assert!(fine(&after) >= fine(&before));
            }
        }
    }
}

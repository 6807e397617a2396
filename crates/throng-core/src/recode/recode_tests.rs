use std::sync::Arc;

use arrow::array::{
    Array, ArrayRef, AsArray, Date32Array, Decimal128Array, DictionaryArray, Int32Array, Int64Array, StringArray,
    TimestampSecondArray,
};
use arrow::datatypes::{DataType, Int32Type, Int64Type};
use proptest::prelude::*;

use super::*;
use crate::cluster::Portion;
use crate::columns::{ColumnRecoding, QuasiSpec};
use crate::error::CoreError;
use crate::hierarchy::{HierarchySpec, MaskSide, Tree};
use crate::key::ReleaseKey;
use crate::metrics::Utility;
use crate::model::Privacy;
use crate::partition::FeasibleRegions;
use crate::risk::ClassSizes;
use crate::row_hash::RowHasher;
use crate::survey::SUPPRESSED;
use crate::test_tables::{
    all_shown, ancestor, cases, countries, floats, interval, ints, maybe_ints, maybe_texts, quasi, survey, texts, tree,
};

fn some(labels: &[&str]) -> Vec<Option<String>> {
    labels.iter().map(|label| Some((*label).to_owned())).collect()
}

/// Released values of these clusters if the only column is released this way.
fn labels_of(spec: crate::columns::QuasiSpec, column: ArrayRef, clusters: &[&[usize]]) -> Vec<Option<String>> {
    all_shown(&survey(&[(spec, column)], &[]).recode(clusters), 0)
}

#[test]
fn ages_of_the_paper_generalize_to_their_interval() {
    assert_eq!(labels_of(interval("age"), ints(&[25, 39, 36]), &[&[0, 1, 2]]), some(&["[25-39]"]));
}

#[test]
fn intervals_read_as_numbers_dates_and_instants_do() {
    assert_eq!(labels_of(interval("x"), ints(&[-7, -5, 3, 3]), &[&[0, 1], &[2, 3]]), some(&["[-7--5]", "3"]));
    assert_eq!(labels_of(interval("x"), floats(&[0.5, 1.0, 9.0]), &[&[0, 1], &[2]]), some(&["[0.5-1.0]", "9.0"]));
    let money = Decimal128Array::from(vec![150, 275]).with_precision_and_scale(6, 2).unwrap();
    assert_eq!(labels_of(interval("x"), Arc::new(money), &[&[0, 1]]), some(&["[1.50-2.75]"]));
    let days: ArrayRef = Arc::new(Date32Array::from(vec![0, 90, 100]));
    assert_eq!(labels_of(interval("x"), days, &[&[0, 1], &[2]]), some(&["[1970-01-01/1970-04-01]", "1970-04-11"]));
    let instants: ArrayRef = Arc::new(TimestampSecondArray::from(vec![0, 60]).with_timezone("+01:00"));
    let shown = labels_of(interval("x"), instants, &[&[0, 1]]);
    assert_eq!(shown, some(&["[1970-01-01T00:00:00Z/1970-01-01T00:01:00Z]"]));
}

#[test]
fn blocks_keep_rows_apart_and_are_neither_shown_nor_counted() {
    let blocks = maybe_ints(&[Some(1), Some(1), Some(2), Some(2), Some(3), None]);
    let columns = [(interval("age"), ints(&[25, 39, 25, 39, 50, 25])), (QuasiSpec::block(), blocks)];
    let surveyed = survey(&columns, &[]);
    assert_eq!(surveyed.suppressed, 1);
    let allowed = FeasibleRegions::of(&surveyed.table, &Privacy::p_sensitive_k_anonymity(2, 1, 0));
    assert_eq!((allowed.classes.len(), allowed.suppressed_cells.len()), (2, 1));
    // Clusters of two blocks with equal labels are one class.
    let recoding = surveyed.recode(&[&[0, 1], &[2, 3], &[4]]);
    assert_eq!((recoding.class_rows(), recoding.columns()[1].columns.len()), (&[4, 1][..], 0));
    let utility = Utility::of(&surveyed.table, &recoding, 2);
    assert_eq!(utility.columns.iter().map(|column| column.name.as_str()).collect::<Vec<_>>(), ["age"]);
    assert_eq!(utility.ncp, utility.columns[0].ncp);
    let mut cells = ClassSizes::default();
    cells.add_cells(&surveyed.table);
    assert_eq!(cells, [2, 2, 1].into_iter().collect());
}

#[test]
fn null_mixed_with_numbers_shows_nothing_and_alone_is_null() {
    let column = || maybe_ints(&[None, None, Some(4), Some(6)]);
    assert_eq!(labels_of(interval("x"), column(), &[&[0, 1], &[2, 3]]), [None, Some("[4-6]".to_owned())]);
    assert_eq!(labels_of(interval("x"), column(), &[&[0, 1, 2], &[3]]), some(&["*", "6"]));
    // Two clusters that mix null with different numbers have the same label.
    assert_eq!(labels_of(interval("x"), column(), &[&[0, 2], &[1, 3]]), some(&["*"]));
}

#[test]
fn bounds_keep_the_type_of_the_column() {
    let spec = || quasi("age", ColumnRecoding::Bounds, HierarchySpec::Flat);
    let rows = survey(&[(spec(), maybe_ints(&[Some(25), Some(39), Some(36), Some(50), None, None]))], &[]);
    let recoding = rows.recode(&[&[0, 1, 2], &[3], &[4, 5]]);
    let labels = &recoding.columns()[0];
    let names: Vec<&str> = labels.columns.iter().map(|(field, _)| field.name().as_str()).collect();
    assert_eq!(names, ["age_min", "age_max"]);
    let bounds = |class: u32| {
        let at = recoding.label(class, 0) as usize;
        let one = |column: usize| {
            let array = labels.columns[column].1.as_primitive::<Int64Type>();
            array.is_valid(at).then(|| array.value(at))
        };
        (one(0), one(1))
    };
    assert_eq!([bounds(0), bounds(1), bounds(2)], [(None, None), (Some(25), Some(39)), (Some(50), Some(50))]);
    let mixed = rows.recode(&[&[0, 1, 2], &[3, 4], &[5]]);
    // A class of null and 50 has no bounds that hold for all of its rows; its label is that of null.
    assert_eq!(mixed.class_rows(), [3, 3]);
    assert_eq!(mixed.columns()[0].ncp[mixed.label(0, 0) as usize], 1.0);
}

#[test]
fn bounds_of_a_dictionary_are_its_values() {
    let column =
        DictionaryArray::<Int32Type>::new(Int32Array::from(vec![1, 0]), Arc::new(Int64Array::from(vec![9, 2])));
    let data_type = column.data_type().clone();
    let spec = quasi("age", ColumnRecoding::Bounds, HierarchySpec::Flat);
    let rows = survey(&[(spec.clone(), Arc::new(column) as ArrayRef)], &[]);
    let recoding = rows.recode(&[&[0, 1]]);
    let found: Vec<_> = recoding.columns()[0].columns.iter().map(|(field, _)| field.clone()).collect();
    assert_eq!(found, released_fields(&spec, &data_type));
    assert_eq!(found[0].data_type(), &DataType::Int64);
}

#[test]
fn released_fields_are_known_before_the_data() {
    for (release, data_type) in [
        (ColumnRecoding::Interval, DataType::Int64),
        (ColumnRecoding::Bounds, DataType::Int64),
        (ColumnRecoding::Ancestor, DataType::Int64),
        (ColumnRecoding::Set, DataType::Int64),
    ] {
        let spec = quasi("q", release, HierarchySpec::Flat);
        let rows = survey(&[(spec.clone(), ints(&[1, 2]))], &[]);
        let recoding = rows.recode(&[&[0, 1]]);
        let found: Vec<_> = recoding.columns()[0].columns.iter().map(|(field, _)| field.clone()).collect();
        assert_eq!(found, released_fields(&spec, &data_type));
    }
}

#[test]
fn a_category_shows_its_lowest_common_ancestor() {
    let column = || texts(&["France", "Italy", "Japan", "Spain"]);
    let spec = || ancestor("country", &countries());
    assert_eq!(labels_of(spec(), column(), &[&[0, 1], &[2], &[3]]), some(&["Europe", "Spain", "Japan"]));
    assert_eq!(labels_of(spec(), column(), &[&[0, 2], &[1, 3]]), some(&["Europe", "*"]));
}

#[test]
fn a_category_with_null_shows_the_root_and_null_alone_is_null() {
    let column = || maybe_texts(&[Some("France"), Some("Italy"), None, None]);
    let spec = || ancestor("country", &countries());
    assert_eq!(labels_of(spec(), column(), &[&[0, 1], &[2, 3]]), [Some("Europe".to_owned()), None]);
    assert_eq!(labels_of(spec(), column(), &[&[0, 2], &[1, 3]]), some(&["*"]));
}

#[test]
fn the_only_value_of_a_bare_tree_is_not_taken_for_null() {
    let column = || maybe_texts(&[Some("X"), Some("X"), None, None]);
    let spec = || ancestor("x", &tree(&["X"]));
    assert_eq!(labels_of(spec(), column(), &[&[0, 1], &[2, 3]]), [Some("X".to_owned()), None]);
    assert_eq!(labels_of(spec(), column(), &[&[0, 1, 2, 3]]), some(&["*"]));
}

#[test]
fn a_set_shows_the_values_that_occur() {
    let spec = || quasi("job", ColumnRecoding::Set, HierarchySpec::Flat);
    let column = || maybe_texts(&[Some("a"), Some("c"), Some("b"), None, None]);
    let shown = labels_of(spec(), column(), &[&[0, 1], &[2], &[3, 4]]);
    assert_eq!(shown, [Some("{a, c}".to_owned()), Some("b".to_owned()), None]);
    let shown = labels_of(spec(), column(), &[&[0, 3], &[1, 2, 4]]);
    assert_eq!(shown, some(&["{a, null}", "{b, c, null}"]));
}

#[test]
fn a_set_follows_the_order_of_its_hierarchy() {
    let spec = quasi("c", ColumnRecoding::Set, HierarchySpec::Tree(Arc::new(countries())));
    assert_eq!(labels_of(spec, texts(&["China", "France"]), &[&[0, 1]]), some(&["{France, China}"]));
}

#[test]
fn clusters_with_equal_labels_become_one_class() {
    let rows = survey(
        &[(interval("age"), ints(&[1, 9, 1, 9, 5, 5])), (ancestor("c", &countries()), texts(&["Japan"; 6]))],
        &[texts(&["a", "b", "c", "d", "e", "f"])],
    );
    let recoding = rows.recode(&[&[0, 1], &[2, 3], &[4, 5]]);
    assert_eq!(recoding.class_rows(), [4, 2]);
    assert_eq!(all_shown(&recoding, 0), some(&["[1-9]", "5"]));
    let class = |row: usize| recoding.shares(rows.groups[row])[0].class;
    assert_eq!((0..6).map(class).collect::<Vec<_>>(), [0, 0, 0, 0, 1, 1]);
}

#[test]
fn clusters_that_agree_in_one_column_only_stay_apart() {
    let rows = survey(&[(interval("a"), ints(&[1, 2, 1, 2])), (interval("b"), ints(&[1, 1, 2, 2]))], &[]);
    assert_eq!(rows.recode(&[&[0, 1], &[2, 3]]).class_rows(), [2, 2]);
}

#[test]
fn labels_that_read_the_same_are_one_label() {
    // The leaf Other and the node Other above it and Misc.
    let jobs = tree(&["Other;Other;*", "Misc;Other;*", "Private;Work;*"]);
    let rows = survey(&[(ancestor("job", &jobs), texts(&["Other", "Other", "Other", "Misc", "Private"]))], &[]);
    let recoding = rows.recode(&[&[0, 1], &[2, 3], &[4]]);
    assert_eq!((recoding.class_rows(), recoding.columns()[0].len()), ([4, 1].as_slice(), 2));
    // The loss is that of the wider one: 2 of 3 leaves.
    assert!((recoding.columns()[0].ncp[0] - 2.0 / 3.0).abs() < 1e-6);
    // A code that looks like a masked code.
    let mask = quasi("zip", ColumnRecoding::Ancestor, HierarchySpec::Mask(MaskSide::Right));
    let rows = survey(&[(mask, texts(&["4109*", "41091", "41092", "52000"]))], &[]);
    let recoding = rows.recode(&[&[0], &[1, 2], &[3]]);
    assert_eq!(recoding.class_rows(), [3, 1]);
    // Sets whose texts are equal once joined.
    let rows =
        survey(&[(quasi("s", ColumnRecoding::Set, HierarchySpec::Flat), texts(&["a", "b, c", "a, b", "c", "d"]))], &[]);
    assert_eq!(rows.recode(&[&[0, 1], &[2, 3], &[4]]).class_rows(), [4, 1]);
}

#[test]
fn no_two_labels_of_a_column_read_the_same() {
    let rows = survey(&[(interval("x"), maybe_ints(&[None, Some(1), Some(2), None, Some(3)]))], &[]);
    let recoding = rows.recode(&[&[0, 1], &[2, 3], &[4]]);
    assert_eq!(all_shown(&recoding, 0), some(&["*", "3"]));
}

#[test]
fn a_lost_or_doubled_row_is_our_bug() {
    let rows = survey(&[(interval("x"), ints(&[1, 1, 2]))], &[]);
    let whole = rows.clusters(&[&[0, 1, 2]]);
    assert!(Recoding::new(&rows.table, &whole).is_ok());
    for wrong in [rows.clusters(&[&[0, 2]]), rows.clusters(&[&[0, 1]]), rows.clusters(&[&[2]]), Vec::new()] {
        assert!(matches!(Recoding::new(&rows.table, &wrong), Err(CoreError::Misplaced { .. })), "{wrong:?}");
    }
    let mut doubled = whole.clone();
    doubled.push(Class::of_portions(vec![Portion { group: 1, rows: 1 }]));
    assert!(matches!(Recoding::new(&rows.table, &doubled), Err(CoreError::Misplaced { groups: 1 })));
}

#[test]
fn a_split_group_is_dealt_exactly_by_quota() {
    // Five equal rows of age 1, of which two go with age 0 and three with age 2.
    let rows = survey(&[(interval("age"), ints(&[1, 1, 1, 1, 1, 0, 2]))], &[]);
    let clusters = rows.clusters(&[&[0, 1, 5], &[2, 3, 4, 6]]);
    let recoding = Recoding::new(&rows.table, &clusters).unwrap();
    assert_eq!(recoding.class_rows(), [3, 4]);
    assert_eq!(recoding.shares(rows.groups[0]), [Share { class: 0, rows: 2 }, Share { class: 1, rows: 3 }]);
    let content = [50, 40, 30, 20, 10, 5, 6];
    let key = ReleaseKey::PUBLIC;
    let order = ReleaseOrder::new(recoding.all_shares(), recoding.class_rows(), &rows.groups, &content, key);
    assert_eq!(order.class_of[..5].iter().filter(|class| **class == 0).count(), 2);
    assert_eq!(order.class_of[5..], [0, 1]);
    // Within a class, rows are ordered by hash.
    let hashes: Vec<u128> = order.rows.iter().map(|row| content[*row as usize]).collect();
    assert!(hashes[..3].is_sorted() && hashes[3..].is_sorted(), "{hashes:?}");
}

/// Whether each of 64 rows of age 1 goes to the youngest class.
fn dealt(key: ReleaseKey) -> Vec<bool> {
    let mut ages = vec![1; 64];
    ages.extend([0, 50]);
    let rows = survey(&[(interval("age"), ints(&ages))], &[]);
    let young: Vec<usize> = (0..32).chain([64]).collect();
    let old: Vec<usize> = (32..64).chain([65]).collect();
    let recoding = rows.recode(&[&young, &old]);
    let content: Vec<u128> = (0..66).collect();
    ReleaseOrder::new(recoding.all_shares(), recoding.class_rows(), &rows.groups, &content, key).class_of[..64]
        .iter()
        .map(|class| *class == 0)
        .collect()
}

#[test]
fn who_is_dealt_where_depends_on_the_key_alone() {
    let key = |secret: u8, seed: u64| ReleaseKey::new(&[secret; 32], seed);
    assert_eq!(dealt(key(0, 0)), dealt(key(0, 0)));
    assert_ne!(dealt(key(0, 0)), dealt(key(1, 0)));
    assert_ne!(dealt(key(0, 0)), dealt(key(0, 1)));
    // The assignment does not follow the order of the content hash either.
    let first = dealt(key(0, 0));
    assert!(!first.is_sorted() && !first.iter().rev().is_sorted());
}

#[test]
fn losses_do_not_tell_how_far_out_a_hidden_value_lies() {
    let loss = |hidden: i64| {
        let ages = [Some(10), Some(11), Some(12), None, None, Some(hidden)];
        let rows = survey(&[(interval("age"), maybe_ints(&ages))], &[]);
        let recoding = rows.recode(&[&[0, 1, 2], &[3, 4, 5]]);
        assert_eq!(all_shown(&recoding, 0), some(&["*", "[10-12]"]));
        recoding.columns()[0].ncp.clone()
    };
    assert_eq!(loss(100), [1.0, 1.0]);
    assert_eq!(loss(987_654), loss(100));
}

#[test]
fn large_numbers_that_lie_close_together_still_lose() {
    let ages: Vec<i64> = (0..4).map(|i| 1_000_000_000_000_000_000 + i).collect();
    let rows = survey(&[(interval("id"), ints(&ages))], &[]);
    let recoding = rows.recode(&[&[0, 1], &[2, 3]]);
    assert!(recoding.columns()[0].ncp.iter().all(|ncp| (ncp - 1.0 / 3.0).abs() < 1e-12));
}

#[test]
fn a_date_beyond_the_calendar_is_refused() {
    let dates: ArrayRef = Arc::new(arrow::array::Date32Array::from(vec![0, i32::MAX]));
    let rows = survey(&[(interval("born"), dates)], &[]);
    let error = Recoding::new(&rows.table, &rows.clusters(&[&[0], &[1]])).unwrap_err();
    assert!(matches!(error, CoreError::NoText { column } if column == "born"));
}

#[test]
fn suppressed_rows_are_in_no_class() {
    let rows = survey(&[(interval("age"), ints(&[1, 1]))], &[]);
    let recoding = rows.recode(&[&[0, 1]]);
    let key = ReleaseKey::PUBLIC;
    let order = ReleaseOrder::new(
        recoding.all_shares(),
        recoding.class_rows(),
        &[rows.groups[0], SUPPRESSED, rows.groups[1]],
        &[2, 0, 1],
        key,
    );
    assert_eq!((order.rows, order.class_of), (vec![2, 0], vec![0, SUPPRESSED, 0]));
}

#[test]
fn classes_are_ordered_by_what_they_show() {
    let rows = survey(&[(interval("a"), ints(&[9, 9, 1, 1])), (interval("b"), ints(&[1, 2, 2, 1]))], &[]);
    let one = rows.recode(&[&[0], &[1], &[2], &[3]]);
    let other = rows.recode(&[&[2], &[0], &[3], &[1]]);
    for recoding in [one, other] {
        assert_eq!(all_shown(&recoding, 0), some(&["1", "1", "9", "9"]));
        assert_eq!(all_shown(&recoding, 1), some(&["1", "2", "1", "2"]));
    }
}

/// Rows with a quasi-identifier, a sensitive value and another value.
type Row = (i64, u8, u8);

/// Returns the released rows in order, with cells halved between neighbouring classes.
fn released(rows: &[Row], seed: u64) -> Vec<(Option<String>, u8, u8)> {
    let illness: StringArray = rows.iter().map(|row| Some(row.1.to_string())).collect();
    let surveyed = survey(
        &[(interval("age"), ints(&rows.iter().map(|row| row.0).collect::<Vec<_>>()))],
        &[Arc::new(illness) as ArrayRef],
    );
    // Every group gives half of its rows to one of two classes, so that groups are shared.
    let (mut halves, mut rest) = (Class::default(), Class::default());
    for group in 0..surveyed.table.group_count() as u32 {
        let all = surveyed.table.group_rows(group);
        let half = if group == 0 { all } else { all / 2 };
        for (class, rows) in [(&mut halves, half), (&mut rest, all - half)] {
            if rows > 0 {
                class.portions.push(Portion { group, rows });
            }
        }
    }
    let clusters: Vec<Class> = [halves, rest].into_iter().filter(|class| !class.portions.is_empty()).collect();
    let recoding = Recoding::new(&surveyed.table, &clusters).unwrap();
    let columns: [ArrayRef; 2] = [
        Arc::new(rows.iter().map(|row| Some(i64::from(row.1))).collect::<Int64Array>()),
        Arc::new(rows.iter().map(|row| Some(i64::from(row.2))).collect::<Int64Array>()),
    ];
    let mut hasher = RowHasher::new(&[DataType::Int64, DataType::Int64], seed).unwrap();
    let content = hasher.hash(&columns, rows.len()).unwrap();
    let key = ReleaseKey::new(&[1; 32], seed);
    let order = ReleaseOrder::new(recoding.all_shares(), recoding.class_rows(), &surveyed.groups, &content, key);
    let shown = all_shown(&recoding, 0);
    for (class, size) in recoding.class_rows().iter().enumerate() {
        let members = order.class_of.iter().filter(|of| **of as usize == class).count();
        assert_eq!(members as u64, *size);
    }
    let show = |row: &u32| {
        let row = *row as usize;
        (shown[order.class_of[row] as usize].clone(), rows[row].1, rows[row].2)
    };
    order.rows.iter().map(show).collect()
}

proptest! {
    #![proptest_config(cases(96))]

    #[test]
    fn the_release_and_its_order_do_not_depend_on_the_order_of_rows(
        (rows, shuffled) in prop::collection::vec((0_i64..4, 0_u8..3, 0_u8..4), 1..60)
            .prop_flat_map(|rows| (Just(rows.clone()), Just(rows).prop_shuffle())),
        seed: u64,
    ) {
        let release = released(&rows, seed);
        prop_assert_eq!(release.len(), rows.len());
        prop_assert_eq!(&release, &released(&shuffled, seed));
    }

    #[test]
    fn an_ancestor_is_above_every_member(picks in prop::collection::vec((0_usize..5, 0_usize..3), 1..30)) {
        let names = ["France", "Spain", "Italy", "Japan", "China"];
        let column = texts(&picks.iter().map(|(name, _)| names[*name]).collect::<Vec<_>>());
        let rows = survey(&[(ancestor("c", &countries()), column)], &[]);
        let blocks: Vec<Vec<usize>> =
            (0..3).map(|block| (0..picks.len()).filter(|row| picks[*row].1 == block).collect()).collect();
        let blocks: Vec<&[usize]> = blocks.iter().map(Vec::as_slice).filter(|block| !block.is_empty()).collect();
        let recoding = rows.recode(&blocks);
        let shown = all_shown(&recoding, 0);
        let tree: Tree = countries();
        for group in 0..rows.table.group_count() as u32 {
            let leaf = tree.leaf_node(rows.table.positions(group)[0]);
            let up: Vec<&str> =
                std::iter::successors(Some(leaf), |node| tree.parent(*node)).map(|node| tree.label(node)).collect();
            for share in recoding.shares(group) {
                prop_assert!(up.contains(&shown[share.class as usize].as_deref().unwrap()));
            }
        }
    }
}

#[test]
fn shares_that_were_taken_part_by_part_are_those_of_all_parts() {
    // Age 1 is split, and the last classes of both parts have equal labels.
    let part = survey(&[(interval("age"), ints(&[1, 1, 1, 0, 2, 9, 9]))], &[]);
    let parts = [part.clusters(&[&[0, 3], &[1, 2, 4], &[5, 6]]), part.clusters(&[&[0, 1, 2, 3, 4], &[5, 6]])];
    let (mut kept, mut taken) = (Recoder::new(&part.table), Recoder::new(&part.table));
    let mut of_parts = Vec::new();
    for clusters in &parts {
        kept.add(&part.table, clusters, &[]).unwrap();
        taken.add(&part.table, clusters, &[]).unwrap();
        let (first, pairs) = taken.take_shares().into_numbers();
        of_parts.push(ClusterShares::from_numbers(first, &pairs));
    }
    let (kept, _) = kept.finish_with_classes().unwrap();
    let (taken, class_of) = taken.finish_with_classes().unwrap();
    assert_eq!((taken.group_count(), taken.class_rows()), (0, kept.class_rows()));
    assert_eq!(kept.class_rows(), [2, 5, 3, 4]);
    let mut shares = Shares::new([]);
    of_parts.into_iter().for_each(|part| shares.append(&part.in_classes(&class_of)));
    assert_eq!(&shares, kept.all_shares());
    assert_eq!((shares.groups(), shares.lends(1)), (8, 1));
}

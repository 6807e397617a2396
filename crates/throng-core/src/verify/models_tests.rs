//! Extended p-sensitivity [Truta 2007] and (p+, alpha)-sensitivity [Sun 2008] in released values.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use arrow::array::{Array, AsArray, Date64Array, DictionaryArray, Float64Array, TimestampSecondArray};
use arrow::datatypes::Int32Type;
use proptest::prelude::*;

use super::Amount::{Count, Weight};
use super::tests::{amounts, batch, findings, promise};
use super::*;
use crate::test_tables::{
    SUN_AGES, SUN_CATEGORIES, SUN_CONDITIONS, SUN_COUNTRIES, SUN_ZIPS, cases, ints, maybe_texts, texts,
};

fn names() -> Vec<String> {
    SUN_CATEGORIES.iter().map(|(name, _)| (*name).to_owned()).collect()
}

fn category_of() -> Arc<HashMap<String, u32>> {
    let lists = SUN_CATEGORIES.iter().zip(0..);
    Arc::new(lists.flat_map(|((_, values), code)| values.map(|value| (value.to_owned(), code))).collect())
}

fn categories(labels: Option<&str>) -> SensitiveReading {
    let labels = labels.map(|column| LabelColumn { column: column.to_owned(), names: names() });
    SensitiveReading::Categories { of: category_of(), rules: CategoryRules::default(), count: 4, labels }
}

fn sensitive(reading: SensitiveReading, p: u64, alpha: Option<f64>) -> SensitivePromise {
    SensitivePromise { reading, alpha, ..SensitivePromise::plain("Health Condition", p) }
}

fn p_plus(k: u64, p: u64, alpha: f64) -> Promise {
    let sensitive = vec![sensitive(categories(None), p, Some(alpha))];
    Promise { sensitive, ..promise(&["Age", "Country", "Zip Code"], &[], k, p) }
}

/// A table of [Sun 2008], rows in the order of their numbers.
fn table(ages: [&str; 12], countries: [&str; 12], zips: [&str; 12]) -> RecordBatch {
    batch(&[
        ("Age", texts(&ages)),
        ("Country", texts(&countries)),
        ("Zip Code", texts(&zips)),
        ("Health Condition", texts(&SUN_CONDITIONS)),
    ])
}

/// Four values, each for four rows.
fn by_four<'a>(first: &'a str, second: &'a str, third: &'a str) -> [&'a str; 12] {
    [first, first, first, first, second, second, second, second, third, third, third, third]
}

fn table_1() -> RecordBatch {
    let ages = SUN_AGES.map(|age| age.to_string());
    table(ages.each_ref().map(String::as_str), SUN_COUNTRIES, SUN_ZIPS)
}

fn table_2() -> RecordBatch {
    let zips =
        ["142**", "142**", "1424*", "1424*", "130**", "130**", "130**", "130**", "1424*", "142**", "142**", "1424*"];
    table(by_four("<30", ">40", "3*"), by_four("America", "Asia", "America"), zips)
}

fn table_5() -> RecordBatch {
    table(by_four("<30", ">40", "3*"), by_four("America", "Asia", "America"), by_four("142**", "130**", "142**"))
}

fn table_6() -> RecordBatch {
    let zips =
        ["1424*", "1420*", "1420*", "1424*", "130**", "130**", "130**", "130**", "1424*", "1420*", "1420*", "1424*"];
    table(by_four("<40", ">40", "<40"), by_four("America", "Asia", "America"), zips)
}

#[test]
fn table_1_of_sun_2008_hides_nobody() {
    let found = findings(p_plus(2, 2, 2.0), &[table_1()]);
    assert_eq!((found.classes, found.smallest_class, found.classes_below_k), (12, 1, 12));
    assert_eq!(found.diversity[0].disclosures, 12);
    assert!(!found.holds());
}

#[test]
fn table_2_is_2_anonymous_and_gives_conditions_away() {
    let plain = promise(&["Age", "Country", "Zip Code"], &["Health Condition"], 2, 1);
    let found = findings(plain, &[table_2()]);
    assert_eq!((found.classes, found.smallest_class, found.sum_of_squares), (5, 2, 4 * 4 + 16));
    assert!(found.holds());
    assert_eq!((found.diversity.len(), found.diversity[0].disclosures), (1, 3));
    let found = findings(p_plus(2, 2, 2.0), &[table_2()]);
    assert_eq!(found.diversity[0].disclosures, 4, "flu and indigestion are one category");
    assert!(!found.holds());
}

#[test]
fn table_5_is_2_sensitive_4_anonymous_and_not_2_plus_2() {
    let plain = promise(&["Age", "Country", "Zip Code"], &["Health Condition"], 4, 2);
    let found = findings(plain, &[table_5()]);
    assert!(found.holds());
    assert_eq!(found.diversity[0].disclosures, 0);
    let found = findings(p_plus(4, 2, 2.0), &[table_5()]);
    assert_eq!(
        amounts(&found),
        [
            ("k-anonymity", None, Count(4), Count(4), 0),
            ("p+-sensitivity", Some("Health Condition"), Count(2), Count(1), 2),
            ("alpha-weight", Some("Health Condition"), Weight(2.0), Weight(0.0), 1),
        ]
    );
    assert_eq!(found.diversity[0].disclosures, 2);
    assert!(!found.holds());
}

#[test]
fn every_class_is_checked_not_the_first_alone() {
    // The printed test stops at the first class that passes, the second of Table 5.
    let good_first = table_5().slice(4, 8);
    let promise = |p| Promise { k: 4, ..p_plus(4, p, 2.0) };
    assert!(!findings(promise(2), std::slice::from_ref(&good_first)).holds());
    assert!(findings(promise(1), &[good_first]).holds());
    assert!(findings(promise(2), &[table_5().slice(4, 4)]).holds());
}

#[test]
fn table_6_is_2_plus_2_sensitive_4_anonymous_and_no_more() {
    let found = findings(p_plus(4, 2, 2.0), &[table_6()]);
    assert_eq!(
        amounts(&found),
        [
            ("k-anonymity", None, Count(4), Count(4), 0),
            ("p+-sensitivity", Some("Health Condition"), Count(2), Count(2), 0),
            ("alpha-weight", Some("Health Condition"), Weight(2.0), Weight(2.0), 0),
        ]
    );
    assert!(found.holds());
    assert_eq!((found.classes, found.diversity[0].disclosures), (3, 0));
    assert!(!findings(p_plus(5, 2, 2.0), &[table_6()]).holds());
    assert!(!findings(p_plus(4, 3, 2.0), &[table_6()]).holds());
    assert!(!findings(p_plus(4, 2, 2.01), &[table_6()]).holds());
}

#[test]
fn the_weight_of_the_example_of_sun_2008_is_2() {
    let example = batch(&[("Health Condition", texts(&["Cancer", "Phthisis", "Asthma", "Flu"]))]);
    let with = |alpha: f64| Promise { quasi: Vec::new(), ..p_plus(4, 4, alpha) };
    let found = findings(with(2.0), std::slice::from_ref(&example));
    assert_eq!((amounts(&found)[2].3, found.holds()), (Weight(2.0), true));
    assert!(!findings(with(2.0 + 1e-6), std::slice::from_ref(&example)).holds());
    assert!(findings(with(2.0_f64.next_up()), std::slice::from_ref(&example)).holds(), "a slip of the last bit");
    assert!(!findings(with(f64::NAN), std::slice::from_ref(&example)).holds());
}

#[test]
fn a_weight_of_zero_asks_for_nothing() {
    let found = findings(p_plus(4, 1, 0.0), &[table_5()]);
    assert_eq!(amounts(&found), [("k-anonymity", None, Count(4), Count(4), 0)]);
    assert!(found.holds());
}

#[test]
fn one_category_weighs_nothing() {
    let of = Arc::new(HashMap::from([("Flu".to_owned(), 0)]));
    let reading = SensitiveReading::Categories { of, rules: CategoryRules::default(), count: 1, labels: None };
    let promise = Promise { sensitive: vec![sensitive(reading, 1, Some(1.0))], ..promise(&[], &[], 1, 1) };
    let found = findings(promise, &[batch(&[("Health Condition", texts(&["Flu", "Flu"]))])]);
    assert_eq!((amounts(&found)[1].3, found.holds()), (Weight(0.0), false));
}

#[test]
fn weight_needs_categories() {
    let promise =
        Promise { sensitive: vec![sensitive(SensitiveReading::Values, 2, Some(1.0))], ..promise(&[], &[], 1, 1) };
    let error = Verifier::new(promise, table_5().schema().as_ref()).unwrap_err();
    assert!(matches!(error, VerifyError::NoCategories(name) if name == "Health Condition"));
}

#[test]
fn values_without_a_category_never_count() {
    let of_class = |values: &[Option<&str>]| {
        let promise = Promise { quasi: Vec::new(), ..p_plus(1, 2, 1.0) };
        let found = findings(promise, &[batch(&[("Health Condition", maybe_texts(values))])]);
        (amounts(&found)[1].3, amounts(&found)[2].3, found.diversity[0].disclosures)
    };
    assert_eq!(of_class(&[Some("HIV"), Some("Flu")]), (Count(2), Weight(1.0), 0));
    assert_eq!(of_class(&[Some("HIV"), Some("flu"), Some("Gout"), None]), (Count(1), Weight(0.0), 1));
    assert_eq!(of_class(&[Some("Gout"), None]), (Count(0), Weight(0.0), 0), "nothing is given away");
    let beyond = Arc::new(HashMap::from([("Gout".to_owned(), 4), ("Flu".to_owned(), 3)]));
    let reading = SensitiveReading::Categories { of: beyond, rules: CategoryRules::default(), count: 4, labels: None };
    let promise = Promise { sensitive: vec![sensitive(reading, 2, Some(1.5))], ..promise(&[], &[], 1, 1) };
    let found = findings(promise, &[batch(&[("Health Condition", texts(&["Gout", "Flu"]))])]);
    assert_eq!((amounts(&found)[1].3, amounts(&found)[2].3), (Count(1), Weight(1.0)), "a fifth category of four");
}

#[test]
fn released_categories_are_read_by_their_names() {
    let table = table_6();
    let shown = table.column(3).as_string::<i32>().iter().flatten();
    let shown: Vec<String> = shown.map(|value| names()[category_of()[value] as usize].clone()).collect();
    let shown = texts(&shown.iter().map(String::as_str).collect::<Vec<_>>());
    let released = batch(&[
        ("Age", table.column(0).clone()),
        ("Country", table.column(1).clone()),
        ("Zip Code", table.column(2).clone()),
        ("Health Condition", shown),
    ]);
    let of = Arc::new(names().into_iter().zip(0..).collect::<HashMap<String, u32>>());
    let reading = SensitiveReading::Categories { of, rules: CategoryRules::default(), count: 4, labels: None };
    let promise = Promise { sensitive: vec![sensitive(reading, 2, Some(2.0))], ..p_plus(4, 2, 2.0) };
    assert_eq!(findings(promise, &[released]), findings(p_plus(4, 2, 2.0), &[table]));
}

#[test]
fn shown_categories_must_be_those_of_the_values() {
    let values = maybe_texts(&[Some("HIV"), Some("Flu"), Some("Asthma"), None, Some("Gout")]);
    let with = |shown: &[Option<&str>]| {
        let reading = categories(Some("Health Condition_category"));
        let promise = Promise { sensitive: vec![sensitive(reading, 2, Some(1.0))], ..promise(&[], &[], 1, 1) };
        let shown = maybe_texts(shown);
        let release = batch(&[("Health Condition", values.clone()), ("Health Condition_category", shown)]);
        assert_eq!(promise.columns(), ["Health Condition", "Health Condition_category"]);
        let found = findings(promise, &[release]);
        assert!(found.requirements.iter().all(RequirementFindings::holds));
        assert_eq!(found.labels[0].column, "Health Condition_category");
        (found.labels[0].mismatches, found.holds())
    };
    assert_eq!(with(&[Some("One"), Some("Four"), Some("Three"), None, None]), (0, true));
    assert_eq!(with(&[Some("One"), Some("Four"), Some("Two"), None, None]), (1, false));
    assert_eq!(with(&[None, Some("four"), Some("Three"), None, None]), (2, false), "null and a strange name");
    assert_eq!(with(&[Some("One"), Some("Four"), Some("Three"), Some("One"), Some("Nine")]), (2, false));
}

/// Cancers are protected, and colds are not.
fn strong() -> SensitiveReading {
    let of = [
        ("colon cancer", "cancer"),
        ("breast cancer", "cancer"),
        ("prostate cancer", "cancer"),
        ("flu", "flu"),
        ("cold", "cold"),
    ];
    SensitiveReading::Strong(Arc::new(
        of.into_iter().map(|(value, strong)| (value.to_owned(), strong.to_owned())).collect(),
    ))
}

fn extended(p: u64, values: &[Option<&str>]) -> Findings {
    let promise = Promise { sensitive: vec![sensitive(strong(), p, None)], ..promise(&[], &[], 1, p) };
    findings(promise, &[batch(&[("Health Condition", maybe_texts(values))])])
}

#[test]
fn cancers_are_one_strong_value() {
    let cancers = [Some("colon cancer"), Some("breast cancer"), Some("prostate cancer")];
    let found = extended(2, &cancers);
    assert_eq!(amounts(&found)[1], ("extended p-sensitivity", Some("Health Condition"), Count(2), Count(1), 1));
    assert_eq!((found.holds(), found.diversity[0].disclosures), (false, 1));
    let found = extended(3, &[cancers[0], cancers[1], Some("flu"), Some("cold")]);
    assert_eq!((amounts(&found)[1].3, found.holds(), found.diversity[0].disclosures), (Count(3), true, 0));
}

#[test]
fn values_outside_of_the_hierarchy_never_count() {
    let found = extended(2, &[Some("flu"), Some("gout"), Some("cancer"), None]);
    assert_eq!((amounts(&found)[1].3, found.holds()), (Count(1), false));
    assert_eq!(extended(2, &[Some("gout"), None]).diversity[0].disclosures, 0);
}

/// One class of these values, with these texts as categories 0, 1, ...
fn distinct_categories(of: &[&str], values: ArrayRef) -> Amount {
    let of: HashMap<String, u32> = of.iter().map(|text| (*text).to_owned()).zip(0..).collect();
    let reading =
        SensitiveReading::Categories { of: Arc::new(of), rules: CategoryRules::default(), count: 9, labels: None };
    let promise = Promise { sensitive: vec![sensitive(reading, 2, None)], ..promise(&[], &[], 1, 1) };
    amounts(&findings(promise, &[batch(&[("Health Condition", values)])]))[1].3
}

#[test]
fn values_of_any_type_are_read_as_they_are_shown() {
    let instants = || TimestampSecondArray::from(vec![0, 3600]).with_timezone("+02:00");
    let utc = ["1970-01-01T00:00:00Z", "1970-01-01T01:00:00Z"];
    let keys = arrow::array::Int32Array::from(vec![0, 1, 0]);
    for (texts, values) in [
        (["1", "-2"], ints(&[1, -2, 1])),
        (["0.0", "1.5"], Arc::new(Float64Array::from(vec![-0.0, 1.5, 0.0])) as ArrayRef),
        (["true", "false"], Arc::new(arrow::array::BooleanArray::from(vec![true, false]))),
        (utc, Arc::new(instants())),
        (utc, Arc::new(DictionaryArray::<Int32Type>::new(keys, Arc::new(instants())))),
        (["a", "b"], Arc::new(["a", "b", "a"].into_iter().collect::<DictionaryArray<Int32Type>>())),
        (["a", "b"], Arc::new(arrow::array::StringViewArray::from(vec!["a", "b"]))),
    ] {
        assert_eq!(distinct_categories(&texts, values.clone()), Count(2), "{}", values.data_type());
    }
    assert_eq!(distinct_categories(&["", "x"], Arc::new(Date64Array::from(vec![i64::MAX]))), Count(0), "has no text");
}

#[test]
fn amounts_are_written_as_numbers() {
    assert_eq!([Count(3), Weight(2.0), Weight(1.5)].map(|amount| amount.to_string()), ["3", "2", "1.5"]);
}

#[test]
fn columns_of_a_promise_are_named_once() {
    let limit = |allowed| LimitPromise { column: "Age".to_owned(), allowed };
    let bands = AllowedValues::Bands { columns: vec!["Age_min".into(), "Age_max".into()], borders: [1.0].into() };
    let promise = Promise {
        sensitive: vec![sensitive(SensitiveReading::Values, 2, None), sensitive(categories(Some("shown")), 2, None)],
        limits: vec![limit(bands), limit(AllowedValues::Labels(Arc::default()))],
        ..promise(&["Age_min", "Country"], &[], 1, 1)
    };
    assert_eq!(promise.columns(), ["Age_min", "Country", "Health Condition", "shown", "Age_max", "Age"]);
}

/// Class, value, shown category, released label.
type Row = (u8, Option<u8>, Option<u8>, u8);

/// Values 0 to 7 are the conditions of Table 4 in its order; 8 is in no list.
fn value_name(value: u8) -> &'static str {
    SUN_CATEGORIES.iter().flat_map(|(_, values)| *values).nth(usize::from(value)).unwrap_or("Gout")
}

fn release(rows: &[Row]) -> RecordBatch {
    let shown = |row: &Row| row.2.map(|category| SUN_CATEGORIES[usize::from(category)].0);
    let labels: Vec<&str> = rows.iter().map(|row| ["France", "Europe", "*"][usize::from(row.3)]).collect();
    let intervals: Vec<&str> = rows.iter().map(|row| ["25", "[20-29]", "[20-30]"][usize::from(row.3)]).collect();
    batch(&[
        ("q", ints(&rows.iter().map(|row| i64::from(row.0)).collect::<Vec<_>>())),
        ("Health Condition", maybe_texts(&rows.iter().map(|row| row.1.map(value_name)).collect::<Vec<_>>())),
        ("shown", maybe_texts(&rows.iter().map(shown).collect::<Vec<_>>())),
        ("country", texts(&labels)),
        ("age", texts(&intervals)),
    ])
}

fn everything(k: u64, p: u64, alpha: f64) -> Promise {
    let allowed = ["France", "Europe"].map(str::to_owned).into_iter().collect();
    let strong = |(name, values): &(&str, [&str; 2])| match *name {
        "One" => values.map(|value| (value.to_owned(), "One".to_owned())),
        _ => values.map(|value| (value.to_owned(), value.to_owned())),
    };
    let strong = SensitiveReading::Strong(Arc::new(SUN_CATEGORIES.iter().flat_map(strong).collect()));
    let bands = AllowedValues::Bands { columns: vec!["age".to_owned()], borders: [30.0].into() };
    Promise {
        sensitive: vec![
            sensitive(SensitiveReading::Values, p, None),
            sensitive(strong, p, None),
            sensitive(categories(Some("shown")), p, Some(alpha)),
        ],
        limits: vec![
            LimitPromise { column: "country".to_owned(), allowed: AllowedValues::Labels(Arc::new(allowed)) },
            LimitPromise { column: "age".to_owned(), allowed: bands },
        ],
        ..promise(&["q"], &[], k, p)
    }
}

/// Brute force over sorted classes. Returns the least values, strong values, categories and units of weight; the
/// classes with one of each; mismatches and rows beyond; and whether the promise holds.
fn naive(rows: &[Row], k: usize, p: usize, alpha: f64) -> (Vec<Amount>, Vec<u64>, u64, bool) {
    let mut classes: BTreeMap<u8, Vec<&Row>> = BTreeMap::new();
    rows.iter().for_each(|row| classes.entry(row.0).or_default().push(row));
    let category = |value: u8| (value < 8).then_some(value / 2);
    let looks: [&dyn Fn(u8) -> Option<u8>; 3] =
        [&|value| Some(value), &|value| Some(if value < 2 { 0 } else { value }).filter(|value| *value < 8), &|value| {
            category(value)
        }];
    let counts = looks.map(|look| {
        let distinct =
            |class: &Vec<&Row>| class.iter().filter_map(|row| row.1.and_then(look)).collect::<BTreeSet<_>>().len();
        classes.values().map(distinct).collect::<Vec<usize>>()
    });
    let weight =
        |class: &Vec<&Row>| class.iter().filter_map(|row| row.1.and_then(category)).map(u64::from).sum::<u64>();
    let weights: Vec<u64> = classes.values().map(weight).collect();
    let lightest = weights.iter().copied().min().unwrap_or(0) as f64 / 3.0;
    let beyond = rows.iter().filter(|row| row.3 == 2).count() as u64;
    let mismatches = rows.iter().filter(|row| row.1.and_then(category) != row.2).count() as u64;
    let fewest = counts.each_ref().map(|counts| counts.iter().copied().min().unwrap_or(0));
    let smallest = classes.values().map(Vec::len).min().unwrap_or(0);
    let holds = smallest >= k
        && fewest.iter().all(|fewest| *fewest >= p)
        && lightest >= alpha - 1e-9
        && beyond == 0
        && mismatches == 0;
    let mut achieved = vec![Count(smallest as u64)];
    achieved.extend(fewest.map(|fewest| Count(fewest as u64)));
    achieved.extend([Weight(lightest), Count(beyond), Count(beyond)]);
    let disclosures = counts.iter().map(|counts| counts.iter().filter(|count| **count == 1).count() as u64).collect();
    (achieved, disclosures, mismatches, holds)
}

/// Rows that mostly keep the promise, so that both outcomes occur.
fn row() -> impl Strategy<Value = Row> {
    let value = prop_oneof![9 => (0_u8..8).prop_map(Some), 1 => Just(Some(8)), 1 => Just(None)];
    (0_u8..3, value, 0_u8..40, 0_u8..40).prop_map(|(class, value, wrong, label)| {
        let own = value.filter(|value| *value < 8).map(|value| value / 2);
        let shown = if wrong == 0 { Some(0) } else { own };
        (class, value, shown, if label == 0 { 2 } else { label % 2 })
    })
}

proptest! {
    #![proptest_config(cases(192))]

    #[test]
    fn one_pass_batches_and_merged_verifiers_agree_with_a_look_at_each_class(
        rows in prop::collection::vec(row(), 1..40),
        at in any::<prop::sample::Index>(),
        k in 1_usize..4,
        p in 2_usize..4,
        thirds in 1_u32..9,
    ) {
        let alpha = f64::from(thirds) / 3.0;
        let promise = everything(k as u64, p as u64, alpha);
        let found = findings(promise.clone(), &[release(&rows)]);
        let (achieved, disclosures, mismatches, holds) = naive(&rows, k, p, alpha);
        prop_assert_eq!(found.requirements.iter().map(|one| one.achieved).collect::<Vec<_>>(), achieved);
        prop_assert_eq!(found.diversity.iter().map(|one| one.disclosures).collect::<Vec<_>>(), disclosures);
        prop_assert_eq!(found.labels[0].mismatches, mismatches);
        prop_assert_eq!(found.holds(), holds);

        let (left, right) = rows.split_at(at.index(rows.len()));
        prop_assert_eq!(&findings(promise.clone(), &[release(right), release(left)]), &found);
        let [mut one, other] = [left, right].map(|rows| {
            let release = release(rows);
            let mut verifier = Verifier::new(promise.clone(), release.schema().as_ref()).unwrap();
            verifier.push(&release).unwrap();
            verifier
        });
        one.merge(other);
        prop_assert_eq!(&one.finish(), &found);
    }
}

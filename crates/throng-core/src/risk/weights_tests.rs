use super::*;

fn tuples(rows: &[(u32, u32, u32)]) -> CountedTuples {
    let mut tuples = CountedTuples::new(2);
    rows.iter().for_each(|(quasi, other, rows)| tuples.push(&[*quasi, *other], *rows));
    tuples
}

#[test]
fn equal_weights_are_a_sampling_fraction() {
    let tuples = tuples(&[(0, 0, 1), (1, 0, 2), (1, 1, 3), (2, 0, 1), (3, 5, 4)]);
    let weights: Vec<f64> = (0..tuples.len()).map(|index| 10.0 * f64::from(tuples.rows(index))).collect();
    let found = WeightedClasses::of(&tuples, 1, &weights).risk(0.05).unwrap();
    let sizes: ClassSizes = [1, 5, 1, 4].into_iter().collect();
    let expected = SamplingFraction::new(0.1).unwrap().risk(&sizes, 0.05);
    assert!((found.average - expected.average).abs() < 1e-12 && (found.uniques - expected.uniques).abs() < 1e-9);
    assert_eq!((found.rows_at_risk, found.people), (expected.rows_at_risk, expected.people));
    assert!((found.highest - expected.highest).abs() < 1e-12);
}

#[test]
fn heavy_rows_hide_among_more_people() {
    let tuples = tuples(&[(0, 0, 1), (1, 0, 1)]);
    let found = WeightedClasses::of(&tuples, 1, &[2.0, 1000.0]).risk(0.2).unwrap();
    let risk = |people: f64| SamplingFraction::new(1.0 / people).unwrap().expected_risk(1);
    assert!((found.highest - risk(2.0)).abs() < 1e-12);
    assert!((found.reidentified - risk(2.0) - risk(1000.0)).abs() < 1e-12);
    assert_eq!((found.people, found.rows_at_risk), (1002.0, 1));
}

#[test]
fn weights_below_one_do_not_hide_less_than_the_rows_themselves() {
    let found = WeightedClasses::of(&tuples(&[(0, 0, 4)]), 1, &[0.4]).risk(0.2).unwrap();
    assert!((found.highest - 0.25).abs() < 1e-9, "{found:?}");
    assert_eq!(found.people, 4.0);
    assert_eq!(WeightedClasses::of(&tuples(&[]), 1, &[]).risk(0.2), None);
}

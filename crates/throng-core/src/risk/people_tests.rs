use super::*;
use crate::risk::ClassSizes;

fn class(rows: u64, people: f64, members: u64) -> ClassPeople {
    ClassPeople { rows, hidden: rows, people, members: Some(members) }
}

fn release(source: PeopleSource, classes: &[ClassPeople], outside: f64) -> ReleasePeople {
    ReleasePeople { source, classes: classes.to_vec(), people: 1000.0, outside, limits: PeopleLimits::default() }
}

#[test]
fn the_journalist_counts_people_and_not_rows() {
    let release = release(PeopleSource::Table, &[class(5, 50.0, 5), class(5, 10.0, 5)], 0.0);
    assert_eq!(release.fewest(), 10);
    assert_eq!(release.highest(), 0.1);
    assert!((release.reidentified() - (5.0 / 50.0 + 5.0 / 10.0)).abs() < 1e-12);
    assert!((release.average() - 0.06).abs() < 1e-12);
    assert_eq!((release.rows_above(0.09), release.rows_above(0.2)), (5, 0));
    assert_eq!(release.presence(), Some(Presence { least: 0.1, most: 0.5 }));
    assert_eq!(release.fraction(10).map(SamplingFraction::get), Some(0.01));
}

#[test]
fn a_register_that_lacks_people_of_the_release_helps_no_more_than_the_rows() {
    let release = release(PeopleSource::Table, &[class(5, 2.0, 5), class(5, 0.0, 5)], 0.0);
    assert_eq!((release.fewest(), release.highest()), (0, 0.2));
    assert_eq!(release.presence(), Some(Presence { least: 1.0, most: 1.0 }));
}

#[test]
fn people_who_are_in_no_box_are_known_to_be_absent() {
    let counted = release(PeopleSource::Table, &[class(5, 10.0, 5)], 1.0);
    assert_eq!(counted.presence(), Some(Presence { least: 0.0, most: 0.5 }));
    let unknown = ClassPeople { members: None, ..class(5, 10.0, 0) };
    assert_eq!(release(PeopleSource::Table, &[unknown], 0.0).presence(), None);
}

#[test]
fn equal_weights_give_the_risk_of_their_sampling_fraction() {
    let release = release(PeopleSource::Weights, &[class(5, 50.0, 5), class(20, 200.0, 20)], 0.0);
    let sizes: ClassSizes = [5, 20].into_iter().collect();
    let expected = SamplingFraction::new(0.1).unwrap().risk(&sizes, 0.05);
    assert!((release.reidentified() - expected.reidentified).abs() < 1e-9);
    assert!((release.highest() - expected.highest).abs() < 1e-12);
    assert_eq!(release.rows_above(0.05), expected.rows_at_risk);
}

use super::*;
use crate::test_tables::{Someone, in_intervals, original, random_people, read_original, read_release, release, spec};

/// Compares two releases of the same people by every method.
fn compared(people: &[Someone], widths: [(i64, i64); 2]) -> [DiffReport; 3] {
    let mut lexicon = Lexicon::new(spec(10, 3)).unwrap();
    let releases = widths.map(|(width, offset)| release(&in_intervals(people.to_vec(), width, offset)));
    let [first, second] = [0, 1].map(|at: usize| read_release(&mut lexicon, &releases[at], Some("note")));
    let labels = diff(&lexicon, &first, &second, None, 0);
    let linked = diff_linked(&lexicon, &first, &second);
    let mut lexicon = Lexicon::new(spec(10, 3)).unwrap();
    let table = read_original(&mut lexicon, &original(people));
    let [first, second] = [0, 1].map(|at: usize| read_release(&mut lexicon, &releases[at], None));
    [labels, diff(&lexicon, &first, &second, Some(&table), 0), linked]
}

#[test]
fn the_same_classes_reveal_nothing_together() {
    for report in compared(&random_people(2400, 4, 5, 1), [(10, 20), (10, 20)]) {
        assert_eq!((report.people_below_k, report.people_below_p, report.people), (0, 0, 2400), "{report:?}");
    }
}

#[test]
fn linked_people_are_counted_exactly() {
    // Classes of 20 to 29 and of 25 to 34 share 25 to 29.
    let people = random_people(300, 1, 5, 1);
    let [labels, with_original, linked] = compared(&people, [(10, 20), (10, 15)]);
    let mut shared = std::collections::HashMap::<_, Vec<&Someone>>::new();
    people.iter().for_each(|person| shared.entry((person.age - 15) / 5).or_default().push(person));
    let below = |of: &Vec<&Someone>| of.len() < 10;
    let expected: usize = shared.values().filter(|of| below(of)).map(Vec::len).sum();
    assert_eq!(linked.people_below_k, expected as u64);
    assert_eq!((linked.method, linked.people, linked.examined), ("linked", 300, 300));
    assert_eq!((labels.method, with_original.method), ("labels", "original"));
}

#[test]
fn overlapping_classes_of_few_people_fall_below_k() {
    let people = random_people(600, 10, 30, 4);
    let [labels, with_original, linked] = compared(&people, [(10, 20), (10, 15)]);
    for report in [&labels, &with_original, &linked] {
        assert!(report.people_below_k > 300 && report.chance_together >= report.chance_alone, "{report:?}");
    }
    // What a link reveals includes what labels reveal.
    assert!(linked.people_below_k >= with_original.people_below_k, "{linked:?} {with_original:?}");
    assert!(linked.chance_together > 1.5 * linked.chance_alone, "{linked:?}");
}

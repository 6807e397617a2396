//! Every attack succeeds against a release built for it, and gains nothing from a sound one.

use std::collections::HashMap;

use super::*;
use crate::test_tables::{
    Siege, Someone, in_intervals, original, people, random_people, read_original, read_release, release, shuffled, spec,
};
use crate::{LabSpec, OriginalReader};

/// A sound release: large classes in which values are distributed as in the whole table, in random order.
fn sound() -> Siege {
    let people = in_intervals(random_people(4800, 4, 5, 3), 10, 20);
    Siege { spec: spec(10, 3), release: shuffled(people.clone(), 9), original: people, ..Siege::default() }
}

#[test]
fn a_sound_release_gains_nothing_from_any_attack() {
    let report = sound().run();
    for outcome in &report.attacks {
        assert!(outcome.gain < 1.12, "{outcome:?}");
    }
    let names: Vec<&str> = report.attacks.iter().map(|outcome| outcome.name).collect();
    assert_eq!(
        names,
        [
            "linkage",
            "homogeneity",
            "skewness",
            "background_values",
            "background_members",
            "naive_bayes",
            "tree",
            "minimality",
            "downcoding",
            "borrowed_rows",
            "order",
            "metadata"
        ]
    );
}

#[test]
fn the_same_seed_gives_the_same_report() {
    let text = |report: AttackReport| serde_json::to_string(&report).unwrap();
    assert_eq!(text(sound().run()), text(sound().run()));
}

#[test]
fn every_attack_is_repeated_by_its_seed() {
    let people = in_intervals(random_people(1200, 4, 5, 3), 10, 20);
    let mut spec = spec(10, 3);
    let group = |illness: usize| (format!("illness {illness}"), format!("group {}", illness / 2));
    spec.sensitive[0].groups = Some((0..5).map(group).collect::<HashMap<_, _>>().into());
    let siege = |seed| Siege {
        seed,
        spec: spec.clone(),
        release: shuffled(people.clone(), 9),
        original: people.clone(),
        previous: vec![in_intervals(people.clone(), 15, 18)],
        population: random_people(500, 4, 5, 8),
        traces: vec!["a text".to_owned()],
    };
    let (first, again, other) = (siege(1).run(), siege(1).run(), siege(2).run());
    let names: Vec<&str> = first.attacks.iter().map(|outcome| outcome.name).collect();
    let all: Vec<&str> = ATTACKS.iter().map(|(name, _)| *name).collect();
    assert_eq!(names, all, "{:?}", first.skipped);
    let text = |report: &AttackReport| serde_json::to_string(&report.attacks).unwrap();
    assert_eq!(text(&first), text(&again));
    assert_ne!(text(&first), text(&other));
}

#[test]
fn linkage_finds_the_row_of_a_person_who_is_alone() {
    let siege = Siege { spec: spec(10, 3), original: random_people(300, 40, 5, 1), ..Siege::default() };
    let outcome = siege.outcome("linkage");
    assert!(outcome.release > 0.8 && outcome.gain > 8.0, "{outcome:?}");
    assert_eq!(outcome.bound, Some(1.0));
    // k holds, and bounds the success of linkage.
    let outcome = sound().outcome("linkage");
    assert!(outcome.gain < 0.1 && outcome.release <= outcome.bound.unwrap(), "{outcome:?}");
}

/// People of 24 classes of 40, whose illness is given by their class and their number in it.
fn in_classes(illness: impl Fn(usize, usize) -> usize) -> Vec<Someone> {
    let members = (0..24).flat_map(|class| (0..40).map(move |member| (class, member)));
    let people = people(members.map(|(class, member)| {
        let age = 20 + (class % 6 * 10 + member % 10) as i64;
        (age, format!("city {}", class / 6), format!("illness {}", illness(class, member)))
    }));
    in_intervals(people, 10, 20)
}

#[test]
fn homogeneity_reads_the_only_value_of_a_class() {
    let siege = Siege { spec: spec(10, 1), original: in_classes(|class, _| class % 6), ..Siege::default() };
    let outcome = siege.outcome("homogeneity");
    assert!((outcome.release, outcome.certain) == (1.0, 1.0) && outcome.gain > 5.9, "{outcome:?}");
}

#[test]
fn skewness_finds_rare_values_that_an_average_over_people_hides() {
    // Only two of 24 classes have ill people, and these are half of their class.
    let ill = |class: usize, member: usize| if class < 2 && member < 20 { 1 + class } else { 0 };
    let siege = Siege { spec: spec(10, 2), original: in_classes(ill), ..Siege::default() };
    let (average, rare) = (siege.outcome("homogeneity"), siege.outcome("skewness"));
    assert!(average.gain < 1.1, "{average:?}");
    assert!(rare.gain > 1.8, "{rare:?}");
    assert!(rare.details["largest_lift_of_a_value"].as_f64().unwrap() > 20.0, "{rare:?}");
}

#[test]
fn similarity_reads_the_group_of_different_values() {
    // Every class has four illnesses, all of the same group.
    let people = in_classes(|class, member| class % 6 * 4 + member % 4);
    let mut spec = spec(10, 3);
    let group = |illness: usize| (format!("illness {illness}"), format!("group {}", illness / 4));
    spec.sensitive[0].groups = Some((0..24).map(group).collect::<HashMap<_, _>>().into());
    let siege = Siege { spec: spec.clone(), original: people, ..Siege::default() };
    let outcome = siege.outcome("similarity");
    assert!(outcome.release == 1.0 && outcome.gain > 5.9, "{outcome:?}");
    // For comparison, classes with values of all groups.
    let siege = Siege { spec, original: in_classes(|class, member| (class + member) % 24), ..Siege::default() };
    assert!(siege.outcome("similarity").gain < 1.2);
}

#[test]
fn background_knowledge_leaves_one_value_of_three() {
    let siege = Siege {
        spec: spec(10, 3),
        original: in_classes(|class, member| class % 8 * 3 + member % 3),
        ..Siege::default()
    };
    let outcome = siege.outcome("background_values");
    assert!(outcome.release == 1.0 && outcome.gain > 15.0, "{outcome:?}");
    assert_eq!(outcome.details["values_ruled_out"], 2);
}

#[test]
fn background_knowledge_of_members_leaves_few_of_a_small_class() {
    // Classes of six people with six values: five are known, so the last one follows.
    let people =
        people((0..600).map(|at| (20 + at / 6 % 60, format!("city {}", at / 360), format!("illness {}", at % 6))));
    let siege = Siege { spec: spec(10, 3), original: people, ..Siege::default() };
    let outcome = siege.outcome("background_members");
    assert!(outcome.release == 1.0 && outcome.gain > 5.0, "{outcome:?}");
}

#[test]
fn models_tell_members_of_a_class_apart() {
    // Illness follows age. One city of four shows ages, from which a model learns; the others hide them.
    let mut people = random_people(4000, 4, 1, 5);
    for person in &mut people {
        person.illness = if person.age < 50 { "flu" } else { "gout" }.to_owned();
        if person.city != "city 0" {
            person.label = "[20-79]".to_owned();
        }
    }
    let siege = Siege { spec: spec(10, 2), original: people, ..Siege::default() };
    for name in ["naive_bayes", "tree"] {
        let outcome = siege.outcome(name);
        assert!(outcome.gain > 1.4 && outcome.release > 0.9, "{outcome:?}");
        assert!(outcome.details["accuracy_trained_on_release"].as_f64().unwrap() > 0.95, "{outcome:?}");
    }
}

#[test]
fn minimality_reads_why_a_cell_was_generalized() {
    // In each of 30 cities, twelve people of one age share a value, and were generalized with thirty others only for p = 2.
    let of_city = |city: i64| {
        (0..42).map(move |at| {
            let (age, illness) = if at < 12 { (30, city % 5) } else { (31, at % 5) };
            (age, format!("city {city}"), format!("illness {illness}"))
        })
    };
    let mut crowd = people((0..30).flat_map(of_city));
    crowd.iter_mut().for_each(|person| person.label = "[30-31]".to_owned());
    let siege = Siege { spec: spec(10, 2), original: crowd, ..Siege::default() };
    let outcome = siege.outcome("minimality");
    // The thirty others could have been a class, too; the inference is right only for the twelve.
    assert!(outcome.details["cells_attacked"].as_u64() == Some(60), "{outcome:?}");
    // If the others are too few for k, all inferences are right: twelve of seventeen rows have the value, and only that value can
    // belong to twelve people.
    let of_city = |city: i64| {
        (0..17).map(move |at| {
            let (age, illness) = if at < 12 { (30, city % 5) } else { (31, 5 + at % 5) };
            (age, format!("city {city}"), format!("illness {illness}"))
        })
    };
    let mut crowd = people((0..30).flat_map(of_city));
    crowd.iter_mut().for_each(|person| person.label = "[30-31]".to_owned());
    let outcome = Siege { spec: spec(10, 2), original: crowd, ..Siege::default() }.outcome("minimality");
    assert!(outcome.release == 1.0 && (outcome.gain - 17.0 / 12.0).abs() < 1e-6, "{outcome:?}");
    assert_eq!((&outcome.details["cells_attacked"], outcome.people), (&30.into(), 360));
    // If only cells below k are generalized, there is nothing to infer.
    let small = in_intervals(
        people((0..600).map(|at| (20 + at % 60, format!("city {}", at / 60 % 2), format!("illness {}", at % 7)))),
        6,
        20,
    );
    let siege = Siege { spec: spec(10, 2), original: small, ..Siege::default() };
    assert_eq!(siege.outcome("minimality").gain, 1.0);
}

#[test]
fn downcoding_finds_ends_that_are_values() {
    // Ages have gaps, and intervals end at values that occur.
    let mut crowd = random_people(600, 10, 5, 2);
    for person in &mut crowd {
        (person.age, person.label) =
            if person.age % 2 == 0 { (20, "[20-43]".to_owned()) } else { (43, "[20-43]".to_owned()) };
    }
    let siege = Siege { spec: spec(10, 3), original: crowd.clone(), ..Siege::default() };
    let outcome = siege.outcome("downcoding");
    assert!(outcome.release == 1.0 && outcome.prior < 0.1 && outcome.gain > 5.0, "{outcome:?}");
    // Rounded outwards, the ends reveal nothing.
    crowd.iter_mut().for_each(|person| person.label = "[15-50]".to_owned());
    let siege = Siege { spec: spec(10, 3), original: crowd, ..Siege::default() };
    let outcome = siege.outcome("downcoding");
    assert!(outcome.release <= outcome.prior, "{outcome:?}");
}

/// Thirty classes of ten rows, of which one person has `own`; the column `note` has the number of the person.
fn with_several_rows(own: usize) -> Siege {
    let person = |row: usize| if row % 10 < own { row / 10 * 10 } else { row };
    let rows = people((0..300).map(|row| {
        let (class, member) = (row / 10, person(row) % 10);
        let age = 20 + (class % 6 * 10 + member) as i64;
        (age, format!("city {}", class / 6), format!("illness {}", row % 5))
    }));
    let mut crowd = in_intervals(rows, 10, 20);
    crowd.iter_mut().enumerate().for_each(|(row, someone)| someone.note = person(row) as i64);
    let spec = LabSpec { unit: vec!["note".to_owned()], insensitive: Vec::new(), ..spec(10, 3) };
    Siege { spec, original: crowd, ..Siege::default() }
}

#[test]
fn linkage_counts_people_and_not_rows() {
    let outcome = with_several_rows(1).outcome("linkage");
    assert_eq!((outcome.release, outcome.gain, outcome.trials), (0.1, 1.0, 300));
    // Classes of ten rows have five people. One of them has six rows, and is found with six of ten draws.
    let outcome = with_several_rows(6).outcome("linkage");
    assert_eq!(outcome.trials, 150, "people are attacked, not rows");
    assert_eq!(outcome.details["worst"], 0.6);
    assert!((outcome.release - (0.6 + 4.0 * 0.1) / 5.0).abs() < 1e-6, "{outcome:?}");
    assert!((outcome.gain - 2.0).abs() < 1e-6 && outcome.bound.is_none(), "{outcome:?}");
    assert_eq!(outcome.details["rows_per_person"], 2.0);
}

#[test]
fn a_sample_of_people_does_not_prefer_those_with_many_rows() {
    let siege = with_several_rows(6);
    let mut lexicon = Lexicon::new(siege.spec.clone()).unwrap();
    let batch = original(&siege.original);
    let mut many = 0;
    for seed in 0..40 {
        let mut reader = OriginalReader::new(&lexicon, &batch.schema(), 30, seed).unwrap();
        (0..batch.num_rows()).for_each(|row| reader.push(&mut lexicon, &batch.slice(row, 1)).unwrap());
        let table = reader.finish().unwrap();
        assert_eq!(table.targets.len(), 30);
        many += table.targets.iter().filter(|target| target.rows == 6).count();
    }
    // One of five people has six rows: 240 of 1200 are expected, and rows would give 720.
    assert!((180..300).contains(&many), "{many}");
}

/// In each of 40 cities one person has a unique age, and borrows nine rows of a cell of forty by `lend`.
fn borrowing(mut lend: impl FnMut(&mut Vec<usize>) -> Vec<usize>) -> Vec<Someone> {
    let mut crowd = Vec::new();
    for city in 0..40 {
        let mut rich: Vec<usize> = (0..40).map(|at| [0, 0, 0, 0, 0, 1, 1, 1, 2, 3][at % 10]).collect();
        let borrowed = lend(&mut rich);
        let row = |age, illness: usize, label: &str| {
            (age, format!("city {city}"), format!("illness {illness}"), label.to_owned())
        };
        crowd.push(row(31, 10 + city % 7, "[30-31]"));
        crowd.extend(borrowed.into_iter().map(|illness| row(30, illness, "[30-31]")));
        crowd.extend(rich.into_iter().map(|illness| row(30, illness, "30")));
    }
    let labels: Vec<String> = crowd.iter().map(|(_, _, _, label)| label.clone()).collect();
    let mut crowd = people(crowd.into_iter().map(|(age, city, illness, _)| (age, city, illness)));
    crowd.iter_mut().zip(labels).for_each(|(person, label)| person.label = label);
    crowd
}

#[test]
fn borrowed_rows_of_a_public_rule_are_subtracted() {
    let ruled = borrowing(|rich| {
        // Eight of the most frequent value, and one of the second: then the class has three values.
        rich.sort_unstable();
        let lent = [&rich[..8], &[1][..]].concat();
        rich.drain(..8);
        rich.remove(rich.iter().position(|illness| *illness == 1).unwrap());
        lent
    });
    let siege = Siege { spec: spec(10, 3), original: ruled, ..Siege::default() };
    let outcome = siege.outcome("borrowed_rows");
    assert!(outcome.release == 1.0 && outcome.gain > 9.0, "{outcome:?}");
    assert_eq!(outcome.details["classes_explained"], 40);
    let mut random = crate::random::LabRandom::new(4, "loans");
    let drawn = borrowing(|rich| (0..9).map(|_| rich.swap_remove(random.below(rich.len()))).collect());
    let siege = Siege { spec: spec(10, 3), original: drawn, ..Siege::default() };
    let outcome = siege.outcome("borrowed_rows");
    assert!(outcome.gain < 2.0, "{outcome:?}");
}

#[test]
fn composition_intersects_classes() {
    let people = random_people(300, 4, 30, 6);
    let (first, second) = (in_intervals(people.clone(), 10, 20), in_intervals(people.clone(), 10, 15));
    let siege = |previous: Vec<Someone>| Siege {
        spec: spec(10, 3),
        original: people.clone(),
        release: first.clone(),
        previous: vec![previous],
        ..Siege::default()
    };
    let outcome = siege(second).outcome("composition");
    assert!(outcome.gain > 1.3, "{outcome:?}");
    let outcome = siege(first.clone()).outcome("composition");
    assert_eq!(outcome.gain, 1.0, "{outcome:?}");
}

#[test]
fn in_a_series_only_classes_that_all_releases_show_are_left() {
    // Twenty people of each city from the first night on, and twenty others who came later, within wider labels.
    let first = people((0..200).map(|at| (20 + at % 10, format!("city {}", at / 20), format!("illness {}", at % 4))));
    let mut first = in_intervals(first, 10, 20);
    let mut later =
        people((0..200).map(|at| (21 + at % 8, format!("city {}", at / 20), format!("illness {}", 4 + at % 4))));
    later.iter_mut().for_each(|person| person.label = "[20-30]".to_owned());
    first.iter_mut().for_each(|person| person.label = "[20-29]".to_owned());
    let latest = [first.clone(), later].concat();
    let siege = |first: &[Someone], is_series: bool| Siege {
        spec: LabSpec { is_series, ..spec(10, 3) },
        original: first.to_vec(),
        release: latest.clone(),
        previous: vec![first.to_vec()],
        ..Siege::default()
    };
    // Together the releases reveal as much as the first one alone, and twice as much as the latest.
    let outcome = siege(&first, true).outcome("composition");
    assert_eq!((outcome.prior, outcome.release, outcome.gain, outcome.bound), (0.25, 0.25, 1.0, Some(0.25)));
    assert_eq!((&outcome.details["gain_over_latest"], &outcome.details["parts"]), (&2.0.into(), &10.into()));
    assert_eq!((&outcome.details["parts_below_k"], &outcome.details["parts_below_p"]), (&0.into(), &0.into()));
    // A series that showed only eight of the people before breaks its promise, and this is detected.
    let few: Vec<Someone> = first.chunks(20).flat_map(|city| city[..8].to_vec()).collect();
    let outcome = siege(&few, true).outcome("composition");
    assert_eq!((&outcome.details["parts_below_k"], &outcome.details["parts_below_p"]), (&10.into(), &0.into()));
    assert_eq!(outcome.details["share_below_k"], 1.0);
    // Without knowing that rows stay in their classes, there is no bound.
    assert_eq!(siege(&first, false).outcome("composition").bound, None);
}

#[test]
fn a_person_whom_a_release_suppresses_is_found_in_the_others() {
    let shown = in_classes(|_, member| member % 4);
    let (some, others) = (shown[..480].to_vec(), shown[480..].to_vec());
    let siege = Siege { spec: spec(10, 3), original: shown, release: some, previous: vec![others], ..Siege::default() };
    let outcome = siege.outcome("composition");
    assert_eq!((outcome.trials, outcome.release, outcome.gain), (960, 0.25, 1.0), "{outcome:?}");
}

#[test]
fn bounds_hold_and_are_reached() {
    // Labels overlap, and values follow no rule.
    for seed in 0..6 {
        let mut crowd = in_intervals(random_people(900, 3, 4 + seed as usize, seed), 12, 17);
        crowd.iter_mut().filter(|person| person.note % 3 == 0).for_each(|person| person.label = person.age.to_string());
        let mut spec = spec(2 + seed, 2 + seed % 3);
        let group = |illness: usize| (format!("illness {illness}"), format!("group {}", illness / 2));
        spec.sensitive[0].groups = Some((0..10).map(group).collect::<HashMap<_, _>>().into());
        let siege = Siege { spec, original: crowd.clone(), ..Siege::default() };
        // The largest distance of a class from the whole table.
        let distance = |of: &[&Someone]| -> f64 {
            let share = |of: &[&Someone], illness: &str| {
                of.iter().filter(|person| person.illness == illness).count() as f64 / of.len() as f64
            };
            let all: Vec<&Someone> = crowd.iter().collect();
            (0..10).map(|at| format!("illness {at}")).map(|at| (share(of, &at) - share(&all, &at)).max(0.0)).sum()
        };
        let mut classes: HashMap<(&str, &str), Vec<&Someone>> = HashMap::new();
        crowd.iter().for_each(|person| classes.entry((&person.label, &person.city)).or_default().push(person));
        let t = classes.values().map(|class| distance(class)).fold(0.0, f64::max);
        let report = siege.run();
        let mut bounded = 0;
        for outcome in &report.attacks {
            if let Some(bound) = outcome.bound {
                assert!(outcome.release <= bound + 1e-6 && bound <= 1.0 + 1e-6, "{seed}: {outcome:?}");
                bounded += 1;
            }
            if outcome.name == "homogeneity" {
                assert!(outcome.bound.unwrap() <= outcome.prior + t + 1e-6, "{t}: {outcome:?}");
            }
        }
        assert_eq!(bounded, 7, "{:?}", report.attacks);
    }
    // Classes of forty people, ten with each of four values: every bound is attained.
    let siege = Siege {
        spec: spec(10, 3),
        original: in_classes(|class, member| class % 6 * 4 + member % 4),
        ..Siege::default()
    };
    let known = 0.25 + 0.75 * 5.0 / (39.0 * 35.0);
    for (name, bound) in
        [("homogeneity", 0.25), ("skewness", 0.25), ("background_values", 0.5), ("background_members", known)]
    {
        let outcome = siege.outcome(name);
        assert!((outcome.bound.unwrap() - bound).abs() < 1e-6, "{outcome:?}");
        assert!((outcome.release - bound).abs() < 1e-6, "{outcome:?}");
    }
}

#[test]
fn membership_shows_where_a_release_has_rows() {
    let (mut members, mut others) = (random_people(800, 4, 5, 7), random_people(800, 4, 5, 8));
    members.iter_mut().for_each(|person| person.age = person.age / 2 * 2);
    members.iter_mut().for_each(|person| person.label = person.age.to_string());
    others.iter_mut().for_each(|person| person.age = person.age / 2 * 2 + 1);
    let siege = |release: Vec<Someone>| Siege {
        spec: spec(10, 3),
        original: members.clone(),
        release,
        population: others.clone(),
        ..Siege::default()
    };
    let outcome = siege(members.clone()).outcome("membership");
    assert!(outcome.release > 0.95 && outcome.gain > 1.9, "{outcome:?}");
    let outcome = siege(in_intervals(members.clone(), 60, 20)).outcome("membership");
    assert!(outcome.gain < 1.1, "{outcome:?}");
}

#[test]
fn order_of_the_original_and_of_hidden_values_is_noticed() {
    let mut siege = sound();
    siege.release = siege.original.clone();
    let outcome = siege.outcome("order");
    assert!(outcome.release == 1.0 && outcome.details["follows"] == "the order of the original", "{outcome:?}");
    siege.release = shuffled(siege.original.clone(), 5);
    siege.release.sort_by_key(|person| std::cmp::Reverse(person.age));
    let outcome = siege.outcome("order");
    assert!(outcome.release == 1.0 && outcome.details["follows"] == "the hidden values of `age`", "{outcome:?}");
    assert!(sound().outcome("order").gain < 1.06);
}

#[test]
fn metadata_with_a_hidden_value_is_noticed() {
    let mut people = in_intervals(random_people(600, 4, 5, 2), 10, 20);
    people.iter_mut().for_each(|person| person.age = person.age / 10 * 10 + 3);
    let siege = |traces: &[&str]| Siege {
        spec: spec(10, 3),
        original: people.clone(),
        traces: traces.iter().map(|text| (*text).to_owned()).collect(),
        ..Siege::default()
    };
    let outcome = siege(&["pandas", r#"{"index": [23, 33, 43, 53, 63, 73]}"#]).outcome("metadata");
    assert!(outcome.release == 1.0 && outcome.gain > 9.0, "{outcome:?}");
    assert_eq!(siege(&["writer", "version 1"]).outcome("metadata").gain, 1.0);
}

#[test]
fn an_oracle_believes_the_guess_with_more_classes_in_common() {
    let crowd = in_intervals(random_people(400, 2, 5, 1), 10, 20);
    let mut exchanged = crowd.clone();
    let other = crowd.iter().position(|person| person.label != crowd[0].label && person.illness != crowd[0].illness);
    let (first, other) = (crowd[0].illness.clone(), other.unwrap());
    exchanged[0].illness = std::mem::replace(&mut exchanged[other].illness, first);
    let mut lexicon = Lexicon::new(spec(10, 3)).unwrap();
    read_original(&mut lexicon, &original(&crowd));
    let mut read = |people: &[Someone]| read_release(&mut lexicon, &release(people), None);
    let published = read(&crowd);
    let trial = |truth, exchanged| OracleTrial { truth, exchanged };
    let found = oracle(&published, &[trial(read(&crowd), read(&exchanged))], 0).unwrap();
    assert_eq!((found.release, found.gain), (1.0, 2.0));
    let blind = oracle(&published, &[trial(read(&exchanged), read(&exchanged))], 0).unwrap();
    assert_eq!((blind.release, blind.gain), (0.5, 1.0));
}

/// A second implementation of two attacks, in another language and by brute force.
const PYTHON: &str = r#"
import csv, sys
from collections import Counter
people = list(csv.DictReader(open(sys.argv[1])))
rows = list(csv.DictReader(open(sys.argv[2])))
def covers(label, age):
    if label.startswith("["):
        low, high = label[1:-1].split("-")
        return int(low) <= age <= int(high)
    return int(label) == age
totals = Counter(person["illness"] for person in people)
linkage = release = prior = 0.0
for person in people:
    found = [r for r in rows if r["city"] == person["city"] and covers(r["age"], int(person["age"]))]
    linkage += 1 / len(found)
    release += sum(r["illness"] == person["illness"] for r in found) / len(found)
    prior += totals[person["illness"]] / len(people)
n = len(people)
print(linkage / n, release / n, prior / n)
"#;

#[test]
fn an_independent_implementation_agrees() {
    let mut crowd = in_intervals(random_people(700, 5, 6, 11), 12, 17);
    // Some labels are exact, so that classes overlap.
    crowd.iter_mut().filter(|person| person.note % 3 == 0).for_each(|person| person.label = person.age.to_string());
    let folder = std::env::temp_dir().join(format!("throng-lab-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let write = |name: &str, age: fn(&Someone) -> String| {
        let lines = crowd.iter().map(|person| format!("{},{},{}\n", age(person), person.city, person.illness));
        let path = folder.join(name);
        std::fs::write(&path, format!("age,city,illness\n{}", lines.collect::<String>())).unwrap();
        path
    };
    let paths =
        [write("people.csv", |person| person.age.to_string()), write("rows.csv", |person| person.label.clone())];
    let ran = std::process::Command::new("python3").arg("-c").arg(PYTHON).args(&paths).output();
    std::fs::remove_dir_all(&folder).unwrap();
    let Ok(ran) = ran else {
        throng_testkit::skip("python3 is not there, so that no second implementation was run");
        return;
    };
    assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
    let expected: Vec<f64> =
        String::from_utf8(ran.stdout).unwrap().split_whitespace().map(|number| number.parse().unwrap()).collect();
    let siege = Siege { spec: spec(10, 3), original: crowd, ..Siege::default() };
    let (linkage, homogeneity) = (siege.outcome("linkage"), siege.outcome("homogeneity"));
    for (found, expected) in [linkage.release, homogeneity.release, homogeneity.prior].iter().zip(&expected) {
        assert!((found - expected).abs() < 1e-6, "{found} and {expected}");
    }
}

use std::sync::Arc;

use arrow::array::{ArrayRef, Float64Array, Int64Array, RecordBatch, StringArray};
use arrow::datatypes::DataType;

use super::*;
use crate::random::LabRandom;
use crate::{KnownQuasi, LabError, LabSpec, Lexicon, QuasiScale, ReleasedForm, ReleasedReader};

/// A person: an age, a region of a hierarchy, and a ZIP code.
type Person = (Option<i64>, Option<String>, Option<String>);

/// Whether a class holds an age.
type HoldsAge = fn(&Class, Option<i64>) -> bool;

/// A class, with its labels and their meaning.
struct Class {
    rows: usize,
    age: (String, HoldsAge),
    ages: (i64, i64),
    region: (String, Vec<Option<String>>),
    zip: (String, String),
}

impl Class {
    /// Counts as a reader of the labels would, without codes, keys or a tree.
    fn holds(&self, (age, region, zip): &Person) -> bool {
        let in_region = self.region.0 == "*" || self.region.1.contains(region);
        let in_zip = match zip {
            _ if self.zip.0 == "*" => true,
            Some(zip) => zip.starts_with(&self.zip.1) && zip.len() <= 5,
            None => false,
        };
        (self.age.1)(self, *age) && in_region && in_zip
    }
}

fn texts<'a>(texts: impl Iterator<Item = Option<&'a str>>) -> ArrayRef {
    Arc::new(texts.collect::<StringArray>())
}

fn people_batch(people: &[Person], weights: &[f64]) -> RecordBatch {
    let ages: ArrayRef = Arc::new(people.iter().map(|person| person.0).collect::<Int64Array>());
    let weights: ArrayRef = Arc::new(Float64Array::from(weights.to_vec()));
    RecordBatch::try_from_iter([
        ("age", ages),
        ("region", texts(people.iter().map(|person| person.1.as_deref()))),
        ("zip", texts(people.iter().map(|person| person.2.as_deref()))),
        ("weight", weights),
    ])
    .unwrap()
}

fn release_batch(classes: &[Class]) -> RecordBatch {
    let rows = || classes.iter().flat_map(|class| std::iter::repeat_n(class, class.rows));
    RecordBatch::try_from_iter([
        ("age", texts(rows().map(|class| Some(class.age.0.as_str())))),
        ("region", texts(rows().map(|class| Some(class.region.0.as_str())))),
        ("zip", texts(rows().map(|class| Some(class.zip.0.as_str())))),
    ])
    .unwrap()
}

fn lexicon(forms: ReleasedForm) -> Lexicon {
    let region = |at: usize| vec![format!("r{at}"), format!("group {}", at / 3), "*".to_owned()];
    let quasi = |name: &str, form, scale| KnownQuasi { name: name.to_owned(), form, scale };
    Lexicon::new(LabSpec {
        quasi: vec![
            quasi("age", forms, QuasiScale::Ordered(DataType::Int64)),
            quasi("region", ReleasedForm::Label, QuasiScale::Names((0..9).map(region).collect())),
            quasi("zip", ReleasedForm::Label, QuasiScale::Names(Vec::new())),
        ],
        ..LabSpec::default()
    })
    .unwrap()
}

fn random_person(random: &mut LabRandom) -> Person {
    let zip = format!("{:05}", random.below(100_000));
    // Some codes are longer than those of the original, and some regions are unknown to it.
    let zip = if random.below(20) == 0 { format!("{zip}-1") } else { zip };
    let present = |random: &mut LabRandom| random.below(12) > 0;
    (
        present(random).then(|| random.below(100) as i64),
        present(random).then(|| format!("r{}", random.below(11))),
        present(random).then_some(zip),
    )
}

fn random_class(random: &mut LabRandom) -> Class {
    let (low, high) = (random.below(100) as i64, random.below(100) as i64);
    let ages = (low.min(high), low.max(high));
    let age: (String, HoldsAge) = match random.below(5) {
        0 => ("*".to_owned(), |_, _| true),
        1 => (format!(">={}", ages.0), |class, age| age.is_some_and(|age| age >= class.ages.0)),
        2 => (ages.0.to_string(), |class, age| age == Some(class.ages.0)),
        3 => (format!("[{}-{})", ages.0, ages.1 + 1), between),
        _ => (format!("[{}-{}]", ages.0, ages.1), between),
    };
    let group = random.below(3);
    let leaf = |at: usize| Some(format!("r{at}"));
    let region = match random.below(4) {
        0 => ("*".to_owned(), Vec::new()),
        1 => (format!("group {group}"), (3 * group..3 * group + 3).map(leaf).collect()),
        2 => (format!("{{r1, r{}, null}}", 4 + group), vec![leaf(1), leaf(4 + group), None]),
        _ => (format!("r{}", 2 * group), vec![leaf(2 * group)]),
    };
    let code = format!("{:05}", random.below(100_000));
    let zip = match random.below(6) {
        0 => ("*".to_owned(), String::new()),
        hidden => (
            format!("{}{}", &code[..5 - hidden.min(4)], "*".repeat(hidden.min(4))),
            code[..5 - hidden.min(4)].to_owned(),
        ),
    };
    Class { rows: 1 + random.below(4), age, ages, region, zip }
}

fn between(class: &Class, age: Option<i64>) -> bool {
    age.is_some_and(|age| class.ages.0 <= age && age <= class.ages.1)
}

fn boxes(lexicon: &mut Lexicon, release: &RecordBatch) -> Result<ReleasedBoxes, LabError> {
    let mut reader = ReleasedReader::new(lexicon, &release.schema(), None)?;
    reader.push(lexicon, release)?;
    assert!(reader.columns_without_names(lexicon).iter().all(|name| name == "zip"));
    let five: ArrayRef = texts([Some("00000")].into_iter());
    lexicon.learn_names(&RecordBatch::try_from_iter([("zip", five)]).unwrap())?;
    ReleasedBoxes::new(reader, lexicon, true)
}

#[test]
fn people_are_counted_as_by_brute_force() {
    for seed in 0..30 {
        let mut random = LabRandom::new(seed, "boxes of a test");
        let size = 1 + random.below(60);
        let mut classes: Vec<Class> = (0..size).map(|_| random_class(&mut random)).collect();
        // Rows with equal labels are one class.
        let mut seen = std::collections::HashSet::new();
        classes.retain(|class| seen.insert((class.age.0.clone(), class.region.0.clone(), class.zip.0.clone())));
        let people: Vec<Person> = (0..400).map(|_| random_person(&mut random)).collect();
        let weights: Vec<f64> = (0..400).map(|_| (1 + random.below(8)) as f64).collect();
        let mut lexicon = lexicon(ReleasedForm::Label);
        let boxes = boxes(&mut lexicon, &release_batch(&classes)).unwrap();
        let rows: Vec<u64> = classes.iter().map(|class| class.rows as u64).collect();
        assert_eq!(boxes.class_rows(), rows);
        let batch = people_batch(&people, &weights);
        let mut counter = PeopleCounter::new(&boxes, &lexicon, &batch.schema(), Some("weight")).unwrap();
        for start in (0..400).step_by(150) {
            counter.push(&mut lexicon, &batch.slice(start, 150.min(400 - start))).unwrap();
        }
        let counts = counter.finish(&lexicon);
        for (at, class) in classes.iter().enumerate() {
            let held = people.iter().zip(&weights).filter(|(person, _)| class.holds(person));
            let (rows, weight) = held.fold((0, 0.0), |(rows, sum), (_, weight)| (rows + 1, sum + weight));
            assert_eq!(
                (counts.rows[at], counts.people[at]),
                (rows, weight),
                "{seed} {} {} {}",
                class.age.0,
                class.region.0,
                class.zip.0
            );
        }
        let outside =
            people.iter().zip(&weights).filter(|(person, _)| !classes.iter().any(|class| class.holds(person)));
        assert_eq!(counts.outside, outside.map(|(_, weight)| weight).sum::<f64>());
        assert_eq!((counts.total_rows, counts.total), (400, weights.iter().sum()));
    }
}

#[test]
fn a_short_code_is_shown_whole_before_its_stars() {
    let class = |zip: &str| Class {
        rows: 1,
        age: ("*".to_owned(), |_, _| true),
        ages: (0, 0),
        region: ("*".to_owned(), Vec::new()),
        zip: (zip.to_owned(), String::new()),
    };
    let mut lexicon = lexicon(ReleasedForm::Label);
    let release = release_batch(&[class("902**"), class("90**")]);
    let mut reader = ReleasedReader::new(&lexicon, &release.schema(), None).unwrap();
    reader.push(&mut lexicon, &release).unwrap();
    let original = texts(["90210", "902", "90"].map(Some).into_iter());
    lexicon.learn_names(&RecordBatch::try_from_iter([("zip", original)]).unwrap()).unwrap();
    let boxes = ReleasedBoxes::new(reader, &mut lexicon, true).unwrap();
    let people: Vec<Person> = ["90210", "90299", "902", "90", "9011", "902101"]
        .map(|zip| (Some(1), Some("r1".to_owned()), Some(zip.to_owned())))
        .to_vec();
    let batch = people_batch(&people, &[1.0; 6]);
    let mut counter = PeopleCounter::new(&boxes, &lexicon, &batch.schema(), None).unwrap();
    counter.push(&mut lexicon, &batch).unwrap();
    assert_eq!(counter.finish(&lexicon).rows, [3, 1]);
}

#[test]
fn labels_without_a_set_of_values_are_refused() {
    let mut random = LabRandom::new(1, "one class");
    let mut class = random_class(&mut random);
    class.age.0 = "about thirty".to_owned();
    let refused = boxes(&mut lexicon(ReleasedForm::Label), &release_batch(&[class])).unwrap_err();
    assert!(matches!(refused, LabError::UnreadLabel { column, .. } if column == "age"));

    let mut class = random_class(&mut random);
    class.age.0 = "30".to_owned();
    let refused = boxes(&mut lexicon(ReleasedForm::Representative), &release_batch(&[class])).unwrap_err();
    assert_eq!(refused, LabError::NoBox { column: "age".to_owned() });
}

#[test]
fn a_weight_is_above_zero() {
    let mut random = LabRandom::new(2, "one class");
    let mut lexicon = lexicon(ReleasedForm::Label);
    let boxes = boxes(&mut lexicon, &release_batch(&[random_class(&mut random)])).unwrap();
    for wrong in [0.0, -1.0, f64::NAN] {
        let batch = people_batch(&[random_person(&mut random)], &[wrong]);
        let mut counter = PeopleCounter::new(&boxes, &lexicon, &batch.schema(), Some("weight")).unwrap();
        let refused = counter.push(&mut lexicon, &batch).unwrap_err();
        assert_eq!(refused, LabError::Weight { column: "weight".to_owned() });
    }
}

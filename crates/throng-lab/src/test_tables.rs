//! Small tables for tests: people with an age, a city, an illness and a unique note.

use std::sync::Arc;

use arrow::array::{ArrayRef, Int64Array, RecordBatch, StringArray};
use arrow::datatypes::DataType;

use crate::attacks::{AttackInput, AttackOutcome, AttackReport, FileTraces, attack};
use crate::random::LabRandom;
use crate::{
    KnownQuasi, KnownSensitive, LabSpec, Lexicon, OriginalReader, OriginalTable, QuasiScale, ReleasedForm,
    ReleasedReader, ReleasedTable,
};

/// One person, and the labels of the person's row.
#[derive(Clone, Debug)]
pub(crate) struct Someone {
    pub(crate) age: i64,
    pub(crate) city: String,
    pub(crate) illness: String,
    pub(crate) note: i64,
    /// Released label of the age.
    pub(crate) label: String,
}

/// Creates people whose ages are released exactly.
pub(crate) fn people(of: impl IntoIterator<Item = (i64, String, String)>) -> Vec<Someone> {
    let of = of.into_iter().zip(0..);
    of.map(|((age, city, illness), note)| Someone { age, city, illness, note, label: age.to_string() }).collect()
}

/// Returns people with independent random ages from 20 to 79, cities and illnesses.
pub(crate) fn random_people(count: usize, cities: usize, illnesses: usize, seed: u64) -> Vec<Someone> {
    let mut random = LabRandom::new(seed, "people of a test");
    people((0..count).map(|_| {
        let age = 20 + random.below(60) as i64;
        (age, format!("city {}", random.below(cities)), format!("illness {}", random.below(illnesses)))
    }))
}

/// Releases ages as intervals of this width.
pub(crate) fn in_intervals(mut people: Vec<Someone>, width: i64, offset: i64) -> Vec<Someone> {
    for person in &mut people {
        let low = (person.age - offset).div_euclid(width) * width + offset;
        person.label = format!("[{low}-{}]", low + width - 1);
    }
    people
}

/// Shuffles rows.
pub(crate) fn shuffled(mut people: Vec<Someone>, seed: u64) -> Vec<Someone> {
    let mut random = LabRandom::new(seed, "order of a test");
    for last in (1..people.len()).rev() {
        people.swap(last, random.below(last + 1));
    }
    people
}

fn batch(people: &[Someone], ages: ArrayRef) -> RecordBatch {
    let texts = |of: fn(&Someone) -> &str| -> ArrayRef {
        Arc::new(people.iter().map(|person| Some(of(person))).collect::<StringArray>())
    };
    let notes: ArrayRef = Arc::new(people.iter().map(|person| Some(person.note)).collect::<Int64Array>());
    let columns = [
        ("age", ages),
        ("city", texts(|person| &person.city)),
        ("illness", texts(|person| &person.illness)),
        ("note", notes),
    ];
    RecordBatch::try_from_iter(columns).unwrap()
}

/// Returns a table of these people with their ages.
pub(crate) fn original(people: &[Someone]) -> RecordBatch {
    batch(people, Arc::new(people.iter().map(|person| Some(person.age)).collect::<Int64Array>()))
}

/// Returns a table of these people with the labels of their ages.
pub(crate) fn release(people: &[Someone]) -> RecordBatch {
    batch(people, Arc::new(people.iter().map(|person| Some(person.label.as_str())).collect::<StringArray>()))
}

pub(crate) fn spec(k: u64, p: u64) -> LabSpec {
    let quasi = |name: &str, scale| KnownQuasi { name: name.to_owned(), form: ReleasedForm::Label, scale };
    LabSpec {
        quasi: vec![quasi("age", QuasiScale::Ordered(DataType::Int64)), quasi("city", QuasiScale::Names(Vec::new()))],
        sensitive: vec![KnownSensitive { name: "illness".to_owned(), ..KnownSensitive::default() }],
        insensitive: vec!["note".to_owned()],
        k,
        p,
        unit: Vec::new(),
        is_series: false,
    }
}

pub(crate) fn read_original(lexicon: &mut Lexicon, batch: &RecordBatch) -> OriginalTable {
    let mut reader = OriginalReader::new(lexicon, &batch.schema(), usize::MAX, 0).unwrap();
    reader.push(lexicon, batch).unwrap();
    reader.finish().unwrap()
}

pub(crate) fn read_release(lexicon: &mut Lexicon, batch: &RecordBatch, link: Option<&str>) -> ReleasedTable {
    let mut reader = ReleasedReader::new(lexicon, &batch.schema(), link).unwrap();
    reader.push(lexicon, batch).unwrap();
    reader.finish(lexicon).unwrap()
}

/// A release under attack.
#[derive(Default)]
pub(crate) struct Siege {
    pub(crate) spec: LabSpec,
    /// The original, in its order.
    pub(crate) original: Vec<Someone>,
    /// The release, in its order; the original if empty.
    pub(crate) release: Vec<Someone>,
    pub(crate) previous: Vec<Vec<Someone>>,
    pub(crate) population: Vec<Someone>,
    pub(crate) traces: Vec<String>,
    /// Seed of every random choice.
    pub(crate) seed: u64,
}

impl Siege {
    pub(crate) fn run(&self) -> AttackReport {
        let mut lexicon = Lexicon::new(self.spec.clone()).unwrap();
        let table = read_original(&mut lexicon, &original(&self.original));
        let population = (!self.population.is_empty()).then(|| {
            let batch = original(&self.population);
            let mut reader = OriginalReader::of_population(&lexicon, &batch.schema(), usize::MAX, 0).unwrap();
            reader.push(&mut lexicon, &batch).unwrap();
            reader.finish().unwrap()
        });
        let shown = if self.release.is_empty() { &self.original } else { &self.release };
        let released = read_release(&mut lexicon, &release(shown), None);
        let previous: Vec<ReleasedTable> =
            self.previous.iter().map(|people| read_release(&mut lexicon, &release(people), None)).collect();
        attack(&AttackInput {
            lexicon: &lexicon,
            original: &table,
            release: &released,
            previous: &previous,
            population: population.as_ref(),
            traces: Some(&FileTraces { texts: self.traces.clone() }),
            seed: self.seed,
        })
    }

    /// Runs all attacks, and returns the outcome of one.
    pub(crate) fn outcome(&self, name: &str) -> AttackOutcome {
        let report = self.run();
        let found = report.attacks.iter().find(|outcome| outcome.name == name);
        found.unwrap_or_else(|| panic!("{name} was not run: {:?}", report.skipped)).clone()
    }
}

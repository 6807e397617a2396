//! An intruder who knows the quasi-identifiers of everyone subtracts the rows that a class has borrowed.
//!
//! A class that lacks rows borrows some of a cell that can spare them. The intruder here is given more than a real one would
//! have: which rows of a class are borrowed, and from which cell. From the histogram of the class, `h`, and that of the
//! remaining rows of the lender, `g`, the intruder infers the values of the class's own people, in two ways:
//!
//! - assuming that a public rule chose the borrowed rows, the most frequent values first;
//! - assuming that they were drawn at random, given that every class has k rows and p values.
//!
//! A guess counts as certain when its probability is 0.9 or more. A release withstands the attack if certain guesses are
//! right no more often than the share of the guessed value in the class, which every reader sees.

use std::collections::{BTreeMap, HashMap};
use std::fs;
use std::path::Path;
use std::sync::Arc;

use arrow::array::{ArrayRef, Int64Array, StringArray};

use crate::release_files::{Rows, read};
use crate::sandbox::Sandbox;
use crate::tables::{Draws, table};

/// Minimum probability of a certain guess.
const CERTAIN: f64 = 0.9;

/// Number of draws that estimate how often a random loan satisfies p.
const DRAWS: u64 = 400;

/// Counts of values.
type Histogram = BTreeMap<String, u32>;

/// A released row with the intruder's knowledge of the person, and the true value, which only the score uses.
struct Person {
    cell: String,
    class: String,
    value: String,
}

/// Success of the intruder.
#[derive(Clone, Copy, Debug, Default)]
struct Score {
    /// Number of people in classes with borrowed rows.
    people: u32,
    /// Number of certain guesses.
    certain: u32,
    /// Number of certain guesses that are right.
    right: u32,
    /// Sum of the shares of the guessed values, and of their variances.
    shares: f64,
    variance: f64,
}

impl Score {
    /// Whether certain guesses are right more often than the shares predict, beyond three standard deviations.
    fn gains(&self) -> bool {
        f64::from(self.right) > self.shares + 3.0 * self.variance.sqrt() + 1.0
    }
}

/// The intruder's assumption about the choice of borrowed rows.
#[derive(Clone, Copy, Debug)]
enum Belief {
    MostFrequentFirst,
    Random,
}

fn histogram<'a>(values: impl Iterator<Item = &'a str>) -> Histogram {
    let mut counts = Histogram::new();
    values.for_each(|value| *counts.entry(value.to_owned()).or_default() += 1);
    counts
}

fn rows(counts: &Histogram) -> u32 {
    counts.values().sum()
}

fn minus(from: &Histogram, what: &Histogram) -> Histogram {
    let left = |(value, rows): (&String, &u32)| (value.clone(), rows - what.get(value).copied().unwrap_or(0));
    from.iter().map(left).filter(|(_, rows)| *rows > 0).collect()
}

fn plus(one: &Histogram, other: &Histogram) -> Histogram {
    let mut sum = one.clone();
    other.iter().for_each(|(value, rows)| *sum.entry(value.clone()).or_default() += rows);
    sum
}

/// Returns every multiset of this size out of a histogram.
fn subsets(of: &Histogram, size: u32) -> Vec<Histogram> {
    let mut found = vec![Histogram::new()];
    for (value, most) in of {
        let mut longer = Vec::new();
        for subset in found {
            for count in 0..=(*most).min(size - rows(&subset)) {
                let mut next = subset.clone();
                if count > 0 {
                    next.insert(value.clone(), count);
                }
                longer.push(next);
            }
        }
        found = longer;
    }
    found.into_iter().filter(|subset| rows(subset) == size).collect()
}

fn log_factorial(of: u32) -> f64 {
    (2..=of).map(|factor| f64::from(factor).ln()).sum()
}

/// Returns the rows that a lender would lend by the public rule to people with these values.
fn by_rule(lender: &Histogram, own: &Histogram, k: u32, p: u32) -> Option<Histogram> {
    let (mut left, mut class, mut lent) = (lender.clone(), own.clone(), Histogram::new());
    loop {
        let lacking = k.saturating_sub(rows(&class));
        let lacking_values = p.saturating_sub(class.len() as u32);
        let (helping, most) = match (lacking, lacking_values) {
            (0, 0) => return Some(lent),
            (any, values) if any > values => (false, any - values),
            _ => (true, 1),
        };
        let useful = left.iter().filter(|(value, rows)| **rows > 0 && (!helping || !class.contains_key(*value)));
        let (value, available) = useful.max_by_key(|(_, rows)| **rows)?;
        let (value, taken) = (value.clone(), (*available).min(most));
        for counts in [&mut class, &mut lent] {
            *counts.entry(value.clone()).or_default() += taken;
        }
        *left.get_mut(&value)? -= taken;
    }
}

/// Returns the probability that a random loan of this size leaves the class with p values.
fn chance(lender: &Histogram, own: &Histogram, size: u32, p: u32, draws: &mut Draws) -> f64 {
    if own.len() as u32 >= p {
        return 1.0;
    }
    let all: Vec<&String> =
        lender.iter().flat_map(|(value, rows)| std::iter::repeat_n(value, *rows as usize)).collect();
    let mut fine = 0;
    for _ in 0..DRAWS {
        let mut pool: Vec<usize> = (0..all.len()).collect();
        let mut class: std::collections::HashSet<&String> = own.keys().collect();
        for slot in 0..size as usize {
            let pick = slot + draws.below((pool.len() - slot) as u64) as usize;
            pool.swap(slot, pick);
            class.insert(all[pool[slot]]);
        }
        fine += u64::from(class.len() as u32 >= p);
    }
    (fine as f64).max(0.5) / DRAWS as f64
}

/// Returns the probability of each value for one of the own people of a class.
fn posterior(belief: Belief, class: &Histogram, home: &Histogram, own: u32, k: u32, p: u32) -> BTreeMap<String, f64> {
    let mut draws = Draws::new(7);
    let mut weights: Vec<(Histogram, f64)> = Vec::new();
    for guess in subsets(class, own) {
        let lent = minus(class, &guess);
        let lender = plus(home, &lent);
        let log_weight = match belief {
            Belief::MostFrequentFirst => {
                if by_rule(&lender, &guess, k, p).as_ref() != Some(&lent) {
                    continue;
                }
                // Number of arrangements of the values over the people of the lender, and over the own people.
                -lender.values().chain(guess.values()).map(|rows| log_factorial(*rows)).sum::<f64>()
            }
            Belief::Random => {
                let ways = |(value, of): (&String, &u32)| {
                    let all = class[value];
                    log_factorial(all) - log_factorial(*of) - log_factorial(all - of)
                };
                let size = rows(&lent);
                guess.iter().map(ways).sum::<f64>() - chance(&lender, &guess, size, p, &mut draws).ln()
            }
        };
        weights.push((guess, log_weight));
    }
    let most = weights.iter().map(|(_, weight)| *weight).fold(f64::NEG_INFINITY, f64::max);
    let total: f64 = weights.iter().map(|(_, weight)| (weight - most).exp()).sum();
    let mut of_value = BTreeMap::new();
    for (guess, weight) in weights {
        for (value, rows) in guess {
            *of_value.entry(value).or_insert(0.0) += (weight - most).exp() / total * f64::from(rows) / f64::from(own);
        }
    }
    of_value
}

/// Attacks every class that has borrowed rows of one lender.
fn attack(people: &[Person], belief: Belief, k: u32, p: u32) -> Score {
    let mut classes: HashMap<&str, Vec<&Person>> = HashMap::new();
    let mut cells: HashMap<&str, HashMap<&str, u32>> = HashMap::new();
    for person in people {
        classes.entry(&person.class).or_default().push(person);
        *cells.entry(&person.cell).or_default().entry(&person.class).or_default() += 1;
    }
    let is_home = |class: &str, cell: &str| classes[class].iter().all(|person| person.cell == cell);
    let home_of = |cell: &str| cells[cell].keys().copied().find(|class| cells[cell].len() > 1 && is_home(class, cell));
    let mut score = Score::default();
    for (class, members) in &classes {
        let mut lenders: Vec<(&str, &str)> = Vec::new();
        for person in members {
            match home_of(&person.cell) {
                Some(home) if home != *class && !lenders.contains(&(&person.cell, home)) => {
                    lenders.push((&person.cell, home));
                }
                _ => {}
            }
        }
        let [(lender, home)] = lenders[..] else { continue };
        let own: Vec<&&Person> = members.iter().filter(|person| person.cell != lender).collect();
        if own.is_empty() || members.len() > 16 {
            continue;
        }
        score.people += own.len() as u32;
        let shown = histogram(members.iter().map(|person| person.value.as_str()));
        let left = histogram(classes[home].iter().map(|person| person.value.as_str()));
        let found = posterior(belief, &shown, &left, own.len() as u32, k, p);
        let best = found.iter().max_by(|a, b| a.1.total_cmp(b.1));
        let Some((guess, _)) = best.filter(|(_, probability)| **probability >= CERTAIN) else { continue };
        let share = f64::from(shown[guess]) / members.len() as f64;
        for person in own {
            score.certain += 1;
            score.right += u32::from(person.value == *guess);
            score.shares += share;
            score.variance += share * (1.0 - share);
        }
    }
    score
}

/// Joins the people of a release with their original quasi-identifiers by a column that is kept only for scoring.
fn people(original: &Rows, release: &Rows, key: &str, quasi: &[&str], sensitive: &str) -> Vec<Person> {
    let text = |tuple: Vec<&Option<String>>| format!("{tuple:?}");
    let cells: Vec<String> = original.tuples(quasi).into_iter().map(text).collect();
    let classes: Vec<String> = release.tuples(quasi).into_iter().map(text).collect();
    let rows = original.by(key);
    let person = |(row, class): (usize, String)| Person {
        cell: cells[rows[release.column(key)[row].as_deref().unwrap()]].clone(),
        class,
        value: release.column(sensitive)[row].clone().unwrap_or_default(),
    };
    classes.into_iter().enumerate().map(person).collect()
}

fn withstands(name: &str, people: &[Person], k: u32, p: u32) {
    for belief in [Belief::MostFrequentFirst, Belief::Random] {
        let score = attack(people, belief, k, p);
        eprintln!("{name}, k = {k}, p = {p}, {belief:?}: {score:?}");
        assert!(score.people > 0, "{name}: no class has borrowed rows, so that nothing is shown");
        assert!(!score.gains(), "{name}, k = {k}, p = {p}, {belief:?}: {score:?}");
    }
}

const CENSUS_QUASI: [&str; 6] = ["age", "sex", "marital_status", "race", "birth_place", "region"];

fn census(k: u32, p: u32) {
    let sandbox = Sandbox::new();
    sandbox.throng(&["generate", "census", "--rows", "40000", "-o", "census"]).done();
    let configs = concat!(env!("CARGO_MANIFEST_DIR"), "/../../configs");
    let policy = fs::read_to_string(Path::new(configs).join("census.toml")).unwrap();
    let policy =
        policy.replace("[columns.person_id]\nrole = \"identifier\"", "[columns.person_id]\nrole = \"insensitive\"");
    let policy = policy.replace("hierarchies/", &format!("{configs}/hierarchies/"));
    sandbox.write("census.toml", policy);
    let (k_text, p_text) = (k.to_string(), p.to_string());
    let run = ["run", "census.toml", "--input", "census", "--output", "out/release", "-k", &k_text, "-p", &p_text];
    sandbox.throng(&run).done();
    let (original, release) = (Rows::of(&read(&sandbox.path("census"))), Rows::of(&read(&sandbox.release())));
    withstands("census", &people(&original, &release, "person_id", &CENSUS_QUASI, "occupation"), k, p);
}

#[test]
fn a_census_does_not_tell_whose_value_is_whose() {
    census(5, 2);
    census(10, 3);
}

const ADULT_QUASI: [&str; 6] = ["age", "workclass", "marital-status", "race", "sex", "native-country"];

#[test]
fn adult_does_not_tell_whose_value_is_whose() {
    let data = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/data/adult.csv");
    let Ok(text) = fs::read_to_string(data) else {
        throng_testkit::skip("the Adult data is not there");
        return;
    };
    let sandbox = Sandbox::new();
    let numbered = text.lines().take(30_163).enumerate();
    let lines = numbered.map(|(row, line)| if row == 0 { format!("row,{line}\n") } else { format!("{row},{line}\n") });
    sandbox.write("adult.csv", lines.collect::<String>());
    let configs = concat!(env!("CARGO_MANIFEST_DIR"), "/../../configs");
    let policy = fs::read_to_string(Path::new(configs).join("adult.toml")).unwrap();
    let policy = policy.replace("hierarchies/", &format!("{configs}/hierarchies/"));
    sandbox.write("adult.toml", policy + "\n[columns.row]\nrole = \"insensitive\"\n");
    let original: Vec<Vec<&str>> =
        text.lines().take(30_163).map(|line| line.split(',').map(str::trim).collect()).collect();
    let quasi = ADULT_QUASI.map(|name| original[0].iter().position(|known| *known == name).unwrap());
    for (k, p) in [(5, 2), (10, 3)] {
        let (k_text, p_text) = (k.to_string(), p.to_string());
        let run = ["run", "adult.toml", "--input", "adult.csv", "--output", "out/release", "--overwrite"];
        sandbox.throng(&[&run[..], &["-k", &k_text, "-p", &p_text]].concat()).done();
        let release = Rows::of(&read(&sandbox.release()));
        let classes = release.tuples(&ADULT_QUASI).into_iter().map(|tuple| format!("{tuple:?}"));
        let person = |(at, class): (usize, String)| {
            let row: usize = release.column("row")[at].as_deref().unwrap().parse().unwrap();
            let cell = format!("{:?}", quasi.map(|column| original[row][column]));
            Person { cell, class, value: release.column("occupation")[at].clone().unwrap() }
        };
        let people: Vec<Person> = classes.enumerate().map(person).collect();
        withstands("adult", &people, k, p);
    }
}

/// Generates single people between large cells, with values whose shares differ strongly between these cells.
fn lonely_people() -> (Vec<i64>, Vec<String>) {
    let mut draws = Draws::new(11);
    let (mut ages, mut values) = (Vec::new(), Vec::new());
    for crowd in 0..300_i64 {
        let crowd_rows = 20 + draws.below(20);
        // Share of the cell's most frequent value, from about a third to three quarters.
        let common = 3 + draws.below(5);
        for row in 0..crowd_rows + 1 {
            let is_lonely = row == crowd_rows;
            ages.push(crowd * 1000 + i64::from(is_lonely) * 7);
            let value = match draws.below(10) {
                below if below < common => 0,
                _ => 1 + draws.below(6),
            };
            values.push(format!("v{}", (value + crowd as u64) % 7));
        }
    }
    (ages, values)
}

#[test]
fn lonely_people_are_guessed_no_better_than_their_class_says() {
    let (ages, values) = lonely_people();
    let numbers: ArrayRef = Arc::new(Int64Array::from_iter_values(0..ages.len() as i64));
    let batch = table(vec![
        ("row", numbers),
        ("age", Arc::new(Int64Array::from(ages)) as ArrayRef),
        ("illness", Arc::new(StringArray::from(values)) as ArrayRef),
    ]);
    let columns = "[columns]\nrow.role = \"insensitive\"\nage.role = \"quasi\"\nillness.role = \"sensitive\"\n";
    for (k, p) in [(5, 2), (10, 3)] {
        let sandbox = Sandbox::with(&batch, k, p, columns);
        sandbox.run(&[]);
        let (original, release) = (Rows::of(&batch), Rows::of(&read(&sandbox.release())));
        let people = people(&original, &release, "row", &["age"], "illness");
        withstands("lonely", &people, k as u32, p as u32);
    }
}

#[test]
fn the_attack_wins_where_a_public_rule_chose_the_rows() {
    let (ages, values) = lonely_people();
    let mut crowds: BTreeMap<i64, Vec<String>> = BTreeMap::new();
    ages.into_iter().zip(values).for_each(|(age, value)| crowds.entry(age / 1000).or_default().push(value));
    let mut people = Vec::new();
    for (crowd, mut values) in crowds {
        let own = values.pop().unwrap();
        let counts = histogram(values.iter().map(String::as_str));
        let Some(lent) = by_rule(&counts, &histogram([own.as_str()].into_iter()), 5, 2) else { continue };
        let mut person = |cell: &str, class: &str, value: &str| {
            let name = |what: &str| format!("{what} {crowd}");
            people.push(Person { cell: name(cell), class: name(class), value: value.to_owned() });
        };
        person("lonely", "class", &own);
        for (value, rows) in &counts {
            let lent = lent.get(value).copied().unwrap_or(0);
            (0..lent).for_each(|_| person("crowd", "class", value));
            (0..rows - lent).for_each(|_| person("crowd", "home", value));
        }
    }
    let score = attack(&people, Belief::MostFrequentFirst, 5, 2);
    eprintln!("against a public rule: {score:?}");
    assert!(score.gains() && score.certain > 100 && score.right * 10 > score.certain * 9, "{score:?}");
}

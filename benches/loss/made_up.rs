//! Made-up tables of kinds that the others do not cover.

use std::sync::Arc;

use arrow::array::{ArrayRef, Int64Array, StringArray};
use throng_core::hierarchy::{HierarchySpec, MaskSide};
use throng_papers::SampleRng;

use super::tables::{Columns, Quasi, intervals};

const SEED: u64 = 1;

/// Names of the tables.
pub(crate) const NAMES: [&str; 5] = ["deep", "flat", "lumps", "secrets", "weights"];

/// Weights of the columns of `weights`.
const WEIGHTS: [f64; 5] = [10.0, 3.0, 1.0, 0.3, 0.1];

/// Returns the columns of a made-up table.
pub(crate) fn columns(name: &str, rows: usize) -> Option<Columns> {
    Some(match name {
        "deep" => deep(rows),
        "flat" => flat(rows),
        "lumps" => lumps(rows),
        "secrets" => secrets(rows),
        "weights" => weighted(rows),
        _ => return None,
    })
}

/// Returns the weights of the columns of a table; the default weight applies beyond their end.
pub(crate) fn weights(name: &str) -> &'static [f64] {
    if name == "weights" { &WEIGHTS } else { &[] }
}

/// Skewed categories in deep and in wide hierarchies, and one number with few values.
fn deep(rows: usize) -> Columns {
    let mut draws = SampleRng::new(SEED);
    let (mut places, mut codes, mut jobs, mut years) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    let mut diagnoses = Vec::new();
    for _ in 0..rows {
        let place = skewed(&mut draws, 4096);
        places.push(format!("{place:06o}"));
        codes.push(format!("{:02}{:02}", skewed(&mut draws, 30), (place + draws.below(20)) % 40));
        jobs.push(format!("job {}", skewed(&mut draws, 200)));
        years.push(1930 + 80 - skewed(&mut draws, 80) as i64);
        diagnoses.push(format!("diagnosis {}", skewed(&mut draws, 20)));
    }
    let quasi = vec![
        ("place", Quasi::Category(HierarchySpec::Mask(MaskSide::Right)), texts(places)),
        ("code", Quasi::Category(HierarchySpec::Mask(MaskSide::Right)), texts(codes)),
        ("job", Quasi::Category(HierarchySpec::Flat), texts(jobs)),
        ("year", Quasi::Number(intervals(&[5.0, 20.0])), numbers(years)),
    ];
    (quasi, vec![("diagnosis", texts(diagnoses))])
}

/// Wide categories without a hierarchy, frequent and rare values among them, and two numbers.
fn flat(rows: usize) -> Columns {
    let mut draws = SampleRng::new(SEED);
    let (mut shops, mut goods, mut ages, mut amounts) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    let mut answers = Vec::new();
    for _ in 0..rows {
        let shop = skewed(&mut draws, 600);
        shops.push(format!("shop {}", shop * 7919 % 600));
        goods.push(format!("good {}", (skewed(&mut draws, 60) + shop % 7) * 31 % 67));
        ages.push(18 + draws.below(70) as i64);
        amounts.push(skewed(&mut draws, 40) as i64);
        answers.push(format!("answer {}", skewed(&mut draws, 12)));
    }
    let quasi = vec![
        ("shop", Quasi::Category(HierarchySpec::Flat), texts(shops)),
        ("good", Quasi::Category(HierarchySpec::Flat), texts(goods)),
        ("age", Quasi::Number(intervals(&[5.0, 20.0])), numbers(ages)),
        ("amount", Quasi::Number(intervals(&[5.0, 20.0])), numbers(amounts)),
    ];
    (quasi, vec![("answer", texts(answers))])
}

/// Numbers in dense lumps and far apart, and one category.
fn lumps(rows: usize) -> Columns {
    const LUMPS: [(i64, i64, i64); 4] = [(100, 4000, 50), (2000, 2500, 10), (8000, 300, 20), (9500, 9500, 200)];
    let mut draws = SampleRng::new(SEED);
    let mut measures: [Vec<i64>; 3] = Default::default();
    let (mut kinds, mut results) = (Vec::new(), Vec::new());
    for _ in 0..rows {
        let (first, second, spread) = match draws.below(10) {
            lump @ 0..7 => LUMPS[lump % LUMPS.len()],
            _ => (draws.below(10_000) as i64, draws.below(10_000) as i64, 2000),
        };
        let mut near = |middle: i64| middle + (spread as f64 * (draws.share() - 0.5)) as i64;
        measures[0].push(near(first));
        measures[1].push(near(second));
        measures[2].push(near(5000) / 100);
        kinds.push(format!("{}{}", skewed(&mut draws, 4), skewed(&mut draws, 5)));
        results.push(format!("result {}", skewed(&mut draws, 15)));
    }
    let [first, second, third] = measures;
    let number = |name, values| (name, Quasi::Number(intervals(&[100.0, 1000.0])), numbers(values));
    let quasi = vec![
        number("first", first),
        number("second", second),
        number("third", third),
        ("kind", Quasi::Category(HierarchySpec::Mask(MaskSide::Right)), texts(kinds)),
    ];
    (quasi, vec![("result", texts(results))])
}

/// Two sensitive columns with many values, one of which follows the quasi-identifiers.
fn secrets(rows: usize) -> Columns {
    let mut draws = SampleRng::new(SEED);
    let (mut ages, mut places, mut sexes) = (Vec::new(), Vec::new(), Vec::new());
    let (mut incomes, mut illnesses) = (Vec::new(), Vec::new());
    for _ in 0..rows {
        let (age, place) = (draws.below(90), skewed(&mut draws, 1000));
        ages.push(age as i64);
        places.push(format!("{place:03}"));
        sexes.push(["f", "m"][draws.below(2)].to_owned());
        incomes.push(format!("income {}", 10 * (age / 10) + skewed(&mut draws, 30)));
        illnesses.push(format!("illness {}", skewed(&mut draws, 300)));
    }
    let quasi = vec![
        ("age", Quasi::Number(intervals(&[5.0, 20.0])), numbers(ages)),
        ("place", Quasi::Category(HierarchySpec::Mask(MaskSide::Right)), texts(places)),
        ("sex", Quasi::Category(HierarchySpec::Flat), texts(sexes)),
    ];
    (quasi, vec![("income", texts(incomes)), ("illness", texts(illnesses))])
}

/// Columns of which some count a hundred times as much as others.
fn weighted(rows: usize) -> Columns {
    let mut draws = SampleRng::new(SEED);
    let (mut years, mut places, mut trades, mut sizes, mut days) =
        (Vec::new(), Vec::new(), Vec::new(), Vec::new(), Vec::new());
    let mut groups = Vec::new();
    for _ in 0..rows {
        let place = skewed(&mut draws, 500);
        years.push(1940 + draws.below(70) as i64);
        places.push(format!("{place:03}"));
        trades.push(format!("trade {}", (skewed(&mut draws, 80) + place / 100) % 80));
        sizes.push((skewed(&mut draws, 30) * 10) as i64);
        days.push(draws.below(365) as i64);
        groups.push(format!("group {}", skewed(&mut draws, 25)));
    }
    let quasi = vec![
        ("year", Quasi::Number(intervals(&[5.0, 20.0])), numbers(years)),
        ("place", Quasi::Category(HierarchySpec::Mask(MaskSide::Right)), texts(places)),
        ("trade", Quasi::Category(HierarchySpec::Flat), texts(trades)),
        ("size", Quasi::Number(intervals(&[50.0])), numbers(sizes)),
        ("day", Quasi::Number(intervals(&[30.0])), numbers(days)),
    ];
    (quasi, vec![("group", texts(groups))])
}

/// Returns a number below `end`, skewed towards low ones.
pub(crate) fn skewed(draws: &mut SampleRng, end: usize) -> usize {
    (end as f64 * draws.share() * draws.share() * draws.share()) as usize
}

fn numbers(values: Vec<i64>) -> ArrayRef {
    Arc::new(Int64Array::from(values))
}

fn texts(values: Vec<String>) -> ArrayRef {
    Arc::new(StringArray::from(values))
}

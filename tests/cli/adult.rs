//! Adult 30,162, the data set of most papers: every row is released, the promise holds, and the loss is within its
//! bound.

use std::collections::{HashMap, HashSet};
use std::fs;
use std::path::Path;

use crate::release_files::{Rows, data_files, read};
use crate::sandbox::Sandbox;
use crate::tables::Draws;

const DATA: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/data/adult.csv");
const CONFIGS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../configs");

const ROWS: usize = 30_162;
const QUASI: [&str; 6] = ["age", "workclass", "marital-status", "race", "sex", "native-country"];

/// Maximum loss of a release of Adult with k = 10 and p = 3.
const MAX_NCP: f64 = 0.033;

/// Returns the number of leaves below each label of a hierarchy file. A label that is both a leaf and a group counts as
/// a leaf.
fn leaves(name: &str) -> HashMap<String, usize> {
    let text = fs::read_to_string(Path::new(CONFIGS).join(format!("hierarchies/adult/{name}.csv"))).unwrap();
    let mut below: HashMap<String, HashSet<&str>> = HashMap::new();
    for line in text.lines() {
        let labels: Vec<&str> = line.split(';').collect();
        for label in &labels {
            below.entry((*label).to_owned()).or_default().insert(labels[0]);
        }
    }
    below.into_iter().map(|(label, leaves)| (label, leaves.len())).collect()
}

/// Returns the mean NCP of the released labels of a column.
fn ncp(name: &str, input: &[String], labels: &[&str]) -> f64 {
    let total: f64 = if name == "age" {
        let ages: Vec<f64> = input.iter().map(|age| age.parse().unwrap()).collect();
        let (low, high) = ages.iter().fold((f64::MAX, f64::MIN), |(low, high), age| (low.min(*age), high.max(*age)));
        let width = |label: &&str| match label.strip_prefix('[').and_then(|inner| inner.strip_suffix(']')) {
            Some(inner) => {
                let (from, to) = inner.split_once('-').unwrap();
                (to.parse::<f64>().unwrap() - from.parse::<f64>().unwrap()) / (high - low)
            }
            None => 0.0,
        };
        labels.iter().map(width).sum()
    } else {
        let leaves = leaves(name);
        let all = leaves["*"];
        let share = |label: &&str| match leaves[*label] {
            1 => 0.0,
            some => some as f64 / all as f64,
        };
        labels.iter().map(share).sum()
    };
    total / labels.len() as f64
}

/// Returns the lines of Adult 30,162 with the header; `None` if the data set is not available.
fn adult() -> Option<Vec<String>> {
    let text = fs::read_to_string(DATA).ok();
    if text.is_none() {
        throng_testkit::skip("the Adult data is not there");
    }
    text.map(|text| text.lines().take(ROWS + 1).map(str::to_owned).collect())
}

#[test]
fn adult_is_released_whole_with_its_promise_and_little_loss() {
    let Some(lines) = adult() else { return };
    let sandbox = Sandbox::new();
    sandbox.write("input/adult.csv", lines.join("\n") + "\n");
    let policy = format!("{CONFIGS}/adult.toml");
    let outcome = sandbox.throng(&["run", &policy, "--input", "input/adult.csv", "--output", "out/release"]).done();

    let release = Rows::of(&read(&sandbox.release()));
    let count = release.count(&QUASI, &["occupation"]);
    assert_eq!(count.rows as usize, ROWS);
    assert!(count.smallest >= 10, "a class has {} rows", count.smallest);
    assert!(count.fewest[0] >= 3, "a class has {} occupations", count.fewest[0]);

    let header: Vec<&str> = lines[0].split(',').collect();
    let column = |name: &str| -> Vec<String> {
        let index = header.iter().position(|known| *known == name).unwrap();
        lines[1..].iter().map(|line| line.split(',').nth(index).unwrap().to_owned()).collect()
    };
    let metrics = fs::read(sandbox.path("out/release/_throng/metrics.json")).unwrap();
    let metrics: serde_json::Value = serde_json::from_slice(&metrics).unwrap();
    let mut sum = 0.0;
    for name in QUASI {
        let labels: Vec<&str> = release.column(name).iter().map(|label| label.as_deref().unwrap()).collect();
        let ncp = ncp(name, &column(name), &labels);
        let reported = metrics["utility"]["columns"][name]["ncp"].as_f64().unwrap();
        assert!((ncp - reported).abs() < 1e-6, "{name}: {ncp} in the labels, {reported} in the sidecar");
        sum += ncp;
    }
    let ncp = sum / QUASI.len() as f64;
    eprintln!("NCP on Adult {ROWS}, k = 10, p = 3: {ncp:.6} in {} classes", count.classes);
    assert!(ncp <= MAX_NCP, "NCP is {ncp}");
    assert!((ncp - outcome["ncp"].as_f64().unwrap()).abs() < 1e-6);

    let kept = ["fnlwgt", "education", "occupation", "hours-per-week", "income"];
    let before: Vec<Vec<String>> = kept.map(column).to_vec();
    let before =
        crate::release_files::multiset((0..ROWS).map(|row| before.iter().map(|c| c[row].clone()).collect::<Vec<_>>()));
    let of_row = |cells: Vec<&Option<String>>| cells.into_iter().map(|cell| cell.clone().unwrap()).collect::<Vec<_>>();
    assert_eq!(crate::release_files::multiset(release.tuples(&kept).into_iter().map(of_row)), before);
}

#[test]
fn adult_is_released_in_the_same_bytes_however_its_rows_arrive() {
    let Some(mut lines) = adult() else { return };
    let policy = format!("{CONFIGS}/adult.toml");
    let release = |files: &[Vec<String>], threads: &str| {
        let sandbox = Sandbox::new();
        for (number, rows) in files.iter().enumerate() {
            sandbox.write(&format!("input/{number}.csv"), rows.join("\n") + "\n");
        }
        let run = ["run", &policy, "--input", "input", "--output", "out/release", "--threads", threads];
        sandbox.throng(&run).done();
        let files = data_files(&sandbox.release());
        files.iter().map(|file| fs::read(file).unwrap()).collect::<Vec<_>>()
    };
    let expected = release(std::slice::from_ref(&lines), "1");
    assert!(release(std::slice::from_ref(&lines), "2") == expected, "two threads give other bytes");
    let header = lines.remove(0);
    let mut draws = Draws::new(11);
    for last in (1..lines.len()).rev() {
        lines.swap(last, draws.below(last as u64 + 1) as usize);
    }
    let file = |rows: &[String]| std::iter::once(header.clone()).chain(rows.iter().cloned()).collect::<Vec<_>>();
    assert!(release(&[file(&lines)], "2") == expected, "shuffled rows give other bytes");
    let ten: Vec<Vec<String>> = lines.chunks(lines.len().div_ceil(10)).map(file).collect();
    assert_eq!(ten.len(), 10);
    assert!(release(&ten, "2") == expected, "ten files give other bytes");
}

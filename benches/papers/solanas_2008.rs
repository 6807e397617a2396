//! Experiment of [Solanas 2008]: SSE / SST of microaggregation with MDAV seeds (H1) and with random seeds (H2).
//!
//! Census: twelve columns as quasi-identifiers, the last one in ten bins of equal frequency as the sensitive column.
//! The synthetic sets are uniform in a square. Columns are standardized, so SSE / SST is the mean over columns.
//! Centroid clustering with its default number of rounds is shown for comparison.
//!
//! ```text
//! cargo bench -p throng-papers --bench solanas_2008
//! ```

#![allow(missing_docs)]

use std::sync::Arc;
use std::time::Instant;

use anyhow::Result;
use arrow::array::{ArrayRef, Float64Array, Int64Array};
use throng_core::anonymize::{ClusterChoice, Method, PartitionChoice};
use throng_core::cluster::centroid;
use throng_core::columns::SensitiveSpec;
use throng_core::key::ReleaseKey;
use throng_core::model::Privacy;
use throng_core::table::Table;
use throng_papers::{Census, Rows, SampleRng, data_or_skip, form, mean, survey};

const BINS: usize = 10;
const SEEDS: u64 = 10;

/// Records with a rare value that fit the figures of the paper best; nothing in its text confirms them.
const RARE: usize = 20;

/// A row of a table of [Solanas 2008]: k, p, H1 and H2 in percent.
type PaperRow = (u64, u64, f64, f64);

const TABLE_1: [PaperRow; 10] = [
    (2, 2, 25.47, 16.29),
    (3, 2, 24.38, 16.48),
    (3, 3, 30.32, 22.03),
    (4, 2, 20.93, 17.08),
    (4, 3, 31.52, 22.16),
    (4, 4, 32.72, 26.19),
    (5, 2, 21.59, 16.5),
    (5, 3, 27.3, 22.54),
    (5, 4, 34.28, 26.26),
    (5, 5, 34.18, 29.38),
];
const TABLE_2: [PaperRow; 10] = [
    (2, 2, 19.61, 9.08),
    (3, 2, 13.85, 10.42),
    (3, 3, 31.3, 17.25),
    (4, 2, 12.94, 9.93),
    (4, 3, 33.55, 17.87),
    (4, 4, 34.26, 23.57),
    (5, 2, 8.35, 11.06),
    (5, 3, 26.62, 19.11),
    (5, 4, 43.32, 24.61),
    (5, 5, 38.48, 34.37),
];
const TABLE_3: [PaperRow; 10] = [
    (2, 2, 11.21, 7.29),
    (3, 2, 12.49, 7.43),
    (3, 3, 14.4, 14.98),
    (4, 2, 13.85, 8.31),
    (4, 3, 17.94, 14.42),
    (4, 4, 31.99, 24.2),
    (5, 2, 14.65, 7.25),
    (5, 3, 18.51, 15.71),
    (5, 4, 22.46, 26.37),
    (5, 5, 33.2, 28.14),
];

fn main() -> Result<()> {
    let Some(folder) = data_or_skip() else { return Ok(()) };
    println!("Solanas 2008: SSE / SST in percent; H2 is the mean over {SEEDS} seeds, with the lowest and the highest.");
    println!("Claim: H2 is below H1 in most cells.");
    let census = Census::read(&folder)?;
    classic(&census)?;
    println!("\nCensus, {BINS} bins");
    experiment(&census_table(&census)?, &TABLE_1)?;
    for (records, paper) in [(100, &TABLE_2), (1000, &TABLE_3)] {
        println!("\nUniform in a square, {records} records, {BINS} sensitive values, all equally likely");
        experiment(&synthetic(records, Rarity::None)?, paper)?;
    }
    println!("\nThe same with rare values: of 1000 records, 90 % have the first value, and the others the rest");
    experiment(&synthetic(1000, Rarity::Share(0.1))?, &TABLE_3)?;
    println!(
        "\nA fixed number of rare records, inferred from the figures of the paper, which hardly depend on n and k: all but \
         {RARE} records have the first value, and these the others"
    );
    for (records, paper) in [(100, &TABLE_2), (1000, &TABLE_3)] {
        println!("\n{records} records");
        experiment(&synthetic(records, Rarity::Count(RARE))?, paper)?;
    }
    for name in ["INTVAL", "POTHVAL"] {
        println!(
            "\nCensus with {name} in {BINS} bins of equal width as the sensitive column, most rows in one of them"
        );
        experiment(&skewed_census_table(&census, name)?, &TABLE_1)?;
    }
    speed(1_000_000)
}

/// Times centroid clustering of rows that nearly all form separate cells.
fn speed(records: usize) -> Result<()> {
    println!("\nCentroid, {records} rows of six numbers, k = 10, p = 3: microseconds per row");
    let mut draws = SampleRng::new(2);
    let shared: Vec<f64> = (0..records).map(|_| draws.share()).collect();
    let mut side = |name: usize| {
        let numbers = shared.iter().map(|shared| Some(shared + draws.share() + draws.share()));
        (mean(&format!("x{name}")), Arc::new(numbers.collect::<Float64Array>()) as ArrayRef)
    };
    let quasi = (0..6).map(&mut side).collect();
    let values: Int64Array = (0..records).map(|_| Some(draws.below(BINS) as i64)).collect();
    let table = survey(quasi, vec![(SensitiveSpec::plain("s"), Arc::new(values))])?.table;
    let cells: Vec<u32> = (0..table.cell_count() as u32).collect();
    let privacy = Privacy::p_sensitive_k_anonymity(10, 3, 1);
    let rows = Rows::new(&["rounds", "1 thread", "2 threads", "times faster"]);
    for rounds in [0, 1] {
        let time = |threads: usize| -> Result<f64> {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build()?;
            let start = Instant::now();
            pool.install(|| centroid::classes(&table, &cells, &privacy, rounds, &|_| true));
            Ok(start.elapsed().as_secs_f64() * 1e6 / records as f64)
        };
        let (one, two) = (time(1)?, time(2)?);
        rows.row(&[rounds.to_string(), format!("{one:.2}"), format!("{two:.2}"), format!("{:.2}", one / two)]);
    }
    Ok(())
}

/// Classic MDAV on all thirteen columns, compared with published results.
fn classic(census: &Census) -> Result<()> {
    let quasi = census.columns.iter().enumerate().map(|(index, (name, _))| (mean(name), census.array(index)));
    let table = survey(quasi.collect(), Vec::new())?.table;
    println!("\nClassic MDAV (p = 1), Census, all thirteen columns");
    let rows = Rows::new(&["k", "found", "literature", "centroid", "of MDAV"]);
    for (k, known) in [(3, 5.6922), (4, 7.4947), (5, 9.0884), (10, 14.1559)] {
        let privacy = Privacy::p_sensitive_k_anonymity(k, 1, 0);
        let mdav = percent(&table, ClusterChoice::Mdav, 0, &privacy, k)?;
        let ours = percent(&table, ClusterChoice::Centroid, 0, &privacy, k)?;
        rows.row(&[
            k.to_string(),
            format!("{mdav:.4}"),
            known.to_string(),
            format!("{ours:.4}"),
            format!("{:.3}", ours / mdav),
        ]);
    }
    Ok(())
}

fn experiment(table: &Table, paper: &[PaperRow]) -> Result<()> {
    let rows = Rows::new(&[
        "k",
        "p",
        "H1",
        "H2",
        "improvement, %",
        "paper H1",
        "paper H2",
        "paper, %",
        "centroid",
        "of the better",
    ]);
    let mut better = 0;
    for (k, p, paper_h1, paper_h2) in paper {
        let privacy = Privacy::p_sensitive_k_anonymity(*k, *p, 1);
        let h1 = percent(table, ClusterChoice::Mdav, 0, &privacy, *k)?;
        let h2 = (0..SEEDS).map(|seed| percent(table, ClusterChoice::RandomSeed, seed, &privacy, *k));
        let mut h2 = h2.collect::<Result<Vec<f64>>>()?;
        h2.sort_by(f64::total_cmp);
        let mean = h2.iter().sum::<f64>() / h2.len() as f64;
        better += u32::from(mean < h1);
        let ours = percent(table, ClusterChoice::Centroid, 0, &privacy, *k)?;
        rows.row(&[
            k.to_string(),
            p.to_string(),
            format!("{h1:.2}"),
            format!("{mean:.2} ({:.2} to {:.2})", h2[0], h2[h2.len() - 1]),
            format!("{:.1}", (h1 - mean) / h1 * 100.0),
            paper_h1.to_string(),
            paper_h2.to_string(),
            format!("{:.1}", (paper_h1 - paper_h2) / paper_h1 * 100.0),
            format!("{ours:.2}"),
            format!("{:.3}", ours / h1.min(mean)),
        ]);
    }
    println!("\nH2 is below H1 in {better} of {} cells.", paper.len());
    Ok(())
}

fn percent(table: &Table, cluster: ClusterChoice, seed: u64, privacy: &Privacy, k: u64) -> Result<f64> {
    let method = Method::new(PartitionChoice::None, cluster).with_key(ReleaseKey::new(&[0; 32], seed));
    Ok(form(table, method, privacy, k)?.utility.sse_sst.unwrap_or(0.0) * 100.0)
}

fn census_table(census: &Census) -> Result<Table> {
    let last = census.columns.len() - 1;
    let quasi = census.columns[..last].iter().enumerate().map(|(index, (name, _))| (mean(name), census.array(index)));
    let sensitive = (SensitiveSpec::plain(census.columns[last].0.as_str()), bins(&census.columns[last].1));
    Ok(survey(quasi.collect(), vec![sensitive])?.table)
}

/// Bins of equal frequency; equal numbers share a bin.
fn bins(numbers: &[f64]) -> ArrayRef {
    let mut sorted = numbers.to_vec();
    sorted.sort_by(f64::total_cmp);
    let bin = |number: &f64| sorted.partition_point(|other| other < number) * BINS / sorted.len();
    Arc::new(numbers.iter().map(|number| Some(bin(number) as i64)).collect::<Int64Array>())
}

/// Uses another column as the sensitive one, in bins of equal width; the other twelve are quasi-identifiers.
fn skewed_census_table(census: &Census, sensitive: &str) -> Result<Table> {
    let all = census.columns.iter().enumerate();
    let (secret, quasi): (Vec<_>, Vec<_>) = all.partition(|(_, (name, _))| name == sensitive);
    let quasi = quasi.into_iter().map(|(index, (name, _))| (mean(name), census.array(index))).collect();
    let secret = secret.into_iter().map(|(_, (name, numbers))| {
        let (least, most) = numbers.iter().fold((f64::MAX, f64::MIN), |(a, b), n| (a.min(*n), b.max(*n)));
        let bin = |number: &f64| (((number - least) / (most - least) * BINS as f64) as i64).min(BINS as i64 - 1);
        let bins: ArrayRef = Arc::new(numbers.iter().map(|number| Some(bin(number))).collect::<Int64Array>());
        (SensitiveSpec::plain(name.as_str()), bins)
    });
    Ok(survey(quasi, secret.collect())?.table)
}

/// Which records have another sensitive value than the first.
#[derive(Clone, Copy)]
enum Rarity {
    /// All values are equally likely.
    None,
    /// Each record with this probability.
    Share(f64),
    /// This number of records.
    Count(usize),
}

fn synthetic(records: usize, rarity: Rarity) -> Result<Table> {
    let mut draws = SampleRng::new(1);
    let mut side = |name: &str| {
        let numbers: Float64Array = (0..records).map(|_| Some(draws.share() * 20_000.0 - 10_000.0)).collect();
        (mean(name), Arc::new(numbers) as ArrayRef)
    };
    let quasi = vec![side("x"), side("y")];
    let mut value = |record: usize| match rarity {
        Rarity::None => draws.below(BINS) as i64,
        Rarity::Share(share) if draws.share() >= share => 0,
        // Places are uniform, so the first records are as good as any.
        Rarity::Count(count) if record >= count => 0,
        Rarity::Share(_) | Rarity::Count(_) => 1 + draws.below(BINS - 1) as i64,
    };
    let values: Int64Array = (0..records).map(|record| Some(value(record))).collect();
    Ok(survey(quasi, vec![(SensitiveSpec::plain("s"), Arc::new(values))])?.table)
}

//! Experiment of [Truta 2007]: AVG, DM and time of EnhancedPKClustering, GreedyPKClustering and Incognito.
//!
//! 10,000 records of Adult, six quasi-identifiers, three sensitive columns, k = 20, p = 2, 4, 6, 8, 10. As in the paper,
//! clusters are counted as they are formed.
//!
//! ```text
//! cargo bench -p throng-papers --bench truta_2007
//! ```

#![allow(missing_docs)]

use anyhow::Result;
use throng_core::anonymize::{ClusterChoice, Method, PartitionChoice};
use throng_core::columns::SensitiveSpec;
use throng_core::model::Privacy;
use throng_core::table::Table;
use throng_papers::{People, Rows, SampleRng, category, data_or_skip, form, interval, survey};

const RECORDS: usize = 10_000;
const K: u64 = 20;

fn main() -> Result<()> {
    let Some(folder) = data_or_skip() else { return Ok(()) };
    let people = People::read(folder)?;
    println!("Truta 2007: {RECORDS} records of Adult, k = {K}; AVG and DM of the clusters as formed.");
    println!("Claims: both clusterings are far below Incognito; Enhanced equals Greedy for p = 2, 4 and is better for");
    println!("p = 6, 8, 10.");
    for seed in [1, 2, 3] {
        let records = SampleRng::new(seed).sample(people.len(), RECORDS);
        println!("\nSample {seed}");
        sample(&people, &records)?;
    }
    Ok(())
}

fn sample(people: &People, records: &[usize]) -> Result<()> {
    let clustered = table(people, records, false)?;
    let generalized = table(people, records, true)?;
    let rows = Rows::new(&[
        "p",
        "AVG Enhanced",
        "AVG Greedy",
        "AVG Incognito",
        "DM Enhanced",
        "DM Greedy",
        "DM Incognito",
        "Enhanced / Greedy (AVG, DM)",
        "s Enhanced",
        "s Greedy",
        "s Incognito",
    ]);
    for p in [2, 4, 6, 8, 10] {
        let privacy = Privacy::p_sensitive_k_anonymity(K, p, 3);
        let enhanced = Method::new(PartitionChoice::None, ClusterChoice::EnhancedPk);
        let enhanced = form(&clustered, enhanced, &privacy, K)?;
        let greedy = form(&clustered, Method::new(PartitionChoice::None, ClusterChoice::GreedyPk), &privacy, K)?;
        let incognito = Method::new(PartitionChoice::Incognito, ClusterChoice::None);
        let incognito = form(&generalized, incognito, &privacy, K)?;
        let all = [&enhanced, &greedy, &incognito];
        let ratios = (
            enhanced.cluster_avg(K) / greedy.cluster_avg(K),
            enhanced.cluster_dm() as f64 / greedy.cluster_dm() as f64,
        );
        let mut cells = vec![p.to_string()];
        cells.extend(all.iter().map(|formed| format!("{:.3}", formed.cluster_avg(K))));
        cells.extend(all.iter().map(|formed| formed.cluster_dm().to_string()));
        cells.push(format!("{:.3}, {:.3}", ratios.0, ratios.1));
        cells.extend(all.iter().map(|formed| format!("{:.2}", formed.time.as_secs_f64())));
        rows.row(&cells);
    }
    Ok(())
}

/// Clusterings release ages as intervals; full-domain generalization needs a hierarchy.
fn table(people: &People, records: &[usize], age_hierarchy: bool) -> Result<Table> {
    let ages = people.numbers("age", records)?;
    let age = if age_hierarchy { category("age", people.hierarchy("age")?) } else { interval("age") };
    let mut quasi = vec![(age, ages)];
    for name in ["workclass", "marital-status", "race", "sex", "native-country"] {
        quasi.push((category(name, people.hierarchy(name)?), people.texts(name, records)?));
    }
    let mut sensitive = vec![(SensitiveSpec::plain("education-num"), people.numbers("education-num", records)?)];
    for name in ["education", "occupation"] {
        sensitive.push((SensitiveSpec::plain(name), people.texts(name, records)?));
    }
    Ok(survey(quasi, sensitive)?.table)
}

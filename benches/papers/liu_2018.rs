//! Experiment of [Liu 2018]: NCP of basic Mondrian and of the optimized model over k.
//!
//! Adult resampled to a million records; age, workclass, race, sex and native-country as quasi-identifiers.
//!
//! ```text
//! cargo bench -p throng-papers --bench liu_2018
//! ```

#![allow(missing_docs)]

use anyhow::Result;
use throng_core::anonymize::{ClusterChoice, Method, PartitionChoice};
use throng_core::hierarchy::HierarchySpec;
use throng_core::model::Privacy;
use throng_core::table::Table;
use throng_papers::{People, Rows, SampleRng, category, data_or_skip, form, interval, survey};

const RECORDS: usize = 1_000_000;

fn main() -> Result<()> {
    let Some(folder) = data_or_skip() else { return Ok(()) };
    let people = People::read(folder)?;
    let mut draws = SampleRng::new(1);
    let records: Vec<usize> = (0..RECORDS).map(|_| draws.below(people.len())).collect();
    println!("Liu 2018: {RECORDS} records drawn from Adult; mean NCP.");
    println!(
        "Claim: the optimized model (MDR tree of age, priority weights) loses less than basic Mondrian for k > 5."
    );
    println!("The two columns between them have only one of the two parts.");
    let (plain, grid) = (table(&people, &records, false)?, table(&people, &records, true)?);
    let basic = Method::new(PartitionChoice::BasicMondrian, ClusterChoice::None);
    let optimized = Method::new(PartitionChoice::Mdr, ClusterChoice::None);
    let rows = Rows::new(&[
        "k",
        "basic",
        "MDR tree only",
        "weights only",
        "optimized",
        "of that, age",
        "optimized / basic",
        "s basic",
        "s optimized",
    ]);
    for k in [2, 5, 6, 10, 25, 50, 100, 250, 500, 1000] {
        let privacy = Privacy::p_sensitive_k_anonymity(k, 1, 0);
        let (b, t) = (form(&plain, basic, &privacy, k)?, form(&grid, basic, &privacy, k)?);
        let (w, o) = (form(&plain, optimized, &privacy, k)?, form(&grid, optimized, &privacy, k)?);
        rows.row(&[
            k.to_string(),
            format!("{:.4}", b.utility.ncp),
            format!("{:.4}", t.utility.ncp),
            format!("{:.4}", w.utility.ncp),
            format!("{:.4}", o.utility.ncp),
            format!("{:.4}", o.utility.columns[0].ncp / o.utility.columns.len() as f64),
            format!("{:.3}", o.utility.ncp / b.utility.ncp),
            format!("{:.2}", b.time.as_secs_f64()),
            format!("{:.2}", o.time.as_secs_f64()),
        ]);
    }
    Ok(())
}

fn table(people: &People, records: &[usize], grid: bool) -> Result<Table> {
    let age = if grid { category("age", HierarchySpec::MeanDifference) } else { interval("age") };
    let mut quasi = vec![(age, people.numbers("age", records)?)];
    for name in ["workclass", "race", "sex", "native-country"] {
        quasi.push((category(name, people.hierarchy(name)?), people.texts(name, records)?));
    }
    Ok(survey(quasi, Vec::new())?.table)
}

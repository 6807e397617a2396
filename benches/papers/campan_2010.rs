//! Experiment of [Campan 2010]: the cost of constraints in information loss, time and suppressed rows.
//!
//! GreedyCPKA and GreedyCKA (constrained, with and without sensitive values) against GreedyPKClustering, on 10,000
//! records of Adult. The paper states no constraints; here ages stay in bands, and marital status, work class and
//! country on the first level of their hierarchies.
//!
//! ```text
//! cargo bench -p throng-papers --bench campan_2010
//! ```

#![allow(missing_docs)]

use std::sync::Arc;

use anyhow::Result;
use throng_core::anonymize::{ClusterChoice, Method, PartitionChoice};
use throng_core::columns::{Limit, QuasiSpec, SensitiveSpec};
use throng_core::model::Privacy;
use throng_core::table::Table;
use throng_papers::{Formed, People, Rows, SampleRng, category, data_or_skip, form, interval, survey};

const RECORDS: usize = 10_000;
const BANDS: [f64; 4] = [20.0, 35.0, 50.0, 65.0];
const LEVEL: u32 = 1;

fn main() -> Result<()> {
    let Some(folder) = data_or_skip() else { return Ok(()) };
    let people = People::read(folder)?;
    let records = SampleRng::new(1).sample(people.len(), RECORDS);
    let (free, limited) = (table(&people, &records, false)?, table(&people, &records, true)?);
    let method = Method::new(PartitionChoice::None, ClusterChoice::GreedyPk);
    println!(
        "Campan 2010: {RECORDS} records of Adult; mean information loss (Def. 9) of a row over its quasi-identifiers."
    );
    println!("Claim: constrained releases are comparable in quality, and no value goes beyond its limit.");
    let rows = Rows::new(&[
        "k",
        "p",
        "IL GreedyPK",
        "IL GreedyCPKA",
        "IL GreedyCKA (p = 1)",
        "s GreedyPK",
        "s GreedyCPKA",
        "s GreedyCKA",
        "OUT",
        "suppressed",
        "classes of GreedyPK beyond a limit",
        "of GreedyCPKA",
    ]);
    for (k, p) in [(3, 2), (5, 2), (5, 3), (10, 3), (20, 3), (20, 6)] {
        let (promise, only_k) = (Privacy::p_sensitive_k_anonymity(k, p, 1), Privacy::p_sensitive_k_anonymity(k, 1, 1));
        let pk = form(&free, method, &promise, k)?;
        let cpka = form(&limited, method, &promise, k)?;
        let cka = form(&limited, method, &only_k, k)?;
        let loss = |formed: &Formed| format!("{:.4}", loss(formed));
        let seconds = |formed: &Formed| format!("{:.2}", formed.time.as_secs_f64());
        let released: u64 = cpka.recoding.class_rows().iter().sum();
        rows.row(&[
            k.to_string(),
            p.to_string(),
            loss(&pk),
            loss(&cpka),
            loss(&cka),
            seconds(&pk),
            seconds(&cpka),
            seconds(&cka),
            cpka.allowed.suppressed_rows(&limited).to_string(),
            (RECORDS as u64 - released).to_string(),
            beyond(&pk, &limited).to_string(),
            beyond(&cpka, &limited).to_string(),
        ]);
    }
    Ok(())
}

fn loss(formed: &Formed) -> f64 {
    let rows: u64 = formed.recoding.class_rows().iter().sum();
    formed.utility.information_loss / (rows as f64 * formed.utility.columns.len() as f64)
}

/// Returns the number of clusters that violate a constraint. Both tables must have the same cells.
fn beyond(formed: &Formed, limited: &Table) -> usize {
    let cell_of = |group: u32| (0..limited.cell_count() as u32).find(|cell| limited.groups(*cell).contains(&group));
    let cells: Vec<Option<u32>> = (0..limited.group_count() as u32).map(cell_of).collect();
    let crosses = |class: &&throng_core::cluster::Class| {
        limited.quasi().iter().enumerate().any(|(column, quasi)| {
            let cells = class.portions.iter().filter_map(|portion| cells[portion.group as usize]);
            let mut blocks = cells.map(|cell| quasi.domain.block(limited.positions(cell)[column]));
            blocks.next().is_some_and(|first| blocks.any(|block| block != first))
        })
    };
    formed.clusters.iter().filter(crosses).count()
}

fn table(people: &People, records: &[usize], limited: bool) -> Result<Table> {
    let limit = |spec: QuasiSpec, limit: Limit| QuasiSpec { limit: limited.then_some(limit), ..spec };
    let bands = Limit::Bands(Arc::from(BANDS));
    let mut quasi = vec![(limit(interval("age"), bands), people.numbers("age", records)?)];
    for name in ["workclass", "marital-status", "native-country"] {
        let spec = limit(category(name, people.hierarchy(name)?), Limit::Level(LEVEL));
        quasi.push((spec, people.texts(name, records)?));
    }
    for name in ["race", "sex"] {
        quasi.push((category(name, people.hierarchy(name)?), people.texts(name, records)?));
    }
    let sensitive = vec![(SensitiveSpec::plain("occupation"), people.texts("occupation", records)?)];
    Ok(survey(quasi, sensitive)?.table)
}

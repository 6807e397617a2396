//! Experiment of [Sun 2008]: disclosures of p-sensitive k-anonymity and of (p+, alpha)-sensitive k-anonymity.
//!
//! 400 records of Adult with age, marital status and sex, and a random health condition of eight values in four
//! categories; k = 3, 4, p = 2, 3, alpha = 2. A disclosure is a class whose rows all fall in one category.
//!
//! ```text
//! cargo bench -p throng-papers --bench sun_2008
//! ```

#![allow(missing_docs)]

use std::sync::Arc;

use anyhow::Result;
use arrow::array::{ArrayRef, StringArray};
use throng_core::anonymize::{ClusterChoice, Method, PartitionChoice};
use throng_core::cluster::Class;
use throng_core::columns::{Categories, Category, SensitiveCoding, SensitiveSpec};
use throng_core::model::{CategoryWeight, CodeMeaning, KAnonymity, Model, PSensitive, Privacy};
use throng_core::table::Table;
use throng_papers::{Formed, People, Rows, SampleRng, category, data_or_skip, form, interval, survey};

const RECORDS: usize = 400;
const ALPHA: f64 = 2.0;
const SAMPLES: u64 = 20;

/// Table 4 of [Sun 2008], the most sensitive category first.
const CATEGORIES: [[&str; 2]; 4] =
    [["HIV", "Cancer"], ["Phthisis", "Hepatitis"], ["Heart Disease", "Asthma"], ["Flu", "Indigestion"]];

/// The codings of the only sensitive column.
const VALUES: usize = 0;
const BY_CATEGORY: usize = 1;

fn main() -> Result<()> {
    let Some(folder) = data_or_skip() else { return Ok(()) };
    let people = People::read(folder)?;
    println!(
        "Sun 2008: {RECORDS} records of Adult, alpha = {ALPHA}; means over {SAMPLES} samples, of which the paper has one."
    );
    println!(
        "Claim: (p+, alpha) has fewer disclosures in all four cells. `1`: classes of one category, `< p`: of fewer than p."
    );
    let rows = Rows::new(&["k", "p", "model and method", "classes", "1", "< p", "NCP", "paper, one sample"]);
    for (k, p, paper) in [(3, 2, [25, 3]), (4, 2, [30, 4]), (3, 3, [15, 2]), (4, 3, [21, 1])] {
        for (name, cluster, privacy, paper) in [
            ("p-sensitive, greedy-pk", ClusterChoice::GreedyPk, p_sensitive(k, p), paper[0].to_string()),
            ("(p+, alpha), switching", ClusterChoice::Switching, p_plus_alpha(k, p), paper[1].to_string()),
            ("(p+, alpha), greedy-pk", ClusterChoice::GreedyPk, p_plus_alpha(k, p), String::new()),
            ("(p+, alpha), greedy", ClusterChoice::Greedy, p_plus_alpha(k, p), String::new()),
        ] {
            let (mut classes, mut one, mut few, mut loss) = (0, 0, 0, 0.0);
            for seed in 0..SAMPLES {
                let table = table(&people, seed)?;
                let formed = form(&table, Method::new(PartitionChoice::None, cluster), &privacy, k)?;
                let categories = categories_of_classes(&formed, &table);
                classes += categories.len();
                one += categories.iter().filter(|count| **count < 2).count();
                few += categories.iter().filter(|count| **count < p).count();
                loss += formed.utility.ncp / SAMPLES as f64;
            }
            let mean = |sum: usize| format!("{:.2}", sum as f64 / SAMPLES as f64);
            rows.row(&[
                k.to_string(),
                p.to_string(),
                name.to_owned(),
                mean(classes),
                mean(one),
                mean(few),
                format!("{loss:.4}"),
                paper,
            ]);
        }
    }
    times(&people)
}

/// Times of the two models over k and over alpha, as in Fig. 1 and 2 of the paper.
fn times(people: &People) -> Result<()> {
    let time = |cluster: ClusterChoice, privacy: &Privacy, k: u64| -> Result<f64> {
        let mut seconds = 0.0;
        for seed in 0..SAMPLES {
            let method = Method::new(PartitionChoice::None, cluster);
            seconds += form(&table(people, seed)?, method, privacy, k)?.time.as_secs_f64();
        }
        Ok(seconds * 1000.0 / SAMPLES as f64)
    };
    println!(
        "\nMilliseconds over k, p = 2, alpha = {ALPHA} (Fig. 1). Claim: a large gap for small k, nearly none for large k."
    );
    let rows = Rows::new(&["k", "p-sensitive, greedy-pk", "(p+, alpha), switching"]);
    for k in 2..=10 {
        let plain = time(ClusterChoice::GreedyPk, &p_sensitive(k, 2), k)?;
        let switched = time(ClusterChoice::Switching, &p_plus_alpha(k, 2), k)?;
        rows.row(&[k.to_string(), format!("{plain:.2}"), format!("{switched:.2}")]);
    }
    println!("\nMilliseconds over alpha, k = 4, p = 2 (Fig. 2). Claim: the time grows with alpha.");
    let rows = Rows::new(&["alpha", "(p+, alpha), switching"]);
    for alpha in [0.5, 1.0, 1.5, 2.0, 2.5, 3.0] {
        let switched = time(ClusterChoice::Switching, &with_alpha(4, 2, alpha), 4)?;
        rows.row(&[alpha.to_string(), format!("{switched:.2}")]);
    }
    Ok(())
}

fn p_sensitive(k: u64, p: u64) -> Privacy {
    Privacy::new(vec![Arc::new(KAnonymity::new(k)), Arc::new(PSensitive::new(p, VALUES, CodeMeaning::Values))])
}

fn p_plus_alpha(k: u64, p: u64) -> Privacy {
    with_alpha(k, p, ALPHA)
}

fn with_alpha(k: u64, p: u64, alpha: f64) -> Privacy {
    let models: [Arc<dyn Model>; 4] = [
        Arc::new(KAnonymity::new(k)),
        Arc::new(PSensitive::new(p, VALUES, CodeMeaning::Values)),
        Arc::new(PSensitive::new(p, BY_CATEGORY, CodeMeaning::Categories)),
        Arc::new(CategoryWeight::new(alpha, BY_CATEGORY, CATEGORIES.len() as u32)),
    ];
    Privacy::new(models.to_vec())
}

/// Returns the number of categories in each class of the release.
fn categories_of_classes(formed: &Formed, table: &Table) -> Vec<u64> {
    let mut classes = vec![Vec::new(); formed.recoding.class_rows().len()];
    for group in 0..table.group_count() as u32 {
        for share in formed.recoding.shares(group) {
            classes[share.class as usize].push(throng_core::cluster::Portion { group, rows: share.rows });
        }
    }
    classes.into_iter().map(|portions| Class::of_portions(portions).tally(table).distinct(BY_CATEGORY)).collect()
}

fn table(people: &People, seed: u64) -> Result<Table> {
    let mut draws = SampleRng::new(seed);
    let records = draws.sample(people.len(), RECORDS);
    let conditions = CATEGORIES.concat();
    let health: StringArray = (0..RECORDS).map(|_| Some(conditions[draws.below(conditions.len())])).collect();
    let health: ArrayRef = Arc::new(health);
    let mut quasi = vec![(interval("age"), people.numbers("age", &records)?)];
    for name in ["marital-status", "sex"] {
        quasi.push((category(name, people.hierarchy(name)?), people.texts(name, &records)?));
    }
    let list = CATEGORIES.iter().zip(1..).map(|(values, number)| Category {
        name: number.to_string(),
        values: values.iter().map(|value| (*value).to_owned()).collect(),
        ..Category::default()
    });
    let categories = SensitiveCoding::Categories(Arc::new(Categories { list: list.collect() }));
    let sensitive =
        SensitiveSpec { facets: vec![SensitiveCoding::Values, categories], ..SensitiveSpec::plain("health") };
    Ok(survey(quasi, vec![(sensitive, health)])?.table)
}

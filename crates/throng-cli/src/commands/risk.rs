//! `throng risk`

use serde_json::{Value, json};
use throng_core::risk::{Risk, SizeBand};
use throng_job::{JobError, JobOptions, RiskOptions, plural, risk_page};
use throng_policy::{Overrides, Policy, Role};

use super::report::write;
use super::text_table::TextTable;
use crate::args::{RiskArgs, RiskFormat};
use crate::outcome::{Outcome, write_out};

pub(super) async fn risk(args: &RiskArgs, job: &JobOptions) -> Result<Outcome, JobError> {
    let (quasi, sensitive) = match &args.policy {
        Some(policy) => columns(&Policy::load(policy, &Overrides::default())?),
        None => (args.quasi.clone(), args.sensitive.clone()),
    };
    let asked = RiskOptions {
        quasi,
        sensitive,
        threshold: args.threshold,
        sampling_fraction: args.fraction,
        weight: args.weight.clone(),
    };
    let locations = std::slice::from_ref(&args.data);
    let risk = match &args.population {
        Some(population) => throng_job::risk_among(locations, &asked, &population.as_str().into(), job).await?,
        None => throng_job::risk(locations, &asked, job).await?,
    };
    let (mut message, mut json) = (String::new(), json(&risk));
    if let Some(path) = &args.output {
        write(path, &risk_page(&risk))?;
        message = format!("wrote {}", path.display());
        json["output"] = path.display().to_string().into();
    }
    if args.format == RiskFormat::Table {
        write_out(&text(&risk));
    }
    Ok(Outcome::success(message, json))
}

/// Returns the quasi-identifiers and the sensitive columns of a policy.
fn columns(policy: &Policy) -> (Vec<String>, Vec<String>) {
    let named = |is_wanted: fn(&Role) -> bool| {
        let columns = policy.columns.by_name.iter().filter(|(_, role)| is_wanted(role));
        columns.map(|(name, _)| name.clone()).collect()
    };
    (named(|role| matches!(role, Role::Quasi(_))), named(|role| matches!(role, Role::Sensitive(_))))
}

/// Formats the risk of a table as JSON.
pub fn json(risk: &Risk) -> Value {
    let sizes = risk
        .sizes
        .iter()
        .map(|band| json!({ "from": band.from, "to": band.to, "classes": band.classes, "rows": band.rows }));
    let columns = risk.columns.iter().map(|column| {
        json!({
            "column": column.name,
            "distinct": column.distinct,
            "uniques_alone": column.uniques_alone,
            "classes_without": column.classes_without,
            "uniques_without": column.uniques_without,
            "share": rounded(column.share),
        })
    });
    let sensitive = risk.sensitive.iter().map(|column| {
        json!({
            "column": column.name,
            "distinct": column.distinct,
            "fewest": column.fewest,
            "uniform_classes": column.uniform_classes,
            "uniform_rows": column.uniform_rows,
        })
    });
    let person = json!({
        "highest": rounded(risk.highest()),
        "average": rounded(risk.average()),
        "rows_at_risk": risk.rows_at_risk,
        "share_at_risk": rounded(risk.share_at_risk()),
    });
    let mut text = json!({
        "outcome": "measured",
        "rows": risk.rows,
        "classes": risk.classes,
        "uniques": risk.uniques,
        "smallest_class": risk.smallest_class,
        "largest_class": risk.largest_class,
        "average_class": rounded(risk.average_class()),
        "threshold": risk.threshold,
        "prosecutor": person,
        "journalist": person,
        "marketer": { "average": rounded(risk.average()) },
        "class_sizes": sizes.collect::<Vec<_>>(),
        "columns": columns.collect::<Vec<_>>(),
        "sensitive": sensitive.collect::<Vec<_>>(),
    });
    if let Some(population) = &risk.population {
        text["journalist"] = json!({
            "highest": rounded(population.highest),
            "average": rounded(population.average),
            "rows_at_risk": population.rows_at_risk,
            "share_at_risk": rounded(population.rows_at_risk as f64 / risk.rows.max(1) as f64),
        });
        text["marketer"] = json!({ "average": rounded(population.average) });
        text["population"] = json!({
            "fraction": population.fraction,
            "people": population.people.round(),
            "uniques": rounded(population.uniques),
            "unique_if_sample_unique": rounded(population.unique_if_sample_unique),
            "reidentified": rounded(population.reidentified),
        });
        if let Some(fewest) = population.fewest {
            text["population"]["fewest"] = fewest.into();
        }
    }
    text
}

/// Rounds to six digits.
fn rounded(share: f64) -> f64 {
    (share * 1e6).round() / 1e6
}

fn text(risk: &Risk) -> String {
    let mut lines = vec![format!(
        "{} in {}; {} {} unique ({}); the smallest class has {}, the average {:.1} rows",
        plural(risk.rows, "row"),
        plural(risk.classes, "class"),
        plural(risk.uniques, "row"),
        if risk.uniques == 1 { "is" } else { "are" },
        percent(risk.uniques, risk.rows),
        risk.smallest_class,
        risk.average_class()
    )];
    let share = |share: f64| format!("{share:.4}");
    let at_risk = |rows: u64| format!("{rows} ({})", percent(rows, risk.rows));
    let (highest, average, rows_at_risk) = match &risk.population {
        Some(population) => (population.highest, population.average, population.rows_at_risk),
        None => (risk.highest(), risk.average(), risk.rows_at_risk),
    };
    let above = format!("rows above {}", risk.threshold);
    let mut intruders = TextTable::new(&["intruder", "highest risk", "average risk", &above]);
    let own = [share(risk.highest()), share(risk.average()), at_risk(risk.rows_at_risk)];
    intruders.row([&["prosecutor".to_owned()][..], &own].concat());
    intruders.row(["journalist".to_owned(), share(highest), share(average), at_risk(rows_at_risk)]);
    intruders.row(["marketer".to_owned(), "-".to_owned(), share(average), "-".to_owned()]);
    lines.push(intruders.to_string());
    if let Some(population) = &risk.population {
        if let Some(fewest) = population.fewest {
            lines.push(format!("every class matches at least {fewest} people of the population"));
        }
        lines.push(format!(
            "a sample of about {:.0} people: an intruder with a register of them is expected to find {:.1} rows; about \
             {:.0} people are unique, and so is a unique row of the table with a probability of {:.4}",
            population.people, population.reidentified, population.uniques, population.unique_if_sample_unique
        ));
    }
    let mut sizes = TextTable::new(&["rows in the class", "classes", "rows", "share of rows"]);
    for band in &risk.sizes {
        let share = percent(band.rows, risk.rows);
        sizes.row([size(band), band.classes.to_string(), band.rows.to_string(), share]);
    }
    lines.push(sizes.to_string());
    let mut columns =
        TextTable::new(&["column", "distinct", "uniques alone", "uniques without it", "average risk falls by"]);
    let mut ranked: Vec<_> = risk.columns.iter().collect();
    ranked.sort_by(|a, b| b.share.total_cmp(&a.share).then(b.distinct.cmp(&a.distinct)));
    for column in ranked {
        let counts = [column.distinct, column.uniques_alone, column.uniques_without].map(|count| count.to_string());
        columns.row([std::slice::from_ref(&column.name), &counts[..], &[format!("{:.3}", column.share)]].concat());
    }
    lines.push(columns.to_string());
    if !risk.sensitive.is_empty() {
        let heads = ["sensitive column", "distinct", "fewest in a class", "classes with one value", "rows in them"];
        let mut sensitive = TextTable::new(&heads);
        for column in &risk.sensitive {
            let counts = [column.distinct, column.fewest, column.uniform_classes, column.uniform_rows];
            sensitive.row([std::slice::from_ref(&column.name), &counts.map(|count| count.to_string())[..]].concat());
        }
        lines.push(sensitive.to_string());
    }
    lines.join("\n\n")
}

fn size(band: &SizeBand) -> String {
    match band.to {
        Some(to) if to == band.from => to.to_string(),
        Some(to) => format!("{}-{to}", band.from),
        None => format!("{} or more", band.from),
    }
}

fn percent(part: u64, whole: u64) -> String {
    format!("{:.1} %", if whole == 0 { 0.0 } else { 100.0 * part as f64 / whole as f64 })
}

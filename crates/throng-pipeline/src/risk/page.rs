//! The risk of a table as one page of HTML that fetches nothing: readable on paper, on a phone, in light and dark.

use std::fmt::Write;

use throng_core::risk::{Risk, SizeBand};

use super::chart::{Bar, bars, escaped};

const STYLE: &str = "
:root { color-scheme: light dark; --ink: #1a1c20; --paper: #ffffff; --faint: #5a606b; --line: #d5d9e0; --bar: #2f6fb3; }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e8eaee; --paper: #16181c; --faint: #a4abb8; --line: #3a3f49; --bar: #6ca8e8; }
}
* { box-sizing: border-box; }
body { margin: 0 auto; padding: 1.5rem 1rem 3rem; max-width: 46rem; background: var(--paper); color: var(--ink);
  font: 16px/1.5 system-ui, sans-serif; }
h1 { font-size: 1.6rem; } h2 { font-size: 1.15rem; margin-top: 2rem; }
p.note { color: var(--faint); }
.wide { overflow-x: auto; }
table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums; }
th, td { padding: .3rem .6rem .3rem 0; border-bottom: 1px solid var(--line); text-align: right; }
th:first-child, td:first-child { text-align: left; }
svg { width: 100%; height: auto; } svg text { fill: var(--ink); font: 13px system-ui, sans-serif; }
.bar { fill: var(--bar); }
@media print { :root { --ink: #000; --paper: #fff; --faint: #333; } }
";

/// The page. It holds counts, shares and names of columns, and no value of the table.
pub fn page(risk: &Risk) -> String {
    let names: Vec<&str> = risk.columns.iter().map(|column| column.name.as_str()).collect();
    let mut page = format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>Risk before release</title>\n\
         <style>{STYLE}</style>\n</head>\n<body>\n<main>\n<h1>Risk before release</h1>\n"
    );
    // Writing to a string never fails.
    let _ = writeln!(
        page,
        "<p><strong>{} of {} rows</strong> ({}) have a combination of {} that nobody else has.</p>",
        risk.uniques,
        risk.rows,
        percent(share(risk.uniques, risk.rows)),
        escaped(&names.join(", "))
    );
    page += &intruders(risk);
    page += "<h2>Class sizes</h2>\n";
    page += &sizes_chart(risk);
    page += &table(
        "Rows by the size of their class",
        &["rows in the class", "classes", "rows", "share of rows"],
        risk.sizes.iter().map(|band| {
            vec![size(band), band.classes.to_string(), band.rows.to_string(), percent(share(band.rows, risk.rows))]
        }),
    );
    page += "<h2>Which columns single people out</h2>\n";
    page += &columns_chart(risk);
    page += &table(
        "What each column contributes",
        &["column", "distinct values", "uniques alone", "uniques without it", "share of the risk"],
        risk.columns.iter().map(|column| {
            vec![
                column.name.clone(),
                column.distinct.to_string(),
                column.uniques_alone.to_string(),
                column.uniques_without.to_string(),
                percent(column.share),
            ]
        }),
    );
    if !risk.sensitive.is_empty() {
        page += "<h2>What classes give away</h2>\n";
        page += &table(
            "Sensitive columns",
            &["column", "distinct values", "fewest in a class", "classes with one value", "rows in them"],
            risk.sensitive.iter().map(|column| {
                vec![
                    column.name.clone(),
                    column.distinct.to_string(),
                    column.fewest.to_string(),
                    column.uniform_classes.to_string(),
                    column.uniform_rows.to_string(),
                ]
            }),
        );
    }
    page + DEFINITIONS + "</main>\n</body>\n</html>\n"
}

const DEFINITIONS: &str = "<h2>What the figures mean</h2>\n<p class=\"note\">A class is all rows with the same values in \
the columns above; a unique is a class of one row. Whoever knows these values of a person in a class of f rows finds the \
right row with a probability of 1/f. A prosecutor knows that the person is in the table. A journalist looks people up in \
a register of the population, a marketer matches everybody with it; no register is at hand, so the table is taken for \
the whole population, and their risks are upper bounds where it is a sample. The share of a column is the part of the \
average risk that goes away when the column is not known.</p>\n";

fn intruders(risk: &Risk) -> String {
    let at_risk = format!("{} ({})", risk.rows_at_risk, percent(risk.share_at_risk()));
    let both = |name: &str| vec![name.to_owned(), percent(risk.highest()), percent(risk.average()), at_risk.clone()];
    let marketer = vec!["marketer".to_owned(), "–".to_owned(), percent(risk.average()), "–".to_owned()];
    let facts = format!(
        "<h2>Risk</h2>\n<p>{} rows in {} classes; the smallest has {}, the average {:.1} rows.</p>\n",
        risk.rows,
        risk.classes,
        risk.smallest_class,
        risk.average_class()
    );
    let above = format!("rows above {}", percent(risk.threshold));
    let rows = [both("prosecutor"), both("journalist"), marketer];
    facts + &table("Risk by kind of intruder", &["intruder", "highest", "average", &above], rows.into_iter())
}

fn sizes_chart(risk: &Risk) -> String {
    let bar = |band: &SizeBand| Bar {
        label: size(band),
        share: share(band.rows, risk.rows),
        note: percent(share(band.rows, risk.rows)),
    };
    let drawn: Vec<Bar> = risk.sizes.iter().map(bar).collect();
    let text = "One bar for each band of class sizes; its length is the share of all rows in classes of that size.";
    bars("sizes", "Share of rows by the size of their class", text, &drawn)
}

fn columns_chart(risk: &Risk) -> String {
    let mut columns: Vec<_> = risk.columns.iter().collect();
    columns.sort_by(|a, b| b.share.total_cmp(&a.share).then(b.distinct.cmp(&a.distinct)));
    let bar = |column: &&throng_core::risk::ColumnRisk| Bar {
        label: column.name.clone(),
        share: column.share,
        note: percent(column.share),
    };
    let drawn: Vec<Bar> = columns.iter().map(bar).collect();
    let text = "One bar for each column; its length is the share of the average risk that goes away without it.";
    bars("columns", "Share of the risk by column", text, &drawn)
}

fn table(caption: &str, heads: &[&str], rows: impl Iterator<Item = Vec<String>>) -> String {
    let mut html = format!("<div class=\"wide\"><table>\n<caption>{}</caption>\n<thead><tr>", escaped(caption));
    for head in heads {
        let _ = write!(html, "<th scope=\"col\">{}</th>", escaped(head));
    }
    html += "</tr></thead>\n<tbody>\n";
    for row in rows {
        let cells: Vec<String> = row.iter().map(|cell| format!("<td>{}</td>", escaped(cell))).collect();
        let _ = writeln!(html, "<tr>{}</tr>", cells.concat());
    }
    html + "</tbody>\n</table></div>\n"
}

fn size(band: &SizeBand) -> String {
    match band.to {
        Some(to) if to == band.from => to.to_string(),
        Some(to) => format!("{}–{to}", band.from),
        None => format!("{} or more", band.from),
    }
}

fn share(part: u64, whole: u64) -> f64 {
    if whole == 0 { 0.0 } else { part as f64 / whole as f64 }
}

fn percent(share: f64) -> String {
    format!("{:.1} %", 100.0 * share)
}

//! The risk of being found, before and after.

use super::numbers::{count, figure, percent};
use super::page::{captioned, head};
use crate::markup::Markup;
use crate::plot::{Caption, PairedBar, paired_bars};
use crate::sidecar::{AttackerRisk, RiskFacts, Sidecar};

pub(super) fn write(body: &mut Markup, sidecar: &Sidecar) {
    let Some(risk) = &sidecar.risk else { return };
    body.within("section", &[], |section| {
        section.element("h2", &[], "The risk of being found");
        section.element(
            "p",
            &[],
            "A row can be found by what others may know of a person. Its risk is one over the number of rows that look \
             like it. Figures of the original are upper bounds: they count rows up to the next multiple of k, and tell \
             nothing about smaller groups.",
        );
        plot(section, risk);
        table(section, risk);
    });
}

fn plot(section: &mut Markup, risk: &RiskFacts) {
    let (before, after) = (&risk.before, &risk.after);
    let bar = |label: String, was: f64, is: f64| PairedBar {
        label,
        value: format!("{} → {}", percent(was), percent(is)),
        before: was,
        after: is,
    };
    let mut bars = vec![bar("rows that are alone".to_owned(), before.sample_uniques, after.sample_uniques)];
    for (was, is) in before.prosecutor.at_risk.iter().zip(&after.prosecutor.at_risk) {
        bars.push(bar(format!("rows with a risk above {}", percent(was.above)), was.share, is.share));
    }
    let words = "Share of all rows. The thin bar is the original, the thick bar is the release.";
    captioned(section, "Rows at risk, before and after", words, |figure| {
        let told: Vec<String> = bars.iter().map(|bar| format!("{}: {}", bar.label, bar.value)).collect();
        let description = format!("{} The shares from original to release are: {}.", words, told.join("; "));
        let caption = Caption { id: "risk", title: "Rows at risk, before and after", description: &description };
        paired_bars(figure, caption, &bars);
    });
}

fn table(section: &mut Markup, risk: &RiskFacts) {
    section.within("table", &[("id", &"risk")], |table| {
        head(table, "Risk by attacker", &[("Attacker", false), ("Original", true), ("Release", true)]);
        table.within("tbody", &[], |rows| {
            let (before, after) = (&risk.before, &risk.after);
            group(rows, "Prosecutor", "knows that the person is in the table");
            attacker(rows, "prosecutor", &before.prosecutor, &after.prosecutor);
            let words = "does not know that; how many people are in the population is not known here, so that the table \
                         stands for it, and the true risk is at most this";
            group(rows, "Journalist", words);
            attacker(rows, "journalist", &before.journalist, &after.journalist);
            group(rows, "Marketer", "looks for anybody, and is content with the average");
            pair(rows, "rows found on average", "marketer.average", before.marketer.average, after.marketer.average, "");
            group(rows, "All of them", "");
            pair(rows, "sample uniques: rows that are alone", "sample_uniques", before.sample_uniques, after.sample_uniques, "≤ ");
            rows.within("tr", &[], |row| {
                row.element("th", &[("scope", &"row")], "different combinations of quasi-identifiers");
                for (table, classes) in [("before", before.classes), ("after", after.classes)] {
                    let key = format!("risk.{table}.classes");
                    row.within("td", &[("class", &"n")], |cell| figure(cell, &key, classes, count(classes)));
                }
            });
        });
    });
}

fn group(rows: &mut Markup, name: &str, words: &str) {
    rows.within("tr", &[("class", &"group")], |row| {
        row.within("th", &[("scope", &"rowgroup"), ("colspan", &3)], |cell| {
            cell.text(name);
            if !words.is_empty() {
                cell.element("span", &[("class", &"words")], words);
            }
        });
    });
}

fn attacker(rows: &mut Markup, name: &str, before: &AttackerRisk, after: &AttackerRisk) {
    let key = |field: &str| format!("{name}.{field}");
    pair(rows, "highest risk of a row", &key("highest"), before.highest, after.highest, "≤ ");
    pair(rows, "average risk of a row", &key("average"), before.average, after.average, "");
    for (at, (was, is)) in before.at_risk.iter().zip(&after.at_risk).enumerate() {
        let label = format!("rows with a risk above {}", percent(was.above));
        pair(rows, &label, &key(&format!("at_risk.{at}.share")), was.share, is.share, "≤ ");
    }
}

/// A share before and after; `bound` says that the one before is an upper bound.
fn pair(rows: &mut Markup, label: &str, key: &str, before: f64, after: f64, bound: &str) {
    rows.within("tr", &[], |row| {
        row.element("th", &[("scope", &"row")], label);
        let bound = if before > 0.0 { bound } else { "" };
        let cells = [("before", before, format!("{bound}{}", percent(before))), ("after", after, percent(after))];
        for (table, value, text) in cells {
            let key = format!("risk.{table}.{key}");
            row.within("td", &[("class", &"n")], |cell| figure(cell, &key, value, text));
        }
    });
}

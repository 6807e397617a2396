//! The risk of a table as a page, made of the same parts as the report. It holds counts, shares and names of columns, and
//! no value of the table. Every figure has the place that it has in the outcome of `throng risk` (`data-key`).

use throng_core::risk::{ColumnRisk, Risk, SizeBand, share};

use crate::markup::Markup;
use crate::plot::{Bar, Caption, bars};
use crate::report::numbers::{count, counted, figure, list, percent};
use crate::report::page::{captioned, head, page};

/// The page of a table's risk.
pub fn risk_page(risk: &Risk) -> String {
    page("Risk before release", |body| {
        summary(body, risk);
        intruders(body, risk);
        sizes(body, risk);
        columns(body, risk);
        sensitive(body, risk);
        let words = format!(
            "Written by Throng {}. Nothing was published by it. This page fetches nothing and runs no script.",
            env!("CARGO_PKG_VERSION")
        );
        body.element("footer", &[], words);
    })
}

fn summary(body: &mut Markup, risk: &Risk) {
    body.within("header", &[], |header| {
        header.element("h1", &[], "Risk before release");
        let names: Vec<String> = risk.columns.iter().map(|column| column.name.clone()).collect();
        let sentence = format!(
            "{} of {} ({}) {} alone with their {}.",
            count(risk.uniques),
            counted(risk.rows, "row", "rows"),
            percent(share(risk.uniques, risk.rows)),
            if risk.uniques == 1 { "is" } else { "are" },
            list(&names)
        );
        header.element("p", &[("class", &"promise")], sentence);
        header.within("dl", &[("class", &"key")], |key| {
            let mut entry = |name: &str, place: &str, value: f64, text: String| {
                key.within("div", &[], |entry| {
                    entry.element("dt", &[], name);
                    entry.within("dd", &[], |dd| figure(dd, place, value, text));
                });
            };
            let mut number = |name: &str, place: &str, value: u64| entry(name, place, value as f64, count(value));
            number("rows", "rows", risk.rows);
            number("classes of people who look alike", "classes", risk.classes);
            number("rows in the smallest class", "smallest_class", risk.smallest_class);
            let average = risk.average_class();
            entry("rows in a class on average", "average_class", average, format!("{average:.1}"));
        });
    });
}

fn intruders(body: &mut Markup, risk: &Risk) {
    body.within("section", &[], |section| {
        section.element("h2", &[], "The risk of being found");
        section.element(
            "p",
            &[],
            "A class is all rows with the same values in the columns above. Whoever knows these values of a person in a \
             class of f rows finds the right row with a probability of 1/f.",
        );
        section.within("table", &[("id", &"risk")], |table| {
            let above = format!("Rows above {}", percent(risk.threshold));
            let names = [("Attacker", false), ("Highest", true), ("Average", true), (above.as_str(), true)];
            head(table, "Risk by attacker", &names);
            table.within("tbody", &[], |rows| {
                person(rows, risk, "prosecutor", "Prosecutor", "knows that the person is in the table");
                let words = "does not know that; the table stands for the population, so that the true risk is at most this";
                person(rows, risk, "journalist", "Journalist", words);
                rows.within("tr", &[], |row| {
                    who(row, "Marketer", "looks for anybody, and is content with the average");
                    row.element("td", &[("class", &"n")], "–");
                    rate(row, "marketer.average", risk.average());
                    row.element("td", &[("class", &"n")], "–");
                });
            });
        });
    });
}

fn person(rows: &mut Markup, risk: &Risk, key: &str, name: &str, words: &str) {
    rows.within("tr", &[], |row| {
        who(row, name, words);
        rate(row, &format!("{key}.highest"), risk.highest());
        rate(row, &format!("{key}.average"), risk.average());
        number(row, &format!("{key}.rows_at_risk"), risk.rows_at_risk);
    });
}

fn sizes(body: &mut Markup, risk: &Risk) {
    body.within("section", &[], |section| {
        section.element("h2", &[], "The crowds that people are in");
        let bar = |band: &SizeBand| Bar {
            label: size(band),
            value: format!("{} in {}", counted(band.rows, "row", "rows"), counted(band.classes, "class", "classes")),
            length: share(band.rows, risk.rows),
        };
        // Large classes that do not occur are left out.
        let occurring = risk.sizes.iter().rposition(|band| band.rows > 0).map_or(0, |last| last + 1);
        let drawn: Vec<Bar> = risk.sizes[..occurring].iter().map(bar).collect();
        plot(
            section,
            "class-sizes",
            "Class sizes",
            "Share of all rows by the size of the class that they are in.",
            &drawn,
        );
        section.within("details", &[], |details| {
            details.element("summary", &[], "As a table");
            details.within("table", &[], |table| {
                head(
                    table,
                    "Rows by the size of their class",
                    &[("Class", false), ("Classes", true), ("Rows", true), ("Share", true)],
                );
                table.within("tbody", &[], |rows| {
                    for (at, band) in risk.sizes.iter().enumerate() {
                        rows.within("tr", &[], |row| {
                            who(row, &size(band), "");
                            number(row, &format!("class_sizes.{at}.classes"), band.classes);
                            number(row, &format!("class_sizes.{at}.rows"), band.rows);
                            row.element("td", &[("class", &"n")], percent(share(band.rows, risk.rows)));
                        });
                    }
                });
            });
        });
    });
}

fn columns(body: &mut Markup, risk: &Risk) {
    let mut ranked: Vec<(usize, &ColumnRisk)> = risk.columns.iter().enumerate().collect();
    ranked.sort_by(|(_, a), (_, b)| b.share.total_cmp(&a.share).then(b.distinct.cmp(&a.distinct)));
    body.within("section", &[], |section| {
        section.element("h2", &[], "Which columns single people out");
        let bar = |(_, column): &(usize, &ColumnRisk)| Bar {
            label: column.name.clone(),
            value: percent(column.share),
            length: column.share,
        };
        let drawn: Vec<Bar> = ranked.iter().map(bar).collect();
        let words = "The share of the average risk that goes away when the column is not known.";
        plot(section, "columns", "Share of the risk", words, &drawn);
        section.within("table", &[("id", &"quasi")], |table| {
            let names = [("Column", false), ("Distinct", true), ("Alone with it", true), ("Alone without it", true)];
            head(table, "Rows that are alone with the column and nothing else, and with all columns but it", &names);
            table.within("tbody", &[], |rows| {
                for (at, column) in ranked {
                    rows.within("tr", &[], |row| {
                        who(row, &column.name, "");
                        number(row, &format!("columns.{at}.distinct"), column.distinct);
                        number(row, &format!("columns.{at}.uniques_alone"), column.uniques_alone);
                        number(row, &format!("columns.{at}.uniques_without"), column.uniques_without);
                    });
                }
            });
        });
    });
}

fn sensitive(body: &mut Markup, risk: &Risk) {
    if risk.sensitive.is_empty() {
        return;
    }
    body.within("section", &[], |section| {
        section.element("h2", &[], "What classes give away");
        section.element(
            "p",
            &[],
            "Where all rows of a class have the same value, it is known of everybody in the class, however large it is.",
        );
        section.within("table", &[("id", &"sensitive")], |table| {
            let names = [("Column", false), ("Classes with one value", true), ("Rows in them", true)];
            head(table, "Sensitive columns", &names);
            table.within("tbody", &[], |rows| {
                for (at, column) in risk.sensitive.iter().enumerate() {
                    rows.within("tr", &[], |row| {
                        let values = counted(column.distinct, "distinct value", "distinct values");
                        who(row, &column.name, &format!("{values}, at least {} in a class", count(column.fewest)));
                        number(row, &format!("sensitive.{at}.uniform_classes"), column.uniform_classes);
                        number(row, &format!("sensitive.{at}.uniform_rows"), column.uniform_rows);
                    });
                }
            });
        });
    });
}

fn plot(section: &mut Markup, id: &str, title: &str, words: &str, drawn: &[Bar]) {
    let told: Vec<String> = drawn.iter().map(|bar| format!("{}: {}", bar.label, bar.value)).collect();
    let description = format!("{words} {}.", told.join("; "));
    captioned(section, title, words, |figure| bars(figure, Caption { id, title, description: &description }, drawn));
}

/// The head of a row.
fn who(row: &mut Markup, name: &str, words: &str) {
    row.within("th", &[("scope", &"row")], |cell| {
        cell.text(name);
        if !words.is_empty() {
            cell.element("span", &[("class", &"words")], words);
        }
    });
}

fn number(row: &mut Markup, key: &str, number: u64) {
    row.within("td", &[("class", &"n")], |cell| figure(cell, key, number, count(number)));
}

fn rate(row: &mut Markup, key: &str, share: f64) {
    row.within("td", &[("class", &"n")], |cell| figure(cell, key, share, percent(share)));
}

fn size(band: &SizeBand) -> String {
    match band.to {
        Some(1) => "1 row".to_owned(),
        Some(to) if to == band.from => format!("{} rows", count(to)),
        Some(to) => format!("{} to {} rows", count(band.from), count(to)),
        None => format!("{} rows or more", count(band.from)),
    }
}

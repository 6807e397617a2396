//! The page of `throng risk`. It holds counts, shares and column names, and no value of the table. Every figure has its
//! path in the outcome of `throng risk` (`data-key`).

use maud::{Markup, html};
use throng_core::risk::{ColumnRisk, PopulationRisk, Risk, SizeBand, share};

use crate::numbers::{cell, count, counted, figure, list, percent};
use crate::page::{MARKETER, PROSECUTOR, captioned, head, key_entry, page, row_head, unpublished_footer};
use crate::plot::{Bar, Caption, bars};

/// Renders the risk page of a table.
pub fn risk_page(risk: &Risk) -> String {
    let body = html! {
        (summary(risk))
        (attackers(risk))
        (sizes(risk))
        (columns(risk))
        (sensitive(risk))
        (unpublished_footer())
    };
    page("Risk before release", &body)
}

fn summary(risk: &Risk) -> Markup {
    let names: Vec<String> = risk.columns.iter().map(|column| column.name.clone()).collect();
    let sentence = format!(
        "{} of {} ({}) {} alone with their {}.",
        count(risk.uniques),
        counted(risk.rows, "row", "rows"),
        percent(share(risk.uniques, risk.rows)),
        if risk.uniques == 1 { "is" } else { "are" },
        list(&names)
    );
    let number = |name: &str, key: &str, value: u64| key_entry(name, &figure(key, value, count(value)));
    let average = risk.average_class();
    html! {
        header {
            h1 { "Risk before release" }
            p class="promise" { (sentence) }
            dl class="key" {
                (number("rows", "rows", risk.rows))
                (number("classes of people who look alike", "classes", risk.classes))
                (number("rows in the smallest class", "smallest_class", risk.smallest_class))
                (key_entry(
                    "rows in a class on average",
                    &figure("average_class", average, format_args!("{average:.1}"))
                ))
            }
        }
    }
}

fn attackers(risk: &Risk) -> Markup {
    let above = format!("Rows above {}", percent(risk.threshold));
    let names = [("Attacker", false), ("Highest", true), ("Average", true), (above.as_str(), true)];
    let journalist = match &risk.population {
        Some(PopulationRisk { fewest: Some(_), .. }) => {
            "does not know that, and has a register of the population, in which people are counted"
        }
        Some(_) => "does not know that, and has a register of the population; estimated by the sampling fraction",
        None => "does not know that; the table is taken as the population, so the true risk is at most this",
    };
    let own = (risk.highest(), risk.average(), risk.rows_at_risk);
    let of_register =
        risk.population.map_or(own, |population| (population.highest, population.average, population.rows_at_risk));
    html! {
        section {
            h2 { "The risk of being found" }
            p {
                "A class is all rows with the same values in the columns above. Anyone who knows these values of a person in a \
                 class of f rows finds the right row with a probability of 1/f."
            }
            table id="risk" {
                (head("Risk by attacker", &names))
                tbody {
                    (attacker(own, "prosecutor", "Prosecutor", PROSECUTOR))
                    (attacker(of_register, "journalist", "Journalist", journalist))
                    tr {
                        (row_head("Marketer", MARKETER))
                        td class="n" { "–" }
                        (rate("marketer.average", of_register.1))
                        td class="n" { "–" }
                    }
                }
            }
            @if let Some(population) = &risk.population { (in_population(population)) }
        }
    }
}

fn in_population(population: &PopulationRisk) -> Markup {
    let rounded = |value: f64| count(value.round() as u64);
    html! {
        p id="population" {
            "The table is a sample of about "
            (figure("population.people", population.people.round(), rounded(population.people)))
            " people. An intruder with a register of them is expected to find "
            (figure("population.reidentified", population.reidentified, format_args!("{:.1}", population.reidentified)))
            " rows. About "
            (figure("population.uniques", population.uniques, rounded(population.uniques)))
            " people are unique in the population."
            @if let Some(fewest) = population.fewest {
                " Every class matches at least " (figure("population.fewest", fewest, count(fewest))) " people."
            }
        }
    }
}

fn attacker((highest, average, at_risk): (f64, f64, u64), key: &str, name: &str, words: &str) -> Markup {
    html! {
        tr {
            (row_head(name, words))
            (rate(&format!("{key}.highest"), highest))
            (rate(&format!("{key}.average"), average))
            (number(&format!("{key}.rows_at_risk"), at_risk))
        }
    }
}

fn sizes(risk: &Risk) -> Markup {
    let bar = |band: &SizeBand| Bar {
        label: size(band),
        value: format!("{} in {}", counted(band.rows, "row", "rows"), counted(band.classes, "class", "classes")),
        length: share(band.rows, risk.rows),
    };
    // Omit the bands of large classes that do not occur.
    let occurring = risk.sizes.iter().rposition(|band| band.rows > 0).map_or(0, |last| last + 1);
    let drawn: Vec<Bar> = risk.sizes[..occurring].iter().map(bar).collect();
    let words = "Share of all rows by the size of the class that they are in.";
    let names = [("Class", false), ("Classes", true), ("Rows", true), ("Share", true)];
    html! {
        section {
            h2 { "The crowds that people are in" }
            (plot("class-sizes", "Class sizes", words, &drawn))
            details {
                summary { "As a table" }
                table {
                    (head("Rows by the size of their class", &names))
                    tbody {
                        @for (at, band) in risk.sizes.iter().enumerate() {
                            tr {
                                (row_head(size(band), ""))
                                (number(&format!("class_sizes.{at}.classes"), band.classes))
                                (number(&format!("class_sizes.{at}.rows"), band.rows))
                                td class="n" { (percent(share(band.rows, risk.rows))) }
                            }
                        }
                    }
                }
            }
        }
    }
}

fn columns(risk: &Risk) -> Markup {
    let mut ranked: Vec<(usize, &ColumnRisk)> = risk.columns.iter().enumerate().collect();
    ranked.sort_by(|(_, a), (_, b)| b.share.total_cmp(&a.share).then(b.distinct.cmp(&a.distinct)));
    let bar = |(_, column): &(usize, &ColumnRisk)| Bar {
        label: column.name.clone(),
        value: percent(column.share),
        length: column.share,
    };
    let drawn: Vec<Bar> = ranked.iter().map(bar).collect();
    let words = "The share of the average risk that goes away when the column is not known.";
    let names = [("Column", false), ("Distinct", true), ("Alone with it", true), ("Alone without it", true)];
    html! {
        section {
            h2 { "Which columns single people out" }
            (plot("columns", "Share of the risk", words, &drawn))
            table id="quasi" {
                (head("Rows that are alone with the column and nothing else, and with all columns but it", &names))
                tbody {
                    @for (at, column) in ranked {
                        tr {
                            (row_head(&column.name, ""))
                            (number(&format!("columns.{at}.distinct"), column.distinct))
                            (number(&format!("columns.{at}.uniques_alone"), column.uniques_alone))
                            (number(&format!("columns.{at}.uniques_without"), column.uniques_without))
                        }
                    }
                }
            }
        }
    }
}

fn sensitive(risk: &Risk) -> Markup {
    if risk.sensitive.is_empty() {
        return Markup::default();
    }
    let names = [("Column", false), ("Classes with one value", true), ("Rows in them", true)];
    html! {
        section {
            h2 { "What classes give away" }
            p {
                "Where all rows of a class have the same value, it is known of everybody in the class, however large it is."
            }
            table id="sensitive" {
                (head("Sensitive columns", &names))
                tbody {
                    @for (at, column) in risk.sensitive.iter().enumerate() {
                        @let values = counted(column.distinct, "distinct value", "distinct values");
                        tr {
                            (row_head(&column.name, &format!("{values}, at least {} in a class", count(column.fewest))))
                            (number(&format!("sensitive.{at}.uniform_classes"), column.uniform_classes))
                            (number(&format!("sensitive.{at}.uniform_rows"), column.uniform_rows))
                        }
                    }
                }
            }
        }
    }
}

fn plot(id: &str, title: &str, words: &str, drawn: &[Bar]) -> Markup {
    let lines: Vec<String> = drawn.iter().map(|bar| format!("{}: {}", bar.label, bar.value)).collect();
    let description = format!("{words} {}.", lines.join("; "));
    captioned(title, words, &bars(Caption { id, title, description: &description }, drawn))
}

fn number(key: &str, number: u64) -> Markup {
    cell(key, number, count(number))
}

fn rate(key: &str, share: f64) -> Markup {
    cell(key, share, percent(share))
}

fn size(band: &SizeBand) -> String {
    match band.to {
        Some(1) => "1 row".to_owned(),
        Some(to) if to == band.from => format!("{} rows", count(to)),
        Some(to) => format!("{} to {} rows", count(band.from), count(to)),
        None => format!("{} rows or more", count(band.from)),
    }
}

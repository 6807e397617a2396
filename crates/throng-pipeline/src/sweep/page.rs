//! The page of a sweep: the frontier of risk and loss, and every policy that was tried.

use super::{Attempt, Swept};
use crate::markup::Markup;
use crate::plot::{Caption, Frontier, Point, SHAPES, frontier};
use crate::report::numbers::{count, counted, figure, percent, time};
use crate::report::page::{captioned, head, page};

/// The page of a sweep.
pub fn sweep_page(swept: &Swept) -> String {
    page("Risk and loss", |body| {
        body.within("header", &[], |header| {
            header.element("h1", &[], "Risk and loss");
            let kept = swept.attempts.iter().filter(|attempt| attempt.outcome.is_ok()).count() as u64;
            let sentence = format!(
                "{} tried on {}; {} can be kept.",
                counted(swept.attempts.len() as u64, "policy was", "policies were"),
                counted(swept.rows, "row", "rows"),
                count(kept)
            );
            header.element("p", &[("class", &"promise")], sentence);
            if let Some(advice) = swept.advice() {
                header.element("p", &[("id", &"advice")], capitalized(&advice) + ".");
            }
        });
        body.within("section", &[], |section| {
            section.element("h2", &[], "The frontier");
            section.element(
                "p",
                &[],
                "Less risk costs detail. The line goes through the policies that no other beats: whatever loses less has a \
                 higher risk. Every point was computed from recoded classes, and every class was held against its policy.",
            );
            plot(section, swept);
        });
        body.within("section", &[], |section| {
            section.element("h2", &[], "All policies");
            table(section, swept);
        });
        let words = format!(
            "Written by Throng {}. Nothing was published by it. This page fetches nothing and runs no script.",
            env!("CARGO_PKG_VERSION")
        );
        body.element("footer", &[], words);
    })
}

fn plot(section: &mut Markup, swept: &Swept) {
    let mut kinds: Vec<u64> = swept.attempts.iter().map(|attempt| attempt.p).collect();
    kinds.sort_unstable();
    kinds.dedup();
    let has_algorithms = swept.attempts.iter().any(|attempt| attempt.algorithm != swept.attempts[0].algorithm);
    let point = |attempt: &Attempt| {
        let figures = attempt.outcome.as_ref().ok()?;
        let algorithm = if has_algorithms { format!(", {}", attempt.algorithm) } else { String::new() };
        Some(Point {
            loss: figures.ncp,
            risk: figures.highest_risk,
            shape: kinds.iter().position(|p| *p == attempt.p).unwrap_or(0),
            label: Some(format!("k {}, p {}{algorithm}", attempt.k, attempt.p)),
        })
    };
    let points: Vec<Point> = swept.attempts.iter().filter_map(point).collect();
    let told: Vec<String> = points
        .iter()
        .map(|point| {
            format!(
                "{}: loses {}, highest risk {}",
                point.label.as_deref().unwrap_or_default(),
                percent(point.loss),
                percent(point.risk)
            )
        })
        .collect();
    let words = "The highest risk of a row, on a logarithmic scale, over the information that is lost.";
    captioned(section, "Risk over loss", words, |figure| {
        figure.within("ul", &[("class", &"legend")], |list| {
            for (shape, p) in kinds.iter().enumerate() {
                list.within("li", &[], |item| {
                    let attributes: crate::markup::Attributes<'_> =
                        &[("width", &14), ("height", &14), ("viewBox", &"-7 -7 14 14"), ("aria-hidden", &"true")];
                    item.within("svg", attributes, |svg| {
                        svg.empty("path", &[("class", &"point"), ("d", &SHAPES[shape % SHAPES.len()])]);
                    });
                    item.text(format_args!("p = {p}"));
                });
            }
            list.element("li", &[], "filled: no other beats it");
            if swept.budget.is_some() {
                list.element("li", &[], "dashed: the loss budget");
            }
        });
        let description = format!("{words} {}.", told.join("; "));
        let caption = Caption { id: "frontier", title: "Risk over loss", description: &description };
        frontier(figure, caption, &Frontier { points, budget: swept.budget.map(|(loss, _)| loss) });
    });
}

fn table(section: &mut Markup, swept: &Swept) {
    section.within("table", &[("id", &"grid")], |table| {
        let columns = [("Policy", false), ("Lost", true), ("Highest risk", true), ("Average risk", true)];
        head(table, "Policies in the order in which they were asked for", &columns);
        table.within("tbody", &[], |rows| {
            for (at, attempt) in swept.attempts.iter().enumerate() {
                rows.within("tr", &[], |row| {
                    row.within("th", &[("scope", &"row")], |cell| {
                        let policy = format!("k = {}, p = {}", attempt.k, attempt.p);
                        cell.element("span", &[("class", &"whole")], policy);
                        cell.within("span", &[("class", &"words")], |words| {
                            words.text(&attempt.algorithm);
                            if let Ok(figures) = &attempt.outcome {
                                words.text(", ");
                                figure(words, &format!("trials.{at}.classes"), figures.classes, count(figures.classes));
                                let noun = if figures.classes == 1 { "class" } else { "classes" };
                                words.text(format_args!(" {noun}, {}", time(figures.milliseconds)));
                            }
                        });
                    });
                    let figures = match &attempt.outcome {
                        Ok(figures) => figures,
                        Err(why) => {
                            row.within("td", &[("colspan", &3)], |cell| {
                                cell.element("span", &[("class", &"fails")], "can't be kept: ");
                                cell.text(why);
                            });
                            return;
                        }
                    };
                    let cells = [
                        ("ncp", figures.ncp),
                        ("highest_risk", figures.highest_risk),
                        ("average_risk", figures.average_risk),
                    ];
                    for (field, share) in cells {
                        let key = format!("trials.{at}.{field}");
                        row.within("td", &[("class", &"n")], |cell| figure(cell, &key, share, percent(share)));
                    }
                });
            }
        });
    });
}

fn capitalized(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}

//! What the release still tells: loss, detail and distribution of each quasi-identifier.

use super::numbers::{count, figure, percent};
use super::page::{captioned, head};
use crate::markup::Markup;
use crate::plot::{Bar, Caption, Column, Shares, bars, shares, slices};
use crate::sidecar::{ColumnFacts, DistributionFacts, Sidecar};

/// What the steps of detail are called.
const STEPS: [&str; 6] =
    ["exactly as it was", "up to 5% of the range", "up to 20%", "up to 50%", "more than 50%", "nothing"];

pub(super) fn write(body: &mut Markup, sidecar: &Sidecar) {
    let columns: Vec<(&String, &ColumnFacts)> = sidecar.utility.columns.iter().collect();
    body.within("section", &[], |section| {
        section.element("h2", &[], "What the release still tells");
        section.element(
            "p",
            &[],
            "To hide people, values became less exact. A value loses the share of its column's range that the released \
             value covers: nothing where it is exact, everything where it could be any (NCP).",
        );
        loss(section, &columns);
        detail(section, &columns);
        distributions(section, &columns);
        table(section, sidecar, &columns);
    });
}

fn loss(section: &mut Markup, columns: &[(&String, &ColumnFacts)]) {
    let mut sorted = columns.to_vec();
    sorted.sort_by(|a, b| b.1.ncp.total_cmp(&a.1.ncp));
    let most = sorted.first().map_or(0.0, |(_, column)| column.ncp).max(f64::MIN_POSITIVE);
    let bar = |(name, column): &(&String, &ColumnFacts)| Bar {
        label: (*name).clone(),
        value: match column.sse_sst {
            Some(share) => format!("{} lost, {} of the variance", percent(column.ncp), percent(share)),
            None => format!("{} lost", percent(column.ncp)),
        },
        length: column.ncp / most,
    };
    let drawn: Vec<Bar> = sorted.iter().map(bar).collect();
    let words = "On average over rows. The longest bar is the column that loses most.";
    captioned(section, "Loss of each column", words, |figure| {
        let description = describe(words, drawn.iter().map(|bar| format!("{}: {}", bar.label, bar.value)));
        bars(figure, Caption { id: "loss", title: "Loss of each column", description: &description }, &drawn);
    });
}

fn detail(section: &mut Markup, columns: &[(&String, &ColumnFacts)]) {
    let row = |(name, column): &(&String, &ColumnFacts)| {
        let rows: u64 = column.detail.iter().map(|step| step.rows).sum();
        let share = |rows_of: u64| rows_of as f64 / rows.max(1) as f64;
        let exact = column.detail.first().map_or(0.0, |step| share(step.rows));
        Shares {
            label: (*name).clone(),
            value: format!("{} exact", percent(exact)),
            shares: column.detail.iter().map(|step| share(step.rows)).collect(),
        }
    };
    let told: Vec<(&String, &ColumnFacts)> =
        columns.iter().filter(|(_, column)| !column.detail.is_empty()).copied().collect();
    if told.is_empty() {
        return;
    }
    let drawn: Vec<Shares> = told.iter().map(row).collect();
    let words = "All rows, by how much of the column's range their released value covers: from exact on the left to nothing \
                 on the right.";
    captioned(section, "Detail that is left", words, |figure| {
        legend(figure);
        let description = describe(words, drawn.iter().map(|row| format!("{}: {}", row.label, row.value)));
        shares(figure, Caption { id: "detail", title: "Detail that is left", description: &description }, &drawn);
    });
}

fn legend(figure: &mut Markup) {
    figure.within("ul", &[("class", &"legend")], |list| {
        for (step, words) in STEPS.iter().enumerate() {
            list.within("li", &[], |item| {
                let class = format!("step-{step}");
                item.within("svg", &[("width", &12), ("height", &12), ("aria-hidden", &"true")], |svg| {
                    svg.empty("rect", &[("class", &class), ("width", &12), ("height", &12)]);
                });
                item.text(words);
            });
        }
    });
}

fn distributions(section: &mut Markup, columns: &[(&String, &ColumnFacts)]) {
    let known: Vec<(&String, &DistributionFacts)> = columns
        .iter()
        .filter_map(|(name, column)| Some((*name, column.distribution.as_ref()?)))
        .filter(|(_, distribution)| !distribution.slices.is_empty())
        .collect();
    if known.is_empty() {
        return;
    }
    section.element("h3", &[], "How distributions changed");
    section.element(
        "p",
        &[("class", &"soft")],
        "Columns show the release as a reader sees it, when every row is spread evenly over what its value covers; the lines \
         across them show the original. Both are told in steps of at least k rows and at least one in a hundred, so that no \
         small group shows. Values are left out: numbers go from the lowest to the highest, categories in the order of \
         their hierarchy.",
    );
    section.within("div", &[("class", &"pair")], |pair| {
        for (at, (name, distribution)) in known.iter().enumerate() {
            let words = format!("{} of the rows seem to lie elsewhere", percent(distribution.distance));
            captioned(pair, name, &words, |figure| {
                let columns: Vec<Column> = distribution
                    .slices
                    .iter()
                    .map(|slice| Column { end: slice.end, before: slice.before, after: slice.after })
                    .collect();
                let told = columns.iter().map(|column| {
                    format!(
                        "up to {} of the range {} before and {} after",
                        percent(column.end),
                        percent(column.before),
                        percent(column.after)
                    )
                });
                let (id, title) = (format!("distribution-{at}"), format!("Distribution of {name}"));
                let description = describe("Shares of the rows before and after.", told);
                slices(
                    figure,
                    Caption { id: &id, title: &title, description: &description },
                    &columns,
                    ("first", "last"),
                );
            });
        }
    });
}

fn table(section: &mut Markup, sidecar: &Sidecar, columns: &[(&String, &ColumnFacts)]) {
    section.within("details", &[], |details| {
        details.element("summary", &[], "As a table");
        details.within("table", &[("data-table", &"utility.columns")], |table| {
            let names = [("Column", false), ("Lost (NCP)", true), ("Exact rows", true), ("Moved", true)];
            head(table, "Loss, detail and distribution of each column", &names);
            table.within("tbody", &[], |rows| {
                for (name, column) in columns {
                    rows.within("tr", &[], |row| {
                        let key = |field: &str| format!("utility.columns.{name}.{field}");
                        row.element("th", &[("scope", &"row")], name);
                        row.within("td", &[("class", &"n")], |cell| {
                            figure(cell, &key("ncp"), column.ncp, percent(column.ncp))
                        });
                        row.within("td", &[("class", &"n")], |cell| match column.detail.first() {
                            Some(step) => figure(cell, &key("detail.0.rows"), step.rows, count(step.rows)),
                            None => cell.text("stand-ins"),
                        });
                        row.within("td", &[("class", &"n")], |cell| match &column.distribution {
                            Some(known) => {
                                figure(cell, &key("distribution.distance"), known.distance, percent(known.distance))
                            }
                            None => cell.text("–"),
                        });
                    });
                }
            });
        });
        details.within("p", &[], |p| {
            p.text("Over all columns: NCP ");
            figure(p, "utility.ncp", sidecar.utility.ncp, sidecar.utility.ncp);
            p.text(", with the weights of the policy ");
            figure(p, "utility.weighted_ncp", sidecar.utility.weighted_ncp, sidecar.utility.weighted_ncp);
            p.text(", total information loss ");
            figure(p, "utility.information_loss", sidecar.utility.information_loss, sidecar.utility.information_loss);
            p.text(", discernibility ");
            figure(p, "utility.dm", sidecar.utility.dm, count(sidecar.utility.dm));
            p.text(", average class size over k ");
            figure(p, "utility.avg", sidecar.utility.avg, sidecar.utility.avg);
            p.text(".");
        });
    });
}

fn describe(words: &str, told: impl Iterator<Item = String>) -> String {
    format!("{words} {}.", told.collect::<Vec<_>>().join("; "))
}

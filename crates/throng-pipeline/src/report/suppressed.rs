//! What was left out.

use super::numbers::{count, figure, percent};
use super::page::head;
use crate::markup::Markup;
use crate::sidecar::Sidecar;

pub(super) fn write(body: &mut Markup, sidecar: &Sidecar) {
    let (input, output) = (&sidecar.input, &sidecar.output);
    body.within("section", &[], |section| {
        section.element("h2", &[], "What was left out");
        section.element("p", &[], match output.suppressed_rows {
            0 => "No row was suppressed: every row of the input is in the release once.".to_owned(),
            rows => format!(
                "{} of the rows are suppressed: within the limits of the policy nobody could hide them, or they lack a value \
                 that the policy insists on. They are counted here and listed nowhere.",
                percent(rows as f64 / input.rows.max(1) as f64)
            ),
        });
        section.within("table", &[("id", &"suppressed")], |table| {
            head(table, "Rows and columns", &[("What", false), ("How many", true)]);
            table.within("tbody", &[], |rows| {
                let mut line = |words: &str, key: &str, number: u64| {
                    rows.within("tr", &[], |row| {
                        row.element("th", &[("scope", &"row")], words);
                        row.within("td", &[("class", &"n")], |cell| figure(cell, key, number, count(number)));
                    });
                };
                line("rows read", "input.rows", input.rows);
                line("rows released", "output.rows", output.rows);
                line("rows suppressed", "output.suppressed_rows", output.suppressed_rows);
                if let Some(columns) = &sidecar.columns {
                    line("columns left out, such as identifiers", "columns.dropped", columns.dropped);
                    line("columns generalized", "columns.quasi", columns.quasi);
                    line("sensitive columns", "columns.sensitive", columns.sensitive);
                    line("columns released as they are", "columns.unchanged", columns.unchanged);
                }
            });
        });
    });
}

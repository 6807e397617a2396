//! Suppressed rows and dropped columns.

use maud::{Markup, html};

use crate::document::Sidecar;
use crate::numbers::percent;
use crate::page::count_table;

pub(super) fn section(sidecar: &Sidecar) -> Markup {
    let (input, output) = (&sidecar.input, &sidecar.output);
    let mut counts = vec![
        ("rows read", "input.rows", input.rows),
        ("rows released", "output.rows", output.rows),
        ("rows suppressed", "output.suppressed_rows", output.suppressed_rows),
    ];
    if let Some(columns) = &sidecar.columns {
        counts.extend([
            ("columns left out, such as identifiers", "columns.dropped", columns.dropped),
            ("columns generalized", "columns.quasi", columns.quasi),
            ("sensitive columns", "columns.sensitive", columns.sensitive),
            ("columns released as they are", "columns.unchanged", columns.unchanged),
        ]);
    }
    html! {
        section {
            h2 { "What was left out" }
            p {
                @if sidecar.series.is_some() {
                    "Rows of the input that are not in the release wait for a class, as described below. The release also has \
                     rows that the input no longer has."
                } @else if output.suppressed_rows == 0 {
                    "No row was suppressed: every row of the input is in the release once."
                } @else {
                    (percent(output.suppressed_rows as f64 / input.rows.max(1) as f64))
                    " of the rows are suppressed: within the limits of the policy they could not be hidden, or they lack a \
                     value that the policy insists on. They are counted here and listed nowhere."
                }
            }
            (count_table("suppressed", "Rows and columns", &counts))
        }
    }
}

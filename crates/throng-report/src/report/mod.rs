//! The report of `throng report` and `report = true`: one page for privacy officers.
//!
//! It is rendered from the sidecar alone, so it contains nothing that is not published already, and every figure has
//! its path in the sidecar (`data-key`). No script, font or image is loaded.

mod append;
mod attacks;
mod borrowed;
mod classes;
mod columns;
mod detail;
mod diversity;
mod guards;
mod insensitive;
mod limits;
mod promise;
mod reproduce;
mod requirements;
mod risk;
mod series;
mod suppressed;
mod time;

use maud::html;

use crate::document::Sidecar;
use crate::page::page;

/// Renders the report of a release.
pub fn report(sidecar: &Sidecar) -> String {
    let sections = [
        promise::section,
        requirements::section,
        columns::section,
        risk::section,
        classes::section,
        diversity::section,
        borrowed::section,
        insensitive::section,
        attacks::section,
        detail::section,
        suppressed::section,
        guards::section,
        series::section,
        append::section,
        limits::section,
        time::section,
        reproduce::section,
    ];
    page("Release report", &html! { @for section in sections { (section(sidecar)) } })
}

#[cfg(test)]
#[path = "report_tests.rs"]
mod tests;

//! Panic hook without panic messages.

use std::panic::Location;

use crate::outcome::eprint_line;

/// Reports panics by source location only, because a message may quote data. A decoder panic that becomes an error is
/// not reported.
pub fn hide_panic_messages(binary: &'static str) {
    std::panic::set_hook(Box::new(move |panic| {
        if !throng_job::is_decoding() {
            eprint_line(&report(binary, panic.location()));
        }
    }));
}

fn report(binary: &str, location: Option<&Location<'_>>) -> String {
    let location = location.map(|at| format!(" at {}:{}", at.file(), at.line())).unwrap_or_default();
    format!("{binary}: internal error{location}; please report it with the policy and the schema")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_is_reported_by_its_location() {
        let text = report("throng", Some(Location::caller()));
        assert!(text.starts_with("throng: internal error at ") && text.contains("panics.rs:"), "{text}");
        assert!(report("throng", None).starts_with("throng: internal error; please report"));
    }
}

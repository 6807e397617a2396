//! Number formats of pages.

use std::fmt::Display;

use maud::{Markup, display, html};

/// `1,234,567`
pub fn count(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// `1 row`, `2 rows`
pub fn counted(number: u64, one: &str, many: &str) -> String {
    format!("{} {}", count(number), if number == 1 { one } else { many })
}

/// `12%`, `1.2%`, `0.12%`: small shares have two digits.
pub fn percent(share: f64) -> String {
    let percent = share * 100.0;
    let text = match percent {
        _ if percent == 0.0 => "0".to_owned(),
        _ if percent >= 99.95 => "100".to_owned(),
        _ if percent >= 10.0 => format!("{percent:.1}"),
        _ if percent >= 0.01 => format!("{percent:.2}"),
        _ => return "under 0.01%".to_owned(),
    };
    let text = if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.') } else { &text };
    format!("{text}%")
}

/// `0.4 s`, `850 ms`
pub fn time(milliseconds: u64) -> String {
    match milliseconds {
        0..1000 => format!("{milliseconds} ms"),
        _ => format!("{:.1} s", milliseconds as f64 / 1000.0),
    }
}

/// `1.5 MiB`
pub fn bytes(bytes: u64) -> String {
    let (mut number, mut unit) = (bytes as f64, 0);
    const UNITS: [&str; 5] = ["bytes", "KiB", "MiB", "GiB", "TiB"];
    while number >= 1024.0 && unit + 1 < UNITS.len() {
        (number, unit) = (number / 1024.0, unit + 1);
    }
    if unit == 0 { format!("{bytes} bytes") } else { format!("{number:.1} {}", UNITS[unit]) }
}

/// `a`, `a and b`, `a, b and c`
pub fn list(items: &[String]) -> String {
    match items {
        [] => String::new(),
        [only] => only.clone(),
        [first @ .., last] => format!("{} and {last}", first.join(", ")),
    }
}

/// Renders a figure with its path in the document that the page is rendered from, so that tests can compare the two.
pub fn figure(key: &str, value: impl Display, text: impl Display) -> Markup {
    html! { data data-key=(key) value=(display(value)) { (display(text)) } }
}

/// Renders a figure in a table cell.
pub fn cell(key: &str, value: impl Display, text: impl Display) -> Markup {
    html! { td class="n" { (figure(key, value, text)) } }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_read_well() {
        assert_eq!([count(0), count(999), count(1000), count(1_234_567)], ["0", "999", "1,000", "1,234,567"]);
        let shares = [0.0, 0.000_01, 0.0012, 0.0123, 0.1, 0.123_45, 0.9996, 1.0];
        let texts = ["0%", "under 0.01%", "0.12%", "1.23%", "10%", "12.3%", "100%", "100%"];
        assert_eq!(shares.map(percent), texts);
        assert_eq!([time(7), time(1250)], ["7 ms", "1.2 s"]);
        assert_eq!([bytes(7), bytes(1536)], ["7 bytes", "1.5 KiB"]);
        let names = ["a", "b", "c"].map(str::to_owned);
        assert_eq!([list(&names[..1]), list(&names[..2]), list(&names)], ["a", "a and b", "a, b and c"]);
        assert_eq!([counted(1, "row", "rows"), counted(2, "row", "rows")], ["1 row", "2 rows"]);
    }
}

//! Formats counts with their noun.

use std::fmt::Display;

/// `1 row`, `2 rows`
pub fn plural(number: impl Display, one: &str) -> String {
    let number = number.to_string();
    let plural = match (number.as_str(), one.strip_suffix("ss")) {
        ("1", _) => return format!("1 {one}"),
        (_, Some(_)) => "es",
        _ => "s",
    };
    format!("{number} {one}{plural}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_is_not_many() {
        assert_eq!([plural(0, "row"), plural(1, "row"), plural(2, "row")], ["0 rows", "1 row", "2 rows"]);
        assert_eq!([plural(1, "class"), plural(12, "class")], ["1 class", "12 classes"]);
    }
}

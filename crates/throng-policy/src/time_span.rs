//! Parses durations: `500ms`, `30s`, `5min`, `1h`.

use std::time::Duration;

/// Units in milliseconds, longest first. Of two names of a unit, the first is used for output.
pub const UNITS: [(&str, u64); 5] = [("h", 3_600_000), ("min", 60_000), ("m", 60_000), ("s", 1_000), ("ms", 1)];

/// Regular expression of a duration, for the JSON schema.
pub const PATTERN: &str = "^[0-9]*[1-9][0-9]*(ms|s|m|min|h)$";

/// Parses a positive duration, an integer and a unit: `500ms`, `30s`, `5m` or `5min`, `1h`.
pub fn parse(text: &str) -> Option<Duration> {
    let digits = text.find(|c: char| !c.is_ascii_digit())?;
    let (number, unit) = text.split_at(digits);
    let length = UNITS.iter().find(|(name, _)| *name == unit)?.1;
    let millis = number.parse::<u64>().ok()?.checked_mul(length)?;
    (millis > 0).then_some(Duration::from_millis(millis))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_length_of_time_is_a_number_and_a_unit() {
        for (text, seconds) in [("1s", 1), ("5m", 300), ("5min", 300), ("2h", 7_200), ("1000ms", 1)] {
            assert_eq!(parse(text), Some(Duration::from_secs(seconds)), "{text}");
        }
        for text in ["", "s", "5", "0s", "-1s", "1.5s", "1 s", "1S", "1d", "99999999999999999999s", "9999999999999999h"]
        {
            assert_eq!(parse(text), None, "{text}");
        }
    }
}

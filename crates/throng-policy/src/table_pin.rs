//! The version of a versioned table that is read.

use chrono::{DateTime, NaiveDate, NaiveTime, Utc};

/// The version of a table that is read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TablePin {
    /// The latest version when the run begins.
    #[default]
    Latest,
    /// The version with this number.
    Version(u64),
    /// The version that was the latest at this time.
    AsOf(DateTime<Utc>),
}

/// Parses a time as in RFC 3339, or a date, which stands for its first moment in UTC.
pub(crate) fn parse_as_of(text: &str) -> Option<DateTime<Utc>> {
    let date = || text.parse::<NaiveDate>().ok().map(|date| date.and_time(NaiveTime::MIN).and_utc());
    DateTime::parse_from_rfc3339(text).ok().map(|time| time.to_utc()).or_else(date)
}

#[cfg(test)]
#[path = "table_pin_tests.rs"]
mod tests;

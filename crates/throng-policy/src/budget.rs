//! How long the search for better classes may go on.

use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use crate::time_span::{self, UNITS};

/// The pattern of a budget, for the schema of the policy file.
pub(crate) const PATTERN: &str = "^(fast|balanced|thorough|[0-9]*[1-9][0-9]*(ms|s|m|min|h))$";

/// How long the search for better classes may go on. More never loses more.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Budget {
    /// No search: the classes that are found first.
    Fast,
    /// A search that takes about as long as everything else.
    #[default]
    Balanced,
    /// A search several times as long.
    Thorough,
    /// A search as long as this, over all parts of the table. The result depends on how much is done in that time.
    Time(Duration),
}

/// What a budget looks like.
const EXPECTED: &str = "`fast`, `balanced`, `thorough`, or a time such as `500ms`, `30s`, `5min` or `1h`";

impl Budget {
    /// The budget as it is written in the policy file.
    pub fn text(self) -> Cow<'static, str> {
        match self {
            Self::Fast => "fast".into(),
            Self::Balanced => "balanced".into(),
            Self::Thorough => "thorough".into(),
            Self::Time(time) => {
                let millis = time.as_millis() as u64;
                let unit = UNITS.iter().find(|(_, length)| millis.is_multiple_of(*length));
                let (name, length) = unit.copied().unwrap_or(("ms", 1));
                format!("{}{name}", millis / length).into()
            }
        }
    }
}

impl fmt::Display for Budget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text())
    }
}

impl FromStr for Budget {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "fast" => Ok(Self::Fast),
            "balanced" => Ok(Self::Balanced),
            "thorough" => Ok(Self::Thorough),
            _ => time_span::parse(text).map(Self::Time).ok_or_else(|| format!("is not a budget; expected {EXPECTED}")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_budget_is_read_under_the_name_that_it_tells() {
        for text in ["fast", "balanced", "thorough", "500ms", "30s", "5min", "1h", "1500ms"] {
            assert_eq!(text.parse::<Budget>().unwrap().text(), text);
        }
        assert_eq!("60s".parse::<Budget>().unwrap(), "1min".parse().unwrap());
    }

    #[test]
    fn what_is_no_budget_is_refused() {
        for text in ["", "slow", "30", "s", "0s", "-1s", "1.5s", "30 s", "99999999999999999999s", "9999999999999999h"] {
            assert!(text.parse::<Budget>().unwrap_err().contains("expected `fast`"), "{text}");
        }
    }
}

//! Budget of the local search.

use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use crate::time_span::{self, UNITS};

/// Regular expression of a budget, for the JSON schema.
pub(crate) const PATTERN: &str = "^(fast|balanced|thorough|[0-9]*[1-9][0-9]*(ms|s|m|min|h))$";

/// Budget of the local search. A larger budget never increases the loss.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Budget {
    /// No local search.
    Fast,
    /// A search that takes about as long as all other stages.
    #[default]
    Balanced,
    /// A search several times longer than `Balanced`.
    Thorough,
    /// A search with a time limit, over all parts of the table. The result depends on the speed of the machine.
    Time(Duration),
}

/// Valid budgets, for error messages.
const EXPECTED: &str = "`fast`, `balanced`, `thorough`, or a time such as `500ms`, `30s`, `5min` or `1h`";

impl Budget {
    /// Returns the budget as written in the policy file.
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
    fn a_budget_is_read_under_its_own_name() {
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

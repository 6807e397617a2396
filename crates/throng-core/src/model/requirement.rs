//! Requirements on the frequencies of a sensitive column, as a policy states them, and descriptions of every model.

use std::fmt;

/// A requirement on the values of one sensitive column in every class, besides their number.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum FrequencyRequirement {
    /// No value has more than this share of the rows ((alpha, k)-anonymity [Wong 2006], for every value).
    MaxShare(f64),
    /// The entropy of the values is at least `ln l` [Machanavajjhala 2007, Def. 4.1].
    EntropyDiversity {
        /// The parameter l.
        l: f64,
    },
    /// The most frequent value has fewer than `c` times the rows of all values from the `l`-th most frequent on
    /// [Machanavajjhala 2007, Def. 4.2].
    RecursiveDiversity {
        /// The factor c.
        c: f64,
        /// The parameter l.
        l: u32,
    },
    /// The distribution of the values is at most `t` away from that of the whole release [Li 2007].
    Closeness {
        /// The parameter t.
        t: f64,
        /// Distance between values.
        distance: GroundDistance,
    },
    /// No value is more than `1 + beta` times as frequent as in the whole release (basic beta-likeness [Cao 2012]).
    Likeness {
        /// The parameter beta.
        beta: f64,
    },
    /// The largest and the smallest number or date of a class differ by at least this much.
    ValueRange(f64),
}

/// Distance between two sensitive values, on which the distance of distributions is based [Li 2007, section 4].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum GroundDistance {
    /// All values are equally far from each other.
    #[default]
    Equal,
    /// By rank, for numbers and dates.
    Ordered,
    /// By the height of the lowest common ancestor in the hierarchy of the column, over the height of the hierarchy.
    Hierarchical,
}

impl GroundDistance {
    /// Returns the name of the distance in policies.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Equal => "equal",
            Self::Ordered => "ordered",
            Self::Hierarchical => "hierarchical",
        }
    }
}

/// Whether a requirement bounds a measure from below or from above.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bound {
    /// The measure must be at least as large in every class.
    AtLeast,
    /// The measure must be at most as large in every class.
    AtMost,
}

impl FrequencyRequirement {
    /// Returns the name of the model in reports.
    pub fn name(&self) -> &'static str {
        match self {
            Self::MaxShare(_) => MAX_SHARE,
            Self::EntropyDiversity { .. } => ENTROPY,
            Self::RecursiveDiversity { .. } => RECURSIVE,
            Self::Closeness { .. } => CLOSENESS,
            Self::Likeness { .. } => LIKENESS,
            Self::ValueRange(_) => RANGE,
        }
    }

    /// Returns the limit of the measure that decides about a class.
    pub fn limit(&self) -> f64 {
        match self {
            Self::MaxShare(share) => *share,
            Self::EntropyDiversity { l } => *l,
            Self::RecursiveDiversity { c, .. } => *c,
            Self::Closeness { t, .. } => *t,
            Self::Likeness { beta } => *beta,
            Self::ValueRange(range) => *range,
        }
    }

    /// Returns whether the limit is a lower or an upper one.
    pub fn bound(&self) -> Bound {
        bound_of(self.name())
    }
}

const MAX_SHARE: &str = "(alpha, k)-anonymity";
const ENTROPY: &str = "entropy l-diversity";
const RECURSIVE: &str = "recursive (c, l)-diversity";
const CLOSENESS: &str = "t-closeness";
const LIKENESS: &str = "beta-likeness";
/// Name of the model of p elements of lists.
pub(crate) const LIST_DIVERSITY: &str = "list p-sensitivity";
const RANGE: &str = "value range";

/// Returns whether the amounts of a model, given by its name in reports, are lower or upper limits.
pub fn bound_of(model: &str) -> Bound {
    match model {
        MAX_SHARE | RECURSIVE | CLOSENESS | LIKENESS => Bound::AtMost,
        _ => Bound::AtLeast,
    }
}

/// Whether a model, given by its name in reports, limits the frequencies of values in a class.
pub fn limits_frequencies(model: &str) -> bool {
    matches!(model, MAX_SHARE | ENTROPY | RECURSIVE | CLOSENESS | LIKENESS)
}

/// Describes a requirement on a sensitive column for readers of a report, given the name of its model. A model without
/// a description is described by its name, so that none is left out.
pub fn describe_requirement(model: &str, column: &str, required: impl fmt::Display) -> String {
    match model {
        "p-sensitivity" => format!("at least {required} different values of {column}"),
        "extended p-sensitivity" => {
            format!("at least {required} different values (those below a protected one count as one) of {column}")
        }
        "p+-sensitivity" => format!("at least {required} different categories of {column}"),
        "banded p-sensitivity" => format!("values of {column} in at least {required} different bands"),
        LIST_DIVERSITY => format!(
            "at least {required} different elements of {column} with a carrier each, and for every element as many carriers, \
             less one, without it"
        ),
        "alpha-weight" => format!("categories of {column} that weigh at least {required} together"),
        MAX_SHARE => format!("no value of {column} in more than a share of {required} of them"),
        ENTROPY => format!("values of {column} as diverse as {required} equally frequent ones (entropy)"),
        RECURSIVE => {
            format!("a most frequent value of {column} with fewer than {required} times the rows of the rarer ones")
        }
        CLOSENESS => format!("values of {column} distributed as in the whole release up to a distance of {required}"),
        LIKENESS => {
            format!("no value of {column} more frequent than in the whole release by more than {required} times")
        }
        RANGE => format!("values of {column} that differ by at least {required}"),
        other => match bound_of(other) {
            Bound::AtLeast => format!("{column} with {other} of at least {required}"),
            Bound::AtMost => format!("{column} with {other} of at most {required}"),
        },
    }
}

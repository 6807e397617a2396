//! Requirements on the frequencies of a sensitive column, as a policy states them, and the names, limits and descriptions of
//! all models.

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
    /// The share of every value differs from that in the whole release by a factor of less than `e^delta`, upwards and downwards
    /// [Brickell 2008].
    Disclosure {
        /// The parameter delta.
        delta: f64,
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

/// Whether a requirement limits a measure from below or from above.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LimitKind {
    /// The measure must be at least as large in every class.
    AtLeast,
    /// The measure must be at most as large in every class.
    AtMost,
}

impl LimitKind {
    /// Returns `at least` or `at most`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::AtLeast => "at least",
            Self::AtMost => "at most",
        }
    }
}

impl FrequencyRequirement {
    /// Returns the name of the model in reports.
    pub fn name(&self) -> &'static str {
        match self {
            Self::MaxShare(_) => MAX_SHARE,
            Self::EntropyDiversity { .. } => ENTROPY_DIVERSITY,
            Self::RecursiveDiversity { .. } => RECURSIVE_DIVERSITY,
            Self::Closeness { .. } => CLOSENESS,
            Self::Likeness { .. } => LIKENESS,
            Self::Disclosure { .. } => DISCLOSURE,
            Self::ValueRange(_) => VALUE_RANGE,
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
            Self::Disclosure { delta } => *delta,
            Self::ValueRange(range) => *range,
        }
    }

    /// Whether classes are compared with the whole release.
    pub fn compares_with_release(&self) -> bool {
        matches!(self, Self::Closeness { .. } | Self::Likeness { .. } | Self::Disclosure { .. })
    }

    /// Returns whether the limit is a lower or an upper one.
    pub fn limit_kind(&self) -> LimitKind {
        limit_kind_of(self.name())
    }
}

/// Name of the model of k rows or units.
pub const K_ANONYMITY: &str = "k-anonymity";
/// Name of the model of p values.
pub const P_SENSITIVITY: &str = "p-sensitivity";
/// Name of the constraint on generalization, whose achieved amount is a number of rows beyond the limit.
pub const CONSTRAINED: &str = "constrained generalization";
/// Name of the model of p values, of which those below a protected one count as one.
pub(crate) const EXTENDED_P_SENSITIVITY: &str = "extended p-sensitivity";
/// Name of the model of p categories.
pub(crate) const CATEGORY_P_SENSITIVITY: &str = "p+-sensitivity";
/// Name of the model of p bands of numbers or dates.
pub(crate) const BANDED_P_SENSITIVITY: &str = "banded p-sensitivity";
/// Name of the model of p elements of lists.
pub(crate) const LIST_DIVERSITY: &str = "list p-sensitivity";
/// Name of the model of the total weight of categories.
pub(crate) const ALPHA_WEIGHT: &str = "alpha-weight";
const MAX_SHARE: &str = "(alpha, k)-anonymity";
const ENTROPY_DIVERSITY: &str = "entropy l-diversity";
const RECURSIVE_DIVERSITY: &str = "recursive (c, l)-diversity";
const CLOSENESS: &str = "t-closeness";
const LIKENESS: &str = "beta-likeness";
const DISCLOSURE: &str = "delta-disclosure privacy";
const VALUE_RANGE: &str = "value range";

/// What reports say about a model.
#[derive(Debug)]
struct ModelDescription {
    /// Name of the model in reports.
    name: &'static str,
    limit: LimitKind,
    /// Whether the model limits the frequencies of values in a class.
    limits_frequencies: bool,
    /// What the model requires of a class, with `{column}` and `{required}`.
    sentence: &'static str,
    /// The measured amount, if it needs other words than the sentence.
    caption: Option<&'static str>,
}

impl ModelDescription {
    const fn new(name: &'static str, limit: LimitKind, sentence: &'static str) -> Self {
        Self { name, limit, limits_frequencies: false, sentence, caption: None }
    }

    const fn of_frequencies(self) -> Self {
        Self { limits_frequencies: true, ..self }
    }

    const fn captioned(self, caption: &'static str) -> Self {
        Self { caption: Some(caption), ..self }
    }
}

/// All models that a release may promise.
static MODELS: [ModelDescription; 15] = [
    ModelDescription::new(K_ANONYMITY, LimitKind::AtLeast, "at least {required} rows")
        .captioned("rows in the smallest class"),
    ModelDescription::new(P_SENSITIVITY, LimitKind::AtLeast, "at least {required} different values of {column}")
        .captioned("different values in every class, nulls not counted"),
    ModelDescription::new(
        EXTENDED_P_SENSITIVITY,
        LimitKind::AtLeast,
        "at least {required} different values (those below a protected one count as one) of {column}",
    )
    .captioned("different values in every class, where all below a protected value are one"),
    ModelDescription::new(
        CATEGORY_P_SENSITIVITY,
        LimitKind::AtLeast,
        "at least {required} different categories of {column}",
    )
    .captioned("different categories in every class"),
    ModelDescription::new(
        BANDED_P_SENSITIVITY,
        LimitKind::AtLeast,
        "values of {column} in at least {required} different bands",
    ),
    ModelDescription::new(
        LIST_DIVERSITY,
        LimitKind::AtLeast,
        "at least {required} different elements of {column} with a carrier each, and for every element as many carriers, \
         less one, without it",
    ),
    ModelDescription::new(
        ALPHA_WEIGHT,
        LimitKind::AtLeast,
        "categories of {column} that weigh at least {required} together",
    )
    .captioned("total weight of the categories in every class; the least sensitive weigh most"),
    ModelDescription::new(
        MAX_SHARE,
        LimitKind::AtMost,
        "no value of {column} in more than a share of {required} of them",
    )
    .of_frequencies(),
    ModelDescription::new(
        ENTROPY_DIVERSITY,
        LimitKind::AtLeast,
        "values of {column} as diverse as {required} equally frequent ones (entropy)",
    )
    .of_frequencies(),
    ModelDescription::new(
        RECURSIVE_DIVERSITY,
        LimitKind::AtMost,
        "a most frequent value of {column} with fewer than {required} times the rows of the rarer ones",
    )
    .of_frequencies(),
    ModelDescription::new(
        CLOSENESS,
        LimitKind::AtMost,
        "values of {column} distributed as in the whole release up to a distance of {required}",
    )
    .of_frequencies(),
    ModelDescription::new(
        LIKENESS,
        LimitKind::AtMost,
        "no value of {column} more frequent than in the whole release by more than {required} times",
    )
    .of_frequencies(),
    ModelDescription::new(
        DISCLOSURE,
        LimitKind::AtMost,
        "shares of all values of {column} within a factor of exp({required}) of those in the whole release",
    )
    .of_frequencies(),
    ModelDescription::new(VALUE_RANGE, LimitKind::AtLeast, "values of {column} that differ by at least {required}"),
    ModelDescription::new(
        CONSTRAINED,
        LimitKind::AtMost,
        "values of {column} beyond its limit in at most {required} rows",
    )
    .captioned("rows that are generalized beyond the limit of the policy"),
];

/// Returns the description of a model, given by its name in reports.
fn described(model: &str) -> Option<&'static ModelDescription> {
    MODELS.iter().find(|described| described.name == model)
}

/// Returns whether the amounts of a model, given by its name in reports, are lower or upper limits.
pub fn limit_kind_of(model: &str) -> LimitKind {
    described(model).map_or(LimitKind::AtLeast, |model| model.limit)
}

/// Whether a model, given by its name in reports, limits the frequencies of values in a class.
pub fn limits_frequencies(model: &str) -> bool {
    described(model).is_some_and(|model| model.limits_frequencies)
}

/// Returns what the amounts of a model count or measure, for a table of them, if that takes other words than
/// [`describe_requirement`].
pub fn caption_of(model: &str) -> Option<&'static str> {
    described(model).and_then(|model| model.caption)
}

/// Describes a requirement on a sensitive column for readers of a report, given the name of its model. A model without
/// a description is described by its name, so that none is left out.
pub fn describe_requirement(model: &str, column: &str, required: impl fmt::Display) -> String {
    match described(model) {
        // The column is last, because its name may contain anything.
        Some(model) => model.sentence.replace("{required}", &required.to_string()).replace("{column}", column),
        None => format!("{column} with {model} of {} {required}", limit_kind_of(model).as_str()),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_requirement_on_frequencies_is_described() {
        let requirements = [
            FrequencyRequirement::MaxShare(0.5),
            FrequencyRequirement::EntropyDiversity { l: 2.0 },
            FrequencyRequirement::RecursiveDiversity { c: 2.0, l: 2 },
            FrequencyRequirement::Closeness { t: 0.2, distance: GroundDistance::Equal },
            FrequencyRequirement::Likeness { beta: 1.0 },
            FrequencyRequirement::Disclosure { delta: 1.0 },
            FrequencyRequirement::ValueRange(10.0),
        ];
        for requirement in requirements {
            let described = described(requirement.name()).unwrap();
            assert_eq!(described.limit, requirement.limit_kind());
            let is_range = matches!(requirement, FrequencyRequirement::ValueRange(_));
            assert_eq!(described.limits_frequencies, !is_range, "{}", described.name);
        }
    }

    #[test]
    fn names_are_unique_and_every_sentence_states_the_amount() {
        let names: BTreeSet<&str> = MODELS.iter().map(|model| model.name).collect();
        assert_eq!(names.len(), MODELS.len());
        for model in &MODELS {
            let described = describe_requirement(model.name, "{required}", 7);
            assert!(described.contains('7') && !described.contains("{column}"), "{described}");
        }
    }

    #[test]
    fn the_name_of_a_column_is_not_a_template() {
        let described = describe_requirement(P_SENSITIVITY, "{required}", 2);
        assert_eq!(described, "at least 2 different values of {required}");
        assert_eq!(describe_requirement("m", "illness", 4), "illness with m of at least 4");
    }
}

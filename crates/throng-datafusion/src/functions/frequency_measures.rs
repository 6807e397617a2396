//! Measures of the frequencies of sensitive values in a class.

use std::collections::BTreeMap;

/// A measure of one class.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum ClassMeasure {
    /// Largest share of one value.
    LargestShare,
    /// Number of equally frequent values with the entropy of the class.
    Entropy,
    /// Rows of the most frequent value over those from the `l`-th most frequent on.
    RatioToTail {
        /// The parameter l, at least 1.
        l: usize,
    },
    /// Earth mover's distance from the values of all rows.
    Distance {
        /// Whether values are as far from each other as their ranks, or all equally far.
        is_ordered: bool,
    },
    /// Largest relative gain in the frequency of a value over all rows.
    Gain,
    /// Largest logarithm of the factor between the share of a value and that in all rows, whichever is larger.
    Change,
}

/// A function in SQL, and the measure of its query.
pub(super) type NamedMeasure = (&'static str, ClassMeasure);

/// All functions. That with a tail takes its parameter as the first argument.
pub(super) const FUNCTIONS: [NamedMeasure; 7] = [
    ("max_share", ClassMeasure::LargestShare),
    ("entropy_l", ClassMeasure::Entropy),
    ("recursive_c", ClassMeasure::RatioToTail { l: 1 }),
    ("t_closeness", ClassMeasure::Distance { is_ordered: false }),
    ("t_closeness_ordered", ClassMeasure::Distance { is_ordered: true }),
    ("beta_likeness", ClassMeasure::Gain),
    ("delta_disclosure", ClassMeasure::Change),
];

/// Rows by value, ascending by value.
pub(super) type RowsByValue = BTreeMap<Box<[u8]>, u64>;

/// Returns the measure of the worst class; `None` if there is no class.
pub(super) fn worst<'a>(measure: ClassMeasure, classes: impl Iterator<Item = &'a RowsByValue> + Clone) -> Option<f64> {
    let mut all: BTreeMap<&[u8], u64> = BTreeMap::new();
    if matches!(measure, ClassMeasure::Distance { .. } | ClassMeasure::Gain | ClassMeasure::Change) {
        let counts = classes.clone().flatten();
        counts.for_each(|(value, rows)| *all.entry(value.as_ref()).or_default() += rows);
    }
    let of_classes = classes.map(|class| of_class(measure, class, &all));
    match measure {
        ClassMeasure::Entropy => of_classes.reduce(f64::min),
        _ => of_classes.reduce(f64::max),
    }
}

fn of_class(measure: ClassMeasure, class: &RowsByValue, all: &BTreeMap<&[u8], u64>) -> f64 {
    let rows: u64 = class.values().sum();
    let share = |count: u64| count as f64 / rows as f64;
    if rows == 0 {
        // Without values there is nothing to infer, and no diversity either.
        return if matches!(measure, ClassMeasure::RatioToTail { .. }) { f64::INFINITY } else { 0.0 };
    }
    let most = class.values().copied().max().unwrap_or(0);
    match measure {
        ClassMeasure::LargestShare => share(most),
        ClassMeasure::Entropy => (-class.values().map(|count| share(*count) * share(*count).ln()).sum::<f64>()).exp(),
        ClassMeasure::RatioToTail { l } => {
            let mut descending: Vec<u64> = class.values().copied().collect();
            descending.sort_unstable_by(|a, b| b.cmp(a));
            // A tail without rows makes the ratio infinite.
            most as f64 / descending.iter().skip(l - 1).sum::<u64>() as f64
        }
        ClassMeasure::Distance { is_ordered } => distance(class, rows, all, is_ordered),
        ClassMeasure::Gain => {
            let total: u64 = all.values().sum();
            let gain = |value: &[u8], count: u64| {
                let expected = all.get(value).copied().unwrap_or(0) as f64 / total as f64;
                share(count) / expected - 1.0
            };
            class.iter().map(|(value, count)| gain(value, *count)).fold(0.0, f64::max)
        }
        ClassMeasure::Change => {
            let total: u64 = all.values().sum();
            // The logarithm of zero is infinite: the class lacks the value.
            let factor = |(value, count): (&&[u8], &u64)| {
                share(class.get(*value).copied().unwrap_or(0)) / (*count as f64 / total as f64)
            };
            all.iter().map(|of| factor(of).ln().abs()).fold(0.0, f64::max)
        }
    }
}

fn distance(class: &RowsByValue, rows: u64, all: &BTreeMap<&[u8], u64>, is_ordered: bool) -> f64 {
    let total: u64 = all.values().sum();
    let surplus = |(value, count): (&&[u8], &u64)| {
        class.get(*value).copied().unwrap_or(0) as f64 / rows as f64 - *count as f64 / total as f64
    };
    match is_ordered {
        // An empty sum of floats is -0.0.
        false => all.iter().map(surplus).filter(|surplus| *surplus > 0.0).fold(0.0, |sum, surplus| sum + surplus),
        true => {
            let steps = all.len().saturating_sub(1).max(1);
            let carried = all.iter().map(surplus).scan(0.0, |carried, surplus| {
                *carried += surplus;
                Some(f64::abs(*carried))
            });
            carried.take(steps).sum::<f64>() / steps as f64
        }
    }
}

//! The extent of a label: the values of a quasi-identifier that a row with this label may have.

/// Code of a value of a quasi-identifier: the bits of a number, or the index of a name.
pub(crate) type Code = u64;

/// Code of a missing value. Its bits are those of a NaN, and NaN has the same code.
pub(crate) const NULL: Code = u64::MAX;

/// Returns the code of a number. Both zeros are one number.
pub(crate) fn number_code(number: f64) -> Code {
    if number.is_nan() { NULL } else { (number + 0.0).to_bits() }
}

/// Returns the number of a code, unless it is missing.
pub(crate) fn code_number(code: Code) -> Option<f64> {
    (code != NULL).then(|| f64::from_bits(code))
}

/// Values that a row with a label may have.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Extent {
    /// Any value, or none.
    Everything,
    /// A missing value.
    Null,
    /// Numbers, both ends included.
    Between { low: f64, high: f64 },
    /// Names in ascending order of their codes.
    Leaves { leaves: Box<[u32]>, null: bool },
    /// Any number; the class is represented by this one.
    Near(f64),
    /// Any name; the class is represented by this one.
    NearLeaf(u32),
}

/// The range of a column, over which an unknown value is spread.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum ValueRange {
    /// Numbers from `low` to `high`, of which only every `step`-th exists; 0 for a continuous column.
    Numbers { low: f64, high: f64, step: f64 },
    /// This many names.
    Names(usize),
}

/// A condition on one quasi-identifier.
#[derive(Clone, Debug)]
pub(crate) enum Condition {
    /// Numbers, both ends included.
    Range { low: f64, high: f64 },
    /// Whether each name is included, by code.
    Leaves(Vec<bool>),
}

impl Condition {
    pub(crate) fn holds(&self, code: Code) -> bool {
        match self {
            Self::Range { low, high } => code_number(code).is_some_and(|number| *low <= number && number <= *high),
            Self::Leaves(included) => included.get(code as usize).copied().unwrap_or(false),
        }
    }
}

impl Extent {
    /// Returns the extent of one value.
    pub(crate) fn point(code: Code, is_number: bool) -> Self {
        match code {
            NULL => Self::Null,
            _ if is_number => Self::Between { low: f64::from_bits(code), high: f64::from_bits(code) },
            _ => Self::Leaves { leaves: Box::new([code as u32]), null: false },
        }
    }

    /// Whether a row with this label may have the value.
    pub(crate) fn contains(&self, code: Code) -> bool {
        match self {
            Self::Everything | Self::Near(_) | Self::NearLeaf(_) => true,
            Self::Null => code == NULL,
            Self::Between { low, high } => code_number(code).is_some_and(|number| *low <= number && number <= *high),
            Self::Leaves { leaves, null } => {
                if code == NULL {
                    *null
                } else {
                    leaves.binary_search(&(code as u32)).is_ok()
                }
            }
        }
    }

    /// Returns the only value of the extent, if there is just one.
    pub(crate) fn only(&self) -> Option<Code> {
        match self {
            Self::Null => Some(NULL),
            Self::Between { low, high } if low == high => Some(number_code(*low)),
            Self::Leaves { leaves, null: false } if leaves.len() == 1 => Some(u64::from(leaves[0])),
            _ => None,
        }
    }

    /// Returns the number of values in the extent, or its width in a continuous column; at least a small positive number.
    pub(crate) fn size(&self, range: &ValueRange) -> f64 {
        match (self, range) {
            (Self::Null | Self::Near(_) | Self::NearLeaf(_), _) => 1.0,
            (Self::Leaves { leaves, null }, _) => (leaves.len() + usize::from(*null)).max(1) as f64,
            (Self::Everything, ValueRange::Names(count)) => (*count).max(1) as f64,
            (Self::Everything, ValueRange::Numbers { low, high, step }) => width(*low, *high, *step),
            (Self::Between { low, high }, ValueRange::Numbers { low: least, high: greatest, step }) => {
                width(low.max(*least), high.min(*greatest), *step)
            }
            (Self::Between { .. }, ValueRange::Names(_)) => 1.0,
        }
    }

    /// Returns the share of the extent that a condition covers, with values spread evenly.
    pub(crate) fn share(&self, condition: &Condition, range: &ValueRange) -> f64 {
        match (self, condition) {
            (Self::Null, _) => 0.0,
            (Self::Near(number), _) => f64::from(u8::from(condition.holds(number_code(*number)))),
            (Self::NearLeaf(leaf), _) => f64::from(u8::from(condition.holds(u64::from(*leaf)))),
            (Self::Leaves { leaves, null }, _) => {
                let covered = leaves.iter().filter(|leaf| condition.holds(u64::from(**leaf))).count();
                covered as f64 / (leaves.len() + usize::from(*null)).max(1) as f64
            }
            (Self::Between { low, high }, Condition::Range { low: from, high: to }) => {
                overlap(*low, *high, *from, *to, range)
            }
            (Self::Everything, Condition::Range { low: from, high: to }) => match range {
                ValueRange::Numbers { low, high, .. } => overlap(*low, *high, *from, *to, range),
                ValueRange::Names(_) => 0.0,
            },
            (Self::Everything, Condition::Leaves(included)) => {
                included.iter().filter(|is_in| **is_in).count() as f64 / included.len().max(1) as f64
            }
            (Self::Between { .. }, Condition::Leaves(_)) => 0.0,
        }
    }

    /// Returns the middle of an extent of numbers; `None` if it is infinite.
    pub(crate) fn middle(&self, range: &ValueRange) -> Option<f64> {
        let middle = match (self, range) {
            (Self::Between { low, high }, ValueRange::Numbers { low: least, high: greatest, .. }) => {
                low.max(*least).midpoint(high.min(*greatest))
            }
            (Self::Near(number), _) => *number,
            (Self::Everything, ValueRange::Numbers { low, high, .. }) => low.midpoint(*high),
            _ => return None,
        };
        middle.is_finite().then_some(middle)
    }
}

/// Smallest width of a continuous extent, relative to the range of the column.
const POINT: f64 = 1e-6;

fn width(low: f64, high: f64, step: f64) -> f64 {
    if step > 0.0 { ((high - low) / step).max(0.0) + 1.0 } else { (high - low).max(POINT) }
}

fn overlap(low: f64, high: f64, from: f64, to: f64, range: &ValueRange) -> f64 {
    let ValueRange::Numbers { low: least, high: greatest, step } = *range else { return 0.0 };
    // Open intervals end where the column does.
    let (low, high) = (low.max(least), high.min(greatest));
    let (start, end) = (low.max(from), high.min(to));
    if start > end {
        return 0.0;
    }
    if low == high {
        1.0
    } else if step > 0.0 {
        // Ends of conditions need not lie on a step.
        let (start, end) = (((start - low) / step).ceil(), ((end - low) / step).floor());
        ((end - start + 1.0).max(0.0)) / ((high - low) / step + 1.0)
    } else {
        (end - start) / (high - low)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const AGES: ValueRange = ValueRange::Numbers { low: 0.0, high: 99.0, step: 1.0 };

    #[test]
    fn a_condition_covers_whole_numbers_evenly() {
        let decade = Extent::Between { low: 20.0, high: 29.0 };
        let share = |low, high| decade.share(&Condition::Range { low, high }, &AGES);
        assert_eq!(share(20.0, 29.0), 1.0);
        assert_eq!(share(25.0, 40.0), 0.5);
        assert_eq!(share(24.5, 40.0), 0.5);
        assert_eq!(share(30.0, 40.0), 0.0);
        assert_eq!(decade.size(&AGES), 10.0);
        assert_eq!(Extent::Everything.share(&Condition::Range { low: 0.0, high: 9.0 }, &AGES), 0.1);
    }

    #[test]
    fn a_condition_covers_continuous_numbers_evenly() {
        let range = ValueRange::Numbers { low: 0.0, high: 1.0, step: 0.0 };
        let half = Extent::Between { low: 0.0, high: 0.5 };
        assert_eq!(half.share(&Condition::Range { low: 0.25, high: 2.0 }, &range), 0.5);
        let point = Extent::Between { low: 0.5, high: 0.5 };
        assert_eq!(point.share(&Condition::Range { low: 0.25, high: 0.5 }, &range), 1.0);
    }

    #[test]
    fn missing_values_are_in_their_own_extent() {
        assert!(Extent::Null.contains(NULL) && Extent::Everything.contains(NULL));
        assert!(!Extent::Between { low: 0.0, high: 9.0 }.contains(NULL));
        assert!(Extent::Leaves { leaves: Box::new([1]), null: true }.contains(NULL));
        assert!(!Extent::Leaves { leaves: Box::new([1]), null: false }.contains(NULL));
        assert_eq!(number_code(-0.0), number_code(0.0));
        assert_eq!(number_code(f64::NAN), NULL);
    }
}

//! Whether a released label covers the value that it replaced.

use throng_core::hierarchy::HierarchySpec;

use crate::release_files::Cell;

/// Distinct values of a column in ascending order, as text.
pub struct Domain(Vec<String>);

impl Domain {
    /// Values must be in ascending order; nulls and duplicates are skipped.
    pub fn ascending(values: impl IntoIterator<Item = Cell>) -> Self {
        let mut texts: Vec<String> = values.into_iter().flatten().collect();
        texts.dedup();
        Self(texts)
    }

    pub fn len(&self) -> usize {
        self.0.len()
    }

    fn rank(&self, text: &str) -> Option<usize> {
        self.0.iter().position(|known| known == text)
    }

    /// Returns the ranks of the ends of an interval such as `25`, `[25-39]` or `[2024-01-01/2024-03-31]`.
    pub fn span(&self, label: &str) -> Option<(usize, usize)> {
        if let Some(rank) = self.rank(label) {
            return Some((rank, rank));
        }
        let inner = label.strip_prefix('[')?.strip_suffix(']')?;
        let cuts = inner.char_indices().filter(|(_, character)| matches!(character, '-' | '/'));
        let spans: Vec<(usize, usize)> =
            cuts.filter_map(|(at, _)| Some((self.rank(&inner[..at])?, self.rank(&inner[at + 1..])?))).collect();
        assert!(spans.len() < 2, "an interval can be read in two ways");
        spans.first().copied()
    }

    /// An interval covers the values between its ends, `*` covers everything, and null only null.
    pub fn interval_covers(&self, label: &Cell, value: &Cell) -> bool {
        match (label.as_deref(), value) {
            (None, value) => value.is_none(),
            (Some("*"), _) => true,
            (Some(_), None) => false,
            (Some(label), Some(value)) => {
                let rank = self.rank(value).expect("a value of the input");
                self.span(label).is_some_and(|(low, high)| (low..=high).contains(&rank))
            }
        }
    }

    /// Two bounds cover the values between them. A class with nulls and values has no bounds, and covers everything.
    pub fn bounds_cover(&self, (low, high): (&Cell, &Cell), value: &Cell) -> bool {
        match (low, high, value) {
            (None, None, _) => true,
            (Some(low), Some(high), Some(value)) => {
                let (low, high) = (self.rank(low).unwrap(), self.rank(high).unwrap());
                (low..=high).contains(&self.rank(value).unwrap())
            }
            _ => false,
        }
    }
}

/// A flat ancestor is the value itself or `*`.
pub fn flat_covers(label: &Cell, value: &Cell) -> bool {
    label == value || label.as_deref() == Some("*")
}

/// A set lists the value: `A`, `{A, B}`, `{null, A}`.
pub fn set_covers(label: &Cell, value: &Cell) -> bool {
    let Some(members) = label.as_deref().and_then(|label| label.strip_prefix('{')?.strip_suffix('}')) else {
        return label == value;
    };
    let value = value.as_deref().unwrap_or("null");
    members.split(", ").any(|member| member == value)
}

/// An ancestor is the value, `*`, or an ancestor of the value in the hierarchy.
pub fn ancestor_covers(hierarchy: &HierarchySpec, label: &Cell, value: &Cell) -> bool {
    if flat_covers(label, value) {
        return true;
    }
    let (Some(label), Some(value)) = (label.as_deref(), value.as_deref()) else { return false };
    match hierarchy {
        HierarchySpec::Flat | HierarchySpec::MeanDifference => false,
        HierarchySpec::Tree(tree) => {
            let leaf = tree.leaf_node(tree.leaf(value).unwrap());
            std::iter::successors(Some(leaf), |node| tree.parent(*node)).any(|node| tree.label(node) == label)
        }
        HierarchySpec::Intervals { .. } => range_covers(label, value.parse().unwrap()),
        HierarchySpec::DateParts(_) => {
            let (year, month) = (&value[..4], value[5..7].parse::<u32>().unwrap());
            let quarter = format!("{year}-Q{}", month.div_ceil(3));
            label.len() >= 4 && value.starts_with(label) || label == quarter || label == format!("{}0s", &year[..3])
        }
        HierarchySpec::Mask(_) | HierarchySpec::MaskOfLength { .. } => value.starts_with(label.trim_end_matches('*')),
    }
}

/// `[20-24]` covers both of its ends, `[20-25)` only the first.
fn range_covers(label: &str, value: f64) -> bool {
    let Some(inner) = label.strip_prefix('[').and_then(|inner| inner.strip_suffix([']', ')'])) else { return false };
    let cut = |(at, _): (usize, &str)| Some((inner[..at].parse::<f64>().ok()?, inner[at + 1..].parse::<f64>().ok()?));
    let Some((low, high)) = inner.match_indices('-').find_map(cut) else { return false };
    if label.ends_with(']') { (low..=high).contains(&value) } else { (low..high).contains(&value) }
}

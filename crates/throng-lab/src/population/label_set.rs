//! The set of values that a label stands for, exactly.

use super::box_tree::Span;
use crate::error::LabError;
use crate::extent::{Code, Extent, NULL, code_number};
use crate::label::{members, ordered_extent};
use crate::lexicon::{CodeDomain, NameDomain};
use crate::table::{LabelText, RELEASE};

/// The values of a label.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum LabelSet {
    /// Values that can be listed or bounded.
    Extent(Extent),
    /// Codes that begin with these characters and are no longer than the longest code.
    Prefix(String),
    /// Codes that end with these characters and are no longer than the longest code.
    Suffix(String),
}

/// How the texts of a column of names are parsed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NameReading {
    /// As names of a hierarchy, sets, and masked codes.
    Labels {
        /// Number of characters of the longest code of the original.
        longest: usize,
    },
    /// As values, because the original is unknown; `*` is any value.
    Values,
}

/// Reads a label.
pub(super) fn label_set(
    text: &LabelText,
    domain: &mut CodeDomain,
    reading: NameReading,
    column: &str,
) -> Result<LabelSet, LabError> {
    let unread = || LabError::UnreadLabel { table: RELEASE, column: column.to_owned() };
    let extent = match (text, domain) {
        (LabelText::Text(None), _) => Extent::Null,
        (LabelText::Text(Some(text)), CodeDomain::Ordered(data_type)) => {
            ordered_extent(text, data_type).ok_or_else(unread)?
        }
        (LabelText::Text(Some(text)), CodeDomain::Names(names)) => {
            return name_set(text, names, reading).ok_or_else(unread);
        }
        (LabelText::Number(code), _) => Extent::point(*code, true),
        (LabelText::Bounds(low, high), _) => match (code_number(*low), code_number(*high)) {
            (Some(low), Some(high)) => Extent::Between { low, high },
            // Missing bounds stand for missing values, or for missing values among others.
            _ => return Err(LabError::NoBounds { column: column.to_owned() }),
        },
        (LabelText::Absent, _) => Extent::Everything,
    };
    Ok(LabelSet::Extent(extent))
}

fn name_set(text: &str, names: &mut NameDomain, reading: NameReading) -> Option<LabelSet> {
    let listed = |mut leaves: Vec<u32>, null| {
        leaves.sort_unstable();
        leaves.dedup();
        LabelSet::Extent(Extent::Leaves { leaves: leaves.into(), null })
    };
    if let Some(leaf) = names.leaf(text) {
        return Some(listed(vec![leaf], false));
    }
    if text == "*" {
        return Some(LabelSet::Extent(Extent::Everything));
    }
    if let Some(below) = names.below(text) {
        return Some(listed(below.to_vec(), false));
    }
    let NameReading::Labels { longest } = reading else { return Some(listed(vec![names.code(text)], false)) };
    if let Some(inside) = text.strip_prefix('{').and_then(|text| text.strip_suffix('}')) {
        let (leaves, null) = members(inside, names)?;
        return Some(listed(leaves, null));
    }
    let (prefix, suffix) = (text.trim_end_matches('*'), text.trim_start_matches('*'));
    // A code that is shorter than the visible part of the longest one is shown completely, before its stars.
    let is_whole = text.chars().count() < longest;
    let set = match (prefix.len() < text.len(), suffix.len() < text.len()) {
        (true, false) if is_whole => listed(vec![names.leaf(prefix)?], false),
        (false, true) if is_whole => listed(vec![names.leaf(suffix)?], false),
        (true, false) => LabelSet::Prefix(prefix.to_owned()),
        (false, true) => LabelSet::Suffix(suffix.to_owned()),
        _ => return None,
    };
    Some(set)
}

impl LabelSet {
    /// Whether the set has a value; `longest` is the number of characters of the longest code of the original.
    pub(super) fn contains(&self, code: Code, domain: &CodeDomain, longest: usize) -> bool {
        let name = || match domain {
            CodeDomain::Names(names) if code != NULL => names.names().get(code as usize).map(String::as_str),
            _ => None,
        };
        let fits = |name: &&str| name.chars().count() <= longest;
        match self {
            Self::Extent(extent) => extent.contains(code),
            Self::Prefix(prefix) => name().filter(fits).is_some_and(|name| name.starts_with(prefix.as_str())),
            Self::Suffix(suffix) => name().filter(fits).is_some_and(|name| name.ends_with(suffix.as_str())),
        }
    }

    /// Returns a range of keys that includes those of all values of the set.
    pub(super) fn span(&self, keys: &ColumnKeys, domain: &CodeDomain) -> Span {
        match self {
            Self::Extent(Extent::Between { low, high }) => Span { low: *low, high: *high },
            Self::Extent(Extent::Null) => Span::of_null(),
            Self::Extent(Extent::Leaves { leaves, null }) => {
                let spans = leaves.iter().map(|leaf| Span::point(keys.of(u64::from(*leaf), domain)));
                let spans = spans.chain(null.then(Span::of_null));
                spans.reduce(Span::join).unwrap_or(Span::of_null())
            }
            Self::Prefix(prefix) => Span { low: text_key(prefix, 0), high: text_key(prefix, u8::MAX) },
            Self::Extent(_) | Self::Suffix(_) => Span::everything(),
        }
    }
}

/// Maps the values of a column to numbers, such that sets of nearby values have narrow ranges.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ColumnKeys {
    /// Numbers are their own keys.
    Numbers,
    /// The position of a name in its hierarchy. Names at or beyond this number are only in the set of all values.
    Places(usize),
    /// The first characters of a name.
    Texts,
}

impl ColumnKeys {
    pub(super) fn new(domain: &CodeDomain) -> Self {
        match domain {
            CodeDomain::Ordered(_) => Self::Numbers,
            CodeDomain::Names(names) if names.has_groups() => Self::Places(names.len()),
            CodeDomain::Names(_) => Self::Texts,
        }
    }

    /// Returns the key of a value.
    pub(super) fn of(&self, code: Code, domain: &CodeDomain) -> f64 {
        if code == NULL {
            return f64::NEG_INFINITY;
        }
        match (self, domain) {
            (Self::Numbers, _) => f64::from_bits(code),
            (Self::Places(known), _) if code < *known as u64 => code as f64,
            (Self::Places(_), _) => f64::INFINITY,
            (Self::Texts, CodeDomain::Names(names)) => {
                names.names().get(code as usize).map_or(f64::INFINITY, |name| text_key(name, 0))
            }
            (Self::Texts, CodeDomain::Ordered(_)) => f64::INFINITY,
        }
    }
}

/// Returns the first six bytes of a text as a number, which is exact. A shorter text is padded.
fn text_key(text: &str, fill: u8) -> f64 {
    let bytes = text.bytes().chain(std::iter::repeat(fill)).take(6);
    bytes.fold(0_u64, |key, byte| key << 8 | u64::from(byte)) as f64
}

//! Which sensitive values look equal to a reader, and which look missing.
//!
//! An independent second implementation of the policy's rule: decomposed forms are compared here, and composed ones where
//! releases are made. Two texts have equal composed forms exactly if they have equal decomposed forms.

use std::collections::HashSet;

use icu_normalizer::DecomposingNormalizerBorrowed;

use crate::look_alikes::LookAlikeRule;

/// First and last character of each range of invisible characters.
const UNSEEN: [(u32, u32); 9] = [
    (0x00ad, 0x00ad),
    (0x034f, 0x034f),
    (0x061c, 0x061c),
    (0x180e, 0x180e),
    (0x200b, 0x200f),
    (0x202a, 0x202e),
    (0x2060, 0x206f),
    (0xfe00, 0xfe0f),
    (0xfeff, 0xfeff),
];

/// How the values of a column are counted; by default each as itself.
#[derive(Clone, Debug, Default)]
pub(super) struct CountedText {
    merges: bool,
    /// Forms of the texts that are not counted.
    missing: HashSet<String>,
    /// Numbers that are not counted.
    missing_numbers: Vec<f64>,
}

impl CountedText {
    /// Returns the rule for a column of text, or of another type, whose values have no look-alikes; `None` if every value
    /// counts by itself.
    pub(super) fn new(rule: &LookAlikeRule, is_text: bool) -> Option<Self> {
        let merges = rule.merges && is_text;
        if !merges && rule.missing.is_empty() {
            return None;
        }
        let form = |text: &String| if merges { seen(text) } else { text.clone() };
        let missing_numbers = match is_text {
            true => Vec::new(),
            false => rule.missing.iter().filter_map(|text| text.trim().parse().ok()).collect(),
        };
        Some(Self { merges, missing: rule.missing.iter().map(form).collect(), missing_numbers })
    }

    /// Returns the form as which a text is counted; `None` if it is not counted.
    pub(super) fn form(&self, text: &str) -> Option<String> {
        let form = if self.merges { seen(text) } else { text.to_owned() };
        let is_number = || form.parse().is_ok_and(|number: f64| self.missing_numbers.contains(&number));
        let is_missing = self.merges && form.is_empty() || self.missing.contains(&form) || is_number();
        (!is_missing).then_some(form)
    }

    /// Returns the form as which a label of a hierarchy is counted.
    pub(super) fn form_of_label(&self, label: &str) -> String {
        if self.merges { seen(label) } else { label.to_owned() }
    }
}

/// Returns the text as a reader sees it, without regard to case.
fn seen(text: &str) -> String {
    let is_unseen = |mark: &char| UNSEEN.iter().any(|(first, last)| (*first..=*last).contains(&u32::from(*mark)));
    let forms = DecomposingNormalizerBorrowed::new_nfkd();
    let decomposed = forms.normalize_iter(text.chars().filter(|mark| !is_unseen(mark)));
    let cased = decomposed.flat_map(char::to_lowercase).flat_map(char::to_uppercase).flat_map(char::to_lowercase);
    let whole: Vec<char> = forms.normalize_iter(cased).collect();
    let is_ink = |mark: &char| !mark.is_whitespace() && !mark.is_control();
    match (whole.iter().position(is_ink), whole.iter().rposition(is_ink)) {
        (Some(first), Some(last)) => whole[first..=last].iter().collect(),
        _ => String::new(),
    }
}

#[cfg(test)]
#[path = "look_alikes_tests.rs"]
mod tests;

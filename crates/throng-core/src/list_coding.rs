//! Codes of lists: lists whose elements count as the same set have one code.

use std::sync::Arc;

use rustc_hash::FxHashMap;

use crate::domain::NULL;
use crate::list_texts::elements_of_text;
use crate::look_alikes::LookAlikeRule;

/// The elements of each code, ascending.
pub(crate) type ElementsByCode = Arc<[Arc<[u32]>]>;

/// Returns the code of each of some distinct, ascending texts of lists, and the elements of each code. A list without an element
/// that counts has the code [`NULL`].
pub(crate) fn list_codes<'a>(
    rule: &LookAlikeRule,
    are_text: bool,
    lists: impl Iterator<Item = &'a str>,
) -> (Vec<u32>, ElementsByCode) {
    let missing: Vec<f64> = rule.missing.iter().filter_map(|missing| missing.trim().parse().ok()).collect();
    let key = |element: &str| {
        if are_text {
            return rule.key(element);
        }
        let is_number = element.parse().is_ok_and(|number: f64| missing.contains(&number));
        let is_missing = is_number || rule.missing.iter().any(|missing| missing == element);
        (!is_missing).then(|| element.to_owned())
    };
    let mut number_of: FxHashMap<String, u32> = FxHashMap::default();
    let mut code_of: FxHashMap<Arc<[u32]>, u32> = FxHashMap::default();
    let mut by_code: Vec<Arc<[u32]>> = Vec::new();
    let code = |text: &str| {
        let mut elements: Vec<u32> = Vec::new();
        for key in elements_of_text(text).into_iter().filter_map(key) {
            let next = number_of.len() as u32;
            elements.push(*number_of.entry(key).or_insert(next));
        }
        elements.sort_unstable();
        elements.dedup();
        if elements.is_empty() {
            return NULL;
        }
        let elements: Arc<[u32]> = elements.into();
        *code_of.entry(Arc::clone(&elements)).or_insert_with(|| {
            by_code.push(elements);
            by_code.len() as u32 - 1
        })
    };
    let codes = lists.map(code).collect();
    (codes, by_code.into())
}

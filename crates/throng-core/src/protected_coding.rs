//! Codes of sensitive values under protected labels of a rule-based hierarchy: a mask, intervals or parts of the
//! calendar.
//!
//! The strong value of a value is the highest protected label above it, or the value itself [Truta 2007, Def. 4]. Labels of a
//! mask depend on the longest code of the table, so a protected label stands for all codes with its visible characters,
//! however many are hidden.

use arrow::array::{Array, ArrayRef};
use rustc_hash::FxHashMap;

use crate::columns::{Protection, ValueBand};
use crate::domain::NULL;
use crate::error::{CoreError, Result, kernel};
use crate::hierarchy::{HierarchySpec, MaskSide, build_tree, label_range, mask_affix};
use crate::look_alikes::{LookAlikeRule, is_text_type, look_alike_key};
use crate::numeric_view::labels;

/// The strong value of a value: a protected label, by its index, or the value itself.
#[derive(PartialEq, Eq, Hash)]
enum Strong {
    Label(usize),
    Itself(String),
}

/// Returns the code of each of some distinct, ascending values, and the number of codes.
pub(crate) fn codes_by_rule(
    protection: &Protection,
    rule: &LookAlikeRule,
    column: &str,
    values: &ArrayRef,
) -> Result<(Vec<u32>, u32)> {
    let texts = labels(values).map_err(kernel("labels"))?;
    let merges = rule.merges && is_text_type(values.data_type());
    let form = |text: &str| if merges { look_alike_key(text) } else { text.to_owned() };
    let highest = match &*protection.hierarchy {
        HierarchySpec::Mask(side) | HierarchySpec::MaskOfLength { side, .. } => {
            by_affix(*side, &protection.protected, &texts, form)
        }
        spec => by_range(spec, &protection.protected, column, values)?,
    };
    let is_missing = rule.are_missing(values)?;
    let mut code_of: FxHashMap<Strong, u32> = FxHashMap::default();
    let code = |(row, label): (usize, Option<usize>)| {
        if is_missing[row] {
            return NULL;
        }
        let next = code_of.len() as u32;
        let strong = label.map_or_else(|| Strong::Itself(form(&texts[row])), Strong::Label);
        *code_of.entry(strong).or_insert(next)
    };
    let codes = highest.into_iter().enumerate().map(code).collect();
    Ok((codes, code_of.len() as u32))
}

/// Returns the protected label with the fewest visible characters that each text has.
fn by_affix(
    side: MaskSide,
    protected: &[String],
    texts: &[String],
    form: impl Fn(&str) -> String,
) -> Vec<Option<usize>> {
    let affixes: Vec<String> =
        protected.iter().map(|label| form(mask_affix(side, label).unwrap_or(label.as_str()))).collect();
    let highest = |text: &String| {
        let text = form(text);
        let is_below = |affix: &String| match side {
            MaskSide::Right => text.starts_with(affix.as_str()),
            MaskSide::Left => text.ends_with(affix.as_str()),
        };
        let below = affixes.iter().enumerate().filter(|(_, affix)| is_below(affix));
        below.min_by_key(|(_, affix)| affix.len()).map(|(label, _)| label)
    };
    texts.iter().map(highest).collect()
}

/// Returns the highest protected label above each value in the hierarchy.
fn by_range(spec: &HierarchySpec, protected: &[String], column: &str, values: &ArrayRef) -> Result<Vec<Option<usize>>> {
    let built = build_tree(spec, values);
    let (tree, positions) = built.map_err(|source| CoreError::Hierarchy { column: column.to_owned(), source })?;
    let ranges: Vec<Option<ValueBand>> = protected.iter().map(|label| label_range(spec, label)).collect();
    let highest = |position: &u32| {
        let upwards = std::iter::successors(Some(tree.leaf_node(*position)), |node| tree.parent(*node));
        let label = |node| {
            let range = label_range(spec, tree.label(node))?;
            ranges.iter().position(|known| *known == Some(range))
        };
        upwards.filter_map(label).last()
    };
    Ok(positions.iter().map(highest).collect())
}

#[cfg(test)]
#[path = "protected_coding_tests.rs"]
mod tests;

//! Encodes sensitive values: which of them count as equal for a privacy model.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, StringArray};
use arrow::compute::{SortOptions, sort_to_indices};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::category_finder::CategoryFinder;
use crate::columns::{Categories, Protection, SensitiveCoding};
use crate::domain::NULL;
use crate::error::{CoreError, Result, kernel};
use crate::hierarchy::{CodeTree, HierarchySpec, Node, Tree, build_tree};
use crate::list_coding::{ElementsByCode, list_codes};
use crate::look_alikes::{LookAlikeRule, is_text_type, look_alike_key};
use crate::model::SINGLE;
use crate::numeric_view::{labels, linear_numbers};
use crate::protected_coding::codes_by_rule;

/// Returns the code of each distinct value and the number of codes. Codes are ordered by value, by hierarchy or by category,
/// depending on the sensitive coding; values that are not counted have the code [`NULL`]. `rows` has the number of rows of
/// each value, which only units need.
pub(crate) fn codes(
    facet: &SensitiveCoding,
    rule: &LookAlikeRule,
    column: &str,
    values: &ArrayRef,
    rows: Option<&[u64]>,
) -> Result<(Vec<u32>, u32)> {
    match facet {
        SensitiveCoding::Values if rule.applies_to(values.data_type()) => look_alike_codes(rule, values),
        SensitiveCoding::Values => Ok((ranks(values)?, values.len() as u32)),
        SensitiveCoding::Strong(protection) => match &*protection.hierarchy {
            HierarchySpec::Tree(_) => strong_codes(protection, rule, column, values),
            _ => codes_by_rule(protection, rule, column, values),
        },
        SensitiveCoding::Categories(categories) => category_codes(categories, column, values),
        SensitiveCoding::Bands(borders) => band_codes(borders, rule, column, values),
        SensitiveCoding::Leaves(hierarchy) => {
            let (_, positions) = built(hierarchy, column, values)?;
            let is_missing = are_missing_leaves(hierarchy, rule, values)?;
            Ok((leaf_codes(&positions, &is_missing), values.len() as u32))
        }
        SensitiveCoding::Elements { are_text } => {
            let (codes, elements) = list_codes(rule, *are_text, values.as_string::<i32>().iter().flatten());
            Ok((codes, elements.len() as u32))
        }
        SensitiveCoding::Units => Ok(unit_codes(&ranks(values)?, rows.unwrap_or_default())),
    }
}

/// Returns the numbers behind the codes of [`SensitiveCoding::Values`]; `None` if values are not numbers or dates.
pub(crate) fn numbers_by_code(rule: &LookAlikeRule, values: &ArrayRef) -> Result<Option<Arc<[f64]>>> {
    let Some(numbers) = linear_numbers(values) else { return Ok(None) };
    let (codes, distinct) = codes(&SensitiveCoding::Values, rule, "", values, None)?;
    let mut by_code = vec![0.0; distinct as usize];
    for (code, number) in codes.iter().zip(numbers).filter(|(code, _)| **code != NULL) {
        by_code[*code as usize] = number;
    }
    Ok(Some(by_code.into()))
}

/// Returns the elements of the codes of [`SensitiveCoding::Elements`], from the texts of lists.
pub(crate) fn elements_by_code(rule: &LookAlikeRule, are_text: bool, values: &ArrayRef) -> ElementsByCode {
    list_codes(rule, are_text, values.as_string::<i32>().iter().flatten()).1
}

/// Returns the hierarchy of the codes of [`SensitiveCoding::Leaves`].
pub(crate) fn tree_of_codes(
    hierarchy: &HierarchySpec,
    rule: &LookAlikeRule,
    column: &str,
    values: &ArrayRef,
) -> Result<CodeTree> {
    let (tree, positions) = built(hierarchy, column, values)?;
    let codes = leaf_codes(&positions, &are_missing_leaves(hierarchy, rule, values)?);
    let mut nodes = vec![tree.root(); positions.len()];
    let counted = codes.iter().zip(&positions).filter(|(code, _)| **code != NULL);
    counted.for_each(|(code, at)| nodes[*code as usize] = tree.leaf_node(*at));
    Ok(CodeTree::new(&tree, &nodes))
}

/// Returns for each value whether it is not counted among the leaves of a hierarchy. A tree lists the values that
/// count.
fn are_missing_leaves(hierarchy: &HierarchySpec, rule: &LookAlikeRule, values: &ArrayRef) -> Result<Vec<bool>> {
    match hierarchy {
        HierarchySpec::Tree(_) => Ok(vec![false; values.len()]),
        _ => rule.are_missing(values),
    }
}

/// Numbers the leaves that occur, in the order of the hierarchy, without those that are missing.
fn leaf_codes(positions: &[u32], is_missing: &[bool]) -> Vec<u32> {
    let counted = positions.iter().zip(is_missing).filter(|(_, is_missing)| !**is_missing);
    let mut order: Vec<u32> = counted.map(|(position, _)| *position).collect();
    order.sort_unstable();
    let code = |(position, is_missing): (&u32, &bool)| match is_missing {
        true => NULL,
        false => order.partition_point(|other| other < position) as u32,
    };
    positions.iter().zip(is_missing).map(code).collect()
}

fn built(hierarchy: &HierarchySpec, column: &str, values: &ArrayRef) -> Result<(Tree, Vec<u32>)> {
    build_tree(hierarchy, values).map_err(|source| CoreError::Hierarchy { column: column.to_owned(), source })
}

/// Returns one code per key of texts, or per value of other types, in the order of the first value that has it.
fn look_alike_codes(rule: &LookAlikeRule, values: &ArrayRef) -> Result<(Vec<u32>, u32)> {
    let mut by_rank = vec![0; values.len()];
    for (index, rank) in ranks(values)?.iter().enumerate() {
        by_rank[*rank as usize] = index;
    }
    let (mut codes, mut distinct) = (vec![NULL; values.len()], 0);
    if !is_text_type(values.data_type()) {
        let is_missing = rule.are_missing(values)?;
        for index in by_rank.into_iter().filter(|index| !is_missing[*index]) {
            codes[index] = distinct;
            distinct += 1;
        }
        return Ok((codes, distinct));
    }
    let texts = labels(values).map_err(kernel("labels"))?;
    let mut code_of_key: FxHashMap<String, u32> = FxHashMap::default();
    for index in by_rank {
        let Some(key) = rule.key(&texts[index]) else { continue };
        codes[index] = *code_of_key.entry(key).or_insert_with(|| {
            distinct += 1;
            distinct - 1
        });
    }
    Ok((codes, distinct))
}

fn band_codes(borders: &[f64], rule: &LookAlikeRule, column: &str, values: &ArrayRef) -> Result<(Vec<u32>, u32)> {
    let numbers = linear_numbers(values).ok_or_else(|| CoreError::NoNumbers { column: column.to_owned() })?;
    let band = |number: &f64| borders.partition_point(|border| border <= number) as u32;
    let is_missing = rule.are_missing(values)?;
    let code = |(number, is_missing): (&f64, bool)| if is_missing { NULL } else { band(number) };
    Ok((numbers.iter().zip(is_missing).map(code).collect(), borders.len() as u32 + 1))
}

/// Returns the code of each unit: [`SINGLE`] for units with one row, and consecutive codes for the others.
fn unit_codes(ranks: &[u32], rows: &[u64]) -> (Vec<u32>, u32) {
    let mut by_rank = vec![SINGLE; ranks.len()];
    ranks.iter().zip(rows).filter(|(_, rows)| **rows > 1).for_each(|(rank, _)| by_rank[*rank as usize] = 1);
    let mut codes = SINGLE + 1;
    for code in by_rank.iter_mut().filter(|code| **code != SINGLE) {
        *code = codes;
        codes += 1;
    }
    (ranks.iter().map(|rank| by_rank[*rank as usize]).collect(), codes)
}

/// Returns the rank of each value in ascending order.
fn ranks(values: &ArrayRef) -> Result<Vec<u32>> {
    let order = sort_to_indices(values, Some(SortOptions::default()), None).map_err(kernel("sort"))?;
    let mut ranks = vec![0; values.len()];
    for (rank, index) in order.values().iter().enumerate() {
        ranks[*index as usize] = rank as u32;
    }
    Ok(ranks)
}

/// Values are looked up in the hierarchy as they are. Strong values that look alike have one code.
fn strong_codes(
    protection: &Protection,
    rule: &LookAlikeRule,
    column: &str,
    values: &ArrayRef,
) -> Result<(Vec<u32>, u32)> {
    let (tree, positions) = built(&protection.hierarchy, column, values)?;
    let strong = strong_nodes(&tree, &protection.protected);
    let nodes: Vec<Node> = positions.iter().map(|position| strong[*position as usize]).collect();
    let mut order: Vec<Node> = nodes.clone();
    order.sort_unstable_by_key(|node| tree.leaf_range(*node));
    order.dedup();
    let (mut code_of, mut code_of_key) = (FxHashMap::default(), FxHashMap::default());
    for node in order {
        let label = tree.label(node);
        let key = if rule.merges { look_alike_key(label) } else { label.to_owned() };
        let next = code_of_key.len() as u32;
        code_of.insert(node, *code_of_key.entry(key).or_insert(next));
    }
    let is_missing = rule.are_missing(values)?;
    let code = |(node, is_missing): (&Node, bool)| if is_missing { NULL } else { code_of[node] };
    Ok((nodes.iter().zip(is_missing).map(code).collect(), code_of_key.len() as u32))
}

/// Returns the strong ancestor of each leaf [Truta 2007, Def. 4]: the highest protected node on its path to the root,
/// or the leaf itself.
fn strong_nodes(tree: &Tree, protected: &[String]) -> Vec<Node> {
    let strong = |position: u32| {
        let upwards = std::iter::successors(Some(tree.leaf_node(position)), |node| tree.parent(*node));
        let is_protected = |node: &Node| protected.iter().any(|label| label == tree.label(*node));
        upwards.filter(is_protected).last().unwrap_or(tree.leaf_node(position))
    };
    (0..tree.leaf_count() as u32).map(strong).collect()
}

/// Returns the name of the sensitive category of each row, null where the value is null.
pub fn category_names(categories: &Categories, column: &str, values: &ArrayRef) -> Result<ArrayRef> {
    let found = CategoryFinder::new(categories).find(column, values)?;
    let nulls = values.logical_nulls();
    let is_known =
        |(row, code): (usize, &Option<u32>)| code.is_some() || nulls.as_ref().is_some_and(|nulls| nulls.is_null(row));
    if !found.iter().enumerate().all(is_known) {
        let texts = labels(values).map_err(|_| CoreError::NoText { column: column.to_owned() })?;
        let unknown = found.iter().enumerate().filter(|row| !is_known(*row)).map(|(row, _)| &texts[row]);
        let count = unknown.collect::<FxHashSet<_>>().len();
        return Err(CoreError::Uncategorized { column: column.to_owned(), count });
    }
    let name = |code: Option<u32>| code.map(|code| categories.list[code as usize].name.as_str());
    Ok(Arc::new(found.into_iter().map(name).collect::<StringArray>()))
}

fn category_codes(categories: &Categories, column: &str, values: &ArrayRef) -> Result<(Vec<u32>, u32)> {
    let found = CategoryFinder::new(categories).find(column, values)?;
    let codes: Vec<u32> = found.into_iter().flatten().collect();
    match values.len() - codes.len() {
        0 => Ok((codes, categories.list.len() as u32)),
        count => Err(CoreError::Uncategorized { column: column.to_owned(), count }),
    }
}

#[cfg(test)]
#[path = "sensitive_coding_tests.rs"]
mod tests;

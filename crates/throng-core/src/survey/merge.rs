//! From surveys of streams to one table: domains from the union of the values, groups in the order of their content.

use std::cmp::Ordering;

use arrow::array::{Array, ArrayRef};
use arrow::compute::{SortOptions, sort_to_indices};
use rayon::prelude::*;

use super::{Groups, Interner, Merged, Survey, distinct};
use crate::domain::{Domain, NULL};
use crate::error::{Error, Result, kernel};
use crate::table::{QuasiColumn, SensitiveColumn, Table};

pub(super) fn merge(surveys: Vec<Survey>) -> Result<Merged> {
    let suppressed = surveys.iter().map(|survey| survey.suppressed).sum();
    let spec = match surveys.iter().find(|survey| survey.groups.len() > 0) {
        Some(survey) => survey.spec.clone(),
        None => return Err(Error::NoRows { suppressed }),
    };
    let quasi_count = spec.quasi.len();
    let mut quasi = Vec::new();
    let mut sensitive = Vec::new();
    // translate[column][survey][number]: the position or code in the table.
    let mut translate: Vec<Vec<Vec<u32>>> = Vec::new();
    let mut null_codes = Vec::new();
    for index in 0..quasi_count + spec.sensitive.len() {
        let (values, numbers) = union(&surveys, index)?;
        let places = match spec.quasi.get(index) {
            Some((quasi_spec, data_type)) => {
                let has_null = has_null(&surveys, index);
                let (domain, positions) = Domain::build(quasi_spec, &values, has_null)?;
                null_codes.push(domain.null_position().unwrap_or(NULL));
                quasi.push(QuasiColumn { spec: quasi_spec.clone(), data_type: data_type.clone(), domain });
                positions
            }
            None => {
                null_codes.push(NULL);
                let name = spec.sensitive[index - quasi_count].0.clone();
                sensitive.push(SensitiveColumn { name, distinct: values.len() as u32 });
                ranks(&values)?
            }
        };
        translate.push(
            numbers.into_iter().map(|of_survey| of_survey.iter().map(|n| places[*n as usize]).collect()).collect(),
        );
    }
    let (groups, arrivals) = union_of_groups(&surveys, &translate, &null_codes)?;
    let mut order: Vec<u32> = (0..groups.len() as u32).collect();
    order.par_sort_unstable_by(|a, b| compare(&groups, *a, *b));
    let mut rank = vec![0; order.len()];
    for (place, group) in order.iter().enumerate() {
        rank[*group as usize] = place as u32;
    }
    let groups_of = arrivals.into_iter().map(|list| list.into_iter().map(|g| rank[g as usize]).collect()).collect();
    let tuples = order.iter().map(|group| (groups.tuple(*group as usize), groups.rows[*group as usize]));
    Ok(Merged { table: Table::from_sorted_groups(quasi, sensitive, tuples), groups: groups_of, suppressed })
}

fn compare(groups: &Groups, a: u32, b: u32) -> Ordering {
    groups.tuple(a as usize).cmp(groups.tuple(b as usize))
}

/// The distinct values of one column over all surveys, and for each survey its numbers in that union.
fn union(surveys: &[Survey], column: usize) -> Result<(ArrayRef, Vec<Vec<u32>>)> {
    let parts = surveys.iter().map(|survey| distinct(&survey.interners[column])).collect::<Result<Vec<_>>>()?;
    let mut all = Interner::new(parts[0].data_type()).ok_or(Error::Type {
        column: String::new(),
        data_type: parts[0].data_type().to_string(),
        role: "quasi-identifier",
    })?;
    let numbers = parts
        .iter()
        .map(|part| all.intern(part).map_err(|error| surveys[0].spec.intern_error(column, part, error)))
        .collect::<Result<Vec<_>>>()?;
    Ok((distinct(&all)?, numbers))
}

fn has_null(surveys: &[Survey], column: usize) -> bool {
    surveys.iter().any(|survey| (0..survey.groups.len()).any(|group| survey.groups.tuple(group)[column] == NULL))
}

/// The rank of each value in ascending order.
fn ranks(values: &ArrayRef) -> Result<Vec<u32>> {
    let order = sort_to_indices(values, Some(SortOptions::default()), None).map_err(kernel("sort"))?;
    let mut ranks = vec![0; values.len()];
    for (rank, index) in order.values().iter().enumerate() {
        ranks[*index as usize] = rank as u32;
    }
    Ok(ranks)
}

fn union_of_groups(
    surveys: &[Survey],
    translate: &[Vec<Vec<u32>>],
    null_codes: &[u32],
) -> Result<(Groups, Vec<Vec<u32>>)> {
    let mut groups = Groups::new(translate.len());
    let mut tuple = vec![0; translate.len()];
    let mut arrivals = Vec::with_capacity(surveys.len());
    for (number, survey) in surveys.iter().enumerate() {
        let mut list = Vec::with_capacity(survey.groups.len());
        for group in 0..survey.groups.len() {
            for (column, code) in survey.groups.tuple(group).iter().enumerate() {
                tuple[column] =
                    if *code == NULL { null_codes[column] } else { translate[column][number][*code as usize] };
            }
            list.push(groups.count(&tuple, survey.groups.rows[group])?);
        }
        arrivals.push(list);
    }
    Ok((groups, arrivals))
}

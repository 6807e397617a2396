//! From surveys of streams to one table: domains from the union of the values, groups in the order of their content.

use std::cmp::Ordering;

use arrow::array::{Array, ArrayRef};
use rayon::prelude::*;

use super::{Groups, Interner, Merged, Survey, distinct};
use crate::domain::{Distinct, Domain, NULL};
use crate::error::{Error, Result};
use crate::facet;
use crate::table::{QuasiColumn, SensitiveColumn, Table};

pub(super) fn merge(surveys: Vec<Survey>) -> Result<Merged> {
    let suppressed = surveys.iter().map(|survey| survey.suppressed).sum();
    let spec = match surveys.iter().find(|survey| survey.groups.len() > 0) {
        Some(survey) => survey.spec.clone(),
        None => return Err(Error::NoRows { suppressed }),
    };
    let mut quasi = Vec::new();
    let mut sensitive = Vec::new();
    let mut coded: Vec<Coded> = Vec::new();
    for (index, (quasi_spec, data_type)) in spec.quasi.iter().enumerate() {
        let (values, numbers) = union(&surveys, index)?;
        let (rows, has_null) = occurrences(&surveys, index, &numbers, values.len());
        let (domain, positions) = Domain::build(quasi_spec, Distinct { values: &values, rows: &rows, has_null })?;
        coded.push(Coded::new(index, &numbers, &positions, domain.null_position().unwrap_or(NULL)));
        quasi.push(QuasiColumn { spec: quasi_spec.clone(), data_type: data_type.clone(), domain });
    }
    for (index, (column, _)) in spec.sensitive.iter().enumerate() {
        let index = spec.quasi.len() + index;
        let (values, numbers) = union(&surveys, index)?;
        for looked_at in &column.facets {
            let (codes, distinct) = facet::codes(looked_at, &column.name, &values)?;
            coded.push(Coded::new(index, &numbers, &codes, NULL));
            sensitive.push(SensitiveColumn { name: column.name.clone(), counted: looked_at.counted(), distinct });
        }
    }
    let (groups, arrivals) = union_of_groups(&surveys, &coded)?;
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

/// How many rows have each value of the union, and whether any has null.
fn occurrences(surveys: &[Survey], column: usize, numbers: &[Vec<u32>], distinct: usize) -> (Vec<u64>, bool) {
    let (mut rows, mut has_null) = (vec![0; distinct], false);
    for (survey, numbers) in surveys.iter().zip(numbers) {
        for group in 0..survey.groups.len() {
            match survey.groups.tuple(group)[column] {
                NULL => has_null = true,
                number => rows[numbers[number as usize] as usize] += u64::from(survey.groups.rows[group]),
            }
        }
    }
    (rows, has_null)
}

/// One column of the table's tuples: positions or codes for the numbers of one column of the surveys.
struct Coded {
    /// The column of the surveys.
    column: usize,
    /// For each survey and each of its numbers: the position or code.
    of_number: Vec<Vec<u32>>,
    of_null: u32,
}

impl Coded {
    fn new(column: usize, numbers: &[Vec<u32>], places: &[u32], of_null: u32) -> Self {
        let placed = |of_survey: &Vec<u32>| of_survey.iter().map(|number| places[*number as usize]).collect();
        Self { column, of_number: numbers.iter().map(placed).collect(), of_null }
    }
}

fn union_of_groups(surveys: &[Survey], coded: &[Coded]) -> Result<(Groups, Vec<Vec<u32>>)> {
    let mut groups = Groups::new(coded.len());
    let mut tuple = vec![0; coded.len()];
    let mut arrivals = Vec::with_capacity(surveys.len());
    for (number, survey) in surveys.iter().enumerate() {
        let mut list = Vec::with_capacity(survey.groups.len());
        for group in 0..survey.groups.len() {
            let numbers = survey.groups.tuple(group);
            for (slot, coded) in tuple.iter_mut().zip(coded) {
                *slot = match numbers[coded.column] {
                    NULL => coded.of_null,
                    known => coded.of_number[number][known as usize],
                };
            }
            list.push(groups.count(&tuple, survey.groups.rows[group])?);
        }
        arrivals.push(list);
    }
    Ok((groups, arrivals))
}

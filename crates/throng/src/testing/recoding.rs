//! The rules that every release keeps, regardless of the method that formed its classes.

use std::collections::HashSet;

use throng_core::cluster::Class;
use throng_core::model::{Privacy, Tally};
use throng_core::partition::FeasibleRegions;
use throng_core::recode::Recoding;
use throng_core::table::Table;

use super::{ContractViolation, rule};

/// Checks that a recoding has every row of the table once, except for those of suppressed cells, and that each of its classes
/// satisfies the models.
pub fn check_recoding(
    table: &Table,
    privacy: &Privacy,
    suppressed_cells: &[u32],
    recoding: &Recoding,
) -> Result<(), ContractViolation> {
    let suppressed: HashSet<u32> = suppressed_cells.iter().flat_map(|cell| table.groups(*cell)).collect();
    let mut tallies = vec![Tally::empty(table.tally_shape()); recoding.class_rows().len()];
    for group in 0..table.group_count() as u32 {
        let shares = recoding.shares(group);
        let placed: u64 = shares.iter().map(|share| u64::from(share.rows)).sum();
        let expected = if suppressed.contains(&group) { 0 } else { u64::from(table.group_rows(group)) };
        rule(placed == expected, "every row is in exactly one class, unless it is suppressed", || {
            format!("group {group} has {expected} rows to release, and {placed} are in classes")
        })?;
        for share in shares {
            tallies[share.class as usize].add(table.codes(group), u64::from(share.rows));
        }
    }
    let mut released = Tally::empty(table.tally_shape());
    tallies.iter().for_each(|class| released.merge(class));
    let privacy = privacy.for_release(table.sensitive(), &released);
    for (class, (tally, rows)) in tallies.iter().zip(recoding.class_rows()).enumerate() {
        rule(tally.rows() == *rows, "a class has as many rows as it reports", || {
            format!("class {class} reports {rows} rows, and {} are in it", tally.rows())
        })?;
        rule(privacy.is_satisfied(tally), "every class satisfies the models", || {
            format!("class {class} of {rows} rows lacks {} rows", privacy.deficit(tally))
        })?;
    }
    Ok(())
}

/// Returns the worst possible release: every value is generalized as far as the limits allow.
pub fn most_general(table: &Table, allowed: &FeasibleRegions) -> throng_core::Result<Recoding> {
    let class = |cells: &Vec<u32>| {
        let positions = cells.first().map(|cell| table.positions(*cell)).unwrap_or_default();
        let cover = table.quasi().iter().zip(positions).map(|(quasi, position)| {
            let domain = &quasi.domain;
            let block = domain.block(*position);
            let mut positions = (0..domain.len() as u32).filter(|position| domain.block(*position) == block);
            let first = positions.next().unwrap_or(*position);
            (first, positions.next_back().unwrap_or(first))
        });
        Class { cover: Some(cover.collect()), ..Class::of_cells(table, cells) }
    };
    Recoding::without(table, &allowed.classes.iter().map(class).collect::<Vec<_>>(), &allowed.suppressed_cells)
}

//! The contract of a privacy model.

use throng_core::domain::NULL;
use throng_core::model::{ClosedUnder, Model, Tally, TallyShape};

use super::{ContractViolation, next_number, rule};

/// Number of orders in which rows are added to a class.
const ORDERS: u64 = 8;

/// Returns rows by the codes of their sensitive columns, as in [`Table::codes`](throng_core::table::Table::codes): each code is below
/// `distinct`, or null. The first codes are the most frequent.
pub fn rows_of_codes(columns: usize, distinct: u32, rows: usize) -> Vec<Vec<u32>> {
    let mut state = u64::from(distinct);
    let mut code = || match next_number(&mut state) % 10 {
        0 => NULL,
        1..=4 => 0,
        _ => (next_number(&mut state) % u64::from(distinct.max(1))) as u32,
    };
    (0..rows).map(|_| (0..columns).map(|_| code()).collect()).collect()
}

/// Checks that the answers of a model are consistent while rows with these codes are added to a class and removed from
/// it.
///
/// The model is closed under what it declares. If it counts, a row adds as many units as the model says, and the deficit is zero
/// if and only if the class meets the requirement. A row can be removed if and only if the class satisfies the model without it.
pub fn check_model(model: &dyn Model, rows: &[Vec<u32>]) -> Result<(), ContractViolation> {
    let columns = rows.first().map_or(0, Vec::len);
    for seed in 0..ORDERS {
        let mut class = Tally::empty(TallyShape::without_units(columns));
        let mut order: Vec<&Vec<u32>> = rows.iter().collect();
        let mut state = seed;
        order.sort_by_cached_key(|_| next_number(&mut state));
        for (joined, codes) in order.iter().enumerate() {
            let context = || format!("model {}, order {seed}, after {joined} rows", model.name());
            check_gain(model, &class, codes, context)?;
            class.add(codes, 1);
            check_loss(model, &class, &order[..=joined], context)?;
        }
    }
    Ok(())
}

/// Checks the answers about a class and a row that is added to it.
fn check_gain(
    model: &dyn Model,
    class: &Tally,
    codes: &[u32],
    context: impl Fn() -> String,
) -> Result<(), ContractViolation> {
    let mut after = class.clone();
    after.add(codes, 1);
    let (is_satisfied, was_satisfied) = (model.deficit(&after) == 0, model.deficit(class) == 0);
    let is_kept = model.closed_under() == ClosedUnder::Merging || !was_satisfied || is_satisfied;
    rule(is_kept, "a row never breaks a model that is closed under adding rows", &context)?;
    let mut doubled = class.clone();
    doubled.merge(class);
    rule(!was_satisfied || model.deficit(&doubled) == 0, "merging never breaks a model", &context)?;
    rule(!(was_satisfied && model.helps(class, codes)), "no row helps a class that satisfies the model", &context)?;
    let Some(counting) = model.counting() else { return Ok(()) };
    let (before, gain) = (counting.achieved(class), counting.gain(class, codes));
    rule(counting.achieved(&after) == before + gain, "a row brings as many units as the model says", &context)?;
    rule(gain <= counting.max_gain_per_row(), "no row brings more units than the model allows", &context)?;
    rule(!model.counts_rows() || gain == 1, "every row brings one unit to a model that counts rows", &context)?;
    let has_enough = before >= counting.required();
    rule(was_satisfied == has_enough, "the deficit is zero where the model is satisfied", &context)?;
    rule((counting.shortage(class) == 0) == has_enough, "the shortage is zero where the model is satisfied", &context)
}

/// Checks the model's answer about removing each row of a class that satisfies it.
fn check_loss(
    model: &dyn Model,
    class: &Tally,
    members: &[&Vec<u32>],
    context: impl Fn() -> String,
) -> Result<(), ContractViolation> {
    if model.deficit(class) > 0 {
        return Ok(());
    }
    for codes in members {
        let mut without = class.clone();
        without.remove(codes, 1);
        let is_satisfied = model.deficit(&without) == 0;
        rule(
            model.can_lose(class, codes) == is_satisfied,
            "a row can leave where the class can do without it",
            &context,
        )?;
    }
    Ok(())
}

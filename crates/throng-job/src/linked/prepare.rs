//! The rows of a table with pseudonyms instead of units, and with their blocks.

use std::sync::Arc;

use datafusion::arrow::array::{Array, ArrayRef, AsArray, StringArray, UInt64Array};
use datafusion::arrow::datatypes::{DataType, Schema, UInt64Type};
use datafusion::common::{Result, exec_err};
use datafusion::dataframe::DataFrame;
use datafusion::functions_window::expr_fn::row_number;
use datafusion::logical_expr::{Expr, ExprFunctionExt, ident, lit};
use datafusion::prelude::SessionContext;
use throng_core::columns::{BLOCK_COLUMN, Nulls};
use throng_policy::{Policy, Role, UNIT_COLUMN};

use super::pseudonym::{self, PseudonymKey};
use super::row_function::RowFunction;
use super::{LinkedRows, LinkedTable, UnitId};
use crate::error::{JobError, Kind};

/// Pseudonym of the unit of a row.
pub(super) const KEY: &str = "__throng_key";
/// Whether a row is suppressed because a quasi-identifier is null.
pub(super) const OUT: &str = "__throng_out";
/// Number of a row among the rows of its person that are not suppressed; if it has no person, among all such rows.
pub(super) const SLOT: &str = "__throng_slot";

impl LinkedTable<'_> {
    /// Returns the column that identifies a person.
    pub(super) fn unit(&self) -> std::result::Result<&str, JobError> {
        self.policy.pseudonym_column().ok_or_else(|| JobError::internal("a table is linked without a pseudonym"))
    }

    /// Checks names and types before a row is read.
    pub(super) fn check(&self) -> std::result::Result<(), JobError> {
        let schema = self.input.schema();
        let reserved = [KEY, OUT, SLOT, BLOCK_COLUMN, UNIT_COLUMN];
        if let Some(name) = reserved.into_iter().find(|name| schema.index_of(name).is_ok()) {
            let text = format!("the input has a column `{name}`, a name that is needed here; rename the column");
            return Err(JobError::new(Kind::BadData, text));
        }
        match schema.field_with_name(self.unit()?) {
            Ok(field) => pseudonym::check_type(field.name(), field.data_type()),
            // Reported by name when the policy is bound.
            Err(_) => self.policy.without_pseudonym().bind(schema).map(drop).map_err(JobError::from),
        }
    }

    /// Whether a column is read at all.
    fn is_read(&self, name: &str) -> bool {
        let role = self.policy.columns.by_name.iter().find(|(known, _)| known == name);
        role.is_some_and(|(_, role)| !matches!(role, Role::Identifier))
    }

    /// Returns the rows with [`KEY`] and [`OUT`].
    pub(super) fn keyed(
        &self,
        session: &SessionContext,
        key: &PseudonymKey,
    ) -> std::result::Result<DataFrame, JobError> {
        let names: Vec<&str> = self.input.schema().fields().iter().map(|field| field.name().as_str()).collect();
        let names: Vec<&str> = names.into_iter().filter(|name| self.is_read(name)).collect();
        self.input.read_plan(Some(&names)).apply(session)?;
        let rows = self.input.rows(session)?;
        let key = key.clone();
        let pseudonym = RowFunction::call(KEY, DataType::Utf8, vec![ident(self.unit()?)], move |columns| {
            key.of(first_column(columns)?)
        });
        let rows = rows.with_column(KEY, pseudonym).and_then(|rows| rows.with_column(OUT, is_out(self.policy)));
        rows.map_err(|error| JobError::reading("the input", &error))
    }

    /// Returns the rows with [`KEY`], [`OUT`] and [`SLOT`].
    pub(super) fn numbered(
        &self,
        session: &SessionContext,
        key: &PseudonymKey,
    ) -> std::result::Result<DataFrame, JobError> {
        let order = order(self.policy, self.input.schema());
        let slot = row_number().partition_by(vec![ident(KEY), ident(OUT)]).order_by(order).build();
        let rows = self.keyed(session, key)?;
        let rows = slot.and_then(|slot| rows.with_column(SLOT, slot));
        rows.map_err(|error| JobError::reading("the input", &error))
    }

    /// Selects the columns of the input, with `unit` replacing the unit column, and the blocks.
    pub(super) fn selected(
        &self,
        rows: DataFrame,
        unit: Expr,
        block: Expr,
    ) -> std::result::Result<DataFrame, JobError> {
        let name = self.unit()?;
        let of_input = self.input.schema().fields().iter().map(|field| match field.name() == name {
            true => unit.clone().alias(name),
            false => ident(field.name()),
        });
        let columns: Vec<Expr> = of_input.chain([block.alias(BLOCK_COLUMN)]).collect();
        rows.select(columns).map_err(|error| JobError::reading("the input", &error))
    }
}

impl LinkedRows {
    /// Whether anyone in a group has rows in the table with this number.
    pub(crate) fn has_rows(&self, number: usize) -> bool {
        self.units.values().any(|unit| unit.rows[number] > 0)
    }

    /// Returns the rows of the table with this number, the first of which forms the groups. A row without a block is to be
    /// suppressed.
    pub(crate) fn rows_of(
        &self,
        number: usize,
        table: &LinkedTable<'_>,
        session: &SessionContext,
    ) -> std::result::Result<DataFrame, JobError> {
        let units = Arc::clone(&self.units);
        let arguments = vec![ident(KEY), ident(SLOT), ident(OUT)];
        let block = RowFunction::call(BLOCK_COLUMN, DataType::UInt64, arguments, move |columns| {
            let block = |(unit, slot): (Option<UnitId>, u64), is_null: bool| {
                let unit = units.get(&unit?)?;
                // A row without a person has the row number as its unit, and is the only row of that unit.
                let slot = if is_null { 1 } else { slot };
                let is_kept = (number == 0 || !is_null) && slot <= u64::from(unit.rows[number]);
                is_kept.then(|| u64::from(unit.group) << 32 | slot)
            };
            let blocks = units_of(columns, true)?.into_iter().map(|(id, slot, is_null)| block((id, slot), is_null));
            Ok(Arc::new(blocks.collect::<UInt64Array>()) as ArrayRef)
        });
        table.selected(table.numbered(session, &self.key)?, ident(KEY), block)
    }
}

/// Returns the unit, the slot and whether there is no key, of rows with [`KEY`], [`SLOT`] and, if `has_out`, [`OUT`]. A
/// suppressed row has no unit.
pub(super) fn units_of(columns: &[ArrayRef], has_out: bool) -> Result<Vec<(Option<UnitId>, u64, bool)>> {
    let (Some(keys), Some(slots)) = (
        columns.first().and_then(|keys| keys.as_string_opt::<i32>()),
        columns.get(1).and_then(|slots| slots.as_primitive_opt::<UInt64Type>()),
    ) else {
        return exec_err!("keys are text, and slots are numbers");
    };
    let out = match has_out {
        true => columns.get(2).and_then(|out| out.as_boolean_opt()),
        false => None,
    };
    let is_out = |row: usize| out.is_some_and(|out| out.is_valid(row) && out.value(row));
    let unit = |row: usize| {
        let (slot, is_null) = (slots.value(row), keys.is_null(row));
        let id = if is_null { Some(UnitId::from(slot)) } else { pseudonym::unit_id(keys.value(row)) };
        (id.filter(|_| !is_out(row)), slot, is_null)
    };
    Ok((0..keys.len()).map(unit).collect())
}

/// Returns the text of the unit of each row with [`KEY`] and [`SLOT`].
pub(super) fn unit_text() -> Expr {
    RowFunction::call("__throng_unit_text", DataType::Utf8, vec![ident(KEY), ident(SLOT)], |columns| {
        let units = units_of(columns, false)?.into_iter();
        Ok(Arc::new(units.map(|(id, _, _)| Some(format!("{:032x}", id?))).collect::<StringArray>()) as ArrayRef)
    })
}

fn first_column(columns: &[ArrayRef]) -> Result<&ArrayRef> {
    match columns.first() {
        Some(column) => Ok(column),
        None => exec_err!("a pseudonym needs a value"),
    }
}

/// Whether a quasi-identifier is null that must not be.
fn is_out(policy: &Policy) -> Expr {
    let suppressing = policy.columns.by_name.iter().filter_map(|(name, role)| match role {
        Role::Quasi(quasi) if quasi.nulls == Nulls::Suppress => Some(ident(name).is_null()),
        _ => None,
    });
    suppressing.reduce(Expr::or).unwrap_or(lit(false))
}

/// Orders the rows of a person by their quasi-identifiers, and then by the other released columns; the order of equal rows is
/// arbitrary.
fn order(policy: &Policy, schema: &Schema) -> Vec<datafusion::logical_expr::SortExpr> {
    let rank = |role: &Role| match role {
        Role::Quasi(_) => Some(0),
        Role::Sensitive(_) => Some(1),
        Role::Insensitive => Some(2),
        Role::Identifier | Role::Pseudonym => None,
    };
    let has_order = |name: &str| schema.field_with_name(name).is_ok_and(|field| !field.data_type().is_nested());
    let mut names: Vec<(i32, &str)> =
        policy.columns.by_name.iter().filter_map(|(name, role)| Some((rank(role)?, name.as_str()))).collect();
    names.retain(|(_, name)| has_order(name));
    names.sort_by_key(|(rank, _)| *rank);
    names.into_iter().map(|(_, name)| ident(name).sort(true, true)).collect()
}

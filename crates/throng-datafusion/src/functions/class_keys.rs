//! Shared by the aggregates over classes: class keys, and lists of them as mergeable state.

use std::sync::Arc;

use datafusion::arrow::array::{Array, ArrayRef, AsArray, LargeBinaryArray};
use datafusion::arrow::compute::cast;
use datafusion::arrow::datatypes::{DataType, Field, FieldRef, Float64Type};
use datafusion::arrow::row::{RowConverter, Rows, SortField};
use datafusion::common::utils::SingleRowListArrayBuilder;
use datafusion::common::{Result, ScalarValue, internal_datafusion_err, plan_err};
use datafusion::logical_expr::function::AccumulatorArgs;

/// Encodes the values of one or more columns as bytes that are equal exactly when the values are.
#[derive(Debug)]
pub(super) struct ClassKeys {
    rows: RowConverter,
    types: Vec<DataType>,
}

impl ClassKeys {
    /// Creates an encoder for columns of these types.
    pub(super) fn new<'a>(fields: impl IntoIterator<Item = &'a FieldRef>) -> Result<Self> {
        let types: Vec<DataType> = fields.into_iter().map(|field| compared_type(field.data_type())).collect();
        let rows = RowConverter::new(types.iter().cloned().map(SortField::new).collect())?;
        Ok(Self { rows, types })
    }

    /// Returns the key of each row. Null counts as a separate value.
    pub(super) fn of(&self, columns: &[ArrayRef]) -> Result<Rows> {
        let compared = columns.iter().zip(&self.types).map(|(column, compared)| as_compared(column, compared));
        Ok(self.rows.convert_columns(&compared.collect::<Result<Vec<_>>>()?)?)
    }
}

/// Returns the type in which values are compared: dictionaries are decoded, and floats are widened to `Float64`.
fn compared_type(data_type: &DataType) -> DataType {
    match data_type {
        DataType::Dictionary(_, value) => compared_type(value),
        DataType::Float16 | DataType::Float32 | DataType::Float64 => DataType::Float64,
        other => other.clone(),
    }
}

/// Normalizes floats: `-0.0` equals `0.0`, and all NaNs are equal, since readers can't distinguish them.
fn as_compared(column: &ArrayRef, compared: &DataType) -> Result<ArrayRef> {
    let column = match column.data_type() == compared {
        true => Arc::clone(column),
        false => cast(column, compared)?,
    };
    let one = |value: f64| if value.is_nan() { f64::NAN } else { value + 0.0 };
    Ok(match compared {
        DataType::Float64 => Arc::new(column.as_primitive::<Float64Type>().unary::<_, Float64Type>(one)),
        _ => column,
    })
}

/// Rejects too few arguments, and types whose values can't be compared. Called when a query is planned.
pub(super) fn check_arguments(function: &str, usage: &str, least: usize, types: &[DataType]) -> Result<()> {
    if types.len() < least {
        return plan_err!("{function} takes at least {least} arguments and got {}; write {usage}", types.len());
    }
    let can_compare = |data_type: &DataType| RowConverter::supports_fields(&[SortField::new(compared_type(data_type))]);
    match types.iter().enumerate().find(|(_, data_type)| !can_compare(data_type)) {
        Some((index, data_type)) => {
            plan_err!("argument {} of {function} is {data_type}, whose values can't be compared", index + 1)
        }
        None => Ok(()),
    }
}

/// Rejects `DISTINCT`, which would count duplicate rows of a class once.
pub(super) fn check_modifiers(function: &str, args: &AccumulatorArgs<'_>) -> Result<()> {
    if args.is_distinct {
        return plan_err!("{function} counts the rows of classes, and DISTINCT would hide some; leave DISTINCT out");
    }
    Ok(())
}

/// Returns a state field that holds a list of `item`.
pub(super) fn list_field(aggregate: &str, part: &str, item: DataType) -> FieldRef {
    let list = DataType::List(Arc::new(Field::new_list_field(item, true)));
    Arc::new(Field::new(format!("{aggregate}[{part}]"), list, true))
}

/// Wraps an array into a list scalar.
pub(super) fn list(items: ArrayRef) -> ScalarValue {
    SingleRowListArrayBuilder::new(items).build_list_scalar()
}

/// Returns the lists of several states, skipping null states.
pub(super) fn lists(states: &[ArrayRef], part: usize) -> Result<impl Iterator<Item = ArrayRef>> {
    let missing = || internal_datafusion_err!("a state of an aggregate has lost its lists");
    let lists = states.get(part).and_then(|state| state.as_list_opt::<i32>()).ok_or_else(missing)?;
    Ok(lists.iter().flatten())
}

/// Downcasts the keys of a state.
pub(super) fn keys_of(state: &ArrayRef) -> Result<&LargeBinaryArray> {
    state.as_binary_opt::<i64>().ok_or_else(|| internal_datafusion_err!("a state of an aggregate has lost its keys"))
}

/// Converts a count to SQL's `BIGINT`.
pub(super) fn count(number: Option<u64>) -> ScalarValue {
    ScalarValue::Int64(number.map(|number| i64::try_from(number).unwrap_or(i64::MAX)))
}

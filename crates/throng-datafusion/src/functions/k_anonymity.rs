//! `k_anonymity(q1, q2, ...)`: the size of the smallest class, as an aggregate.

use std::sync::Arc;

use datafusion::arrow::array::{ArrayRef, AsArray, LargeBinaryArray, UInt64Array};
use datafusion::arrow::datatypes::{DataType, FieldRef, UInt64Type};
use datafusion::common::{HashMap, Result, ScalarValue};
use datafusion::logical_expr::function::{AccumulatorArgs, StateFieldsArgs};
use datafusion::logical_expr::utils::AggregateOrderSensitivity;
use datafusion::logical_expr::{Accumulator, AggregateUDFImpl, Signature, Volatility};

use super::class_keys::{ClassKeys, check_arguments, check_modifiers, count, keys_of, list, list_field, lists};

/// The aggregate `k_anonymity(q1, q2, ...)`.
///
/// Rows with equal values in the given columns form a class. Returns the size of the smallest class, and null if there
/// are no rows. A table is k-anonymous for every k up to the result. Null counts as a separate value.
#[derive(Debug, PartialEq, Eq, Hash)]
pub struct KAnonymityFunction {
    signature: Signature,
}

impl KAnonymityFunction {
    /// Name of the function in SQL.
    pub const NAME: &str = "k_anonymity";
}

impl Default for KAnonymityFunction {
    fn default() -> Self {
        Self { signature: Signature::variadic_any(Volatility::Immutable) }
    }
}

impl AggregateUDFImpl for KAnonymityFunction {
    fn name(&self) -> &str {
        Self::NAME
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, types: &[DataType]) -> Result<DataType> {
        check_arguments(Self::NAME, "k_anonymity(q1, q2, ...) with the quasi-identifiers", 1, types)?;
        Ok(DataType::Int64)
    }

    fn state_fields(&self, args: StateFieldsArgs) -> Result<Vec<FieldRef>> {
        let classes = list_field(args.name, "classes", DataType::LargeBinary);
        Ok(vec![classes, list_field(args.name, "rows", DataType::UInt64)])
    }

    fn accumulator(&self, args: AccumulatorArgs) -> Result<Box<dyn Accumulator>> {
        check_modifiers(Self::NAME, &args)?;
        Ok(Box::new(ClassRowCounts { keys: ClassKeys::new(args.expr_fields)?, rows: HashMap::new(), key_bytes: 0 }))
    }

    fn order_sensitivity(&self) -> AggregateOrderSensitivity {
        AggregateOrderSensitivity::Insensitive
    }
}

/// Number of rows per class.
#[derive(Debug)]
struct ClassRowCounts {
    keys: ClassKeys,
    rows: HashMap<Box<[u8]>, u64>,
    key_bytes: usize,
}

impl ClassRowCounts {
    fn add(&mut self, class: &[u8], rows: u64) {
        match self.rows.get_mut(class) {
            Some(known) => *known += rows,
            None => {
                self.key_bytes += class.len();
                self.rows.insert(class.into(), rows);
            }
        }
    }
}

impl Accumulator for ClassRowCounts {
    fn update_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        for class in &self.keys.of(values)? {
            self.add(class.data(), 1);
        }
        Ok(())
    }

    fn evaluate(&mut self) -> Result<ScalarValue> {
        Ok(count(self.rows.values().min().copied()))
    }

    fn size(&self) -> usize {
        size_of_val(self) + self.key_bytes + self.rows.capacity() * size_of::<(Box<[u8]>, u64)>()
    }

    fn state(&mut self) -> Result<Vec<ScalarValue>> {
        let classes = LargeBinaryArray::from_iter_values(self.rows.keys());
        let rows = UInt64Array::from_iter_values(self.rows.values().copied());
        Ok(vec![list(Arc::new(classes)), list(Arc::new(rows))])
    }

    fn merge_batch(&mut self, states: &[ArrayRef]) -> Result<()> {
        for (classes, rows) in lists(states, 0)?.zip(lists(states, 1)?) {
            let rows = rows.as_primitive::<UInt64Type>();
            for (class, rows) in keys_of(&classes)?.iter().flatten().zip(rows.values()) {
                self.add(class, *rows);
            }
        }
        Ok(())
    }
}

//! `p_sensitivity(s, q1, q2, ...)`: the smallest number of distinct sensitive values in a class, as an aggregate.

use std::sync::Arc;

use datafusion::arrow::array::{Array, ArrayRef, LargeBinaryArray};
use datafusion::arrow::datatypes::{DataType, FieldRef};
use datafusion::common::{HashMap, HashSet, Result, ScalarValue, internal_err};
use datafusion::logical_expr::function::{AccumulatorArgs, StateFieldsArgs};
use datafusion::logical_expr::utils::AggregateOrderSensitivity;
use datafusion::logical_expr::{Accumulator, AggregateUDFImpl, Signature, Volatility};

use super::class_keys::{ClassKeys, check_arguments, check_modifiers, count, keys_of, list, list_field, lists};

/// The aggregate `p_sensitivity(s, q1, q2, ...)`.
///
/// Rows with equal values in all columns but the first form a class. Returns the smallest number of distinct values of
/// the first column in a class, and null if there are no rows. Null in the sensitive column does not count.
#[derive(Debug, PartialEq, Eq, Hash)]
pub struct PSensitivityFunction {
    signature: Signature,
}

impl PSensitivityFunction {
    /// Name of the function in SQL.
    pub const NAME: &str = "p_sensitivity";
}

impl Default for PSensitivityFunction {
    fn default() -> Self {
        Self { signature: Signature::variadic_any(Volatility::Immutable) }
    }
}

impl AggregateUDFImpl for PSensitivityFunction {
    fn name(&self) -> &str {
        Self::NAME
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, types: &[DataType]) -> Result<DataType> {
        let usage = "p_sensitivity(s, q1, q2, ...) with the sensitive column first, then the quasi-identifiers";
        check_arguments(Self::NAME, usage, 2, types)?;
        Ok(DataType::Int64)
    }

    fn state_fields(&self, args: StateFieldsArgs) -> Result<Vec<FieldRef>> {
        let classes = list_field(args.name, "classes", DataType::LargeBinary);
        Ok(vec![classes, list_field(args.name, "values", DataType::LargeBinary)])
    }

    fn accumulator(&self, args: AccumulatorArgs) -> Result<Box<dyn Accumulator>> {
        check_modifiers(Self::NAME, &args)?;
        let (sensitive, quasi) = (args.expr_fields.iter().take(1), args.expr_fields.iter().skip(1));
        let (values, classes) = (ClassKeys::new(sensitive)?, ClassKeys::new(quasi)?);
        Ok(Box::new(ClassValues { values, classes, seen: HashMap::new(), bytes: 0 }))
    }

    fn order_sensitivity(&self) -> AggregateOrderSensitivity {
        AggregateOrderSensitivity::Insensitive
    }
}

/// Distinct sensitive values per class. Stored in full, since a hash collision would give a wrong result.
#[derive(Debug)]
struct ClassValues {
    values: ClassKeys,
    classes: ClassKeys,
    seen: HashMap<Box<[u8]>, HashSet<Box<[u8]>>>,
    bytes: usize,
}

impl ClassValues {
    fn add(&mut self, class: &[u8], value: Option<&[u8]>) {
        let (values, class_bytes) = match self.seen.get_mut(class) {
            Some(values) => (values, 0),
            None => (self.seen.entry(class.into()).or_default(), class.len() + size_of::<HashSet<Box<[u8]>>>()),
        };
        self.bytes += class_bytes;
        if let Some(value) = value.filter(|value| !values.contains(*value)) {
            self.bytes += value.len() + size_of::<Box<[u8]>>();
            values.insert(value.into());
        }
    }
}

impl Accumulator for ClassValues {
    fn update_batch(&mut self, columns: &[ArrayRef]) -> Result<()> {
        let Some((sensitive, quasi)) = columns.split_first() else {
            return internal_err!("p_sensitivity was given no columns");
        };
        let (values, classes) = (self.values.of(std::slice::from_ref(sensitive))?, self.classes.of(quasi)?);
        let nulls = sensitive.logical_nulls();
        for (row, (class, value)) in classes.iter().zip(&values).enumerate() {
            let is_null = nulls.as_ref().is_some_and(|nulls| nulls.is_null(row));
            self.add(class.data(), (!is_null).then_some(value.data()));
        }
        Ok(())
    }

    fn evaluate(&mut self) -> Result<ScalarValue> {
        Ok(count(self.seen.values().map(|values| values.len() as u64).min()))
    }

    fn size(&self) -> usize {
        size_of_val(self) + self.bytes
    }

    /// Returns pairs of class and value; a class without values has one pair with null.
    fn state(&mut self) -> Result<Vec<ScalarValue>> {
        let pairs = || {
            self.seen.iter().flat_map(|(class, values)| {
                let none = values.is_empty().then_some((class, None));
                none.into_iter().chain(values.iter().map(move |value| (class, Some(value))))
            })
        };
        let classes: LargeBinaryArray = pairs().map(|(class, _)| Some(class)).collect();
        let values: LargeBinaryArray = pairs().map(|(_, value)| value).collect();
        Ok(vec![list(Arc::new(classes)), list(Arc::new(values))])
    }

    fn merge_batch(&mut self, states: &[ArrayRef]) -> Result<()> {
        for (classes, values) in lists(states, 0)?.zip(lists(states, 1)?) {
            for (class, value) in keys_of(&classes)?.iter().zip(keys_of(&values)?) {
                self.add(class.unwrap_or_default(), value);
            }
        }
        Ok(())
    }
}

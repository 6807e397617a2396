//! Aggregates over the frequencies of a sensitive column in every class: the measures that the models of skewness limit.
//! [`register_all`](crate::register_all) describes each of them.

use std::sync::Arc;

use datafusion::arrow::array::{Array, ArrayRef, AsArray, LargeBinaryArray, UInt64Array};
use datafusion::arrow::datatypes::{DataType, FieldRef, UInt64Type};
use datafusion::common::{HashMap, Result, ScalarValue, internal_err, plan_err};
use datafusion::logical_expr::function::{AccumulatorArgs, StateFieldsArgs};
use datafusion::logical_expr::utils::AggregateOrderSensitivity;
use datafusion::logical_expr::{Accumulator, AggregateUDFImpl, Signature, Volatility};
use datafusion::physical_expr::expressions::Literal;

use super::class_keys::{ClassKeys, check_arguments, check_modifiers, keys_of, list, list_field, lists};
use super::frequency_measures::{ClassMeasure, FUNCTIONS, RowsByValue, worst};

/// An aggregate over the frequencies of a sensitive column.
///
/// Rows with equal values in all columns after the sensitive one form a class. Returns the measure of the worst class,
/// and null if there are no rows. Null in the sensitive column does not count.
#[derive(Debug, PartialEq, Eq, Hash)]
pub struct FrequencyFunction {
    signature: Signature,
    name: &'static str,
    measure: ClassMeasure,
}

impl FrequencyFunction {
    /// Returns all aggregates of this kind.
    pub fn all() -> impl Iterator<Item = Self> {
        let signature = Signature::variadic_any(Volatility::Immutable);
        FUNCTIONS.into_iter().map(move |(name, measure)| Self { signature: signature.clone(), name, measure })
    }

    /// Returns the number of arguments before the sensitive column.
    fn parameters(&self) -> usize {
        usize::from(matches!(self.measure, ClassMeasure::RatioToTail { .. }))
    }

    /// Returns the measure of a query.
    fn measure_of(&self, args: &AccumulatorArgs<'_>) -> Result<ClassMeasure> {
        let name = self.name;
        if self.parameters() == 0 {
            return Ok(self.measure);
        }
        let literal = args.exprs.first().and_then(|first| first.downcast_ref::<Literal>());
        let number = literal.map(|literal| literal.value().cast_to(&DataType::UInt64));
        match number {
            Some(Ok(ScalarValue::UInt64(Some(0)))) => {
                plan_err!("the first argument of {name} is 0; the l of the model is at least 1")
            }
            Some(Ok(ScalarValue::UInt64(Some(l)))) => {
                Ok(ClassMeasure::RatioToTail { l: usize::try_from(l).unwrap_or(usize::MAX) })
            }
            _ => plan_err!("the first argument of {name} must be a whole number, the l of the model"),
        }
    }
}

impl AggregateUDFImpl for FrequencyFunction {
    fn name(&self) -> &str {
        self.name
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, types: &[DataType]) -> Result<DataType> {
        let usage = match self.parameters() {
            0 => format!("{}(s, q1, q2, ...) with the sensitive column first, then the quasi-identifiers", self.name),
            _ => format!("{}(l, s, q1, q2, ...) with the l, the sensitive column and the quasi-identifiers", self.name),
        };
        check_arguments(self.name, &usage, self.parameters() + 2, types)?;
        Ok(DataType::Float64)
    }

    fn state_fields(&self, args: StateFieldsArgs) -> Result<Vec<FieldRef>> {
        let keys = |part| list_field(args.name, part, DataType::LargeBinary);
        Ok(vec![keys("classes"), keys("values"), list_field(args.name, "rows", DataType::UInt64)])
    }

    fn accumulator(&self, args: AccumulatorArgs) -> Result<Box<dyn Accumulator>> {
        check_modifiers(self.name, &args)?;
        let measure = self.measure_of(&args)?;
        let parameters = self.parameters();
        let fields = || args.expr_fields.iter().skip(parameters);
        let (values, classes) = (ClassKeys::new(fields().take(1))?, ClassKeys::new(fields().skip(1))?);
        Ok(Box::new(ClassFrequencies { measure, parameters, values, classes, seen: HashMap::new(), bytes: 0 }))
    }

    fn order_sensitivity(&self) -> AggregateOrderSensitivity {
        AggregateOrderSensitivity::Insensitive
    }
}

/// Rows by class and sensitive value. Values are stored in full, since a hash collision would give a wrong result.
#[derive(Debug)]
struct ClassFrequencies {
    measure: ClassMeasure,
    /// Number of arguments before the sensitive column.
    parameters: usize,
    values: ClassKeys,
    classes: ClassKeys,
    /// The bytes of values are ordered as the values are.
    seen: HashMap<Box<[u8]>, RowsByValue>,
    bytes: usize,
}

impl ClassFrequencies {
    fn add(&mut self, class: &[u8], value: Option<&[u8]>, rows: u64) {
        let (values, class_bytes) = match self.seen.get_mut(class) {
            Some(values) => (values, 0),
            None => (self.seen.entry(class.into()).or_default(), class.len() + size_of::<RowsByValue>()),
        };
        self.bytes += class_bytes;
        let Some(value) = value else { return };
        match values.get_mut(value) {
            Some(known) => *known += rows,
            None => {
                self.bytes += value.len() + size_of::<(Box<[u8]>, u64)>();
                values.insert(value.into(), rows);
            }
        }
    }
}

impl Accumulator for ClassFrequencies {
    fn update_batch(&mut self, columns: &[ArrayRef]) -> Result<()> {
        let Some((sensitive, quasi)) = columns.get(self.parameters..).and_then(<[ArrayRef]>::split_first) else {
            return internal_err!("an aggregate over frequencies was given no columns");
        };
        let (values, classes) = (self.values.of(std::slice::from_ref(sensitive))?, self.classes.of(quasi)?);
        let nulls = sensitive.logical_nulls();
        for (row, (class, value)) in classes.iter().zip(&values).enumerate() {
            let is_null = nulls.as_ref().is_some_and(|nulls| nulls.is_null(row));
            self.add(class.data(), (!is_null).then_some(value.data()), 1);
        }
        Ok(())
    }

    fn evaluate(&mut self) -> Result<ScalarValue> {
        Ok(ScalarValue::Float64(worst(self.measure, self.seen.values())))
    }

    fn size(&self) -> usize {
        size_of_val(self) + self.bytes
    }

    /// Returns triples of class, value and rows; a class without values has one with null.
    fn state(&mut self) -> Result<Vec<ScalarValue>> {
        let triples = || {
            self.seen.iter().flat_map(|(class, values)| {
                let none = values.is_empty().then_some((class, None, 0));
                none.into_iter().chain(values.iter().map(move |(value, rows)| (class, Some(value), *rows)))
            })
        };
        let classes: LargeBinaryArray = triples().map(|(class, ..)| Some(class)).collect();
        let values: LargeBinaryArray = triples().map(|(_, value, _)| value).collect();
        let rows = UInt64Array::from_iter_values(triples().map(|(.., rows)| rows));
        Ok(vec![list(Arc::new(classes)), list(Arc::new(values)), list(Arc::new(rows))])
    }

    fn merge_batch(&mut self, states: &[ArrayRef]) -> Result<()> {
        for ((classes, values), rows) in lists(states, 0)?.zip(lists(states, 1)?).zip(lists(states, 2)?) {
            let rows = rows.as_primitive::<UInt64Type>();
            for ((class, value), rows) in keys_of(&classes)?.iter().zip(keys_of(&values)?).zip(rows.values()) {
                self.add(class.unwrap_or_default(), value, *rows);
            }
        }
        Ok(())
    }
}

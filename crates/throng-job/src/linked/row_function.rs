//! A function of rows in a plan of this process.

use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use datafusion::arrow::array::ArrayRef;
use datafusion::arrow::datatypes::DataType;
use datafusion::common::Result;
use datafusion::logical_expr::{
    ColumnarValue, Expr, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility,
};

/// Computes a column from others.
type Body = Arc<dyn Fn(&[ArrayRef]) -> Result<ArrayRef> + Send + Sync>;

/// A function that closes over state of the job, so that it can't leave the process.
pub(super) struct RowFunction {
    name: &'static str,
    signature: Signature,
    returns: DataType,
    body: Body,
}

impl RowFunction {
    /// Returns a call of a function of `arguments`.
    pub(super) fn call(
        name: &'static str,
        returns: DataType,
        arguments: Vec<Expr>,
        body: impl Fn(&[ArrayRef]) -> Result<ArrayRef> + Send + Sync + 'static,
    ) -> Expr {
        let signature = Signature::any(arguments.len(), Volatility::Stable);
        ScalarUDF::from(Self { name, signature, returns, body: Arc::new(body) }).call(arguments)
    }
}

impl fmt::Debug for RowFunction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RowFunction").field("name", &self.name).finish_non_exhaustive()
    }
}

impl PartialEq for RowFunction {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name && Arc::ptr_eq(&self.body, &other.body)
    }
}

impl Eq for RowFunction {}

impl Hash for RowFunction {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.name.hash(state);
    }
}

impl ScalarUDFImpl for RowFunction {
    fn name(&self) -> &str {
        self.name
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _types: &[DataType]) -> Result<DataType> {
        Ok(self.returns.clone())
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        Ok(ColumnarValue::Array((self.body)(&ColumnarValue::values_to_arrays(&args.args)?)?))
    }
}

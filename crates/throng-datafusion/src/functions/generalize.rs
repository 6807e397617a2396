//! `generalize(value, 'hierarchy', level)`: generalizes a value to a level of a hierarchy.

use std::collections::{HashMap, HashSet};
use std::hash::{Hash, Hasher};
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::SystemTime;

use datafusion::arrow::array::{Array, ArrayRef, AsArray, StringArray, new_empty_array};
use datafusion::arrow::compute::cast;
use datafusion::arrow::datatypes::{DataType, Field, FieldRef};
use datafusion::arrow::util::display::{ArrayFormatter, FormatOptions};
use datafusion::common::{Result, ScalarValue, exec_err, plan_datafusion_err, plan_err};
use datafusion::logical_expr::{
    ColumnarValue, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDFImpl, Signature, Volatility,
};
use throng_core::hierarchy::Tree;
use throng_policy::{parse_hierarchy, read_hierarchy};

/// The scalar function `generalize(value, 'hierarchy', level)`.
///
/// The hierarchy is the path of an ARX file, or its lines: from the value to the root, separated by semicolons. Level 0
/// is the value itself, and the highest level is the root. Numbers and other scalar values are looked up by their text.
/// Null stays null. A value that is missing from the hierarchy fails the query, since returning it would disclose it.
#[derive(Debug)]
pub struct GeneralizeFunction {
    signature: Signature,
    known: Mutex<HashMap<String, CachedHierarchy>>,
}

/// A cached hierarchy, and the state of its file when it was read.
#[derive(Clone, Debug)]
struct CachedHierarchy {
    tree: Arc<Tree>,
    stamp: FileStamp,
}

/// Modification time and size of a file; `None` for inline lines.
type FileStamp = Option<(Option<SystemTime>, u64)>;

/// Maximum number of cached hierarchies.
const MAX_KNOWN: usize = 64;

impl GeneralizeFunction {
    /// Name of the function in SQL.
    pub const NAME: &str = "generalize";

    /// Returns the hierarchy of a literal. Called once per batch; a file is read again only if it has changed.
    fn tree(&self, hierarchy: &str) -> Result<Arc<Tree>> {
        let is_inline = hierarchy.contains([';', '\n']);
        let stamp = match is_inline {
            true => None,
            false => std::fs::metadata(hierarchy).ok().map(|file| (file.modified().ok(), file.len())),
        };
        let known = self.known.lock().unwrap_or_else(PoisonError::into_inner).get(hierarchy).cloned();
        if let Some(CachedHierarchy { tree, .. }) = known.filter(|known| known.stamp == stamp) {
            return Ok(tree);
        }
        let tree = match is_inline {
            true => {
                parse_hierarchy(hierarchy).map_err(|error| plan_datafusion_err!("the lines of generalize: {error}"))
            }
            false => read_hierarchy(Path::new(hierarchy))
                .map_err(|error| plan_datafusion_err!("hierarchy `{hierarchy}` of generalize: {error}")),
        };
        let tree = Arc::new(tree?);
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if known.len() >= MAX_KNOWN {
            known.clear();
        }
        known.insert(hierarchy.to_owned(), CachedHierarchy { tree: Arc::clone(&tree), stamp });
        Ok(tree)
    }

    /// Returns the hierarchy and level of a call. Both must be literals, so that errors are found at planning.
    fn literals(&self, hierarchy: Option<&ScalarValue>, level: Option<&ScalarValue>) -> Result<(Arc<Tree>, u32)> {
        let Some(Some(hierarchy)) = hierarchy.and_then(ScalarValue::try_as_str) else {
            return plan_err!(
                "the second argument of generalize is the hierarchy, as text in single quotes: the path of a file, or its \
                 lines"
            );
        };
        let integer = level.filter(|level| level.data_type().is_integer()).map(|level| level.cast_to(&DataType::Int64));
        let Some(ScalarValue::Int64(Some(level))) = integer.transpose()? else {
            return plan_err!(
                "the third argument of generalize is the level, as a whole number: 0 is the value itself"
            );
        };
        let tree = self.tree(hierarchy)?;
        let highest = tree.height(tree.root());
        match u32::try_from(level) {
            Ok(level) if level <= highest => Ok((tree, level)),
            _ => plan_err!("level {level} of generalize is not in the hierarchy, which has levels 0 to {highest}"),
        }
    }
}

impl Default for GeneralizeFunction {
    fn default() -> Self {
        Self { signature: Signature::any(3, Volatility::Stable), known: Mutex::default() }
    }
}

/// All instances are equal; the cache does not matter.
impl PartialEq for GeneralizeFunction {
    fn eq(&self, _other: &Self) -> bool {
        true
    }
}

impl Eq for GeneralizeFunction {}

impl Hash for GeneralizeFunction {
    fn hash<H: Hasher>(&self, state: &mut H) {
        Self::NAME.hash(state);
    }
}

impl ScalarUDFImpl for GeneralizeFunction {
    fn name(&self) -> &str {
        Self::NAME
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _types: &[DataType]) -> Result<DataType> {
        Ok(DataType::Utf8)
    }

    fn return_field_from_args(&self, args: ReturnFieldArgs) -> Result<FieldRef> {
        let literal = |index: usize| args.scalar_arguments.get(index).copied().flatten();
        self.literals(literal(1), literal(2))?;
        if let Some(value) = args.arg_fields.first().filter(|value| !has_text(value.data_type())) {
            return plan_err!(
                "the first argument of generalize is {}, which no hierarchy can hold; give it text or numbers",
                value.data_type()
            );
        }
        Ok(Arc::new(Field::new(Self::NAME, DataType::Utf8, true)))
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        // Another process or library may expand a literal to one value per row. Planning has checked that it is a literal.
        let literal = |index: usize| match args.args.get(index) {
            Some(ColumnarValue::Scalar(literal)) => Some(literal.clone()),
            Some(ColumnarValue::Array(literals)) => ScalarValue::try_from_array(literals, 0).ok(),
            None => None,
        };
        if args.number_rows == 0 {
            return Ok(ColumnarValue::Array(new_empty_array(args.return_field.data_type())));
        }
        let (tree, level) = self.literals(literal(1).as_ref(), literal(2).as_ref())?;
        match args.args.first() {
            Some(ColumnarValue::Array(values)) => Ok(ColumnarValue::Array(generalized(values, &tree, level)?)),
            Some(ColumnarValue::Scalar(value)) => {
                let values = generalized(&value.to_array()?, &tree, level)?;
                Ok(ColumnarValue::Scalar(ScalarValue::try_from_array(&values, 0)?))
            }
            None => plan_err!("generalize takes 3 arguments; write generalize(value, 'hierarchy', level)"),
        }
    }
}

/// Returns whether values of the type have a unique text.
fn has_text(data_type: &DataType) -> bool {
    match data_type {
        DataType::Dictionary(_, value) => has_text(value),
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View | DataType::Boolean | DataType::Null => true,
        other => other.is_numeric() || other.is_temporal(),
    }
}

fn generalized(values: &ArrayRef, tree: &Tree, level: u32) -> Result<ArrayRef> {
    let values = match values.data_type() {
        DataType::Dictionary(_, value) => &cast(values, value)?,
        _ => values,
    };
    let texts = texts(values)?;
    let leaves: Vec<Option<Option<u32>>> = texts.iter().map(|text| text.map(|text| tree.leaf(text))).collect();
    let missing: HashSet<&str> =
        texts.iter().zip(&leaves).filter_map(|(text, leaf)| text.filter(|_| *leaf == Some(None))).collect();
    if !missing.is_empty() {
        return exec_err!(
            "generalize met {} distinct values in {} rows that its hierarchy does not have; add a line for each of them, or \
             correct the values",
            missing.len(),
            texts.len()
        );
    }
    let label = |leaf: Option<Option<u32>>| leaf.flatten().map(|leaf| tree.label(tree.ancestor(leaf, level)));
    Ok(Arc::new(leaves.into_iter().map(label).collect::<StringArray>()))
}

/// Formats values as a release does.
fn texts(values: &ArrayRef) -> Result<StringArray> {
    if matches!(values.data_type(), DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View) {
        return Ok(cast(values, &DataType::Utf8)?.as_string::<i32>().clone());
    }
    let options = FormatOptions::default().with_display_error(false);
    let formatter = ArrayFormatter::try_new(values.as_ref(), &options)?;
    let nulls = values.logical_nulls();
    let text = |row: usize| match nulls.as_ref().is_some_and(|nulls| nulls.is_null(row)) {
        true => Ok(None),
        false => formatter.value(row).try_to_string().map(Some),
    };
    let texts = (0..values.len()).map(text).collect::<Result<Vec<_>, _>>();
    match texts {
        Ok(texts) => Ok(texts.into()),
        Err(_) => exec_err!("generalize met values that can't be written as text, such as dates beyond the calendar"),
    }
}

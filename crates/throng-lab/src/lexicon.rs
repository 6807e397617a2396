//! The values of each column and their codes, shared by all tables of one comparison.

use arrow::array::{Array, ArrayRef, AsArray, Float64Array, StringArray};
use arrow::compute::cast;
use arrow::datatypes::{DataType, Float64Type, Int32Type};
use arrow::error::ArrowError;
use rustc_hash::FxHashMap;

use crate::error::LabError;
use crate::extent::{Code, Extent, NULL, number_code};
use crate::label::{name_extent, ordered_extent};
use crate::spec::{LabSpec, QuasiScale};

/// Codes of the values of all columns, shared by the tables of one comparison.
#[derive(Debug)]
pub struct Lexicon {
    pub(crate) spec: LabSpec,
    pub(crate) quasi: Vec<CodeDomain>,
    pub(crate) sensitive: Vec<NameDomain>,
    /// Whether the values of an original are known.
    pub(crate) has_original: bool,
}

/// Codes of the values of one quasi-identifier.
#[derive(Debug)]
pub(crate) enum CodeDomain {
    /// The code of a number consists of its bits.
    Ordered(DataType),
    /// The code of a name is its index.
    Names(NameDomain),
}

/// Names with their codes, and the groups of a hierarchy.
#[derive(Debug, Default)]
pub(crate) struct NameDomain {
    names: Vec<String>,
    codes: FxHashMap<String, u32>,
    groups: FxHashMap<String, Vec<u32>>,
}

impl Lexicon {
    /// Creates a lexicon for tables with these columns.
    pub fn new(spec: LabSpec) -> Result<Self, LabError> {
        if spec.quasi.is_empty() {
            return Err(LabError::NoQuasi);
        }
        let domain = |scale: &QuasiScale| match scale {
            QuasiScale::Ordered(data_type) => CodeDomain::Ordered(plain_type(data_type).clone()),
            QuasiScale::Names(paths) => CodeDomain::Names(NameDomain::new(paths)),
        };
        let quasi = spec.quasi.iter().map(|column| domain(&column.scale)).collect();
        let sensitive = spec.sensitive.iter().map(|_| NameDomain::default()).collect();
        Ok(Self { spec, quasi, sensitive, has_original: false })
    }

    /// Returns the columns of the original that are needed.
    pub fn original_columns(&self) -> Vec<String> {
        let quasi = self.spec.quasi.iter().map(|column| column.name.clone());
        let sensitive = self.spec.sensitive.iter().map(|column| column.name.clone());
        quasi.chain(sensitive).chain(self.spec.insensitive.iter().cloned()).collect()
    }

    /// Returns the columns of the original that identify a person.
    pub fn unit_columns(&self) -> &[String] {
        &self.spec.unit
    }

    /// Adds the names of some quasi-identifiers of a batch.
    pub fn learn_names(&mut self, batch: &arrow::array::RecordBatch) -> Result<(), LabError> {
        for (domain, known) in self.quasi.iter_mut().zip(&self.spec.quasi) {
            let (CodeDomain::Names(names), Some(column)) = (domain, batch.column_by_name(&known.name)) else {
                continue;
            };
            let read = names.codes_of(column, None);
            read.map_err(|_| LabError::Type { table: crate::table::ORIGINAL, column: known.name.clone() })?;
        }
        Ok(())
    }

    /// Returns the approximate memory of the names in bytes.
    pub fn size(&self) -> usize {
        let names = self.quasi.iter().filter_map(|domain| match domain {
            CodeDomain::Names(names) => Some(names.names.iter().map(|name| 2 * (name.len() + 32)).sum::<usize>()),
            CodeDomain::Ordered(_) => None,
        });
        names.sum()
    }

    /// Returns the sensitive columns.
    pub fn sensitive_columns(&self) -> Vec<String> {
        self.spec.sensitive.iter().map(|column| column.name.clone()).collect()
    }

    /// Returns the columns of a release that are needed.
    pub fn released_columns(&self) -> Vec<String> {
        let quasi = self.spec.quasi.iter().flat_map(|column| column.released_names());
        let sensitive = self.spec.sensitive.iter().map(|column| column.name.clone());
        quasi.chain(sensitive).chain(self.spec.insensitive.iter().cloned()).collect()
    }
}

impl CodeDomain {
    /// Returns the codes of a column.
    pub(crate) fn codes(&mut self, column: &ArrayRef) -> Result<Vec<Code>, ArrowError> {
        match self {
            Self::Ordered(data_type) => {
                // Dates in text form, as in CSV, are parsed as dates.
                let typed = if is_text(column.data_type()) { cast(column, data_type)? } else { column.clone() };
                Ok(numbers_of(&typed)?.iter().map(|number| number.map_or(NULL, number_code)).collect())
            }
            Self::Names(domain) => {
                let codes = domain.codes_of(column, None)?;
                Ok(codes.into_iter().map(|code| code.map_or(NULL, u64::from)).collect())
            }
        }
    }

    /// Returns the extent of a label; any value if it can't be understood.
    pub(crate) fn extent(&self, text: Option<&str>) -> Option<Extent> {
        let Some(text) = text else { return Some(Extent::Null) };
        match self {
            Self::Ordered(data_type) => ordered_extent(text, data_type),
            Self::Names(domain) => name_extent(text, domain),
        }
    }

    pub(crate) fn is_ordered(&self) -> bool {
        matches!(self, Self::Ordered(_))
    }
}

impl NameDomain {
    /// Creates a domain with the values of a hierarchy, in the order of its paths.
    pub(crate) fn new(paths: &[Vec<String>]) -> Self {
        let mut domain = Self::default();
        for path in paths {
            let Some((leaf, above)) = path.split_first() else { continue };
            let leaf = domain.code(leaf);
            for name in above.iter().filter(|name| *name != "*") {
                domain.groups.entry(name.clone()).or_default().push(leaf);
            }
        }
        domain
    }

    /// Returns the code of a name, which is added if it is new.
    pub(crate) fn code(&mut self, name: &str) -> u32 {
        if let Some(code) = self.codes.get(name) {
            return *code;
        }
        let code = self.names.len() as u32;
        self.names.push(name.to_owned());
        self.codes.insert(name.to_owned(), code);
        code
    }

    pub(crate) fn leaf(&self, name: &str) -> Option<u32> {
        self.codes.get(name).copied()
    }

    /// Returns the names below a group of the hierarchy.
    pub(crate) fn below(&self, group: &str) -> Option<&[u32]> {
        self.groups.get(group).map(Vec::as_slice)
    }

    /// Whether the names are ordered by a hierarchy.
    pub(crate) fn has_groups(&self) -> bool {
        !self.groups.is_empty()
    }

    pub(crate) fn names(&self) -> &[String] {
        &self.names
    }

    pub(crate) fn len(&self) -> usize {
        self.names.len()
    }

    /// Returns the codes of a column; `shown` replaces values by other texts first.
    pub(crate) fn codes_of(
        &mut self,
        column: &ArrayRef,
        shown: Option<&crate::ValueNames>,
    ) -> Result<Vec<Option<u32>>, ArrowError> {
        let mut code = |text: &str| self.code(shown.and_then(|shown| shown.get(text)).map_or(text, String::as_str));
        if let DataType::Dictionary(_, value) = column.data_type() {
            let narrow = cast(column, &DataType::Dictionary(Box::new(DataType::Int32), value.clone()))?;
            let dictionary = narrow.as_dictionary::<Int32Type>();
            let texts = texts_of(dictionary.values())?;
            let codes: Vec<Option<u32>> = texts.iter().map(|text| text.map(&mut code)).collect();
            return Ok(dictionary.keys().iter().map(|key| key.and_then(|key| codes[key as usize])).collect());
        }
        let texts = texts_of(column)?;
        Ok(texts.iter().map(|text| text.map(&mut code)).collect())
    }
}

/// Returns a column as text.
pub(crate) fn texts_of(column: &ArrayRef) -> Result<StringArray, ArrowError> {
    Ok(cast(column, &DataType::Utf8)?.as_string::<i32>().clone())
}

/// Returns a column as numbers: dates and times as their distance from the epoch.
pub(crate) fn numbers_of(column: &ArrayRef) -> Result<Float64Array, ArrowError> {
    let plain = match column.data_type() {
        DataType::Dictionary(_, value) => return numbers_of(&cast(column, value)?),
        DataType::Date32 | DataType::Time32(_) => cast(column, &DataType::Int32)?,
        DataType::Date64 | DataType::Time64(_) | DataType::Timestamp(_, _) | DataType::Duration(_) => {
            cast(column, &DataType::Int64)?
        }
        _ => column.clone(),
    };
    Ok(cast(&plain, &DataType::Float64)?.as_primitive::<Float64Type>().clone())
}

/// Returns the type of the values of a dictionary, and any other type unchanged.
pub(crate) fn plain_type(data_type: &DataType) -> &DataType {
    match data_type {
        DataType::Dictionary(_, value) => plain_type(value),
        other => other,
    }
}

pub(crate) fn is_text(data_type: &DataType) -> bool {
    plain_type(data_type).is_string()
}

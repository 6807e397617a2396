//! An outsider's knowledge about the columns of a release.

use std::collections::HashMap;

use arrow::array::ArrayRef;
use arrow::compute::kernels::cast_utils::Parser;
use arrow::datatypes::{DataType, Date32Type};

use crate::label::ordered_extent;
use crate::lexicon::{is_text, plain_type, texts_of};

/// Roles and meaning of the columns of a release and its original.
#[derive(Clone, Debug, Default)]
pub struct LabSpec {
    /// Quasi-identifiers.
    pub quasi: Vec<KnownQuasi>,
    /// Sensitive columns.
    pub sensitive: Vec<KnownSensitive>,
    /// Columns that are released unchanged.
    pub insensitive: Vec<String>,
    /// Minimum number of rows of a class, as promised.
    pub k: u64,
    /// Minimum number of distinct sensitive values of a class, as promised.
    pub p: u64,
    /// Columns of the original that identify a person, if a person may have several rows. Then people are drawn instead of
    /// rows, and `k` counts people.
    pub unit: Vec<String>,
    /// Whether earlier releases and this one are a series, in which rows stay in their classes.
    pub is_series: bool,
}

/// A quasi-identifier.
#[derive(Clone, Debug)]
pub struct KnownQuasi {
    /// Name in the original.
    pub name: String,
    /// Form in the release.
    pub form: ReleasedForm,
    /// Scale of its values.
    pub scale: QuasiScale,
}

/// How a quasi-identifier is released.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReleasedForm {
    /// One column of values, intervals, sets or names of groups.
    Label,
    /// Two columns, `NAME_min` and `NAME_max`.
    Bounds,
    /// One column with a representative of the class, which need not be true of each row.
    Representative,
    /// Not at all.
    Absent,
}

/// Scale of the values of a quasi-identifier.
#[derive(Clone, Debug)]
pub enum QuasiScale {
    /// Numbers, dates and times, with the type of the original.
    Ordered(DataType),
    /// Names. The paths lead from each known value to the root of its hierarchy; there are none without a hierarchy.
    Names(Vec<Vec<String>>),
}

/// A sensitive column.
#[derive(Clone, Debug, Default)]
pub struct KnownSensitive {
    /// Name, in both tables.
    pub name: String,
    /// Released text by original value, if the release shows a text other than the value.
    pub shown: Option<ValueNames>,
    /// Group by released text: values of one group are similar.
    pub groups: Option<ValueNames>,
    /// Minimum number of distinct values of a class, if it differs from that of the policy.
    pub p: Option<u64>,
}

/// Names of values that are given one by one, by prefixes of their texts, or by bands of numbers and dates.
#[derive(Clone, Debug, Default)]
pub struct ValueNames {
    /// Names by text.
    pub listed: HashMap<String, String>,
    /// Names by prefixes of texts; the longest match decides.
    pub prefixes: Vec<(String, String)>,
    /// Names by half-open ranges of numbers, or of days since 1970.
    pub bands: Vec<(f64, f64, String)>,
}

impl From<HashMap<String, String>> for ValueNames {
    fn from(listed: HashMap<String, String>) -> Self {
        Self { listed, ..Self::default() }
    }
}

impl ValueNames {
    /// Returns the name of a value, if it has one.
    pub(crate) fn get(&self, text: &str) -> Option<&String> {
        let by_prefix = || {
            let fitting = self.prefixes.iter().filter(|(prefix, _)| text.starts_with(prefix.as_str()));
            fitting.max_by_key(|(prefix, _)| prefix.len()).map(|(_, name)| name)
        };
        let day = || text.get(..10).and_then(Date32Type::parse).map(f64::from);
        let by_band = || {
            let number = text.parse::<f64>().ok().or_else(day)?;
            self.bands.iter().find(|(from, below, _)| (*from..*below).contains(&number)).map(|(_, _, name)| name)
        };
        let listed = self.listed.get(text).or_else(by_prefix);
        if self.bands.is_empty() { listed } else { listed.or_else(by_band) }
    }
}

impl LabSpec {
    /// Returns the p of a sensitive column.
    pub(crate) fn p_of(&self, sensitive: usize) -> u64 {
        self.sensitive.get(sensitive).and_then(|column| column.p).unwrap_or(self.p)
    }
}

impl QuasiScale {
    /// Guesses the scale of a column from some of its labels in a release.
    pub fn of_labels(labels: &ArrayRef) -> Self {
        let data_type = plain_type(labels.data_type());
        if !is_text(data_type) && (data_type.is_numeric() || data_type.is_temporal()) {
            return Self::Ordered(data_type.clone());
        }
        let Ok(texts) = texts_of(labels) else { return Self::Names(Vec::new()) };
        let texts: Vec<&str> = texts.iter().flatten().filter(|text| *text != "*").collect();
        let reads = |data_type: &DataType| texts.iter().all(|text| ordered_extent(text, data_type).is_some());
        let candidates = [DataType::Int64, DataType::Float64, DataType::Date32];
        // Decimals can be read as whole numbers only if they have no fraction.
        let is_fraction = texts.iter().any(|text| text.contains('.') && !text.contains(".."));
        let fits = |data_type: &&DataType| !(is_fraction && data_type.is_integer()) && reads(data_type);
        match candidates.iter().find(fits).filter(|_| !texts.is_empty()) {
            Some(data_type) => Self::Ordered(data_type.clone()),
            None => Self::Names(Vec::new()),
        }
    }
}

impl KnownQuasi {
    /// Returns the names of its columns in the release.
    pub fn released_names(&self) -> Vec<String> {
        self.names_in(self.form)
    }

    /// Returns the names of its columns in a release of this form.
    pub(crate) fn names_in(&self, form: ReleasedForm) -> Vec<String> {
        match form {
            ReleasedForm::Absent => Vec::new(),
            ReleasedForm::Bounds => vec![format!("{}_min", self.name), format!("{}_max", self.name)],
            ReleasedForm::Label | ReleasedForm::Representative => vec![self.name.clone()],
        }
    }
}

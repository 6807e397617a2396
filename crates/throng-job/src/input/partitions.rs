//! Columns that are constant in each file: of a Delta table, or in the names of folders such as `year=2024/`.

use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::sync::Arc;

use datafusion::arrow::datatypes::{DataType, Field, FieldRef, Schema, SchemaRef};
use datafusion::common::ScalarValue;
use object_store::path::Path;
use percent_encoding::percent_decode_str;

use super::InputFile;
use crate::error::{JobError, Kind};
use crate::store_path::StorePath;

/// Name of the folder of rows without a value, by the convention of Hive.
const NULL_FOLDER: &str = "__HIVE_DEFAULT_PARTITION__";

/// Partition columns of a table, and their values in each file.
#[derive(Clone)]
pub(super) struct PartitionColumns {
    fields: Vec<FieldRef>,
    /// Values by the store and path of the file.
    values: HashMap<(String, Path), Vec<ScalarValue>>,
}

/// Omits the values.
impl fmt::Debug for PartitionColumns {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PartitionColumns").field("fields", &self.fields).finish_non_exhaustive()
    }
}

/// Names and texts of the partition columns of a file, in the order of its folders.
pub(super) type FolderValues = Vec<(String, Option<String>)>;

impl PartitionColumns {
    /// Creates partition columns. Each file must have a value for each of them.
    pub(super) fn new(fields: Vec<FieldRef>, values: impl IntoIterator<Item = (StorePath, Vec<ScalarValue>)>) -> Self {
        Self { fields, values: values.into_iter().map(|(place, values)| (key(&place), values)).collect() }
    }

    /// Creates the columns that folders name. Returns `None` if there are none, and an error if the column names differ
    /// between files.
    pub(super) fn of_folders(files: &[(InputFile, FolderValues)]) -> Result<Option<Self>, JobError> {
        let names = |values: &FolderValues| values.iter().map(|(name, _)| name.clone()).collect::<Vec<_>>();
        let Some((first, values)) = files.first() else { return Ok(None) };
        let columns = names(values);
        if let Some((other, of_other)) = files.iter().find(|(_, values)| names(values) != columns) {
            let listed = |names: Vec<String>| match names.is_empty() {
                true => "no column".to_owned(),
                false => names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", "),
            };
            let (one, two) = (listed(columns), listed(names(of_other)));
            let text = format!("{} is partitioned by {one}, and {} by {two}", first.place, other.place);
            let advice = "give all files folders with the same names, in the same order";
            return Err(JobError::new(Kind::BadData, format!("{text}; {advice}")));
        }
        if columns.is_empty() {
            return Ok(None);
        }
        let mut seen = BTreeMap::new();
        if let Some(name) = columns.iter().find(|name| seen.insert(name.as_str(), ()).is_some()) {
            let text = format!("the folders of the input name the column `{name}` twice; rename one of them");
            return Err(JobError::new(Kind::BadData, text));
        }
        let texts = |index: usize| files.iter().filter_map(move |(_, values)| values[index].1.as_deref());
        let types: Vec<DataType> = (0..columns.len()).map(|index| common_type(texts(index))).collect();
        let field = |(name, data_type): (&String, &DataType)| Arc::new(Field::new(name, data_type.clone(), true));
        let fields = columns.iter().zip(&types).map(field).collect();
        let typed = files.iter().map(|(file, values)| {
            let values = values.iter().zip(&types).map(|((_, text), data_type)| value(text.as_deref(), data_type));
            Ok((file.place.clone(), values.collect::<Result<Vec<_>, JobError>>()?))
        });
        Ok(Some(Self::new(fields, typed.collect::<Result<Vec<_>, JobError>>()?)))
    }

    /// Returns the columns.
    pub(super) fn fields(&self) -> &[FieldRef] {
        &self.fields
    }

    /// Returns the values of a file.
    pub(super) fn values_of(&self, file: &InputFile) -> Result<Vec<ScalarValue>, JobError> {
        let values = self.values.get(&key(&file.place)).cloned();
        values.ok_or_else(|| JobError::internal("a file without values of its partition columns"))
    }

    /// Returns the schema of the table. Returns an error if a column is also in the files.
    pub(super) fn table_schema(&self, of_files: &SchemaRef) -> Result<SchemaRef, JobError> {
        let mut fields: Vec<FieldRef> = of_files.fields().iter().cloned().collect();
        for field in &self.fields {
            if of_files.column_with_name(field.name()).is_some() {
                let name = field.name();
                let text =
                    format!("the column `{name}` is in the files of the input, and in the names of their folders");
                let advice =
                    "which may differ; rename one of them, or read the files by a location that ends below the folders";
                return Err(JobError::new(Kind::BadData, format!("{text}, {advice}")).with_column(name));
            }
            fields.push(Arc::clone(field));
        }
        Ok(Arc::new(Schema::new(fields)))
    }
}

fn key(place: &StorePath) -> (String, Path) {
    (place.root.to_string(), place.path.clone())
}

/// Returns the partition columns in the names of the folders between a location and a file.
pub(super) fn folder_values(location: &Path, file: &Path) -> FolderValues {
    let below: Vec<String> =
        file.prefix_match(location).into_iter().flatten().map(|part| part.as_ref().to_owned()).collect();
    let folders = below.split_last().map_or(&[][..], |(_, folders)| folders);
    let decoded = |text: &str| percent_decode_str(text).decode_utf8().map_or_else(|_| text.to_owned(), Into::into);
    let column = |folder: &String| {
        let (name, value) = folder.split_once('=').filter(|(name, _)| !name.is_empty())?;
        let value = Some(value).filter(|value| !value.is_empty() && *value != NULL_FOLDER);
        Some((decoded(name), value.map(decoded)))
    };
    folders.iter().filter_map(column).collect()
}

/// Returns the type of a column: integers or dates if all of its texts are, and otherwise text. A number with leading zeros is a
/// code, and stays text.
fn common_type<'a>(texts: impl Iterator<Item = &'a str> + Clone) -> DataType {
    let fits = |data_type: &DataType| {
        let is_kept = |text: &str| value(Some(text), data_type).is_ok_and(|value| value.to_string() == text);
        texts.clone().next().is_some() && texts.clone().all(is_kept)
    };
    [DataType::Int64, DataType::Date32].into_iter().find(fits).unwrap_or(DataType::Utf8)
}

/// Parses a text as a value of a type.
fn value(text: Option<&str>, data_type: &DataType) -> Result<ScalarValue, JobError> {
    let unusable = || JobError::internal("a partition column has a value of another type");
    let Some(text) = text else { return ScalarValue::try_from(data_type).map_err(|_| unusable()) };
    let value = ScalarValue::from(text).cast_to(data_type).map_err(|_| unusable())?;
    if value.is_null() { Err(unusable()) } else { Ok(value) }
}

/// Removes values in the names of folders from a message: `region=…` in place of `region=North`.
pub(super) fn without_folder_values(error: JobError, files: &[InputFile]) -> JobError {
    let mut folders: BTreeMap<String, String> = BTreeMap::new();
    for file in files {
        folders.extend(named_folders(&file.place.path));
    }
    error.map_message(|message| hide(message, &folders))
}

/// Returns the text of a store path without values in the names of its folders.
pub(super) fn shown(place: &StorePath) -> String {
    hide(place.to_string(), &named_folders(&place.path).collect())
}

fn named_folders(path: &Path) -> impl Iterator<Item = (String, String)> + '_ {
    let folder = |part: object_store::path::PathPart<'_>| {
        let (name, _) = part.as_ref().split_once('=')?;
        Some((format!("/{}/", part.as_ref()), format!("/{name}=…/")))
    };
    path.parts().filter_map(folder)
}

fn hide(text: String, folders: &BTreeMap<String, String>) -> String {
    folders.iter().fold(text, |text, (folder, hidden)| text.replace(folder, hidden))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of_texts(texts: &[&str]) -> DataType {
        common_type(texts.iter().copied())
    }

    #[test]
    fn a_column_is_a_number_or_a_date_only_if_all_of_its_texts_come_back() {
        assert_eq!(of_texts(&["2020", "-1", "0"]), DataType::Int64);
        assert_eq!(of_texts(&["2020-01-31", "1969-12-31"]), DataType::Date32);
        for texts in
            [&["01", "12"][..], &["1", "x"], &["2020-1-1"], &["+1"], &["1.5"], &[" 1"], &["99999999999999999999"]]
        {
            assert_eq!(of_texts(texts), DataType::Utf8, "{texts:?}");
        }
        assert_eq!(of_texts(&[]), DataType::Utf8);
    }

    #[test]
    fn folders_between_the_location_and_a_file_name_columns() {
        let columns =
            |location: &str, file: &str| folder_values(&Path::parse(location).unwrap(), &Path::parse(file).unwrap());
        let text = |text: &str| Some(text.to_owned());
        assert_eq!(
            columns("a", "a/x=1/b/y=N%2FA/c=d.parquet"),
            [("x".to_owned(), text("1")), ("y".to_owned(), text("N/A"))]
        );
        assert_eq!(columns("a/x=1", "a/x=1/f.parquet"), []);
        assert_eq!(columns("", &format!("x={NULL_FOLDER}/y=/f.csv")), [("x".to_owned(), None), ("y".to_owned(), None)]);
    }

    #[test]
    fn a_message_does_not_show_the_values_of_folders() {
        let place = StorePath::parse("/data/region=North/part-0.parquet").unwrap();
        assert_eq!(shown(&place), "/data/region=…/part-0.parquet");
        let error = JobError::new(Kind::BadData, format!("{place} is damaged"));
        let meta = object_store::ObjectMeta {
            location: place.path.clone(),
            last_modified: Default::default(),
            size: 0,
            e_tag: None,
            version: None,
        };
        let error = without_folder_values(error, &[InputFile { place, meta }]);
        assert_eq!(error.to_string(), "/data/region=…/part-0.parquet is damaged");
    }
}

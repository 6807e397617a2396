//! Types of columns: those of a table as Arrow types, and those of a release as types of a table.

use std::collections::HashSet;
use std::sync::Arc;

use arrow::datatypes::{DataType, Field, Fields, Schema, TimeUnit};
use datafusion::common::ScalarValue;
use serde_json::{Value, json};

use super::{damaged, unsupported};
use crate::error::{JobError, Kind};
use crate::store_path::StorePath;

/// The time zone of timestamps with a zone.
const UTC: &str = "UTC";

/// A column of a table, as its log declares it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct DeltaField {
    pub(crate) name: String,
    pub(crate) data_type: DataType,
    pub(crate) is_nullable: bool,
}

impl DeltaField {
    /// Whether the column is nested. Names and order of nested fields in the files depend on the writer.
    pub(crate) fn is_nested(&self) -> bool {
        self.data_type.is_nested()
    }

    /// Whether a column of a file with this type holds values of the declared type.
    pub(crate) fn fits(&self, of_file: &DataType) -> bool {
        let plain = |data_type: &DataType| match data_type {
            DataType::Dictionary(_, values) => values.as_ref().clone(),
            other => other.clone(),
        };
        match (&self.data_type, plain(of_file)) {
            (DataType::Utf8View, DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View) => true,
            (DataType::BinaryView, DataType::Binary | DataType::LargeBinary | DataType::BinaryView) => true,
            // Spark writes timestamps as 96 bits without a zone, and other writers use other units.
            (DataType::Timestamp(_, Some(_)), DataType::Timestamp(..)) => true,
            (DataType::Timestamp(_, None), DataType::Timestamp(_, None)) => true,
            (DataType::List(_), DataType::LargeList(_) | DataType::FixedSizeList(..)) => true,
            (declared, found) if declared.is_nested() => {
                std::mem::discriminant(declared) == std::mem::discriminant(&found)
            }
            (declared, found) => *declared == found,
        }
    }

    /// Returns the type as a partition column, which has few distinct strings.
    pub(crate) fn partition_type(&self) -> DataType {
        match &self.data_type {
            DataType::Utf8View => DataType::Utf8,
            other => other.clone(),
        }
    }
}

/// Parses the schema of a table.
pub(crate) fn parse_schema(table: &StorePath, text: &str) -> Result<Vec<DeltaField>, JobError> {
    let broken = || damaged(table, "its schema can't be read");
    let schema: Value = serde_json::from_str(text).map_err(|_| broken())?;
    let fields = schema["fields"].as_array().filter(|_| schema["type"] == "struct").ok_or_else(broken)?;
    let mut seen = HashSet::new();
    fields
        .iter()
        .map(|field| {
            let name = field["name"].as_str().filter(|name| seen.insert(name.to_lowercase())).ok_or_else(broken)?;
            let data_type = match arrow_type(&field["type"]) {
                ParsedType::Known(data_type) => data_type,
                ParsedType::Unknown(data_type) => {
                    let what = format!("a column `{name}` of the type `{data_type}`");
                    return Err(unsupported(table, &what, "write a copy of the table without it"));
                }
                ParsedType::Broken => return Err(broken()),
            };
            let is_nullable = field["nullable"].as_bool().unwrap_or(true);
            Ok(DeltaField { name: name.to_owned(), data_type, is_nullable })
        })
        .collect()
}

enum ParsedType {
    Known(DataType),
    /// An unsupported type, by its name.
    Unknown(String),
    Broken,
}

fn arrow_type(declared: &Value) -> ParsedType {
    if let Some(name) = declared.as_str() {
        return primitive(name).map_or_else(|| ParsedType::Unknown(name.to_owned()), ParsedType::Known);
    }
    let part = |value: &Value, name: &str, nullable: &Value| match arrow_type(value) {
        ParsedType::Known(data_type) => Ok(Field::new(name, data_type, nullable.as_bool().unwrap_or(true))),
        other => Err(other),
    };
    let nested = || -> Result<DataType, ParsedType> {
        match declared["type"].as_str() {
            Some("struct") => {
                let fields = declared["fields"].as_array().ok_or(ParsedType::Broken)?;
                let field = |field: &Value| {
                    part(&field["type"], field["name"].as_str().ok_or(ParsedType::Broken)?, &field["nullable"])
                };
                Ok(DataType::Struct(fields.iter().map(field).collect::<Result<Fields, _>>()?))
            }
            Some("array") => {
                let element = part(&declared["elementType"], "element", &declared["containsNull"])?;
                Ok(DataType::List(Arc::new(element)))
            }
            Some("map") => {
                let key = part(&declared["keyType"], "key", &Value::Bool(false))?;
                let value = part(&declared["valueType"], "value", &declared["valueContainsNull"])?;
                let entries = DataType::Struct(vec![key, value].into());
                Ok(DataType::Map(Arc::new(Field::new("key_value", entries, false)), false))
            }
            _ => Err(ParsedType::Broken),
        }
    };
    nested().map_or_else(|other| other, ParsedType::Known)
}

fn primitive(name: &str) -> Option<DataType> {
    Some(match name {
        "string" => DataType::Utf8View,
        "binary" => DataType::BinaryView,
        "boolean" => DataType::Boolean,
        "byte" => DataType::Int8,
        "short" => DataType::Int16,
        "integer" => DataType::Int32,
        "long" => DataType::Int64,
        "float" => DataType::Float32,
        "double" => DataType::Float64,
        "date" => DataType::Date32,
        "timestamp" => DataType::Timestamp(TimeUnit::Microsecond, Some(UTC.into())),
        "timestamp_ntz" => DataType::Timestamp(TimeUnit::Microsecond, None),
        other => {
            let (precision, scale) = other.strip_prefix("decimal(")?.strip_suffix(')')?.split_once(',')?;
            let (precision, scale) = (precision.trim().parse().ok()?, scale.trim().parse().ok()?);
            ((1..=38).contains(&precision) && (0..=precision as i8).contains(&scale))
                .then_some(DataType::Decimal128(precision, scale))?
        }
    })
}

/// Parses the value of a partition column; `None` if it is not of its type. An absent or empty value is null.
pub(crate) fn partition_value(text: Option<&str>, data_type: &DataType) -> Option<ScalarValue> {
    let Some(text) = text.filter(|text| !text.is_empty()) else { return ScalarValue::try_from(data_type).ok() };
    let parse = |data_type: &DataType| {
        let value = ScalarValue::from(text).cast_to(data_type).ok()?;
        (!value.is_null()).then_some(value)
    };
    match data_type {
        // A time without an offset is in UTC, and one with an offset is converted to it.
        DataType::Timestamp(TimeUnit::Microsecond, zone @ Some(_)) => {
            match parse(&DataType::Timestamp(TimeUnit::Microsecond, None))? {
                ScalarValue::TimestampMicrosecond(time, _) => {
                    Some(ScalarValue::TimestampMicrosecond(time, zone.clone()))
                }
                _ => None,
            }
        }
        other => parse(other),
    }
}

/// Returns an error if a table can't have the columns of a release.
pub(crate) fn check_releasable(schema: &Schema) -> Result<(), JobError> {
    let mut seen = HashSet::new();
    for field in schema.fields() {
        let advice = "change it in the input, or set `format = \"parquet\"` under [output]";
        if !seen.insert(field.name().to_lowercase()) {
            let text = format!("the release has two columns `{}`, by letters of either case", field.name());
            return Err(JobError::new(Kind::BadPolicy, format!("{text}, which a Delta table can't have; {advice}")));
        }
        if declared_type(field.data_type()).is_none() {
            let text = format!("the column `{}` of the release has the type {}", field.name(), field.data_type());
            return Err(JobError::new(Kind::BadPolicy, format!("{text}, which a Delta table can't have; {advice}")));
        }
    }
    Ok(())
}

/// Returns the schema of a release as JSON text; `None` if a column has a type that tables do not have.
pub(super) fn schema_string(schema: &Schema) -> Option<String> {
    let fields = schema.fields().iter().map(|field| declared_field(field)).collect::<Option<Vec<_>>>()?;
    Some(json!({ "type": "struct", "fields": fields }).to_string())
}

/// Whether a column, or a part of one, holds times without a zone.
pub(super) fn has_local_times(data_type: &DataType) -> bool {
    match data_type {
        DataType::Timestamp(_, None) => true,
        DataType::List(part)
        | DataType::LargeList(part)
        | DataType::FixedSizeList(part, _)
        | DataType::Map(part, _) => has_local_times(part.data_type()),
        DataType::Struct(fields) => fields.iter().any(|field| has_local_times(field.data_type())),
        _ => false,
    }
}

fn declared_field(field: &Field) -> Option<Value> {
    let data_type = declared_type(field.data_type())?;
    Some(json!({ "name": field.name(), "type": data_type, "nullable": true, "metadata": {} }))
}

fn declared_type(data_type: &DataType) -> Option<Value> {
    Some(match data_type {
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => json!("string"),
        DataType::Binary | DataType::LargeBinary | DataType::BinaryView => json!("binary"),
        DataType::Dictionary(_, values) => declared_type(values)?,
        DataType::Boolean => json!("boolean"),
        DataType::Int8 => json!("byte"),
        DataType::Int16 => json!("short"),
        DataType::Int32 => json!("integer"),
        DataType::Int64 => json!("long"),
        DataType::Float32 => json!("float"),
        DataType::Float64 => json!("double"),
        DataType::Date32 => json!("date"),
        DataType::Timestamp(TimeUnit::Microsecond, Some(_)) => json!("timestamp"),
        DataType::Timestamp(TimeUnit::Microsecond, None) => json!("timestamp_ntz"),
        DataType::Decimal128(precision, scale) if (0..=*precision as i8).contains(scale) => {
            json!(format!("decimal({precision},{scale})"))
        }
        DataType::List(element) | DataType::LargeList(element) => {
            json!({ "type": "array", "elementType": declared_type(element.data_type())?, "containsNull": true })
        }
        DataType::Struct(fields) => {
            let fields = fields.iter().map(|field| declared_field(field)).collect::<Option<Vec<_>>>()?;
            json!({ "type": "struct", "fields": fields })
        }
        DataType::Map(entries, _) => match entries.data_type() {
            DataType::Struct(parts) if parts.len() == 2 => json!({
                "type": "map",
                "keyType": declared_type(parts[0].data_type())?,
                "valueType": declared_type(parts[1].data_type())?,
                "valueContainsNull": true,
            }),
            _ => return None,
        },
        _ => return None,
    })
}

//! Origins of the columns of a release.

use datafusion::arrow::datatypes::SchemaRef;
use throng_datafusion::Anonymizer;
use throng_policy::SensitiveRelease;

/// Mapping from the columns of the input to the columns of the release.
#[derive(Clone, Debug)]
pub struct ColumnOrigins {
    /// Columns of the input with their types.
    pub input: SchemaRef,
    /// Schema of the release.
    pub output: SchemaRef,
    /// Origin of each column of the release, in no particular order.
    pub columns: Vec<ColumnOrigin>,
    /// Role of each column of the input, in the order of the schema; `dropped` if it is not read.
    pub roles: Vec<(String, &'static str)>,
    /// Columns that determine the class of a row.
    pub deciding: Vec<String>,
}

/// A column of the release and its origin.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ColumnOrigin {
    /// Name in the release.
    pub name: String,
    /// Name in the input.
    pub from: String,
    /// Treatment of its values.
    pub made: ColumnTreatment,
}

/// How the values of a column are transformed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ColumnTreatment {
    /// Released unchanged.
    Kept,
    /// Replaced by a label that covers all values of the class.
    Generalized,
    /// Replaced by one aggregate per class.
    Aggregated,
    /// Replaced by the category of the value.
    Categorized,
}

impl ColumnOrigins {
    /// Returns the origins for a policy that is bound to its input.
    pub(crate) fn of(anonymizer: &Anonymizer) -> Self {
        let binding = anonymizer.binding();
        let origin = |name: String, from: &str, made| ColumnOrigin { name, from: from.to_owned(), made };
        let mut columns = Vec::new();
        for quasi in &binding.quasi {
            let made = if quasi.spec.release.is_aggregate() {
                ColumnTreatment::Aggregated
            } else {
                ColumnTreatment::Generalized
            };
            let names = quasi.spec.released_names();
            columns.extend(names.into_iter().map(|name| origin(name, &quasi.column.name, made)));
        }
        for sensitive in &binding.sensitive {
            let from = &sensitive.column.name;
            for name in sensitive.released_names() {
                let is_category = sensitive.release == SensitiveRelease::Category || &name != from;
                columns.push(origin(
                    name,
                    from,
                    if is_category { ColumnTreatment::Categorized } else { ColumnTreatment::Kept },
                ));
            }
        }
        let kept =
            binding.insensitive.iter().map(|column| origin(column.name.clone(), &column.name, ColumnTreatment::Kept));
        columns.extend(kept);

        let quasi = || binding.quasi.iter().map(|quasi| &quasi.column.name);
        let sensitive = || binding.sensitive.iter().map(|sensitive| &sensitive.column.name);
        let role = |name: &String| {
            if quasi().any(|quasi| quasi == name) {
                "quasi"
            } else if sensitive().any(|sensitive| sensitive == name) {
                "sensitive"
            } else if binding.dropped.contains(name) {
                "dropped"
            } else {
                "insensitive"
            }
        };
        let roles = anonymizer.input_schema().fields().iter().map(|field| (field.name().clone(), role(field.name())));
        Self {
            input: SchemaRef::clone(anonymizer.input_schema()),
            output: SchemaRef::clone(anonymizer.schema()),
            columns,
            roles: roles.collect(),
            deciding: quasi().chain(sensitive()).cloned().collect(),
        }
    }
}

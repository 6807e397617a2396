//! Where the columns of a release come from.

use datafusion::arrow::datatypes::SchemaRef;
use throng_datafusion::Anonymizer;
use throng_policy::SensitiveRelease;

/// What a release makes of the columns of its input.
#[derive(Clone, Debug)]
pub struct ColumnOrigins {
    /// The schema of the input.
    pub input: SchemaRef,
    /// The schema of the release.
    pub output: SchemaRef,
    /// For each column of the release the one that it is made of; in no particular order.
    pub columns: Vec<ColumnOrigin>,
    /// For each column of the input its role, in the order of the schema; `dropped` if it is not read.
    pub roles: Vec<(String, &'static str)>,
    /// The columns that decide which rows share a class.
    pub deciding: Vec<String>,
}

/// A column of the release, and how it came to be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ColumnOrigin {
    /// Its name in the release.
    pub name: String,
    /// Its name in the input.
    pub from: String,
    /// What was done to its values.
    pub made: ColumnTreatment,
}

/// What was done to the values of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ColumnTreatment {
    /// They are as they were.
    Kept,
    /// Each stands for all values of its class.
    Generalized,
    /// One stand-in is shown for all rows of a class.
    Aggregated,
    /// Each is shown as the category that it belongs to.
    Categorized,
}

impl ColumnOrigins {
    /// Of a policy that is bound to its input.
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

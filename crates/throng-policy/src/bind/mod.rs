//! A policy bound to the columns of one input.
//!
//! Columns are matched by their exact name. Nothing is guessed in favour of a release: a column that the policy does
//! not name stops the run, unless the policy asks to drop such columns.

mod limit;
mod quasi;
mod released_names;
mod sensitive;
mod type_kind;

use std::collections::HashMap;

use arrow::datatypes::{DataType, Schema};
use throng_core::columns::QuasiSpec;

use crate::field_path::FieldPath;
use crate::policy::{Policy, Role};
use crate::problem::{PolicyError, Report};

pub use sensitive::BoundSensitive;

use released_names::ReleasedColumn;
use type_kind::TypeKind;

/// What each column of an input is, and what is promised about it.
#[derive(Clone, Debug)]
pub struct Binding {
    /// The quasi-identifiers, in schema order.
    pub quasi: Vec<BoundQuasi>,
    /// The sensitive columns, in schema order.
    pub sensitive: Vec<BoundSensitive>,
    /// The columns that are released as they are, in schema order.
    pub insensitive: Vec<BoundColumn>,
    /// The columns that are left out, in schema order: identifiers and, if the policy says so, those it does not name.
    pub dropped: Vec<String>,
    /// The least number of rows in a class.
    pub k: u64,
    /// The least weight of the categories of each sensitive column with categories in a class.
    pub alpha: Option<f64>,
    /// The largest share of the rows of the input that may be suppressed; any when none is given.
    pub suppression_limit: Option<f64>,
}

/// A column of the input.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BoundColumn {
    /// Its name.
    pub name: String,
    /// Its position in the schema.
    pub index: usize,
    /// Its type.
    pub data_type: DataType,
}

/// A quasi-identifier of the input.
#[derive(Clone, Debug)]
pub struct BoundQuasi {
    /// The column.
    pub column: BoundColumn,
    /// How it is generalized, with the choices made that its type decides.
    pub spec: QuasiSpec,
}

impl Binding {
    /// The names of the quasi-identifiers in the release, in schema order.
    pub fn released_quasi_names(&self) -> Vec<String> {
        self.quasi.iter().flat_map(|quasi| quasi.spec.released_names()).collect()
    }

    /// The names of all columns of the release, in schema order.
    pub fn released_names(&self) -> Vec<String> {
        self.released().into_iter().flat_map(|released| released.names).collect()
    }

    /// Each released column with the names that it has in the release, in schema order.
    fn released(&self) -> Vec<ReleasedColumn<'_>> {
        let kept = self.insensitive.iter().map(|column| ReleasedColumn::new(column, vec![column.name.clone()], "name"));
        let sensitive =
            self.sensitive.iter().map(|bound| ReleasedColumn::new(&bound.column, bound.released_names(), "category"));
        let generalized =
            self.quasi.iter().map(|quasi| ReleasedColumn::new(&quasi.column, quasi.spec.released_names(), "bound"));
        let mut released: Vec<_> = kept.chain(sensitive).chain(generalized).collect();
        released.sort_by_key(|released| released.column.index);
        released
    }
}

impl Policy {
    /// Gives every column of an input its role, and reports everything that keeps the policy from applying to it.
    pub fn bind(&self, schema: &Schema) -> Result<Binding, PolicyError> {
        let mut report = Report::new(&self.document);
        released_names::check(&self.columns, schema, &mut report);

        let roles: HashMap<&str, &Role> =
            self.columns.by_name.iter().map(|(name, role)| (name.as_str(), role)).collect();
        let mut binding = Binding {
            quasi: Vec::new(),
            sensitive: Vec::new(),
            insensitive: Vec::new(),
            dropped: Vec::new(),
            k: self.privacy.k,
            alpha: self.privacy.alpha,
            suppression_limit: self.privacy.suppression_limit,
        };
        for (index, field) in schema.fields().iter().enumerate() {
            let column = BoundColumn { name: field.name().clone(), index, data_type: field.data_type().clone() };
            let path = FieldPath::of(&["columns", &column.name]);
            match roles.get(column.name.as_str()) {
                None | Some(Role::Identifier) => binding.dropped.push(column.name),
                Some(Role::Insensitive) => binding.insensitive.push(column),
                Some(Role::Sensitive(sensitive)) => {
                    supported_kind(&column, "sensitive", &path, &mut report);
                    binding.sensitive.push(BoundSensitive::new(column, sensitive, self.privacy.p));
                }
                Some(Role::Quasi(quasi)) => {
                    if let Some(kind) = supported_kind(&column, "quasi", &path, &mut report) {
                        let spec = quasi::bind(&column, kind, quasi, self.algorithm.partition, &path, &mut report);
                        binding.quasi.push(BoundQuasi { column, spec });
                    }
                }
            }
        }
        released_names::check_released(&binding.released(), &mut report);
        report.finish().map(|()| binding)
    }
}

/// The kind of a column's type, or a problem with its role when there is none.
fn supported_kind(column: &BoundColumn, role: &str, path: &FieldPath, report: &mut Report<'_>) -> Option<TypeKind> {
    let kind = TypeKind::of(&column.data_type);
    if kind.is_none() {
        report.value(
            &path.key("role"),
            format!(
                "a column of type {} can't be `{role}`; only `insensitive` or `identifier` will do",
                column.data_type
            ),
        );
    }
    kind
}

#[cfg(test)]
#[path = "../bind_tests.rs"]
mod tests;

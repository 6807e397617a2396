//! Binds a policy to the columns of one input.
//!
//! Columns are matched by exact name. A column that the policy does not name is an error, unless the policy drops such
//! columns.

mod cover;
mod field_role;
mod limit;
mod quasi;
mod released_names;
mod sensitive;
mod type_kind;

use std::collections::HashMap;

use arrow::datatypes::{DataType, Schema};
use throng_core::columns::{BLOCK_COLUMN, QuasiSpec};
use throng_core::list_texts::list_field;
use throng_core::model::{FrequencyRequirement, GroundDistance};

use crate::declared_type::{TypeMismatch, describe_type, mismatches};
use crate::field_path::FieldPath;
use crate::policy::{Policy, Role, Sensitive};
use crate::problem::{PolicyError, Report};
use crate::raw::{Borrow, RawRelease, RawRole, UnitNulls};
use crate::settings::ClusterSetting;
use crate::validate::field_of;

pub use field_role::FieldRole;
pub use sensitive::BoundSensitive;

use released_names::ReleasedColumn;
use type_kind::TypeKind;

/// Role, type and recoding of each input column, and the privacy parameters.
#[derive(Clone, Debug)]
pub struct Binding {
    /// Quasi-identifiers, in schema order.
    pub quasi: Vec<BoundQuasi>,
    /// Sensitive columns, in schema order.
    pub sensitive: Vec<BoundSensitive>,
    /// Insensitive columns, in schema order.
    pub insensitive: Vec<BoundColumn>,
    /// Columns that are not released, in schema order: identifiers and, if the policy says so, columns that it does not
    /// name.
    pub dropped: Vec<String>,
    /// Minimum number of rows in a class.
    pub k: u64,
    /// Minimum category weight of a class, for each sensitive column with categories.
    pub alpha: Option<f64>,
    /// Maximum share of input rows that may be suppressed; `None` for no limit.
    pub suppression_limit: Option<f64>,
    /// Columns of the unit of privacy; `None` if every row is a unit.
    pub unit: Option<BoundUnit>,
    /// The text column of pseudonyms that is released instead of the unit.
    pub pseudonym: Option<BoundColumn>,
    /// Whether classes may borrow rows from cells of other classes.
    pub borrow: Borrow,
}

/// The unit of privacy that k and p count.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BoundUnit {
    /// Columns that together identify a unit.
    pub columns: Vec<BoundColumn>,
    /// Treatment of rows without a unit.
    pub nulls: UnitNulls,
}

/// An input column.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BoundColumn {
    /// Name of the column.
    pub name: String,
    /// Index in the schema.
    pub index: usize,
    /// Arrow type of the column.
    pub data_type: DataType,
}

/// A quasi-identifier of the input.
#[derive(Clone, Debug)]
pub struct BoundQuasi {
    /// Name, type and position of the column in the input.
    pub column: BoundColumn,
    /// Generalization of the column, with type-dependent defaults resolved.
    pub spec: QuasiSpec,
}

/// Role, released form and weight of an input column that is released, in the terms of the policy file.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ColumnRole<'a> {
    /// Name of the column in the input.
    pub column: &'a str,
    /// Role by its name in the policy file, such as `quasi`.
    pub role: &'static str,
    /// Released form; `None` for a column that is released as it is.
    pub release: Option<&'static str>,
    /// Weight of a quasi-identifier in the loss; `None` for other columns.
    pub weight: Option<f64>,
}

impl Binding {
    /// Returns the role of each input column that is released, in schema order.
    pub fn released_roles(&self) -> Vec<ColumnRole<'_>> {
        let quasi = self.quasi.iter().filter(|quasi| !quasi.spec.is_hidden());
        let quasi = quasi.map(|quasi| {
            let (release, weight) = (RawRelease::from(quasi.spec.release), quasi.spec.weight);
            (&quasi.column, RawRole::Quasi, Some(release), Some(weight))
        });
        let sensitive = self.sensitive.iter().map(|bound| {
            let release = bound.categories.as_ref().map(|_| RawRelease::from(bound.release));
            (&bound.column, RawRole::Sensitive, release, None)
        });
        let insensitive = self.insensitive.iter().map(|column| (column, RawRole::Insensitive, None, None));
        let pseudonym = self.pseudonym.iter();
        let pseudonym = pseudonym.map(|column| (column, RawRole::Identifier, Some(RawRelease::Pseudonym), None));
        let mut roles: Vec<_> = quasi.chain(sensitive).chain(insensitive).chain(pseudonym).collect();
        roles.sort_by_key(|(column, ..)| column.index);
        let roles = roles.into_iter();
        roles
            .map(|(column, role, release, weight)| ColumnRole {
                column: &column.name,
                role: role.as_str(),
                release: release.map(RawRelease::as_str),
                weight,
            })
            .collect()
    }

    /// Returns the released names of the quasi-identifiers, in schema order.
    pub fn released_quasi_names(&self) -> Vec<String> {
        self.quasi.iter().flat_map(|quasi| quasi.spec.released_names()).collect()
    }

    /// Returns the names of all released columns, in schema order.
    pub fn released_names(&self) -> Vec<String> {
        self.released().into_iter().flat_map(|released| released.names).collect()
    }

    /// Returns each released column with its released names, in schema order.
    fn released(&self) -> Vec<ReleasedColumn<'_>> {
        let kept = self.insensitive.iter().map(|column| ReleasedColumn::new(column, vec![column.name.clone()], "name"));
        let sensitive =
            self.sensitive.iter().map(|bound| ReleasedColumn::new(&bound.column, bound.released_names(), "category"));
        let generalized =
            self.quasi.iter().map(|quasi| ReleasedColumn::new(&quasi.column, quasi.spec.released_names(), "bound"));
        let pseudonym =
            self.pseudonym.iter().map(|column| ReleasedColumn::new(column, vec![column.name.clone()], "pseudonym"));
        let mut released: Vec<_> = kept.chain(sensitive).chain(generalized).chain(pseudonym).collect();
        released.sort_by_key(|released| released.column.index);
        released
    }
}

impl Binding {
    /// Returns the index of the units, which follow the codings of all sensitive columns.
    pub fn unit_index(&self) -> Option<usize> {
        let codings = self.sensitive.iter().map(|column| column.spec.facets.len()).sum();
        self.unit.as_ref().map(|_| codings)
    }
}

impl Policy {
    /// Returns the columns of the unit of privacy that the input has.
    fn bind_unit(&self, schema: &Schema) -> Option<BoundUnit> {
        let column = |name: &String| {
            let (index, field) = schema.column_with_name(name)?;
            Some(BoundColumn { name: name.clone(), index, data_type: field.data_type().clone() })
        };
        let columns = self.privacy.unit.iter().filter_map(column).collect();
        (!self.privacy.unit.is_empty()).then_some(BoundUnit { columns, nulls: self.privacy.unit_nulls })
    }

    /// Assigns a role to every input column. Returns all problems if the policy does not apply to the schema.
    pub fn bind(&self, schema: &Schema) -> Result<Binding, PolicyError> {
        let mut report = Report::new(&self.document);
        report.begin(self.place.clone());
        released_names::check(&self.columns, schema, self.has_blocks.then_some(BLOCK_COLUMN), &mut report);
        for TypeMismatch { column, declared, found } in mismatches(&self.columns, schema) {
            let path = FieldPath::of(&["columns", &column, "type"]);
            let text =
                format!("declares {}, and the input has {found}; deliver the column as declared", declared.as_str());
            report.value(&path, format!("{text}, or change the type if the delivery is right"));
        }

        let roles: HashMap<&str, &Role> =
            self.columns.by_name.iter().map(|(name, role)| (name.as_str(), role)).collect();
        // Switching starts from a p-sensitive clustering [Sun 2008, Algorithm 2].
        let starts_from_values = self.algorithm.cluster == ClusterSetting::Switching;
        let mut binding = Binding {
            quasi: Vec::new(),
            sensitive: Vec::new(),
            insensitive: Vec::new(),
            dropped: Vec::new(),
            k: self.privacy.k,
            alpha: self.privacy.alpha,
            suppression_limit: self.privacy.suppression_limit,
            unit: self.bind_unit(schema),
            pseudonym: None,
            borrow: self.privacy.borrow,
        };
        for (index, field) in schema.fields().iter().enumerate() {
            let column = BoundColumn { name: field.name().clone(), index, data_type: field.data_type().clone() };
            let path = FieldPath::of(&["columns", &column.name]);
            match roles.get(column.name.as_str()) {
                None if self.has_blocks && column.name == BLOCK_COLUMN => {
                    binding.quasi.push(BoundQuasi { column, spec: QuasiSpec::block() });
                }
                Some(Role::Pseudonym) if self.has_blocks => binding.pseudonym = Some(column),
                Some(Role::Pseudonym) => report.value(
                    &path.key("release"),
                    "a pseudonym links the rows of a person, which only `throng run` accounts for; take it out here",
                ),
                None | Some(Role::Identifier) => binding.dropped.push(column.name),
                Some(Role::Insensitive) => binding.insensitive.push(column),
                Some(Role::Sensitive(sensitive)) => {
                    if let Some(element) = list_field(&column.data_type).map(|field| field.data_type().clone()) {
                        let kind = supported_element(&column, &element, &path, &mut report);
                        check_lists(sensitive, self.series.is_some(), &path, &mut report);
                        let are_text = kind == Some(TypeKind::Text);
                        binding.sensitive.push(BoundSensitive::of_lists(column, sensitive, self.privacy.p, are_text));
                        continue;
                    }
                    let kind = supported_kind(&column, "sensitive", &path, &mut report);
                    check_numbers(&column, kind, sensitive, &path, &mut report);
                    check_forms(&column, kind, sensitive, &path, &mut report);
                    binding.sensitive.push(BoundSensitive::new(column, sensitive, self.privacy.p, starts_from_values));
                }
                Some(Role::Quasi(quasi)) => {
                    if let Some(kind) = supported_kind(&column, "quasi", &path, &mut report) {
                        let spec = quasi::bind(&column, kind, quasi, self.algorithm.partition, &path, &mut report);
                        binding.quasi.push(BoundQuasi { column, spec });
                    }
                }
            }
        }
        if binding.unit.as_ref().is_some_and(|unit| unit.columns.len() < self.privacy.unit.len()) {
            let is_missing = |name: &&String| schema.index_of(name).is_err();
            let missing: Vec<&str> = self.privacy.unit.iter().filter(is_missing).map(String::as_str).collect();
            let path = FieldPath::of(&["privacy", "unit"]);
            report
                .value(&path, format!("the input has no column `{}`, which identifies the unit", missing.join("`, `")));
        }
        released_names::check_released(&binding.released(), &mut report);
        report.finish().map(|()| binding)
    }
}

/// Reports numeric requirements on a column without numbers.
fn check_numbers(
    column: &BoundColumn,
    kind: Option<TypeKind>,
    sensitive: &Sensitive,
    path: &FieldPath,
    report: &mut Report<'_>,
) {
    let needs_numbers = |requirement: &FrequencyRequirement| match requirement {
        FrequencyRequirement::ValueRange(_) => Some("range"),
        FrequencyRequirement::Closeness { distance: GroundDistance::Ordered, .. } => Some("distance"),
        _ => None,
    };
    let bands = sensitive.bands.is_some().then_some("bands");
    if kind.is_none_or(TypeKind::has_differences) {
        return;
    }
    for field in bands.into_iter().chain(sensitive.frequencies.iter().filter_map(needs_numbers)) {
        report.field(
            &path.key(field),
            format!(
                "needs numbers or dates, and the column is of type {}; take it out",
                describe_type(&column.data_type)
            ),
        );
    }
}

/// Reports a hierarchy or categories in a form that the type of a sensitive column does not support.
fn check_forms(
    column: &BoundColumn,
    kind: Option<TypeKind>,
    sensitive: &Sensitive,
    path: &FieldPath,
    report: &mut Report<'_>,
) {
    let Some(kind) = kind else { return };
    let found = describe_type(&column.data_type);
    if let Some((form, wanted)) = sensitive.hierarchy.as_deref().and_then(|hierarchy| quasi::unfit(hierarchy, kind)) {
        report.value(&path.key("hierarchy"), format!("{form} are for {wanted}, and the column has type {found}"));
    }
    let Some(categories) = &sensitive.categories else { return };
    for (position, category) in categories.list.iter().enumerate() {
        let path = path.key("categories").index(position);
        if !category.prefixes.is_empty() && kind != TypeKind::Text {
            report.value(&path.key("prefixes"), format!("are for text, and the column has type {found}; use `bands`"));
        }
        if !category.bands.is_empty() && !kind.has_differences() {
            report.value(
                &path.key("bands"),
                format!("are for numbers and dates, and the column has type {found}; use `prefixes`"),
            );
        }
    }
}

/// Returns the kind of the elements of lists, or reports that they can't be counted.
fn supported_element(
    column: &BoundColumn,
    element: &DataType,
    path: &FieldPath,
    report: &mut Report<'_>,
) -> Option<TypeKind> {
    TypeKind::of(element).or_else(|| supported_kind(column, "sensitive", path, report))
}

/// Reports requirements that are meaningless for rows with several values.
fn check_lists(sensitive: &Sensitive, is_series: bool, path: &FieldPath, report: &mut Report<'_>) {
    let of_values = |requirement: &&FrequencyRequirement| !matches!(requirement, FrequencyRequirement::MaxShare(_));
    let fields = [
        ("categories", sensitive.categories.is_some()),
        ("hierarchy", sensitive.hierarchy.is_some()),
        ("bands", sensitive.bands.is_some()),
        ("weight", sensitive.weight.is_some()),
    ];
    let fields = fields.into_iter().filter_map(|(field, is_written)| is_written.then_some(field));
    for field in fields.chain(sensitive.frequencies.iter().filter(of_values).map(field_of)) {
        report.field(
            &path.key(field),
            "has no meaning for a column of lists, whose rows have several values; `p` and `max_share` count their \
             elements, so take it out",
        );
    }
    if is_series {
        report.value(&path.key("role"), "a column of lists can't be `sensitive` in a series of releases");
    }
}

/// Returns the kind of a column's type, or reports that its role does not support the type.
fn supported_kind(column: &BoundColumn, role: &str, path: &FieldPath, report: &mut Report<'_>) -> Option<TypeKind> {
    let kind = TypeKind::of(&column.data_type);
    if kind.is_none() {
        report.value(
            &path.key("role"),
            format!(
                "a column of type {} can't be `{role}`; only `insensitive` or `identifier` will do",
                describe_type(&column.data_type)
            ),
        );
    }
    kind
}

#[cfg(test)]
#[path = "../bind_tests.rs"]
mod tests;

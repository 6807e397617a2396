//! Role and form of each field of a release, as files and documents name them.

use crate::policy::SensitiveRelease;
use crate::raw::{RawRelease, RawRole};

use super::Binding;

/// Role and form of a field of a release.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FieldRole<'a> {
    /// Name of the field.
    pub field: String,
    /// Column of the input that it comes from.
    pub column: &'a str,
    /// Role of the column, as a policy names it.
    pub role: &'static str,
    /// Form of its values, as `release` in a policy names it: `value` where they are those of the input.
    pub form: &'static str,
}

impl FieldRole<'_> {
    /// All roles that a field can have.
    pub fn roles() -> [&'static str; 4] {
        [RawRole::Quasi, RawRole::Sensitive, RawRole::Insensitive, RawRole::Identifier].map(RawRole::as_str)
    }

    /// All forms that a field can have.
    pub fn forms() -> [&'static str; 10] {
        [
            RawRelease::Interval,
            RawRelease::Bounds,
            RawRelease::Ancestor,
            RawRelease::Set,
            RawRelease::Mean,
            RawRelease::Median,
            RawRelease::Mode,
            RawRelease::Category,
            RawRelease::Value,
            RawRelease::Pseudonym,
        ]
        .map(RawRelease::as_str)
    }
}

impl Binding {
    /// Returns the role and the form of every field of a release; in no particular order.
    pub fn field_roles(&self) -> Vec<FieldRole<'_>> {
        let role = |field: String, column, role: RawRole, form: RawRelease| FieldRole {
            field,
            column,
            role: role.as_str(),
            form: form.as_str(),
        };
        let quasi = self.quasi.iter().flat_map(|quasi| {
            let form = RawRelease::from(quasi.spec.release);
            let names = quasi.spec.released_names().into_iter();
            names.map(move |name| role(name, quasi.column.name.as_str(), RawRole::Quasi, form))
        });
        let sensitive = self.sensitive.iter().flat_map(|bound| {
            let column = bound.column.name.as_str();
            bound.released_names().into_iter().map(move |name| {
                let is_category =
                    bound.categories.is_some() && (bound.release == SensitiveRelease::Category || name != column);
                let form = if is_category { RawRelease::Category } else { RawRelease::Value };
                role(name, column, RawRole::Sensitive, form)
            })
        });
        let insensitive = self
            .insensitive
            .iter()
            .map(|column| role(column.name.clone(), &column.name, RawRole::Insensitive, RawRelease::Value));
        let pseudonym = self
            .pseudonym
            .iter()
            .map(|column| role(column.name.clone(), &column.name, RawRole::Identifier, RawRelease::Pseudonym));
        quasi.chain(sensitive).chain(insensitive).chain(pseudonym).collect()
    }
}

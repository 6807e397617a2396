//! The policy file of Throng: parsing, validation, and binding to the columns of an input.
//!
//! ```text
//!  policy.toml ──> Document ──> raw::Policy ──────> Policy ─────> Binding
//!                  places,      as written:         validated,    bound to a schema:
//!                  overrides    names and types     all errors    every column has its role
//! ```
//!
//! Each stage rejects what the next could not represent. It collects all problems instead of stopping at the first, and
//! each [`Problem`] has its position in the file and, where possible, a suggestion. The fields of the file are declared
//! once, in the `raw` types, from which both the structural check and [`json_schema`] are derived.
//!
//! ```
//! use std::path::Path;
//! use throng_policy::{Overrides, Policy};
//!
//! let text = r#"
//! version = 1
//! input.location = "people.parquet"
//! output.location = "released/"
//! privacy.k = 10
//! [columns.age]
//! role = "quasi"
//! wieght = 2.0
//! "#;
//! let error = Policy::parse(text, Path::new("."), &Overrides::default()).unwrap_err();
//! assert_eq!(error.to_string(), "policy:8:1: columns.age.wieght: unknown field; did you mean `weight`?");
//! ```

#![cfg_attr(test, allow(clippy::unwrap_used, clippy::expect_used, clippy::panic))]

mod bind;
mod budget;
mod builder;
mod canonical;
mod check_fields;
mod declared_type;
mod draft;
mod field_path;
mod guards;
mod hierarchy;
mod json_document;
mod linked;
mod load;
mod location;
mod open_question;
mod overrides;
mod policy;
mod population;
mod portable;
mod preset;
mod problem;
mod promise;
mod raw;
mod schema;
mod secret;
mod series;
mod settings;
mod spanned_toml;
mod store;
mod suggest;
mod table_at_hand;
mod table_pin;
mod text_position;
mod time_span;
mod toml_quote;
mod unexamined;
mod validate;

pub use bind::{Binding, BoundColumn, BoundQuasi, BoundSensitive, BoundUnit, ColumnRole, FieldRole};
pub use budget::Budget;
pub use builder::{PolicyBuilder, QuasiBuilder, SensitiveBuilder};
pub use declared_type::{DeclaredType, TypeMismatch, describe_type};
pub use draft::{PolicyDraft, may_identify_people};
pub use guards::Guards;
pub use hierarchy::{
    HierarchyError, HierarchyOutline, NotInline, finished_tree, hierarchy_inline, hierarchy_lines, parse_hierarchy,
    parse_hierarchy_rule, read_hierarchy,
};
pub use location::{LocationError, check as check_location, delta_table, is_web};
pub use overrides::Overrides;
pub use policy::{
    Algorithm, BoundSetting, Columns, CsvOptions, Input, Output, Policy, PrivacySettings, Quasi, Role, Sensitive,
    SensitiveRelease,
};
pub use population::{PopulationSettings, PopulationSource};
pub use preset::{Preset, highest_risk};
pub use problem::{PolicyError, Problem};
pub use promise::UNIT_COLUMN;
pub use raw::{Borrow, UnitNulls};
pub use schema::json_schema;
pub use secret::{MIN_SECRET_BYTES, SECRET_FILE_VARIABLE, SECRET_VARIABLE, Secret};
pub use series::{
    ArrivalSetting, DEFAULT_MAX_DELAY, DEFAULT_MAX_WAITING, DEFAULT_REMEMBER, DEFAULT_RESERVE, LEDGER_KEY_VARIABLE,
    LeaverSetting, SeriesSettings, StreamDelay,
};
pub use settings::{ClusterSetting, Commit, Format, Goal, LookAlikes, Mode, OutputFormat, Pseudonyms};
pub use store::Store;
pub use table_pin::TablePin;
pub use text_position::LineColumn;
pub use time_span::parse as parse_time_span;

#[cfg(test)]
#[path = "test_policies.rs"]
mod test_policies;

//! p-sensitive k-anonymity for Arrow tables.
//!
//! A table of people and a policy go in. A release comes out: every row shares its quasi-identifiers with at least k - 1 others,
//! and every such equivalence class has at least p values of each sensitive column. All rows of a release are verified before the
//! first one is returned.
//!
//! ```
//! use throng::prelude::*;
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let people = RecordBatch::try_from_iter([
//!     ("name", create_array!(Utf8, ["Ada", "Bob", "Cem", "Dag", "Eve", "Fay"]) as ArrayRef),
//!     ("age", create_array!(Int32, [25, 29, 27, 61, 64, 60]) as ArrayRef),
//!     ("illness", create_array!(Utf8, ["flu", "gout", "flu", "flu", "asthma", "gout"]) as ArrayRef),
//! ])?;
//!
//! let policy = Policy::builder()
//!     .with_k(3)
//!     .with_p(2)
//!     .identifier("name")
//!     .quasi("age", |age| age)
//!     .sensitive("illness", |illness| illness)
//!     // Without this line the secret is that of `THRONG_SECRET`, or one in the state folder of the user.
//!     .with_secret(Secret::new("an example, and no secret at all")?)
//!     .build()?;
//!
//! let release = throng::anonymize(people, &policy).await?;
//! assert_eq!((release.rows(), release.suppressed_rows(), release.classes()), (6, 0, 2));
//! assert!(release.requirements().iter().all(|requirement| requirement.holds()));
//!
//! let shown = pretty_format_batches(&release.collect().await?)?.to_string();
//! assert!(shown.contains("[25-29]") && shown.contains("[60-64]") && !shown.contains("Ada"), "{shown}");
//! # Ok(())
//! # }
//! ```
//!
//! # Tables
//!
//! [`anonymize`] takes anything that is [`IntoTable`]: a batch, batches, a stream of batches, a `DataFrame`, or any table of
//! DataFusion. [`anonymize_in`] does the same in a session of the host, and uses its memory pool, temporary folder and object
//! stores. Rows that do not fit into the pool are spilled.
//!
//! A release is also a table, which can be queried:
//!
//! ```
//! # use throng::prelude::*;
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let session = SessionContext::new();
//! let staff = session.sql("SELECT 20 + value % 40 AS age, value % 6 AS band FROM generate_series(1, 500)").await?;
//! let policy = Policy::builder()
//!     .with_k(5)
//!     .with_p(2)
//!     .quasi("age", |age| age.with_intervals([5.0, 10.0]))
//!     .sensitive("band", |band| band)
//!     .with_secret(Secret::new("an example, and no secret at all")?)
//!     .build()?;
//! let release = throng::anonymize_in(&session, staff, &policy).await?;
//!
//! session.register_table("released", release.table())?;
//! let by_age = session.sql("SELECT age, count(*) FROM released GROUP BY age HAVING count(*) < 5").await?;
//! assert_eq!(by_age.count().await?, 0);
//! # Ok(())
//! # }
//! ```
//!
//! # Policies
//!
//! A [`Policy`] is written in Rust ([`Policy::builder`]), in TOML ([`Policy::load`], [`Policy::parse`]) or in JSON
//! ([`Policy::from_json`]). All of them go through one validation, which reports every problem at once and names its field:
//!
//! ```
//! # use throng::prelude::*;
//! let error = Policy::builder().with_k(5).with_p(9).quasi("age", |age| age.with_weight(-1.0)).build().unwrap_err();
//! let fields: Vec<&str> = error.problems().iter().map(|problem| problem.path.as_str()).collect();
//! assert!(fields.contains(&"privacy.p") && fields.contains(&"columns.age.weight"), "{fields:?}");
//! ```
//!
//! # Errors
//!
//! [`ThrongError`] has a variant for each cause that a host may want to act on, with columns and counts as fields. No message
//! quotes a value of the data.
//!
//! ```
//! # use throng::prelude::*;
//! # use throng::Shortfall;
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let people = RecordBatch::try_from_iter([
//!     ("age", create_array!(Int32, [25, 39, 36]) as ArrayRef),
//!     ("illness", create_array!(Utf8, ["flu", "flu", "flu"]) as ArrayRef),
//! ])?;
//! let policy = Policy::builder()
//!     .with_k(3)
//!     .with_p(2)
//!     .quasi("age", |age| age)
//!     .sensitive("illness", |illness| illness)
//!     .with_secret(Secret::new("an example, and no secret at all")?)
//!     .build()?;
//! match throng::anonymize(people, &policy).await {
//!     Err(ThrongError::Infeasible { shortfalls }) => {
//!         let expected = Shortfall::Distinct { column: "illness".to_owned(), distinct: 1, p: 2 };
//!         assert_eq!(shortfalls, [expected]);
//!     }
//!     other => panic!("{other:?}"),
//! }
//! # Ok(())
//! # }
//! ```
//!
//! # Verification
//!
//! [`verify()`] recomputes the promise of a policy on any table, from its values alone. [`risk()`] measures the risk of a table as it
//! is.
//!
//! ```
//! # use throng::prelude::*;
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let claimed = RecordBatch::try_from_iter([
//!     ("age", create_array!(Utf8, ["[25-29]", "[25-29]", "64"]) as ArrayRef),
//!     ("illness", create_array!(Utf8, ["flu", "gout", "flu"]) as ArrayRef),
//! ])?;
//! let policy = Policy::builder().with_k(2).quasi("age", |age| age).sensitive("illness", |illness| illness).build()?;
//! let findings = throng::verify(claimed, &policy).await?;
//! assert!(!findings.holds());
//! assert_eq!((findings.classes, findings.classes_below_k, findings.smallest_class), (2, 1, 1));
//! # Ok(())
//! # }
//! ```
//!
//! # Threads
//!
//! The functions here are asynchronous and run on the Tokio runtime of the caller; [`blocking`] has them for plain threads. Classes
//! are formed, and rows built, on the global thread pool of rayon, or on a smaller one if the session has fewer
//! `target_partitions` than that has threads.
//!
//! # Memory
//!
//! Batches of a table in memory are not copied while the release is made. It refers to them until it is dropped; its own batches
//! have none of their buffers.
//!
//! # Extensions
//!
//! With the feature `testing`, the module `testing` checks that your own clustering or privacy model keeps its contract.

#![cfg_attr(test, allow(clippy::unwrap_used, clippy::expect_used, clippy::panic))]

pub mod blocking;
mod error;
mod input;
pub mod prelude;
mod read;
mod release;
mod risk;
#[cfg(feature = "testing")]
pub mod testing;
mod verify;

pub use datafusion;
pub use throng_core;
pub use throng_datafusion;
pub use throng_policy;

pub use datafusion::arrow;
pub use error::ThrongError;
pub use input::IntoTable;
pub use release::VerifiedRelease;

pub use throng_core::CoreError;
pub use throng_core::anonymize::{ClusterChoice, Method, PartitionChoice};
pub use throng_core::columns::{Categories, Category, ColumnRecoding, Limit, Nulls, Protection};
pub use throng_core::feasibility::Shortfall;
pub use throng_core::hierarchy::{DatePart, HierarchySpec, MaskSide};
pub use throng_core::key::ReleaseKey;
pub use throng_core::metrics::{ColumnUtility, DistributionShift, DomainSlice, Utility};
pub use throng_core::risk::{BorrowedRows, ClassSizes, ColumnRisk, Risk, RiskSummary, SensitiveRisk, SizeBand};
pub use throng_core::row_hash::Checksum;
pub use throng_core::verify::{
    AllowedValues, Amount, Diversity, Findings, LabelColumn, LabelFindings, LimitPromise, Promise, RequirementFindings,
    SensitivePromise, SensitiveReading, VerifyError,
};
pub use throng_datafusion::{
    AnonymizeError, AnonymizedTable, CodecError, EngineFailure, ExamineRelease, Facts, ParquetDamage, ReleaseExaminer,
    classify, register_all,
};
pub use throng_policy::{
    Algorithm, Binding, BoundColumn, BoundQuasi, BoundSensitive, Budget, ClusterSetting, Columns, Commit, CsvOptions,
    Format, Input, LineColumn, Mode, Output, Overrides, Policy, PolicyBuilder, PolicyError, Preset, PrivacySettings,
    Problem, Quasi, QuasiBuilder, Role, Secret, Sensitive, SensitiveBuilder, SensitiveRelease, Store, json_schema,
};

use datafusion::prelude::SessionContext;

/// Anonymizes a table under a policy, in a session with DataFusion's defaults: without a memory limit.
///
/// The input is read once. All rows of the release have been verified when this returns. The release depends on the content of the
/// table, the policy and its secret, and on nothing else.
pub async fn anonymize(table: impl IntoTable, policy: &Policy) -> Result<VerifiedRelease, ThrongError> {
    anonymize_in(&SessionContext::new(), table, policy).await
}

/// Anonymizes a table under a policy in a session, whose memory pool, temporary folder and object stores are used. A `DataFrame`
/// of files needs the session that has opened them.
pub async fn anonymize_in(
    session: &SessionContext,
    table: impl IntoTable,
    policy: &Policy,
) -> Result<VerifiedRelease, ThrongError> {
    VerifiedRelease::new(session, table, policy).await
}

/// Verifies that a table keeps the promise of a policy, from its values alone. Shares no code with what makes releases.
///
/// Also returns findings for a table that does not keep the promise: see [`Findings::holds`]. A column that the policy does
/// not release is an error.
pub async fn verify(table: impl IntoTable, policy: &Policy) -> Result<Findings, ThrongError> {
    verify_in(&SessionContext::new(), table, policy).await
}

/// Verifies a table in a session, as [`verify()`] does.
pub async fn verify_in(
    session: &SessionContext,
    table: impl IntoTable,
    policy: &Policy,
) -> Result<Findings, ThrongError> {
    verify::verify(session, table, policy).await
}

/// Measures the re-identification risk of a table as it is, by the quasi-identifiers and sensitive columns of a policy.
///
/// Classes are rows with the same values, before any generalization, and rows with a risk above `1/k` are counted. The figures are
/// for the data controller: some concern fewer than k rows, and so must not be published.
///
/// ```
/// # use throng::prelude::*;
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let people = RecordBatch::try_from_iter([("age", create_array!(Int32, [25, 25, 25, 64]) as ArrayRef)])?;
/// let policy = Policy::builder().with_k(2).quasi("age", |age| age).build()?;
/// let risk = throng::risk(people, &policy).await?;
/// assert_eq!((risk.rows, risk.classes, risk.uniques, risk.rows_at_risk), (4, 2, 1, 1));
/// # Ok(())
/// # }
/// ```
pub async fn risk(table: impl IntoTable, policy: &Policy) -> Result<Risk, ThrongError> {
    risk_in(&SessionContext::new(), table, policy).await
}

/// Measures the risk of a table in a session, as [`risk()`] does.
pub async fn risk_in(session: &SessionContext, table: impl IntoTable, policy: &Policy) -> Result<Risk, ThrongError> {
    risk::risk(session, table, policy).await
}

#[cfg(test)]
#[path = "facade_tests.rs"]
mod tests;

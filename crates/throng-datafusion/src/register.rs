//! Registers everything that Throng adds to SQL.

use std::sync::Arc;

use datafusion::logical_expr::{AggregateUDF, ScalarUDF};
use datafusion::prelude::SessionContext;

use crate::external::ThrongTableFactory;
use crate::functions::{
    AnonymizeFunction, AnonymizeStreamFunction, FrequencyFunction, GeneralizeFunction, KAnonymityFunction,
    PSensitivityFunction, PrivacyCheckFunction,
};

/// Registers all functions and table formats of Throng with a session:
///
/// | in SQL | what it is |
/// |---|---|
/// | `anonymize('table', 'policy')` | the release of a table, as a table |
/// | `anonymize_stream('table', 'policy')` | the release of a stream, whose rows are emitted while others still arrive |
/// | `privacy_check('table', 'policy')` | the requirements on a release, and whether it meets them |
/// | `CREATE EXTERNAL TABLE ... STORED AS THRONG` | files of which only a release can be queried |
/// | `generalize(value, 'hierarchy', level)` | a value as a level of a hierarchy shows it |
/// | `k_anonymity(q1, ...)` | the size of the smallest class |
/// | `p_sensitivity(s, q1, ...)` | the fewest distinct values of `s` in a class |
/// | `max_share(s, q1, ...)` | the largest share of one value of `s` in a class |
/// | `entropy_l(s, q1, ...)` | the least diversity of `s` in a class, as equally frequent values of the same entropy |
/// | `recursive_c(l, s, q1, ...)` | the largest ratio of the most frequent value to those from the `l`-th on |
/// | `t_closeness(s, q1, ...)`, `t_closeness_ordered(s, q1, ...)` | the largest distance of a class from all rows |
/// | `beta_likeness(s, q1, ...)` | the largest relative gain in the frequency of a value over all rows |
/// | `delta_disclosure(s, q1, ...)` | the largest logarithm of the factor between the shares of a value in a class and in all rows |
///
/// A policy is the path of a file or the policy itself. Functions read files with the permissions of the host; a host
/// that runs untrusted queries should not offer them, nor `CREATE EXTERNAL TABLE`, nor the input by its name.
///
/// The random choices of a release are keyed by a secret: the [`throng_policy::Secret`] that the host has added to the
/// session (`SessionConfig::with_extension`), or else that of the user ([`throng_policy::Secret::of_user`]).
///
/// ```
/// # use datafusion::prelude::*;
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let ctx = SessionContext::new();
/// throng_datafusion::register_all(&ctx);
/// ctx.sql("CREATE TABLE people AS VALUES (25, 'flu'), (39, 'gout'), (36, 'flu'), (71, 'flu'), (78, 'gout')").await?;
/// let released = ctx
///     .sql(
///         r#"SELECT column1 AS age, count(*) AS people FROM anonymize('people', '
///                version = 1
///                privacy = { k = 2, p = 2 }
///                columns.column1.role = "quasi"
///                columns.column2.role = "sensitive"
///            ') GROUP BY age ORDER BY age"#,
///     )
///     .await?;
/// let table = "\
/// +---------+--------+
/// | age     | people |
/// +---------+--------+
/// | [25-39] | 3      |
/// | [71-78] | 2      |
/// +---------+--------+";
/// assert_eq!(released.to_string().await?, table);
/// # Ok(())
/// # }
/// ```
pub fn register_all(ctx: &SessionContext) {
    ctx.register_udtf(AnonymizeFunction::NAME, Arc::new(AnonymizeFunction::default()));
    ctx.register_udtf(AnonymizeStreamFunction::NAME, Arc::new(AnonymizeStreamFunction::default()));
    ctx.register_udtf(PrivacyCheckFunction::NAME, Arc::new(PrivacyCheckFunction));
    ctx.register_udf(ScalarUDF::new_from_impl(GeneralizeFunction::default()));
    ctx.register_udaf(AggregateUDF::new_from_impl(KAnonymityFunction::default()));
    ctx.register_udaf(AggregateUDF::new_from_impl(PSensitivityFunction::default()));
    FrequencyFunction::all().for_each(|function| ctx.register_udaf(AggregateUDF::new_from_impl(function)));
    let factory = Arc::new(ThrongTableFactory);
    ctx.state_ref().write().table_factories_mut().insert(ThrongTableFactory::NAME.to_owned(), factory);
}

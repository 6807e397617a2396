//! `CREATE EXTERNAL TABLE ... STORED AS THRONG`: registers files of which only the release can be queried.

use std::sync::Arc;

use async_trait::async_trait;
use datafusion::catalog::{Session, TableProvider, TableProviderFactory};
use datafusion::common::{Result, plan_err};
use datafusion::datasource::listing_table_factory::ListingTableFactory;
use datafusion::logical_expr::CreateExternalTable;

use crate::AnonymizedTable;
use crate::policy_text::release_policy_of;

/// Default value of the option `format`.
const DEFAULT_EXTERNAL_FORMAT: &str = "parquet";
/// Supported file formats.
const FORMATS: [&str; 3] = ["parquet", "csv", "arrow"];
/// Prefix that DataFusion adds to option names without a dot.
const PREFIX: &str = "format.";

/// Creates tables for `STORED AS THRONG`.
///
/// ```sql
/// CREATE EXTERNAL TABLE people STORED AS THRONG LOCATION 'data/people/'
/// OPTIONS ('policy' 'policy.toml', 'format' 'parquet')
/// ```
///
/// The option `policy` is the path of a policy file or the policy itself; `format` is `parquet` (the default), `csv` or
/// `arrow`. All other options are passed to the reader of that format. The input itself is not registered in the
/// session.
#[derive(Debug, Default)]
pub struct ThrongTableFactory;

impl ThrongTableFactory {
    /// Name of the format in `STORED AS`.
    pub const NAME: &str = "THRONG";
}

#[async_trait]
impl TableProviderFactory for ThrongTableFactory {
    async fn create(&self, state: &dyn Session, cmd: &CreateExternalTable) -> Result<Arc<dyn TableProvider>> {
        refuse_claims(cmd)?;
        let mut input = cmd.clone();
        let mut option = |name: &str| input.options.remove(&format!("{PREFIX}{name}"));
        let Some(policy) = option("policy") else {
            return plan_err!(
                "table `{}` has no policy; add OPTIONS ('policy' 'policy.toml'), with a path or the policy itself",
                cmd.name
            );
        };
        let format = option("format").unwrap_or_else(|| DEFAULT_EXTERNAL_FORMAT.to_owned()).to_lowercase();
        if !FORMATS.contains(&format.as_str()) {
            return plan_err!("table `{}` has an unknown format; use one of {}", cmd.name, FORMATS.join(", "));
        }
        input.file_type = format.to_uppercase();
        let policy = release_policy_of(&policy, state.config())?;
        let input = ListingTableFactory::new().create(state, &input).await?;
        Ok(Arc::new(AnonymizedTable::new(input, policy)?))
    }
}

/// Rejects clauses that do not apply: the schema of a release follows from input and policy, and its order is
/// canonical.
fn refuse_claims(cmd: &CreateExternalTable) -> Result<()> {
    let claims = [
        ("a list of columns", !cmd.schema.fields().is_empty()),
        ("constraints", cmd.constraints.iter().len() > 0),
        ("WITH ORDER", !cmd.order_exprs.is_empty()),
        ("UNBOUNDED", cmd.unbounded),
    ];
    match claims.iter().find(|(_, is_there)| *is_there) {
        Some((claim, _)) => plan_err!(
            "table `{}` has {claim}, and a table STORED AS THRONG can't: its columns follow from the input and the policy, \
             and its rows have an order of their own; leave that out",
            cmd.name
        ),
        None => Ok(()),
    }
}

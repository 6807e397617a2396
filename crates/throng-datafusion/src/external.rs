//! `CREATE EXTERNAL TABLE ... STORED AS THRONG`: files of people, of which only a release can be queried.

use std::sync::Arc;

use async_trait::async_trait;
use datafusion::catalog::{Session, TableProvider, TableProviderFactory};
use datafusion::common::{Result, plan_err};
use datafusion::datasource::listing_table_factory::ListingTableFactory;
use datafusion::logical_expr::CreateExternalTable;

use crate::AnonymizedTable;
use crate::policy_text::policy_of;

/// The format of files that say nothing else.
pub const DEFAULT_EXTERNAL_FORMAT: &str = "parquet";
/// The formats that can be read.
const FORMATS: [&str; 3] = ["parquet", "csv", "arrow"];
/// What DataFusion puts before the names of options without a dot.
const PREFIX: &str = "format.";

/// Makes tables of `STORED AS THRONG`.
///
/// ```sql
/// CREATE EXTERNAL TABLE people STORED AS THRONG LOCATION 'data/people/'
/// OPTIONS ('policy' 'policy.toml', 'format' 'parquet')
/// ```
///
/// The option `policy` is the path of a policy file or the policy itself; `format` is `parquet` (the default), `csv` or
/// `arrow`. All other options go to the reader of that format. The input itself gets no name in the session.
#[derive(Debug, Default)]
pub struct ThrongTableFactory;

impl ThrongTableFactory {
    /// What `STORED AS` calls it.
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
        let policy = policy_of(&policy, state.config())?;
        let input = ListingTableFactory::new().create(state, &input).await?;
        Ok(Arc::new(AnonymizedTable::new(input, policy)?))
    }
}

/// Refuses what a statement can claim of other tables: the columns of a release follow from its policy, and their order is
/// the canonical one.
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

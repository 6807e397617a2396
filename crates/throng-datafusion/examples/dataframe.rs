//! A DataFrame pipeline that ends in a release: prepare, anonymize, continue with the released rows.
//!
//! `cargo run -p throng-datafusion --example dataframe`

use std::path::Path;
use std::sync::Arc;

use datafusion::functions_aggregate::expr_fn::{avg, count};
use datafusion::prelude::*;
use throng_datafusion::AnonymizedTable;
use throng_policy::{Overrides, Policy};

const POLICY: &str = r#"
version = 1
privacy = { k = 5, p = 2 }
columns.age = { role = "quasi", release = "interval" }
columns.salary_band.role = "sensitive"
columns.hours.role = "insensitive"
"#;

/// Runs the example.
#[tokio::main]
pub async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let ctx = SessionContext::new();
    let staff = ctx
        .sql("SELECT value AS id, 18 + value * 13 % 47 AS age, value * 29 % 41 AS hours FROM generate_series(1, 500)");

    // Operations on single rows must come first.
    let prepared = staff.await?.filter(col("hours").gt(lit(4)))?.select(vec![
        col("age"),
        (col("id") % lit(6)).alias("salary_band"),
        col("hours"),
    ])?;

    let policy = Arc::new(Policy::parse(POLICY, Path::new("."), &Overrides::for_a_table())?);
    let table = Arc::new(AnonymizedTable::new(prepared.into_view(), policy)?);
    let released = ctx.read_table(table.clone())?;
    let by_age =
        released.aggregate(vec![col("age")], vec![count(lit(1)).alias("people"), avg(col("hours")).alias("hours")])?;
    by_age.sort(vec![col("age").sort(true, false)])?.show_limit(10).await?;

    if let Some(release) = table.release() {
        let facts = release.facts();
        println!("{} rows in {} classes, NCP {:.3}", facts.rows_read, facts.utility.classes, facts.utility.ncp);
    }
    Ok(())
}

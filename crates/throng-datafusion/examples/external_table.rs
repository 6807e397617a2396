//! Files of which only a release can be queried: `CREATE EXTERNAL TABLE ... STORED AS THRONG`.
//!
//! `cargo run -p throng-datafusion --example external_table`

use datafusion::prelude::SessionContext;

/// Runs the example.
#[tokio::main]
pub async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let folder = tempfile::tempdir()?;
    let place = folder.path().display();

    // The owner writes the files, and the policy next to them.
    let owner = SessionContext::new();
    let people = "SELECT value AS id, 20 + value * 31 % 55 AS age, ['low', 'middle', 'high'][1 + value % 3] AS income
                  FROM generate_series(1, 300)";
    owner.sql(&format!("COPY ({people}) TO '{place}/people/' STORED AS PARQUET")).await?.collect().await?;
    let policy = r#"
        version = 1
        privacy = { k = 8, p = 2 }
        columns.id.role = "identifier"
        columns.age.role = "quasi"
        columns.income.role = "sensitive"
    "#;
    std::fs::write(folder.path().join("policy.toml"), policy)?;

    // The analyst gets a session in which the people are available only as a release.
    let analyst = SessionContext::new();
    throng_datafusion::register_all(&analyst);
    analyst
        .sql(&format!(
            "CREATE EXTERNAL TABLE people STORED AS THRONG LOCATION '{place}/people/'
             OPTIONS ('policy' '{place}/policy.toml', 'format' 'parquet')"
        ))
        .await?;
    analyst.sql("SELECT age, count(*) AS people FROM people GROUP BY age ORDER BY age LIMIT 5").await?.show().await?;
    Ok(())
}

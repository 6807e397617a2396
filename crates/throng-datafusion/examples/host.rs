//! A host program: a session that knows Throng, and SQL over a release.
//!
//! `cargo run -p throng-datafusion --example host`

use datafusion::error::Result;
use datafusion::prelude::SessionContext;

const POLICY: &str = r#"
version = 1
privacy = { k = 10, p = 3 }
columns.id.role = "identifier"
columns.age.role = "quasi"
columns.city = { role = "quasi", hierarchy.tree = { North = ["Oslo", "Bergen"], South = ["Rome", "Bari"] } }
columns.diagnosis.role = "sensitive"
"#;

/// Runs the example.
#[tokio::main]
pub async fn main() -> Result<()> {
    let ctx = SessionContext::new();
    throng_datafusion::register_all(&ctx);

    // Any table of the session will do; this one is made up.
    ctx.sql(
        "CREATE TABLE patients AS SELECT value AS id, 20 + value * 37 % 60 AS age,
                [ 'Oslo', 'Bergen', 'Rome', 'Bari' ][1 + value % 4] AS city,
                [ 'flu', 'gout', 'asthma', 'measles' ][1 + value * 7 / 3 % 4] AS diagnosis
         FROM generate_series(1, 1000)",
    )
    .await?;

    ctx.sql(&format!("CREATE VIEW released AS SELECT * FROM anonymize('patients', '{POLICY}')")).await?;
    ctx.sql("SELECT city, diagnosis, count(*) AS people FROM released GROUP BY ALL ORDER BY 1, 2")
        .await?
        .show()
        .await?;
    ctx.sql("SELECT k_anonymity(age, city) AS k, p_sensitivity(diagnosis, age, city) AS p FROM released")
        .await?
        .show()
        .await?;
    ctx.sql(&format!("SELECT * FROM privacy_check('released', '{POLICY}')")).await?.show().await
}

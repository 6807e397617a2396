//! A host that anonymizes its own batches, shows what was lost, and verifies what it has stored.
//!
//! `cargo run -p throng --example embed`

use throng::prelude::*;

/// Runs the example.
#[tokio::main]
pub async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let session = SessionContext::new();
    let staff = session
        .sql(
            "SELECT concat('P', value) AS id, 18 + value * 13 % 47 AS age, concat('10', value * 7 % 900 + 100) AS zip, \
             CASE value % 5 WHEN 0 THEN 'asthma' WHEN 1 THEN 'gout' ELSE 'flu' END AS illness \
             FROM generate_series(1, 2000)",
        )
        .await?;

    // A real host takes the secret from the environment (`THRONG_SECRET`), and keeps it the same for every release.
    let policy = Policy::builder()
        .with_k(10)
        .with_p(2)
        .identifier("id")
        .quasi("age", |age| age.with_release(ColumnRecoding::Bounds))
        .quasi("zip", |zip| zip.with_mask(MaskSide::Right).with_weight(0.5))
        .sensitive("illness", |illness| illness)
        .with_secret(Secret::new("an example, and no secret at all")?)
        .build()?;

    let release = throng::anonymize_in(&session, staff, &policy).await?;
    println!("{} rows in {} classes, NCP {:.3}", release.rows(), release.classes(), release.ncp());
    for found in release.requirements() {
        println!("{}: {} required, {} achieved", found.model, found.required, found.achieved);
    }
    println!("risk: {:.3} at most, {:.3} before", release.risk(&[]).highest, release.risk_before(&[]).highest);

    let batches = release.collect().await?;
    println!("{}", pretty_format_batches(&[batches[0].slice(0, 5)])?);
    assert!(throng::verify(batches, &policy).await?.holds());
    Ok(())
}

//! The shortest host: batches in, a verified release out.
//!
//! `cargo run -p throng --example batches`

use throng::prelude::*;

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let people = RecordBatch::try_from_iter([
        ("name", create_array!(Utf8, ["Ada", "Bob", "Cem", "Dag", "Eve", "Fay"]) as ArrayRef),
        ("age", create_array!(Int32, [25, 29, 27, 61, 64, 60]) as ArrayRef),
        ("illness", create_array!(Utf8, ["flu", "gout", "flu", "flu", "asthma", "gout"]) as ArrayRef),
    ])?;
    let policy = Policy::builder()
        .with_k(3)
        .with_p(2)
        .identifier("name")
        .quasi("age", |age| age)
        .sensitive("illness", |illness| illness)
        .build()?;
    let release = throng::anonymize(people, &policy).await?;
    println!("{} rows in {} classes, NCP {:.3}", release.rows(), release.classes(), release.ncp());
    println!("{}", pretty_format_batches(&release.collect().await?)?);
    Ok(())
}

//! `anonymize_stream`: no part of a query is evaluated below it, and its rows are those of the policy.

use std::collections::BTreeMap;
use std::sync::Arc;

use datafusion::prelude::SessionContext;

use crate::engine::rows;
use crate::people::{session, sixty};
use crate::spy::{Asked, Spy};

const POLICY: &str = r#"
    version = 1
    privacy = { k = 5, p = 2 }
    series.max_delay = { rows = 30 }
    columns.default = "drop"
    columns.age.role = "quasi"
    columns.diagnosis.role = "sensitive"
    columns.hours.role = "insensitive"
"#;

async fn spied() -> (SessionContext, Arc<Spy>) {
    let ctx = session();
    let spy = Arc::new(Spy::new(sixty()));
    ctx.register_table("spied", spy.clone()).unwrap();
    ctx.sql(&format!("CREATE VIEW released AS SELECT * FROM anonymize_stream('spied', '{POLICY}')")).await.unwrap();
    (ctx, spy)
}

#[tokio::test]
async fn no_part_of_a_query_reaches_the_input_of_a_stream() {
    for query in [
        "SELECT * FROM released WHERE hours > 30",
        "SELECT hours FROM released WHERE random() < 0.5",
        "SELECT age FROM released WHERE diagnosis = 'flu' LIMIT 2",
        "SELECT count(*) FROM released",
        "SELECT diagnosis, max(hours) FROM released GROUP BY diagnosis HAVING count(*) > 2",
        "SELECT * FROM (SELECT hours, rank() OVER (ORDER BY hours) AS place FROM released) WHERE place <= 3",
    ] {
        let (ctx, spy) = spied().await;
        ctx.sql(query).await.unwrap().collect().await.unwrap();
        let columns = ["age", "diagnosis", "hours"].map(str::to_owned).to_vec();
        for asked in spy.asked() {
            assert_eq!(asked, Asked { columns: columns.clone(), filters: 0, limit: None }, "{query}");
        }
    }
}

#[tokio::test]
async fn a_query_sees_the_classes_of_each_emission_and_a_second_query_is_refused() {
    let (ctx, _) = spied().await;
    let seen = rows(&ctx.sql("SELECT age, diagnosis FROM released").await.unwrap().collect().await.unwrap());
    assert_eq!(seen.len(), 60);
    let mut classes: BTreeMap<&str, usize> = BTreeMap::new();
    seen.iter().for_each(|row| *classes.entry(&row[0]).or_default() += 1);
    assert!(classes.values().all(|rows| *rows >= 5), "{classes:?}");
    let again = ctx.sql("SELECT age FROM released").await.unwrap().collect().await.unwrap_err().to_string();
    assert!(again.contains("the stream was read before"), "{again}");
}

#[tokio::test]
async fn a_plan_shows_how_long_rows_may_wait() {
    let (ctx, _) = spied().await;
    let plan =
        rows(&ctx.sql("EXPLAIN SELECT * FROM released").await.unwrap().collect().await.unwrap()).concat().join("\n");
    assert!(plan.contains("AnonymizeStreamExec: k=5, p=2, max_rows=30"), "{plan}");
}

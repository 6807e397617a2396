//! Releases are cached per session: a repeated query does not compute its release again.

use std::sync::Arc;

use datafusion::prelude::SessionContext;

use crate::engine::rows;
use crate::people::{POLICY, people, session, sixty};
use crate::spy::Spy;

async fn ask(ctx: &SessionContext, sql: &str) -> Vec<Vec<String>> {
    rows(&ctx.sql(sql).await.unwrap().collect().await.unwrap())
}

fn spied(ctx: &SessionContext) -> Arc<Spy> {
    let spy = Arc::new(Spy::new(sixty()));
    ctx.register_table("spied", spy.clone()).unwrap();
    spy
}

/// Returns an inline policy with these parameters.
fn inline(k: u64, seed: u64) -> String {
    format!(
        "version = 1\nprivacy.k = {k}\nalgorithm.seed = {seed}\ncolumns.default = \"drop\"\n\
         columns.age.role = \"quasi\"\ncolumns.sex.role = \"quasi\"\ncolumns.hours.role = \"insensitive\""
    )
}

#[tokio::test]
async fn several_queries_read_the_input_once() {
    let ctx = session();
    let spy = spied(&ctx);
    let all = format!("SELECT * FROM anonymize('spied', '{POLICY}')");
    let first = ask(&ctx, &all).await;
    assert_eq!(first.len(), 60);
    assert_eq!(spy.executed(), 2, "both partitions are read once");
    assert_eq!(ask(&ctx, &all).await, first);
    ask(&ctx, &format!("SELECT count(*) FROM anonymize('public.spied', '{POLICY}') WHERE hours > 20")).await;
    let both = format!(
        "SELECT count(*) FROM anonymize('spied', '{POLICY}') a JOIN anonymize('spied', '{POLICY}') b ON a.hours = b.hours"
    );
    ask(&ctx, &both).await;
    assert_eq!(spy.executed(), 2, "later queries see the release of the first");
}

#[tokio::test]
async fn queries_at_the_same_time_share_a_release() {
    let ctx = session();
    let spy = spied(&ctx);
    let sql = format!("SELECT * FROM anonymize('spied', '{POLICY}')");
    let (one, other) = tokio::join!(ask(&ctx, &sql), ask(&ctx, &sql));
    assert_eq!(one, other);
    assert_eq!(spy.executed(), 2);
}

#[tokio::test]
async fn another_seed_or_policy_is_another_release() {
    let ctx = session();
    let spy = spied(&ctx);
    let sql = |policy: &str| format!("SELECT * FROM anonymize('spied', '{policy}')");
    let first = ask(&ctx, &sql(&inline(5, 0))).await;
    let reworded = inline(5, 0).replace("privacy.k = 5", "privacy = { k = 5 } # as before");
    assert_eq!(ask(&ctx, &sql(&reworded)).await, first);
    assert_eq!(spy.executed(), 2, "the same policy in other words is the same policy");
    let seeded = ask(&ctx, &sql(&inline(5, 7))).await;
    assert_ne!(seeded, first, "another seed orders the rows of a class in another way");
    assert_eq!(spy.executed(), 4);
    let coarser = ask(&ctx, &sql(&inline(20, 0))).await;
    assert_ne!(coarser, first);
    assert_eq!(spy.executed(), 6);
}

#[tokio::test]
async fn another_table_of_the_name_is_another_release() {
    let ctx = session();
    let old = spied(&ctx);
    let sql = format!("SELECT count(*), sum(hours) FROM anonymize('spied', '{POLICY}')");
    let before = ask(&ctx, &sql).await;
    ctx.deregister_table("spied").unwrap();
    ctx.register_batch("spied", people(0, 40)).unwrap();
    assert_ne!(ask(&ctx, &sql).await, before);
    assert_eq!(old.executed(), 2);
    assert_eq!(Arc::strong_count(&old), 1, "nothing is kept of the former table");
}

//! No part of a query is evaluated below the anonymizer.

use std::sync::Arc;

use datafusion::prelude::SessionContext;

use crate::engine::rows;
use crate::people::{POLICY, session, sixty};
use crate::queries::{PICKS, QUERIES, assert_picked};
use crate::spy::{Asked, Spy};

/// Columns that the policy lets the operator read.
const READ: [&str; 7] = ["age", "zip", "country", "sex", "st", "diagnosis", "hours"];

/// Returns a session in which `released` is the release of a spy, and `materialized` a copy of it.
async fn spied() -> (SessionContext, Arc<Spy>) {
    let ctx = session();
    let spy = Arc::new(Spy::new(sixty()));
    ctx.register_table("spied", spy.clone()).unwrap();
    let all = format!("SELECT * FROM anonymize('spied', '{POLICY}')");
    ctx.sql(&format!("CREATE VIEW released AS {all}")).await.unwrap();
    ctx.sql("CREATE TABLE materialized AS SELECT * FROM released").await.unwrap();
    (ctx, spy)
}

async fn ask(ctx: &SessionContext, sql: &str) -> Vec<Vec<String>> {
    let mut answer = rows(&ctx.sql(sql).await.unwrap().collect().await.unwrap());
    answer.sort();
    answer
}

fn assert_unseen(spy: &Spy) {
    let whole = Asked { columns: READ.map(str::to_owned).to_vec(), filters: 0, limit: None };
    for asked in spy.asked() {
        assert_eq!(asked, whole, "a query must not reach the input");
    }
}

#[tokio::test]
async fn queries_see_the_same_as_on_a_copy_of_the_release() {
    let (ctx, spy) = spied().await;
    for query in QUERIES {
        let answer = ask(&ctx, query).await;
        assert_eq!(answer, ask(&ctx, &query.replace("released", "materialized")).await, "{query}");
    }
    assert!(spy.asked().len() > QUERIES.len());
    assert_unseen(&spy);
    assert_eq!(spy.executed(), 2);
}

#[tokio::test]
async fn a_query_that_makes_the_release_does_not_shape_it() {
    for query in QUERIES {
        let ctx = session();
        let spy = Arc::new(Spy::new(sixty()));
        ctx.register_table("spied", spy.clone()).unwrap();
        ctx.sql(&format!("CREATE VIEW released AS SELECT * FROM anonymize('spied', '{POLICY}')")).await.unwrap();
        let first = ask(&ctx, query).await;
        ctx.sql("CREATE TABLE materialized AS SELECT * FROM released").await.unwrap();
        assert_eq!(first, ask(&ctx, &query.replace("released", "materialized")).await, "{query}");
        assert_eq!(ask(&ctx, "SELECT count(*) FROM materialized").await, [["60"]]);
        assert_unseen(&spy);
    }
}

/// The rows that `random()` or a limit selects vary, but must be rows of the release.
#[tokio::test]
async fn chance_and_limits_pick_rows_of_the_release() {
    for query in PICKS {
        let ctx = session();
        let spy = Arc::new(Spy::new(sixty()));
        ctx.register_table("spied", spy.clone()).unwrap();
        ctx.sql(&format!("CREATE VIEW released AS SELECT * FROM anonymize('spied', '{POLICY}')")).await.unwrap();
        let picked = ask(&ctx, query).await;
        assert_picked(query, &ask(&ctx, "SELECT * FROM released").await, &picked);
        assert_unseen(&spy);
    }
}

#[tokio::test]
async fn a_query_of_few_columns_reads_what_the_policy_reads() {
    let (ctx, spy) = spied().await;
    ask(&ctx, "SELECT sex FROM released").await;
    ask(&ctx, "SELECT 1 FROM released").await;
    assert_unseen(&spy);
}

/// Over files, whose reader would accept filters, limits and the dynamic filters of joins if it were offered any.
#[tokio::test]
async fn nothing_of_a_query_is_planned_below_the_operator() {
    let ctx = session();
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path().display();
    for statement in [
        format!("COPY people TO '{place}/1.parquet' STORED AS PARQUET"),
        "SET datafusion.execution.parquet.pushdown_filters = true".to_owned(),
        format!("CREATE EXTERNAL TABLE released STORED AS THRONG LOCATION '{place}/' OPTIONS ('policy' '{POLICY}')"),
    ] {
        ctx.sql(&statement).await.unwrap().collect().await.unwrap();
    }
    let others = [
        "SELECT * FROM released WHERE random() < 0.5",
        "SELECT * FROM released LIMIT 5",
        "SELECT hours FROM released ORDER BY random() LIMIT 9",
        "SELECT * FROM (SELECT sex, row_number() OVER (PARTITION BY sex ORDER BY hours) AS n FROM released) WHERE n < 3",
    ];
    for query in QUERIES.into_iter().chain(others) {
        let physical = ctx.sql(query).await.unwrap().create_physical_plan().await.unwrap();
        let plan = datafusion::physical_plan::displayable(physical.as_ref()).indent(true).to_string();
        let shown = datafusion::physical_plan::displayable(physical.as_ref()).set_show_statistics(true).indent(true);
        for value in ["Min=Exact", "Max=Exact", "69", "asthma"] {
            assert!(!shown.to_string().contains(value), "{query}: the plan shows values of the input\n{shown}");
        }
        for below in below_the_operator(&plan) {
            assert!(below.trim_start().starts_with("DataSourceExec: "), "{query}\n{plan}");
            for trace in ["predicate", "filter", "Filter", "limit", "fetch", "sort", "person_id", "name,"] {
                assert!(!below.contains(trace), "{query}: `{trace}`\n{plan}");
            }
        }
        assert!(plan.contains("AnonymizeExec") || query.contains("false"), "{query}\n{plan}");
    }
}

/// Returns the lines of a plan that are below an operator.
fn below_the_operator(plan: &str) -> Vec<&str> {
    let depth = |line: &str| line.len() - line.trim_start().len();
    let (mut below, mut operator) = (Vec::new(), None);
    for line in plan.lines() {
        operator = operator.filter(|operator| depth(line) > *operator);
        if operator.is_some() {
            below.push(line);
        } else if line.contains("AnonymizeExec") {
            operator = Some(depth(line));
        }
    }
    below
}

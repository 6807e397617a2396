use std::path::Path;
use std::sync::Arc;

use datafusion::arrow::util::pretty::pretty_format_batches;
use datafusion::catalog::TableProvider;
use datafusion::datasource::{MemTable, ViewTable};
use datafusion::logical_expr::LogicalPlan;
use datafusion::physical_plan::{ExecutionPlan, displayable};
use datafusion::prelude::SessionContext;
use datafusion_proto::bytes::{
    logical_plan_from_bytes_with_extension_codec, logical_plan_to_bytes_with_extension_codec,
    physical_plan_from_bytes_with_extension_codec, physical_plan_to_bytes_with_extension_codec,
};
use throng_policy::{Overrides, Policy, Secret};

use super::test_people::{People, batch, elsewhere, operators, physical, release, rows};
use super::*;

const QUERY: &str = "SELECT age, count(*) FROM released GROUP BY age";

fn send_physical(plan: &Arc<dyn ExecutionPlan>, to: &SessionContext) -> Arc<dyn ExecutionPlan> {
    let codec = ThrongPhysicalCodec::default();
    let bytes = physical_plan_to_bytes_with_extension_codec(Arc::clone(plan), &codec).unwrap();
    physical_plan_from_bytes_with_extension_codec(&bytes, &to.task_ctx(), &codec).unwrap()
}

fn send_logical(plan: &LogicalPlan, to: &SessionContext) -> LogicalPlan {
    let codec = ThrongLogicalCodec::default();
    let bytes = logical_plan_to_bytes_with_extension_codec(plan, &codec).unwrap();
    logical_plan_from_bytes_with_extension_codec(&bytes, &to.task_ctx(), &codec).unwrap()
}

fn explain(plan: &Arc<dyn ExecutionPlan>) -> String {
    displayable(plan.as_ref()).indent(true).to_string()
}

/// Returns the rows of an unordered query as sorted lines.
async fn sorted(plan: Arc<dyn ExecutionPlan>, context: &SessionContext) -> Vec<String> {
    let text = pretty_format_batches(&[rows(plan, context).await]).unwrap().to_string();
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    lines.sort();
    lines
}

#[tokio::test]
async fn a_physical_plan_runs_elsewhere_with_the_same_result() {
    let people = People::new().await;
    let (here, there) = (people.session().await, elsewhere());
    for query in [QUERY, "SELECT * FROM released", "SELECT note FROM released WHERE illness = 'flu' LIMIT 3"] {
        let plan = physical(&here, query).await;
        let sent = send_physical(&plan, &there);
        assert_eq!(explain(&sent), explain(&plan), "{query}");
        assert_eq!(operators(&sent).len(), 1);
        assert_eq!(sorted(sent, &there).await, sorted(plan, &here).await, "{query}");
    }
    let plan = physical(&here, "SELECT * FROM released").await;
    assert_eq!(rows(send_physical(&plan, &there), &there).await, rows(plan, &here).await);
}

#[tokio::test]
async fn a_logical_plan_runs_elsewhere_with_the_same_result() {
    let people = People::new().await;
    let (here, there) = (people.session().await, elsewhere());
    for query in [QUERY, "SELECT * FROM released", "SELECT a.age FROM released a JOIN released b ON a.note = b.note"] {
        let frame = here.sql(query).await.unwrap();
        for plan in [frame.logical_plan().clone(), frame.clone().into_optimized_plan().unwrap()] {
            let sent = send_logical(&plan, &there);
            assert_eq!(sent.display_indent().to_string(), plan.display_indent().to_string());
            let sent = there.execute_logical_plan(sent).await.unwrap().create_physical_plan().await.unwrap();
            let plan = frame.clone().create_physical_plan().await.unwrap();
            assert_eq!(explain(&sent), explain(&plan), "{query}");
            assert_eq!(sorted(sent, &there).await, sorted(plan, &here).await, "{query}");
        }
    }
}

#[tokio::test]
async fn views_and_data_frames_travel_as_their_plans() {
    let people = People::new().await;
    let here = people.session().await;
    let frame =
        here.sql("SELECT name, age + 1 AS age, country, illness, note FROM people WHERE age < 50").await.unwrap();
    let view = ViewTable::new(frame.logical_plan().clone(), None);
    for input in [frame.into_view(), Arc::new(view) as Arc<dyn TableProvider>] {
        let (here, there) = (elsewhere(), elsewhere());
        release(&here, input, people.policy());
        let plan = here.sql("SELECT * FROM released").await.unwrap();
        let sent = there.execute_logical_plan(send_logical(plan.logical_plan(), &there)).await.unwrap();
        let (plan, sent) = (plan.create_physical_plan().await.unwrap(), sent.create_physical_plan().await.unwrap());
        assert_eq!(rows(sent, &there).await, rows(plan, &here).await);
    }
}

#[tokio::test]
async fn a_physical_plan_carries_a_table_in_memory() {
    let people = People::new().await;
    let (here, there) = (elsewhere(), elsewhere());
    let input = MemTable::try_new(batch().schema(), vec![vec![batch()]]).unwrap();
    release(&here, Arc::new(input), people.policy());
    let plan = physical(&here, "SELECT * FROM released").await;
    let sent = send_physical(&plan, &there);
    assert_eq!(rows(sent, &there).await, rows(plan, &here).await);
    let from_file = people.session().await;
    let plan = physical(&from_file, "SELECT * FROM released").await;
    assert_eq!(rows(plan, &from_file).await, rows(physical(&here, "SELECT * FROM released").await, &here).await);
}

#[tokio::test]
async fn a_release_of_a_release_travels_too() {
    let people = People::new().await;
    let (here, there) = (people.session().await, elsewhere());
    let policy =
        "version = 1\nprivacy.k = 8\ncolumns = { default = 'drop', age.role = 'quasi', note.role = 'insensitive' }\n";
    let policy = Policy::parse(policy, Path::new("/nowhere"), &Overrides::for_a_table())
        .unwrap()
        .with_secret(Secret::new("the same secret in every test").unwrap());
    let released = here.table_provider("released").await.unwrap();
    here.deregister_table("released").unwrap();
    release(&here, released, Arc::new(policy));
    let plan = here.sql("SELECT * FROM released").await.unwrap();
    let sent = there.execute_logical_plan(send_logical(plan.logical_plan(), &there)).await.unwrap();
    let (plan, sent) = (plan.create_physical_plan().await.unwrap(), sent.create_physical_plan().await.unwrap());
    assert_eq!(operators(&send_physical(&sent, &there)).len(), 2);
    assert_eq!(rows(sent, &there).await, rows(plan, &here).await);
}

#[tokio::test]
async fn a_privacy_check_travels_with_its_policy() {
    let people = People::new().await;
    let (here, there) = (people.session().await, elsewhere());
    crate::register_all(&here);
    let policy = people.0.path().join("policy.toml");
    for table in ["released", "people"] {
        let query = format!("SELECT * FROM privacy_check('{table}', '{}') WHERE required >= 0", policy.display());
        let plan = here.sql(&query).await.unwrap().into_optimized_plan().unwrap();
        let expected = sorted(here.state().create_physical_plan(&plan).await.unwrap(), &here).await;
        let arrived = send_logical(&plan, &there);
        let planned = there.state().create_physical_plan(&arrived).await.unwrap();
        let again = send_physical(&planned, &there);
        assert!(explain(&again).contains("PrivacyCheckExec"), "{}", explain(&again));
        assert_eq!(sorted(again, &there).await, expected, "{table}");
        assert!(expected.len() > 2, "{expected:?}");
    }
}

#[tokio::test]
async fn nothing_of_a_query_gets_below_the_operator_elsewhere() {
    let people = People::new().await;
    let (here, there) = (people.session().await, elsewhere());
    let everything = operators(&physical(&here, "SELECT * FROM released").await).remove(0);
    for query in [
        "SELECT * FROM released WHERE random() < 0.5",
        "SELECT * FROM released WHERE age = '[20-24]'",
        "SELECT age FROM released WHERE country = 'Europe' AND note LIKE 'note%' LIMIT 1",
        "SELECT a.age FROM released a JOIN (VALUES ('note 1')) AS b (note) ON a.note = b.note",
    ] {
        let frame = here.sql(query).await.unwrap();
        let plan = there.execute_logical_plan(send_logical(frame.logical_plan(), &there)).await.unwrap();
        let mut plan = send_physical(&plan.create_physical_plan().await.unwrap(), &there);
        let state = there.state();
        for rule in state.physical_optimizers() {
            plan = rule.optimize(plan, state.config_options()).unwrap();
        }
        let below: Vec<String> = operators(&plan).iter().map(explain).collect();
        assert_eq!(below, [explain(&everything)], "{query}");
        let text = explain(&plan);
        let above = text.find("FilterExec").or(text.find("HashJoinExec")).expect("the predicate is somewhere");
        assert!(above < text.find("AnonymizeExec").unwrap(), "{text}");
    }
}

#[tokio::test]
async fn hierarchy_files_need_not_exist_elsewhere() {
    let people = People::new().await;
    let (here, there) = (people.session().await, elsewhere());
    let expected = rows(physical(&here, "SELECT * FROM released").await, &here).await;
    let here = people.session().await;
    let frame = here.sql("SELECT * FROM released").await.unwrap();
    let logical = frame.logical_plan().clone();
    let plan = frame.create_physical_plan().await.unwrap();
    let bytes = physical_plan_to_bytes_with_extension_codec(plan, &ThrongPhysicalCodec::default()).unwrap();
    std::fs::remove_file(people.0.path().join("country.csv")).unwrap();
    std::fs::remove_file(people.0.path().join("policy.toml")).unwrap();
    let context = there.task_ctx();
    let sent =
        physical_plan_from_bytes_with_extension_codec(&bytes, &context, &ThrongPhysicalCodec::default()).unwrap();
    assert_eq!(rows(sent, &there).await, expected);
    let sent = there.execute_logical_plan(send_logical(&logical, &there)).await.unwrap();
    assert_eq!(rows(sent.create_physical_plan().await.unwrap(), &there).await, expected);
}

#[tokio::test]
async fn plans_without_our_nodes_go_through() {
    let people = People::new().await;
    let (here, there) = (people.session().await, elsewhere());
    let query = "SELECT country, avg(age) FROM people WHERE illness IS NOT NULL GROUP BY country ORDER BY country";
    let plan = physical(&here, query).await;
    let sent = send_physical(&plan, &there);
    assert_eq!(explain(&sent), explain(&plan));
    let logical = here.sql(query).await.unwrap().into_optimized_plan().unwrap();
    let again = there.execute_logical_plan(send_logical(&logical, &there)).await.unwrap();
    let again = again.create_physical_plan().await.unwrap();
    let expected = rows(plan, &here).await;
    assert_eq!(rows(sent, &there).await, expected);
    assert_eq!(rows(again, &there).await, expected);
}

#[tokio::test]
async fn strings_with_and_without_views_give_the_same_release() {
    let people = People::new().await;
    let mut releases = Vec::new();
    for has_views in [true, false] {
        let here = people.session_with(has_views).await;
        let plan = physical(&here, "SELECT * FROM released").await;
        let views = format!("{:?}", operators(&plan)[0].children()[0].schema()).contains("Utf8View");
        assert_eq!(views, has_views);
        let there = elsewhere();
        releases.push(rows(send_physical(&plan, &there), &there).await);
        releases.push(rows(plan, &here).await);
    }
    assert!(releases.windows(2).all(|pair| pair[0] == pair[1]));
}

//! SQL on a cluster: the same results as on one machine, and no part of a query below the anonymizer.

use arrow::json::WriterBuilder;
use arrow::json::writer::{JsonArray, Writer};
use serde_json::Value;
use throng_job::SqlSession;
use throng_policy::Secret;

use crate::bucket::{Bucket, server};
use crate::cluster::Cluster;
use crate::queries::{PICKS, QUERIES, assert_picked};

pub const POLICY: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/sql/policies/people.toml");

/// Queries with one result of which a cluster divides some into stages, besides those of [`crate::queries`].
const MORE_QUERIES: [&str; 5] = [
    "SELECT * FROM released",
    "SELECT k_anonymity(age, zip, country, sex), p_sensitivity(diagnosis, age, zip, country, sex) FROM released",
    "SELECT count(*), sum(hours) FROM people WHERE sex = 'F'",
    concat!(
        "SELECT * FROM privacy_check('released', '",
        env!("CARGO_MANIFEST_DIR"),
        "/../../tests/sql/policies/people.toml')"
    ),
    concat!(
        "SELECT count(*) FROM privacy_check('people', '",
        env!("CARGO_MANIFEST_DIR"),
        "/../../tests/sql/policies/people.toml') WHERE NOT satisfied"
    ),
];

/// Returns statements that define `people`, `regions` and `released` over the tables at these locations.
pub fn tables(place: impl Fn(&str) -> String) -> String {
    format!(
        "CREATE VIEW people AS SELECT * FROM '{}'; CREATE VIEW regions AS SELECT * FROM '{}'; \
         CREATE VIEW released AS SELECT * FROM anonymize('people', '{POLICY}'); ",
        place("people"),
        place("regions"),
    )
}

/// Returns the result on one machine.
pub fn embedded(bucket: &Bucket, query: &str) -> Vec<String> {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    runtime.block_on(async {
        let secret = Secret::new(crate::process::SECRET).unwrap();
        let session = SqlSession::new(2, None).unwrap().with_secret(secret);
        let mut writer: Writer<_, JsonArray> = WriterBuilder::new().with_explicit_nulls(true).build(Vec::new());
        for statement in session.parse(&(tables(|table| bucket.path(table)) + query)) {
            let mut answer = session.run(statement.unwrap()).await.unwrap();
            while let Some(batch) = answer.next().await.unwrap() {
                writer.write(&batch).unwrap();
            }
        }
        writer.finish().unwrap();
        rows(&String::from_utf8(writer.into_inner()).unwrap())
    })
}

/// Returns the result on a cluster.
pub fn asked(cluster: &Cluster, bucket: &Bucket, query: &str) -> Vec<String> {
    let statements = tables(|table| bucket.url(table)) + query;
    let ended = cluster.client(&["sql", "--format", "json", "-c", &statements]);
    assert_eq!(ended.code, Some(0), "{query}: {ended:?}");
    rows(&ended.stdout)
}

pub fn rows(json: &str) -> Vec<String> {
    let rows: Vec<Value> = serde_json::from_str(json).unwrap();
    rows.into_iter().map(|row| row.to_string()).collect()
}

fn sorted(mut rows: Vec<String>) -> Vec<String> {
    rows.sort_unstable();
    rows
}

#[test]
fn answers_are_those_of_one_machine() {
    let Some(server) = server() else { return };
    let bucket = Bucket::new(server, "answers");
    let cluster = Cluster::start(&bucket, 2);
    for query in QUERIES.into_iter().chain(MORE_QUERIES) {
        let (there, here) = (asked(&cluster, &bucket, query), embedded(&bucket, query));
        assert_eq!(sorted(there), sorted(here), "{query}");
    }
    // Without ORDER BY, rows come in the order of the release.
    let all = "SELECT * FROM released";
    assert_eq!(asked(&cluster, &bucket, all), embedded(&bucket, all));
}

/// The rows that `random()` or a limit selects vary, but must be rows of the release.
#[test]
fn chance_and_limits_pick_rows_of_the_release() {
    let Some(server) = server() else { return };
    let bucket = Bucket::new(server, "barrier");
    let cluster = Cluster::start(&bucket, 2);
    let whole = embedded(&bucket, "SELECT * FROM released");
    for query in PICKS {
        assert_picked(query, &whole, &asked(&cluster, &bucket, query));
    }
}

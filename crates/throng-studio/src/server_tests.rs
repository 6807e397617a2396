use std::time::Duration;

use axum::body::Body;
use axum::http::{Method, Request};
use serde_json::json;
use throng_job::Stopper;
use tower::ServiceExt;

use super::*;

const PORT: u16 = 4711;

struct Bench {
    router: Router,
    path: String,
    state: Arc<StudioState>,
    folder: tempfile::TempDir,
}

struct Answered {
    status: StatusCode,
    headers: axum::http::HeaderMap,
    body: String,
}

impl Bench {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let guard = RequestGuard::new(PORT).unwrap();
        let state = StudioState::new(StateOptions {
            exits_when_closed: false,
            shows_values: false,
            allowed: AllowedFolders::new(folder.path().to_str()),
            threads: 2,
            memory_limit: None,
        });
        let path = guard.path();
        Self { router: router(Arc::clone(&state), guard), path, state, folder }
    }

    /// A bench with a census that is open, and its figures known.
    async fn with_census(rows: u64) -> Self {
        let bench = Self::new();
        let input = bench.folder.path().join("census");
        throng_synthetic::write_census(&input, &throng_synthetic::CensusOptions::new(rows), &|_| {}).unwrap();
        bench.act(json!({ "do": "open", "path": input.to_str().unwrap() })).await;
        bench.settled().await;
        bench
    }

    fn request(&self, method: Method, path: &str) -> axum::http::request::Builder {
        Request::builder()
            .method(method)
            .uri(format!("{}/{path}", self.path))
            .header("host", format!("127.0.0.1:{PORT}"))
    }

    async fn send(&self, request: Request<Body>) -> Answered {
        let response = self.router.clone().oneshot(request).await.unwrap();
        let (status, headers) = (response.status(), response.headers().clone());
        let body = axum::body::to_bytes(response.into_body(), 64 << 20).await.unwrap();
        Answered { status, headers, body: String::from_utf8(body.to_vec()).unwrap() }
    }

    async fn get(&self, path: &str) -> Answered {
        self.send(self.request(Method::GET, path).body(Body::empty()).unwrap()).await
    }

    async fn act(&self, action: serde_json::Value) -> Answered {
        let request = self.request(Method::POST, "do").header("origin", format!("http://127.0.0.1:{PORT}"));
        self.send(request.body(Body::from(action.to_string())).unwrap()).await
    }

    /// Waits until a table is known and nothing is being computed.
    async fn settled(&self) {
        for _ in 0..1200 {
            tokio::time::sleep(Duration::from_millis(50)).await;
            let desk = self.state.desk();
            let is_settled = desk.shown().is_none_or(|project| {
                !matches!(project.opened, crate::project::Opened::Reading)
                    && project.live.doing.is_none()
                    && project.job.as_ref().is_none_or(|job| job.stop.is_none())
            });
            if is_settled {
                return;
            }
        }
        panic!("the figures do not come to an end");
    }

    fn part(&self, name: &str) -> String {
        view::parts(&self.state.desk(), false)[name].clone()
    }

    fn text(&self) -> String {
        self.state.desk().shown().unwrap().history.text().to_owned()
    }
}

#[tokio::test]
async fn only_the_page_itself_may_ask() {
    let bench = Bench::new();
    let page = bench.get("").await;
    assert_eq!(page.status, StatusCode::OK);
    let build =
        |change: &dyn Fn(axum::http::request::Builder) -> axum::http::request::Builder, method: Method, path: &str| {
            change(Request::builder().method(method).uri(path)).body(Body::from("{\"do\":\"undo\"}")).unwrap()
        };
    let own = format!("127.0.0.1:{PORT}");
    let act = format!("{}/do", bench.path);
    let wrong = bench.path.replace(|c: char| c.is_ascii_digit(), "0").replace('a', "b");
    let cases: Vec<(&str, Request<Body>)> = vec![
        ("no host", build(&|r| r, Method::GET, &format!("{}/", bench.path))),
        ("foreign host", build(&|r| r.header("host", "evil.example"), Method::GET, &format!("{}/", bench.path))),
        ("another port", build(&|r| r.header("host", "127.0.0.1:80"), Method::GET, &format!("{}/", bench.path))),
        ("no token", build(&|r| r.header("host", &own), Method::GET, "/")),
        ("wrong token", build(&|r| r.header("host", &own), Method::GET, &format!("{wrong}/"))),
        ("part of the token", build(&|r| r.header("host", &own), Method::GET, &format!("{}/", &bench.path[..20]))),
        ("no origin", build(&|r| r.header("host", &own), Method::POST, &act)),
        (
            "foreign origin",
            build(&|r| r.header("host", &own).header("origin", "http://evil.example"), Method::POST, &act),
        ),
        ("null origin", build(&|r| r.header("host", &own).header("origin", "null"), Method::POST, &act)),
        (
            "other scheme",
            build(
                &|r| r.header("host", &own).header("origin", format!("https://127.0.0.1:{PORT}")),
                Method::POST,
                &act,
            ),
        ),
        (
            "foreign script",
            build(
                &|r| r.header("host", &own).header("sec-fetch-site", "cross-site").header("sec-fetch-mode", "no-cors"),
                Method::GET,
                &format!("{}/studio.js", bench.path),
            ),
        ),
        (
            "foreign events",
            build(
                &|r| r.header("host", &own).header("origin", "http://evil.example"),
                Method::GET,
                &format!("{}/events", bench.path),
            ),
        ),
    ];
    for (name, request) in cases {
        let answered = bench.send(request).await;
        assert!(answered.status.is_client_error(), "{name}: {}", answered.status);
        assert!(answered.body.len() < 100 && !answered.body.contains(&bench.path[1..]), "{name}: {}", answered.body);
        assert!(!answered.headers.contains_key("access-control-allow-origin"), "{name}");
    }
}

#[tokio::test]
async fn every_answer_has_the_strict_headers() {
    let bench = Bench::new();
    for path in ["", "studio.js", "studio.css", "icon.svg", "report", "nothing"] {
        let answered = bench.get(path).await;
        let header =
            |name: &str| answered.headers.get(name).map(|value| value.to_str().unwrap().to_owned()).unwrap_or_default();
        let policy = header("content-security-policy");
        assert!(
            policy.starts_with("default-src 'none'") && policy.contains("frame-ancestors 'none'"),
            "{path}: {policy}"
        );
        assert!(!policy.contains("script-src 'unsafe") && !policy.contains("http"), "{path}: {policy}");
        assert_eq!(
            (header("cache-control").as_str(), header("referrer-policy").as_str()),
            ("no-store", "no-referrer"),
            "{path}"
        );
        assert_eq!(header("x-content-type-options"), "nosniff", "{path}");
    }
}

#[tokio::test]
async fn paths_outside_are_refused() {
    let bench = Bench::new();
    for path in ["../../etc/passwd", "..%2f..%2fetc%2fpasswd", "%2e%2e/secret", "studio.js/../../x"] {
        assert_eq!(bench.get(path).await.status, StatusCode::NOT_FOUND, "{path}");
    }
    for path in ["/etc/passwd", "../../../../../../etc/passwd", "s3://bucket/table.parquet", "file:///etc/passwd"] {
        let answered = bench.act(json!({ "do": "open", "path": path })).await;
        assert_eq!(answered.status, StatusCode::UNPROCESSABLE_ENTITY, "{path}");
    }
    assert!(bench.state.desk().projects.is_empty());
}

#[tokio::test]
async fn huge_and_broken_bodies_are_refused() {
    let bench = Bench::new();
    let origin = format!("http://127.0.0.1:{PORT}");
    let request =
        |body: Vec<u8>| bench.request(Method::POST, "do").header("origin", &origin).body(Body::from(body)).unwrap();
    assert_eq!(bench.send(request(vec![b' '; MAX_BYTES + 1])).await.status, StatusCode::PAYLOAD_TOO_LARGE);
    for body in ["", "{", "[]", "{\"do\":\"explode\"}", "\u{0}"] {
        let answered = bench.send(request(body.as_bytes().to_vec())).await;
        assert_eq!(answered.status, StatusCode::BAD_REQUEST, "{body}");
        assert_eq!(answered.body, "the action is not known");
    }
    let answered = bench.act(json!({ "do": "undo" })).await;
    assert_eq!((answered.status, answered.body.as_str()), (StatusCode::UNPROCESSABLE_ENTITY, "no table is open"));
}

#[tokio::test]
async fn markup_in_a_column_name_stays_text() {
    let bench = Bench::new();
    let name = "<script>alert(1)</script>\" onfocus=\"x";
    let data = bench.folder.path().join("odd.csv");
    let rows: String = (0..40).map(|row| format!("{row},{}\n", row % 3)).collect();
    std::fs::write(&data, format!("\"{}\",b\n{rows}", name.replace('"', "\"\""))).unwrap();
    bench.act(json!({ "do": "open", "path": data.to_str().unwrap() })).await;
    bench.settled().await;
    let page = bench.get("").await.body;
    assert!(page.contains("&lt;script&gt;alert(1)") && !page.contains("<script>alert"), "{page}");
    assert!(!page.contains("\" onfocus=\"x"), "{page}");
}

#[tokio::test]
async fn a_draft_is_answered_edited_undone_and_saved() {
    let bench = Bench::with_census(3000).await;
    assert!(bench.part("matrix").contains("questions are open"), "{}", bench.part("matrix"));
    assert!(bench.part("answers").contains("Exact: all 3,000 rows"), "{}", bench.part("answers"));
    let columns: Vec<(usize, String)> = {
        let desk = bench.state.desk();
        let project = desk.shown().unwrap();
        let written = project.written_or_empty();
        let open: Vec<&str> = written.open_roles().collect();
        project
            .columns
            .iter()
            .enumerate()
            .filter(|(_, column)| open.contains(&column.name.as_str()))
            .map(|(at, column)| (at, column.name.clone()))
            .collect()
    };
    assert!(!columns.is_empty());
    for (at, _) in &columns {
        bench.act(json!({ "do": "column", "column": at, "field": "role", "value": "identifier" })).await;
    }
    bench.act(json!({ "do": "promise", "field": "privacy.p", "value": "2" })).await;
    let answered = bench.text();
    bench.act(json!({ "do": "promise", "field": "privacy.k", "value": "15" })).await;
    assert!(bench.text().contains("k = 15"));
    bench.act(json!({ "do": "undo" })).await;
    assert_eq!(bench.text(), answered);
    bench.act(json!({ "do": "redo" })).await;
    bench.settled().await;
    assert!(bench.part("matrix").contains("No question is open"));
    assert!(bench.part("policy").contains("not saved"));
    bench.act(json!({ "do": "save" })).await;
    let file = bench.folder.path().join("census.policy.toml");
    assert_eq!(std::fs::read_to_string(&file).unwrap(), bench.text());
    let head = bench.text().lines().next().unwrap().to_owned();
    assert!(head.starts_with("# A draft"), "comments survive: {head}");

    // A file that another program has changed is not replaced.
    std::fs::write(&file, "changed").unwrap();
    bench.act(json!({ "do": "promise", "field": "privacy.k", "value": "16" })).await;
    assert_eq!(bench.act(json!({ "do": "save" })).await.status, StatusCode::UNPROCESSABLE_ENTITY);
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "changed");
}

#[tokio::test]
async fn text_and_matrix_follow_each_other() {
    let bench = Bench::with_census(1500).await;
    let text = bench.text().replace("preset = \"research\"", "k = 7 # mine");
    bench.act(json!({ "do": "text", "text": text })).await;
    assert!(bench.part("promises").contains("value=\"7\""), "{}", bench.part("promises"));
    bench.act(json!({ "do": "promise", "field": "privacy.k", "value": "9" })).await;
    assert!(bench.text().contains("k = 9 # mine"), "{}", bench.text());
    bench.act(json!({ "do": "text", "text": "version = 1\n[privacy\n" })).await;
    assert!(bench.part("policy").contains("this is not TOML"), "{}", bench.part("policy"));
    let refused = bench.act(json!({ "do": "promise", "field": "privacy.k", "value": "9" })).await;
    assert_eq!(refused.status, StatusCode::UNPROCESSABLE_ENTITY);
    bench.act(json!({ "do": "undo" })).await;
    assert!(bench.part("promises").contains("value=\"9\""));
}

#[tokio::test]
async fn a_hierarchy_is_built_with_a_preview() {
    let bench = Bench::with_census(2000).await;
    let age = bench.state.desk().shown().unwrap().columns.iter().position(|column| column.name == "age").unwrap();
    bench.act(json!({ "do": "builder", "column": age })).await;
    bench.act(json!({ "do": "preview", "kind": "intervals", "text": "10, 20" })).await;
    let dialog = bench.part("dialog");
    assert!(dialog.contains("Values in a group") && !dialog.contains("pre class=\"tree\""), "{dialog}");
    bench.act(json!({ "do": "preview", "kind": "intervals", "text": "10, 15" })).await;
    assert!(bench.part("dialog").contains("class=\"error\""), "15 is no multiple of 10");
    bench.act(json!({ "do": "preview", "kind": "intervals", "text": "10, 20" })).await;
    bench.act(json!({ "do": "export", "kind": "intervals", "text": "10, 20" })).await;
    let lines = std::fs::read_to_string(bench.folder.path().join("hierarchies/age.csv")).unwrap();
    assert!(lines.lines().count() > 50 && lines.lines().all(|line| line.ends_with(";*")), "{lines}");
    bench.act(json!({ "do": "apply", "kind": "intervals", "text": "10, 20" })).await;
    assert!(bench.text().contains("hierarchy = { intervals = [10, 20] }"), "{}", bench.text());
    assert!(bench.part("dialog").is_empty());
    // The ARX file is imported again.
    bench.act(json!({ "do": "builder", "column": age })).await;
    bench.act(json!({ "do": "import", "lines": lines })).await;
    bench.act(json!({ "do": "apply", "kind": "file", "text": "hierarchies/age.csv" })).await;
    assert!(bench.text().contains("hierarchy = \"hierarchies/age.csv\""), "{}", bench.text());
    bench.settled().await;
    assert!(bench.part("answers").contains("Exact"), "{}", bench.part("answers"));
}

#[tokio::test]
async fn a_wrong_file_says_why_and_another_can_be_opened() {
    let bench = Bench::new();
    let wrong = bench.folder.path().join("people.parquet");
    std::fs::write(&wrong, "a secret that is no Parquet").unwrap();
    bench.act(json!({ "do": "open", "path": wrong.to_str().unwrap() })).await;
    bench.settled().await;
    let page = bench.get("").await.body;
    assert!(page.contains("can't be opened") && page.contains("data-open") && !page.contains("a secret"), "{page}");
    bench.act(json!({ "do": "close", "table": 0 })).await;
    assert!(bench.state.desk().projects.is_empty());
}

#[tokio::test]
async fn no_value_of_the_table_is_on_the_page() {
    let bench = Bench::new();
    let data = bench.folder.path().join("people.csv");
    let rows: String =
        (0..400).map(|row| format!("{},{},planted{}\n", 20 + row % 50, ["north", "south"][row % 2], row % 5)).collect();
    std::fs::write(&data, format!("age,region,diagnosis\n{rows}")).unwrap();
    bench.act(json!({ "do": "open", "path": data.to_str().unwrap() })).await;
    bench.settled().await;
    for (at, role) in [(0, "quasi"), (1, "quasi"), (2, "sensitive")] {
        bench.act(json!({ "do": "column", "column": at, "field": "role", "value": role })).await;
    }
    bench.act(json!({ "do": "promise", "field": "privacy.p", "value": "2" })).await;
    bench.act(json!({ "do": "builder", "column": 1 })).await;
    bench.settled().await;
    let page = bench.get("").await.body;
    assert!(page.contains("Exact: all 400 rows"), "{page}");
    for value in ["planted", "north", "south"] {
        assert!(!page.contains(value), "{value} is on the page");
    }
}

#[tokio::test]
async fn check_try_and_release_by_buttons() {
    let bench = Bench::with_census(3000).await;
    let release = bench.folder.path().join("released");
    let text = bench.text().replace("role = \"?\"", "role = \"identifier\"").replace("p = \"?\"", "p = 1");
    let text = text.replace("\"released/census\"", &format!("{:?}", release.to_str().unwrap()));
    bench.act(json!({ "do": "text", "text": text })).await;
    bench.settled().await;
    bench.act(json!({ "do": "check" })).await;
    bench.settled().await;
    assert!(bench.part("actions").contains("can be met"), "{}", bench.part("actions"));
    bench.act(json!({ "do": "try" })).await;
    bench.settled().await;
    assert!(bench.part("actions").contains("Nothing was written") && !release.exists());
    assert!(bench.get("report").await.body.contains("Release report"));
    bench.act(json!({ "do": "release", "overwrite": false })).await;
    bench.settled().await;
    assert!(bench.part("actions").contains("Released and verified"), "{}", bench.part("actions"));
    assert!(release.join("_SUCCESS").exists());
    // A second release reports the existing one, and replaces it if requested.
    bench.act(json!({ "do": "release", "overwrite": false })).await;
    bench.settled().await;
    assert!(bench.part("actions").contains("data-outcome=\"failed\""), "{}", bench.part("actions"));
    bench.act(json!({ "do": "release", "overwrite": true })).await;
    bench.settled().await;
    assert!(bench.part("actions").contains("Released and verified"), "{}", bench.part("actions"));
}

#[tokio::test]
async fn a_server_listens_on_the_loopback_interface_and_stops() {
    let options = StudioOptions {
        location: None,
        port: 0,
        shows_values: false,
        exits_when_closed: false,
        threads: 1,
        memory_limit: None,
    };
    let studio = Studio::bind(options).await.unwrap();
    assert!(studio.listener.local_addr().unwrap().ip().is_loopback());
    assert!(studio.address().starts_with("http://127.0.0.1:") && studio.address().len() > 80);
    let (stopper, stop) = Stopper::new();
    let served = tokio::spawn(studio.serve(stop));
    stopper.stop();
    served.await.unwrap().unwrap();
}

#[tokio::test]
async fn a_sample_of_everything_is_what_the_release_has() {
    let bench = Bench::with_census(2500).await;
    let text = bench.text().replace("role = \"?\"", "role = \"identifier\"").replace("p = \"?\"", "p = 2");
    bench.act(json!({ "do": "text", "text": text })).await;
    bench.settled().await;
    let (sample, exact, risk) = {
        let desk = bench.state.desk();
        let live = &desk.shown().unwrap().live;
        (live.sample.clone().unwrap(), live.exact.clone().unwrap(), live.risk.clone().unwrap())
    };
    let near = |a: f64, b: f64| (a - b).abs() < 1e-6;
    assert_eq!((sample.sampled, exact.sampled), (Some(2500), None));
    assert_eq!((sample.classes, sample.suppressed), (exact.classes, exact.suppressed));
    assert!(near(sample.ncp, exact.ncp) && exact.ncp > 0.05, "{} {}", sample.ncp, exact.ncp);
    assert!(
        near(sample.risk.0, exact.risk.0) && near(sample.risk.1, exact.risk.1),
        "{:?} {:?}",
        sample.risk,
        exact.risk
    );
    let of = |columns: &[(String, f64)]| columns.iter().cloned().collect::<std::collections::BTreeMap<_, _>>();
    for ((name, a), (_, b)) in of(&sample.columns).into_iter().zip(of(&exact.columns)) {
        assert!(near(a, b), "{name}: {a} {b}");
    }
    for (a, b) in sample.sensitive.iter().zip(&exact.sensitive) {
        assert_eq!((&a.column, a.fewest), (&b.column, b.fewest));
        assert!(near(a.largest_share, b.largest_share), "{a:?} {b:?}");
    }
    // The risk is that of `throng risk`.
    let asked = throng_job::RiskOptions {
        quasi: risk.columns.iter().map(|column| column.name.clone()).collect(),
        sensitive: risk.sensitive.iter().map(|column| column.name.clone()).collect(),
        threshold: risk.threshold,
        sampling_fraction: None,
        weight: None,
    };
    let locations = [bench.folder.path().join("census").display().to_string()];
    let expected = throng_job::risk(&locations, &asked, &Default::default()).await.unwrap();
    assert_eq!(
        (risk.uniques, risk.classes, risk.rows_at_risk),
        (expected.uniques, expected.classes, expected.rows_at_risk)
    );
    let shapes = sample.shapes.as_ref().unwrap();
    assert!(shapes.worst.iter().all(|class| class.rows >= 10 && class.labels.is_none()), "{:?}", shapes.worst);
    assert!(shapes.pairs.iter().all(|pair| (0.0..=1.0).contains(&pair.before) && (0.0..=1.0).contains(&pair.after)));
}

#[tokio::test]
async fn only_the_last_of_many_changes_is_answered() {
    let bench = Bench::with_census(4000).await;
    for k in 3..15 {
        bench.act(json!({ "do": "promise", "field": "privacy.k", "value": k.to_string() })).await;
        tokio::time::sleep(Duration::from_millis(20)).await;
        let answers = bench.part("answers");
        assert!(!answers.contains("pill exact"), "figures of an earlier text pass for those of k = {k}: {answers}");
    }
    bench.settled().await;
    let desk = bench.state.desk();
    let exact = desk.shown().unwrap().live.exact.clone().unwrap();
    let sidecar = exact.sidecar.as_ref().unwrap();
    let k = sidecar.privacy.requirements.iter().find(|found| found.column.is_none()).unwrap();
    assert_eq!(k.required, throng_report::Quantity::Count(14));
}

#[tokio::test]
async fn what_can_not_be_kept_says_why() {
    let bench = Bench::with_census(1200).await;
    let text = bench.text().replace("role = \"?\"", "role = \"identifier\"").replace("p = \"?\"", "p = 1");
    let text = text.replace("preset = \"research\"", "k = 5000");
    bench.act(json!({ "do": "text", "text": text })).await;
    bench.settled().await;
    let answers = bench.part("answers");
    assert!(answers.contains("there are 1200 rows to release, and k = 5000 needs at least that many"), "{answers}");
    assert!(!answers.contains("class=\"pill"), "{answers}");
}

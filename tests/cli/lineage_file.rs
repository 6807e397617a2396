//! `throng run --lineage-file`: the OpenLineage event.

use std::fs;

use serde_json::{Value, json};

use crate::fixture_table::{COLUMNS, people};
use crate::sandbox::{Sandbox, names};
use crate::tables::write_parquet;

const FILE: [&str; 2] = ["--lineage-file", "lineage.json"];

const PRODUCER: &str = concat!("urn:throng:", env!("CARGO_PKG_VERSION"));

fn event(sandbox: &Sandbox) -> Value {
    let text = fs::read_to_string(sandbox.path("lineage.json")).unwrap();
    assert_eq!(text.lines().count(), 1, "{text}");
    assert!(text.ends_with('\n'));
    let beside = names(&sandbox.path(""));
    assert!(beside.iter().all(|name| !name.contains(".new")), "{beside:?}");
    serde_json::from_str(&text).unwrap()
}

fn facet(version: &str, name: &str, content: Value) -> Value {
    let schema = format!("https://openlineage.io/spec/facets/{version}/{name}.json#/$defs/{name}");
    let mut facet = json!({ "_producer": PRODUCER, "_schemaURL": schema });
    facet.as_object_mut().unwrap().extend(content.as_object().unwrap().clone());
    facet
}

fn document(sandbox: &Sandbox, name: &str) -> Value {
    serde_json::from_slice(&fs::read(sandbox.path("out/release/_throng").join(name)).unwrap()).unwrap()
}

/// Returns the run id in the UUID format of the standard.
fn hyphenated(run_id: &str) -> String {
    let parts = [0..8, 8..12, 12..16, 16..20, 20..32];
    parts.map(|part| run_id[part].to_owned()).join("-")
}

#[test]
fn a_release_tells_where_each_of_its_columns_comes_from() {
    let sandbox = Sandbox::with(&people(300), 4, 2, &COLUMNS.replacen("[columns.age]", AGE, 1));
    let mut run = sandbox.command(&["run", "policy.toml", FILE[0], FILE[1]]);
    let outcome = run.env("OPENLINEAGE_NAMESPACE", "office").output().unwrap();
    let outcome: Value = serde_json::from_slice(&outcome.stdout).unwrap();
    let event = event(&sandbox);
    let sidecar = document(&sandbox, "metrics.json");

    assert_eq!(event["eventType"], "COMPLETE");
    assert_eq!(event["producer"], PRODUCER);
    assert_eq!(event["schemaURL"], "https://openlineage.io/spec/2-0-2/OpenLineage.json#/$defs/RunEvent");
    let time = event["eventTime"].as_str().unwrap();
    assert!(time.len() == 24 && time.starts_with("20") && time.ends_with('Z'), "{time}");
    assert_eq!(event["run"]["runId"], hyphenated(outcome["run_id"].as_str().unwrap()));
    let engine = json!({ "version": env!("CARGO_PKG_VERSION"), "name": "throng" });
    let engine = json!({ "processing_engine": facet("1-1-1", "ProcessingEngineRunFacet", engine) });
    assert_eq!(event["run"]["facets"], engine);
    let kind = json!({ "processingType": "BATCH", "integration": "THRONG", "jobType": "JOB" });
    let job = json!({
        "namespace": "office",
        "name": "policy",
        "facets": { "jobType": facet("2-0-4", "JobTypeJobFacet", kind) },
    });
    assert_eq!(event["job"], job);

    let path = |name: &str| sandbox.path(name).to_str().unwrap().to_owned();
    let source = facet("1-0-1", "DatasourceDatasetFacet", json!({ "name": "file", "uri": "file:///" }));
    let fields = |names: &[(&str, &str)]| -> Value {
        let fields: Vec<Value> = names.iter().map(|(name, kind)| json!({ "name": name, "type": kind })).collect();
        facet("1-2-0", "SchemaDatasetFacet", json!({ "fields": fields }))
    };
    let text = "Utf8View";
    let input_fields = [
        ("row", "Int64"),
        ("name", text),
        ("age", "Int64"),
        ("sex", text),
        ("country", text),
        ("zip", text),
        ("diagnosis", text),
        ("hours", "Float64"),
    ];
    let count =
        |facts: &Value| json!({ "rowCount": facts["rows"], "size": facts["bytes"], "fileCount": facts["files"] });
    let statistics = facet("1-0-0", "InputStatisticsInputDatasetFacet", count(&sidecar["input"]));
    let input = json!({
        "namespace": "file",
        "name": path("input"),
        "facets": { "dataSource": source, "schema": fields(&input_fields) },
        "inputFacets": { "inputStatistics": statistics },
    });
    assert_eq!(event["inputs"], json!([input]));

    assert_eq!(event["outputs"].as_array().unwrap().len(), 1);
    let output = &event["outputs"][0];
    assert_eq!((&output["namespace"], &output["name"]), (&"file".into(), &path("out/release").into()));
    let facets = &output["facets"];
    assert_eq!(facets["dataSource"], source);
    let output_fields = [
        ("row", "Int64"),
        ("age_min", "Int64"),
        ("age_max", "Int64"),
        ("sex", "Utf8"),
        ("country", "Utf8"),
        ("zip", "Utf8"),
        ("diagnosis", "Utf8"),
        ("hours", "Float64"),
    ];
    assert_eq!(facets["schema"], fields(&output_fields));
    let version = json!({ "datasetVersion": outcome["run_id"] });
    assert_eq!(facets["version"], facet("1-0-1", "DatasetVersionDatasetFacet", version));
    let statistics = facet("1-0-2", "OutputStatisticsOutputDatasetFacet", count(&sidecar["output"]));
    assert_eq!(output["outputFacets"], json!({ "outputStatistics": statistics }));

    let from = |field: &str, transformation: Value| json!({ "namespace": "file", "name": path("input"), "field": field, "transformations": [transformation] });
    let direct = |subtype: &str, description: &str, masking: bool| json!({ "type": "DIRECT", "subtype": subtype, "description": description, "masking": masking });
    let general = direct("TRANSFORMATION", "generalized to what all rows of a class have in common", true);
    let kept = direct("IDENTITY", "released as it is", false);
    let lineage: serde_json::Map<String, Value> = [
        ("row", "row", &kept),
        ("age_min", "age", &general),
        ("age_max", "age", &general),
        ("sex", "sex", &general),
        ("country", "country", &general),
        ("zip", "zip", &general),
        ("diagnosis", "diagnosis", &kept),
        ("hours", "hours", &kept),
    ]
    .into_iter()
    .map(|(name, field, how)| (name.to_owned(), json!({ "inputFields": [from(field, how.clone())] })))
    .collect();
    let found = &facets["columnLineage"];
    assert_eq!(found["fields"], Value::from(lineage));
    let deciding: Vec<Value> = ["age", "sex", "country", "zip", "diagnosis"]
        .map(|field| {
            let how = "decides which rows share a class";
            from(field, json!({ "type": "INDIRECT", "subtype": "GROUP_BY", "description": how, "masking": true }))
        })
        .into();
    assert_eq!(found["dataset"], Value::from(deciding));
    let schema =
        "https://openlineage.io/spec/facets/1-2-0/ColumnLineageDatasetFacet.json#/$defs/ColumnLineageDatasetFacet";
    assert_eq!((&found["_producer"], &found["_schemaURL"]), (&PRODUCER.into(), &schema.into()));

    let roles = json!({
        "row": "insensitive", "name": "dropped", "age": "quasi", "sex": "quasi", "country": "quasi", "zip": "quasi",
        "diagnosis": "sensitive", "hours": "insensitive",
    });
    let privacy = json!({
        "_producer": PRODUCER,
        "_schemaURL": "urn:throng:openlineage:1-0-0:PrivacyDatasetFacet",
        "satisfied": true,
        "requirements": sidecar["privacy"]["requirements"],
        "policyDigest": sidecar["policy_digest"],
        "classes": sidecar["utility"]["classes"],
        "ncp": sidecar["utility"]["ncp"],
        "suppressedRows": 0,
        "roles": roles,
    });
    assert_eq!(facets["throng_privacy"], privacy);
    let schema = concat!(env!("CARGO_MANIFEST_DIR"), "/../../deploy/openlineage/PrivacyDatasetFacet.json");
    let schema: Value = serde_json::from_slice(&fs::read(schema).unwrap()).unwrap();
    assert_eq!(schema["$id"], privacy["_schemaURL"]);
    let keys: Vec<&String> = privacy.as_object().unwrap().keys().collect();
    assert_eq!(json!(keys), schema["required"]);
}

/// Releases the column as two columns.
const AGE: &str = "[columns.age]\nrelease = \"bounds\"";

#[test]
fn stand_ins_and_categories_are_distinguished() {
    let columns = COLUMNS.replacen("[columns.age]", "[columns.age]\nrelease = \"mean\"", 1).replacen(
        "[columns.diagnosis]",
        CATEGORIES,
        1,
    );
    let sandbox = Sandbox::with(&people(300), 4, 2, &columns);
    sandbox.run(&FILE);
    let event = event(&sandbox);
    let fields = &event["outputs"][0]["facets"]["columnLineage"]["fields"];
    let how = |name: &str| {
        let [input] = &fields[name]["inputFields"].as_array().unwrap()[..] else { panic!("{fields}") };
        let [how] = &input["transformations"].as_array().unwrap()[..] else { panic!("{input}") };
        (input["field"].as_str().unwrap(), how["subtype"].as_str().unwrap(), how["masking"].as_bool().unwrap())
    };
    assert_eq!(how("age"), ("age", "AGGREGATION", true));
    assert_eq!(how("diagnosis"), ("diagnosis", "IDENTITY", false));
    assert_eq!(how("diagnosis_category"), ("diagnosis", "TRANSFORMATION", true));
    assert_eq!(event["job"]["namespace"], "throng");
}

const CATEGORIES: &str = "[columns.diagnosis]\nrelease = \"both\"\n\
    categories = [[\"cancer\", \"hepatitis\"], [\"asthma\"], [\"flu\", \"fracture\"]]";

#[test]
fn several_inputs_are_several_datasets() {
    let sandbox = Sandbox::with(&people(300), 4, 2, COLUMNS);
    fs::create_dir(sandbox.path("more")).unwrap();
    write_parquet(&sandbox.path("more/people.parquet"), &people(100));
    sandbox.run(&[&FILE[..], &["--input", "input/*.parquet", "--input", "more/", "--input", "more/"]].concat()[..]);
    let event = event(&sandbox);
    let inputs = event["inputs"].as_array().unwrap();
    let names: Vec<&str> = inputs.iter().map(|input| input["name"].as_str().unwrap()).collect();
    let expected = ["input", "more"].map(|name| sandbox.path(name).to_str().unwrap().to_owned());
    assert_eq!(names, expected);
    assert!(inputs.iter().all(|input| input.get("inputFacets").is_none()), "rows of each are not known: {inputs:?}");
    let fields = event["outputs"][0]["facets"]["columnLineage"]["fields"]["age"]["inputFields"].as_array().unwrap();
    assert_eq!(fields.len(), 2);
}

#[test]
fn a_failure_tells_its_message_and_claims_no_release() {
    let sandbox = Sandbox::with(&people(300), 4, 2, COLUMNS);
    let message = sandbox.run_refused(3, &[&FILE[..], &["-k", "301"]].concat());
    let event = event(&sandbox);
    assert_eq!(event["eventType"], "FAIL");
    let error = json!({ "message": message, "programmingLanguage": "Rust" });
    assert_eq!(event["run"]["facets"]["errorMessage"], facet("1-0-1", "ErrorMessageRunFacet", error));
    assert_eq!(event["inputs"][0]["facets"]["schema"]["fields"][1]["name"], "name");
    assert!(event["inputs"][0].get("inputFacets").is_none());
    let output = &event["outputs"][0];
    assert_eq!(output["name"], sandbox.release().to_str().unwrap());
    let facets: Vec<&String> = output["facets"].as_object().unwrap().keys().collect();
    assert_eq!(facets, ["dataSource"]);
    assert!(output.get("outputFacets").is_none());
}

#[test]
fn a_policy_that_can_not_be_read_is_a_failure_without_datasets() {
    let sandbox = Sandbox::new();
    sandbox.write("policy.toml", "version = 1\n");
    sandbox.run_refused(78, &FILE);
    let event = event(&sandbox);
    assert_eq!((&event["eventType"], &event["job"]["name"]), (&"FAIL".into(), &"policy".into()));
    assert_eq!((&event["inputs"], &event["outputs"]), (&json!([]), &json!([])));
}

#[test]
fn neither_metrics_nor_lineage_hold_a_value() {
    let sandbox = Sandbox::with(&people(300), 4, 2, COLUMNS);
    // A tree in the policy would name the values of a column; this one has to be derived from the data.
    sandbox.policy(4, 2, &COLUMNS.lines().filter(|line| !line.contains("tree =")).collect::<Vec<_>>().join("\n"));
    let files = ["--metrics-file", "run.prom", "--lineage-file", "lineage.json"];
    for (code, more) in [(0, vec![]), (3, vec!["-p", "6", "-k", "6", "--overwrite"])] {
        assert_eq!(sandbox.throng(&[&["run", "policy.toml"], &files[..], &more].concat()).code, Some(code));
        for file in ["run.prom", "lineage.json"] {
            let text = fs::read_to_string(sandbox.path(file)).unwrap();
            for value in ["person 0", "1000007", "France", "Kenya", "Female", "A100", "hepatitis", "fracture"] {
                assert!(!text.contains(value), "`{value}` is shown: {text}");
            }
        }
    }
}

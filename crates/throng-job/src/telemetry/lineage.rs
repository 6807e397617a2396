//! The OpenLineage event of a run (spec 2-0-2): inputs, outputs and column lineage.
//!
//! A run emits one event at its end: COMPLETE, FAIL, or ABORT if it was stopped. An event of a failed run has no
//! outputs.

use std::io;
use std::path::Path;

use chrono::{DateTime, SecondsFormat, Utc};
use datafusion::arrow::datatypes::Schema;
use serde_json::{Map, Value, json};

use super::dataset::Dataset;
use super::file::replace;
use super::origins::{ColumnOrigin, ColumnOrigins, ColumnTreatment};
use super::recorder::{PolicyFacts, Record};
use crate::job::PublishedRelease;

/// URI of the producer.
const PRODUCER: &str = concat!("urn:throng:", env!("CARGO_PKG_VERSION"));

const SPEC: &str = "https://openlineage.io/spec/2-0-2/OpenLineage.json#/$defs/RunEvent";

/// Schema of our own facet; the document is in `deploy/openlineage/`.
const PRIVACY_FACET: &str = "urn:throng:openlineage:1-0-0:PrivacyDatasetFacet";

/// Variable with the namespace of jobs, shared with other OpenLineage producers.
const NAMESPACE_VARIABLE: &str = "OPENLINEAGE_NAMESPACE";

/// Namespace of jobs if the variable is not set.
const DEFAULT_NAMESPACE: &str = "throng";

impl Record<'_> {
    /// Writes the event of the run to a file as one line of JSON, atomically.
    pub fn write_lineage(&self, path: &Path) -> io::Result<()> {
        let namespace = std::env::var(NAMESPACE_VARIABLE).ok().filter(|name| !name.is_empty());
        let event = self.event(namespace.as_deref().unwrap_or(DEFAULT_NAMESPACE));
        replace(path, &self.run_id, &format!("{event}\n"))
    }

    fn event(&self, namespace: &str) -> Value {
        let kind = match self.ending {
            ending if ending.stopped => "ABORT",
            _ if self.succeeded() => "COMPLETE",
            _ => "FAIL",
        };
        json!({
            "eventType": kind,
            "eventTime": DateTime::<Utc>::from(self.end()).to_rfc3339_opts(SecondsFormat::Millis, true),
            "producer": PRODUCER,
            "schemaURL": SPEC,
            "run": { "runId": hyphenated(&self.run_id), "facets": self.run_facets() },
            "job": { "namespace": namespace, "name": self.job, "facets": job_facets() },
            "inputs": self.inputs(),
            "outputs": self.outputs(),
        })
    }

    fn run_facets(&self) -> Value {
        let engine = json!({ "version": env!("CARGO_PKG_VERSION"), "name": "throng" });
        let mut facets = Map::new();
        facets.insert("processing_engine".to_owned(), facet("1-1-1", "ProcessingEngineRunFacet", engine));
        if let Some(message) = self.ending.error {
            let error = json!({ "message": message, "programmingLanguage": "Rust" });
            facets.insert("errorMessage".to_owned(), facet("1-0-1", "ErrorMessageRunFacet", error));
        }
        facets.into()
    }

    fn inputs(&self) -> Vec<Value> {
        let Some(policy) = &self.policy else { return Vec::new() };
        let input = |dataset: &Dataset| {
            let mut facets = Map::from_iter([data_source(dataset)]);
            facets.extend(self.origins.iter().map(|origins| schema(&origins.input)));
            let version = self.released.as_ref().and_then(|released| released.sidecar.input.version);
            if let Some(version) = version {
                facets.insert("version".to_owned(), dataset_version(&version.to_string()));
            }
            let mut input = named(dataset, facets);
            // The distribution of rows over several locations is not known.
            if let (Some(released), [_]) = (&self.released, &policy.inputs[..]) {
                let facts = &released.sidecar.input;
                let counts = json!({ "rowCount": facts.rows, "size": facts.bytes, "fileCount": facts.files });
                let counts = facet("1-0-0", "InputStatisticsInputDatasetFacet", counts);
                input["inputFacets"] = json!({ "inputStatistics": counts });
            }
            input
        };
        datasets(policy).iter().map(input).collect()
    }

    fn outputs(&self) -> Vec<Value> {
        let Some(policy) = &self.policy else { return Vec::new() };
        let dataset = Dataset::at(&policy.output);
        let mut facets = Map::from_iter([data_source(&dataset)]);
        let (Some(released), Some(origins)) = (&self.released, &self.origins) else {
            return vec![named(&dataset, facets)];
        };
        let version =
            released.sidecar.output.version.map_or_else(|| self.run_id.clone(), |version| version.to_string());
        facets.extend([
            schema(&origins.output),
            ("columnLineage".to_owned(), column_lineage(origins, &datasets(policy))),
            ("version".to_owned(), dataset_version(&version)),
            ("throng_privacy".to_owned(), privacy(released, origins)),
        ]);
        let facts = &released.sidecar.output;
        let counts = json!({ "rowCount": facts.rows, "size": facts.bytes, "fileCount": facts.files });
        let mut output = named(&dataset, facets);
        output["outputFacets"] =
            json!({ "outputStatistics": facet("1-0-2", "OutputStatisticsOutputDatasetFacet", counts) });
        vec![output]
    }
}

fn datasets(policy: &PolicyFacts) -> Vec<Dataset> {
    let mut datasets: Vec<Dataset> = Vec::new();
    for dataset in policy.inputs.iter().map(|location| Dataset::at(location)) {
        if !datasets.contains(&dataset) {
            datasets.push(dataset);
        }
    }
    datasets
}

fn named(dataset: &Dataset, facets: Map<String, Value>) -> Value {
    json!({ "namespace": dataset.namespace, "name": dataset.name, "facets": facets })
}

/// Returns a facet of the standard.
fn facet(version: &str, name: &str, content: Value) -> Value {
    facet_of(&format!("https://openlineage.io/spec/facets/{version}/{name}.json#/$defs/{name}"), content)
}

fn facet_of(schema: &str, content: Value) -> Value {
    let mut facet = json!({ "_producer": PRODUCER, "_schemaURL": schema });
    if let (Value::Object(facet), Value::Object(content)) = (&mut facet, content) {
        facet.extend(content);
    }
    facet
}

fn dataset_version(version: &str) -> Value {
    facet("1-0-1", "DatasetVersionDatasetFacet", json!({ "datasetVersion": version }))
}

fn job_facets() -> Value {
    let job = json!({ "processingType": "BATCH", "integration": "THRONG", "jobType": "JOB" });
    json!({ "jobType": facet("2-0-4", "JobTypeJobFacet", job) })
}

fn data_source(dataset: &Dataset) -> (String, Value) {
    let source = json!({ "name": dataset.namespace, "uri": dataset.uri() });
    ("dataSource".to_owned(), facet("1-0-1", "DatasourceDatasetFacet", source))
}

fn schema(schema: &Schema) -> (String, Value) {
    let fields = schema.fields().iter();
    let fields = fields.map(|field| json!({ "name": field.name(), "type": field.data_type().to_string() }));
    let fields = json!({ "fields": fields.collect::<Vec<_>>() });
    ("schema".to_owned(), facet("1-2-0", "SchemaDatasetFacet", fields))
}

/// Returns the input column of each released column, and the columns that determine the classes.
fn column_lineage(origins: &ColumnOrigins, inputs: &[Dataset]) -> Value {
    let input_fields = |field: &str, transformation: &Value| -> Vec<Value> {
        let of = |dataset: &Dataset| {
            json!({
                "namespace": dataset.namespace,
                "name": dataset.name,
                "field": field,
                "transformations": [transformation],
            })
        };
        inputs.iter().map(of).collect()
    };
    let field = |origin: &ColumnOrigin| {
        (origin.name.clone(), json!({ "inputFields": input_fields(&origin.from, &transformation(origin.made)) }))
    };
    let fields: Map<String, Value> = origins.columns.iter().map(field).collect();
    let grouping = json!({
        "type": "INDIRECT",
        "subtype": "GROUP_BY",
        "description": "decides which rows share a class",
        "masking": true,
    });
    let deciding = origins.deciding.iter().flat_map(|name| input_fields(name, &grouping));
    let lineage = json!({ "fields": fields, "dataset": deciding.collect::<Vec<_>>() });
    facet("1-2-0", "ColumnLineageDatasetFacet", lineage)
}

fn transformation(made: ColumnTreatment) -> Value {
    let (subtype, description, masking) = match made {
        ColumnTreatment::Kept => ("IDENTITY", "released as it is", false),
        ColumnTreatment::Generalized => {
            ("TRANSFORMATION", "generalized to what all rows of a class have in common", true)
        }
        ColumnTreatment::Aggregated => ("AGGREGATION", "one value stands for all rows of a class", true),
        ColumnTreatment::Categorized => ("TRANSFORMATION", "the category of the value", true),
    };
    json!({ "type": "DIRECT", "subtype": subtype, "description": description, "masking": masking })
}

/// Returns our own facet with required and achieved privacy.
fn privacy(released: &PublishedRelease, origins: &ColumnOrigins) -> Value {
    let sidecar = &released.sidecar;
    let roles: Map<String, Value> = origins.roles.iter().map(|(name, role)| (name.clone(), (*role).into())).collect();
    let content = json!({
        "satisfied": sidecar.privacy.satisfied,
        "requirements": sidecar.privacy.requirements,
        "policyDigest": sidecar.policy_digest,
        "classes": sidecar.utility.classes,
        "ncp": sidecar.utility.ncp,
        "suppressedRows": sidecar.output.suppressed_rows,
        "roles": roles,
    });
    facet_of(PRIVACY_FACET, content)
}

/// Returns the run id in the UUID format of the standard.
fn hyphenated(run_id: &str) -> String {
    uuid::Uuid::try_parse(run_id).map_or_else(|_| run_id.to_owned(), |id| id.hyphenated().to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::telemetry::{Ending, Recorder};

    #[test]
    fn a_run_that_has_not_begun_tells_that_it_failed_and_nothing_else() {
        let ending = Ending { exit_code: 78, error: Some("policy:1:1: wrong"), stopped: false };
        let event = Recorder::new("census").record(ending).event("office");
        assert_eq!(
            (&event["eventType"], &event["inputs"], &event["outputs"]),
            (&"FAIL".into(), &json!([]), &json!([]))
        );
        assert_eq!((&event["job"]["namespace"], &event["job"]["name"]), (&"office".into(), &"census".into()));
        assert_eq!(event["run"]["facets"]["errorMessage"]["message"], "policy:1:1: wrong");
        let id = event["run"]["runId"].as_str().unwrap();
        assert_eq!(id.split('-').map(str::len).collect::<Vec<_>>(), [8, 4, 4, 4, 12], "{id}");
    }

    #[test]
    fn a_run_that_was_stopped_is_no_failure() {
        let ending = Ending { exit_code: 143, error: Some("stopped"), stopped: true };
        assert_eq!(Recorder::new("census").record(ending).event("office")["eventType"], "ABORT");
    }
}

use super::*;

fn names(table: &Value) -> Vec<&str> {
    table["properties"].as_object().unwrap().keys().map(String::as_str).collect()
}

#[test]
fn the_schema_lists_the_fields_of_every_table() {
    let schema = json_schema();
    assert_eq!(schema["type"], "object");
    assert_eq!(schema["$schema"], "https://json-schema.org/draft/2020-12/schema");
    assert_eq!(
        names(&schema),
        [
            "version",
            "input",
            "output",
            "store",
            "privacy",
            "algorithm",
            "series",
            "workload",
            "columns",
            "table",
            "tables"
        ]
    );
    assert_eq!(schema["properties"]["tables"]["additionalProperties"]["$ref"], "#/$defs/Table");
    assert_eq!(names(&schema["$defs"]["Table"]), ["input", "unit", "columns"]);
    let definitions = &schema["$defs"];
    assert_eq!(names(&definitions["Input"]), ["location", "version", "as_of", "format", "delimiter", "header"]);
    assert_eq!(
        names(&definitions["Output"]),
        ["location", "format", "mode", "report", "rows_per_file", "data_folder", "commit"]
    );
    assert_eq!(
        names(&definitions["Store"]),
        ["endpoint", "region", "allow_http", "timeout", "connect_timeout", "retries", "retry_timeout"]
    );
    assert_eq!(
        names(&definitions["Privacy"]),
        [
            "preset",
            "k",
            "p",
            "alpha",
            "unit",
            "unit_nulls",
            "pseudonyms",
            "borrow",
            "suppression_limit",
            "min_rows",
            "max_rows_change",
            "loss_limit",
            "insensitive_uniqueness",
            "attacks",
            "population"
        ]
    );
    assert_eq!(names(&definitions["Algorithm"]), ["partition", "cluster", "goal", "budget", "bound", "seed"]);
    assert_eq!(
        names(&definitions["Series"]),
        ["ledger", "remember", "max_delay", "arrival", "max_waiting", "reserve", "leavers"]
    );
    assert_eq!(names(&definitions["Columns"]), ["default"]);
    assert_eq!(definitions["Columns"]["additionalProperties"]["$ref"], "#/$defs/Column");
    assert_eq!(
        names(&definitions["Column"]),
        [
            "role",
            "type",
            "release",
            "weight",
            "hierarchy",
            "nulls",
            "limit",
            "cover",
            "p",
            "protected",
            "categories",
            "missing",
            "look_alikes",
            "bands",
            "range",
            "max_share",
            "entropy_l",
            "recursive",
            "t",
            "distance",
            "beta",
            "delta_disclosure"
        ]
    );
    assert_eq!(names(&definitions["NamedCategory"]), ["name", "values", "prefixes", "bands"]);
    assert_eq!(
        names(&definitions["HierarchyRule"]),
        ["file", "lines", "delimiter", "tree", "intervals", "origin", "width", "growth", "levels", "date", "mask"]
    );
}

#[test]
fn the_schema_tells_what_is_required_and_what_is_the_default() {
    let schema = json_schema();
    assert_eq!(schema["required"], serde_json::json!(["version", "input", "output", "privacy", "columns"]));
    assert_eq!(schema["additionalProperties"], false);
    let definitions = &schema["$defs"];
    // Without a preset there must be a k, and with a preset there must be a p.
    assert_eq!(definitions["Privacy"]["then"]["required"], serde_json::json!(["k"]));
    assert_eq!(definitions["Privacy"]["if"]["not"]["required"], serde_json::json!(["preset"]));
    assert_eq!(definitions["Privacy"]["dependentRequired"]["preset"], serde_json::json!(["p"]));
    assert_eq!(definitions["Privacy"]["properties"]["k"]["minimum"], 2);
    assert_eq!(definitions["Privacy"]["properties"]["p"]["default"], 1);
    assert_eq!(definitions["Column"]["properties"]["weight"]["default"], 1.0);
    assert_eq!(definitions["HierarchyRule"]["properties"]["levels"]["maximum"], 32);
}

fn choices(definition: &Value) -> Vec<&str> {
    definition["oneOf"].as_array().unwrap().iter().map(|choice| choice["const"].as_str().unwrap()).collect()
}

#[test]
fn the_schema_lists_the_choices_and_the_forms() {
    let schema = json_schema();
    let definitions = &schema["$defs"];
    assert_eq!(choices(&definitions["Partition"]), ["mondrian", "basic-mondrian", "mdr", "incognito", "none"]);
    assert_eq!(
        choices(&definitions["Cluster"]),
        ["auto", "greedy", "greedy-pk", "enhanced-pk", "switching", "mdav", "random-seed", "centroid", "none"]
    );
    assert_eq!(
        choices(&definitions["Release"]),
        ["interval", "bounds", "ancestor", "set", "mean", "median", "mode", "category", "value", "both", "pseudonym"]
    );
    assert_eq!(choices(&definitions["Preset"]), ["common", "research", "cms", "public-health", "strict"]);
    let limit = definitions["Limit"]["anyOf"].as_array().unwrap();
    let types: Vec<_> = limit.iter().map(|form| (form["type"].as_str(), form["items"]["type"].as_str())).collect();
    assert_eq!(types, [(Some("integer"), None), (Some("array"), Some("string")), (Some("array"), Some("number"))]);
    assert_eq!(definitions["Privacy"]["properties"]["suppression_limit"]["maximum"], 1);
    assert_eq!(definitions["Column"]["properties"]["categories"]["minItems"], 2);
}

/// Visits every schema of the tree with its path.
fn visit(schema: &Value, way: &str, visitor: &mut impl FnMut(&str, &Value)) {
    visitor(way, schema);
    match schema {
        Value::Object(object) => object.iter().for_each(|(key, below)| visit(below, &format!("{way}/{key}"), visitor)),
        Value::Array(items) => {
            items.iter().enumerate().for_each(|(index, below)| visit(below, &format!("{way}/{index}"), visitor));
        }
        _ => {}
    }
}

#[test]
fn every_field_and_every_choice_has_a_description() {
    let mut described = 0;
    visit(&json_schema(), "", &mut |way, schema| {
        let fields = schema["properties"].as_object().into_iter().flatten();
        let choices = schema["oneOf"].as_array().into_iter().flatten().enumerate();
        let named = fields.map(|(name, field)| (name.clone(), field));
        for (name, described_schema) in named.chain(choices.map(|(index, choice)| (index.to_string(), choice))) {
            let description = described_schema["description"].as_str().unwrap_or_default();
            assert!(description.ends_with(['.', '`']), "{way}/{name} has no description");
            assert!(!description.contains('\n'), "{way}/{name}");
            described += 1;
        }
    });
    assert!(described > 50, "{described}");
}

#[test]
fn no_field_can_be_null() {
    visit(&json_schema(), "", &mut |way, schema| assert!(schema != "null" && !schema.is_null(), "{way}"));
}

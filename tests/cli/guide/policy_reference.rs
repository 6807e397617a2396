//! Renders the policy reference from the JSON schema.

use std::fmt::Write as _;

use serde_json::Value;

const INTRODUCTION: &str = "# The policy file

Every field of a policy: where it stands, what it takes, and what it is by default. This page is written from the JSON
schema that `throng schema` prints; a test compares them.

A policy is a TOML file. Fields that are not listed here are errors, and so are columns of the input that the policy does
not name. Paths of hierarchies are relative to the policy file, locations of data to the current folder. `\"?\"` in place of a
value is an open question, on which `check` and `run` insist.

Longer examples with comments are in [`configs/`](../../../configs).
";

/// Tables of a policy in the order of the page: heading and name of the definition.
const TABLES: [(&str, &str); 18] = [
    ("`[input]`", "Input"),
    ("`[output]`", "Output"),
    ("`[store]`", "Store"),
    ("`[privacy]`", "Privacy"),
    ("`[privacy.attacks]`", "Attacks"),
    ("`[privacy.population]`", "Population"),
    ("`[algorithm]`", "Algorithm"),
    ("`[series]`", "Series"),
    ("`max_delay` of a stream", "StreamDelay"),
    ("`[workload]`", "Workload"),
    ("`[columns]`", "Columns"),
    ("`[columns.NAME]`", "Column"),
    ("`[tables.NAME]`", "Table"),
    ("`categories` of a column", "NamedCategory"),
    ("`bands` of a category", "Band"),
    ("`recursive` of a column", "Recursive"),
    ("`hierarchy` of a column", "HierarchyRule"),
    ("`cover` of a column", "CoverGrid"),
];

/// Definitions that are described with the field that uses them, without their own heading.
const INLINE: [&str; 13] = [
    "Names",
    "MaxDelay",
    "Locations",
    "DefaultEntry",
    "Unlisted",
    "Hierarchy",
    "Branch",
    "Limit",
    "Cover",
    "CoverName",
    "Category",
    "Border",
    "Columns",
];

/// Renders the whole page.
pub fn page(schema: &Value) -> String {
    let mut page = INTRODUCTION.to_owned();
    page += "\n## The file\n\n";
    page += &fields(schema, schema);
    let definitions = &schema["$defs"];
    for (heading, name) in TABLES {
        let definition = &definitions[name];
        let _ = write!(page, "\n## {heading}\n\n{}\n\n", definition["description"].as_str().unwrap());
        page += &fields(schema, definition);
        for choice in choices_of(definition) {
            let _ = write!(page, "\n### `{}`\n\n| value | what it means |\n|---|---|\n", choice.0);
            for one in definitions[&choice.1]["oneOf"].as_array().unwrap() {
                let (value, meaning) = (one["const"].as_str().unwrap(), one["description"].as_str().unwrap());
                let _ = writeln!(page, "| `\"{value}\"` | {} |", escaped(meaning));
            }
        }
        for (field, forms) in forms_of(definitions, definition) {
            let _ = write!(page, "\n### `{field}`\n\n");
            forms.iter().for_each(|form| page += &format!("- {form}\n"));
        }
    }
    page
}

/// Returns the definitions of the schema that the page does not show.
pub fn left_out(schema: &Value) -> Vec<String> {
    let definitions = schema["$defs"].as_object().unwrap();
    let page = page(schema);
    let shown = |name: &str, definition: &Value| {
        TABLES.iter().any(|(_, table)| *table == name)
            || INLINE.contains(&name)
            || definition["oneOf"].as_array().is_some_and(|choices| {
                choices.iter().all(|one| page.contains(&format!("| `\"{}\"` |", one["const"].as_str().unwrap())))
            })
    };
    definitions.iter().filter(|(name, definition)| !shown(name, definition)).map(|(name, _)| name.clone()).collect()
}

fn fields(schema: &Value, table: &Value) -> String {
    let mut rows = "| field | takes | default | what it is |\n|---|---|---|---|\n".to_owned();
    let is_required =
        |name: &str| table["required"].as_array().is_some_and(|names| names.iter().any(|one| one == name));
    for (name, field) in table["properties"].as_object().unwrap() {
        let default = match &field["default"] {
            Value::Null if is_required(name) => "required".to_owned(),
            Value::Null => String::new(),
            value => format!("`{value}`"),
        };
        let description = field["description"].as_str().unwrap();
        let _ = writeln!(rows, "| `{name}` | {} | {default} | {} |", takes(schema, name, field), escaped(description));
    }
    rows
}

/// Describes the values of a field.
fn takes(schema: &Value, name_of_field: &str, field: &Value) -> String {
    if let Some(reference) = field["$ref"].as_str() {
        let name = reference.rsplit('/').next().unwrap();
        let definition = &schema["$defs"][name];
        return match name {
            "Locations" | "Unit" => "text, or a list of texts".to_owned(),
            "DefaultEntry" => "`\"drop\"`".to_owned(),
            "Hierarchy" => "text, or a table ([below](#hierarchy-of-a-column))".to_owned(),
            "Limit" => "a number or a list ([below](#limit))".to_owned(),
            "MaxDelay" => "a whole number, or a table ([below](#max_delay-of-a-stream))".to_owned(),
            "Cover" => "a number, a name or a table ([below](#cover))".to_owned(),
            "Branch" => "a table of groups".to_owned(),
            "Border" => "a number, or a date as text".to_owned(),
            _ if definition["oneOf"].is_array() => format!("[a name](#{name_of_field})"),
            _ => "a table".to_owned(),
        };
    }
    if field["additionalProperties"]["$ref"].is_string() {
        return "tables ([below](#tablesname))".to_owned();
    }
    if let Some(value) = field.get("const") {
        return format!("`{value}`");
    }
    let bounds = [("minimum", "from"), ("exclusiveMinimum", "above"), ("maximum", "up to")];
    let bounds = bounds.iter().filter_map(|(key, word)| field.get(*key).map(|bound| format!(" {word} {bound}")));
    let kind = match field["type"].as_str() {
        Some("integer") => "a whole number",
        Some("number") => "a number",
        Some("boolean") => "`true` or `false`",
        Some("array") if field["items"]["$ref"].as_str().is_some_and(|name| name.ends_with("/Band")) => {
            return "a list of [tables](#bands-of-a-category)".to_owned();
        }
        Some("array") if field["items"]["$ref"].is_string() => return format!("a list of [these](#{name_of_field})"),
        Some("array") if field["items"]["type"] == "number" => "a list of numbers",
        Some("array") => "a list of texts",
        Some("string") if field["pattern"].as_str().is_some_and(|pattern| pattern.contains("fast|")) => {
            "a name or a time"
        }
        Some("string") if field["pattern"].is_string() => "a time",
        Some("string") if field["maxLength"] == 1 => "one character",
        Some("string") => "text",
        other => panic!("{other:?}"),
    };
    format!("{kind}{}", bounds.collect::<String>())
}

/// Returns the fields of a table that take one of several names, with the definition that lists them.
fn choices_of(table: &Value) -> Vec<(String, String)> {
    let fields = table["properties"].as_object().unwrap().iter();
    let names = fields.filter_map(|(field, schema)| {
        let schema = if schema["items"]["$ref"].is_string() { &schema["items"] } else { schema };
        Some((field.clone(), schema["$ref"].as_str()?.rsplit('/').next()?.to_owned()))
    });
    let is_table = |name: &str| TABLES.iter().any(|(_, table)| *table == name);
    names.filter(|(_, name)| !INLINE.contains(&name.as_str()) && !is_table(name)).collect()
}

/// Returns the fields of a table that take several forms, with the description of each.
fn forms_of(definitions: &Value, table: &Value) -> Vec<(String, Vec<String>)> {
    let fields = table["properties"].as_object().unwrap().iter();
    let forms = fields.filter_map(|(field, schema)| {
        let schema = if schema["items"]["$ref"].is_string() { &schema["items"] } else { schema };
        let name = schema["$ref"].as_str()?.rsplit('/').next()?;
        let forms = definitions[name]["anyOf"].as_array().filter(|_| !["DefaultEntry", "Locations"].contains(&name))?;
        Some((field.clone(), forms.iter().map(|form| form["description"].as_str().unwrap().to_owned()).collect()))
    });
    forms.collect()
}

fn escaped(text: &str) -> String {
    text.replace('|', "\\|")
}

//! Numbers of several widths in the files of one input.

use std::path::Path;
use std::sync::Arc;

use arrow::array::{ArrayRef, Date32Array, Int64Array, RecordBatch, UInt64Array};
use arrow::compute::cast;
use arrow::datatypes::DataType::{self, Float32, Float64, Int8, Int16, Int32, Int64, UInt8, UInt32};
use serde_json::Value;

use crate::fixture_table::{COLUMNS, people};
use crate::release_files::data_files;
use crate::sandbox::{Sandbox, assert_contains};
use crate::tables::{pieces, strings, table, write_ipc, write_parquet};

const ROWS: usize = 600;

/// Types of `row`, `age` and `hours` in each of three files. All values are exactly representable in each of them.
const WIDTHS: [[DataType; 3]; 3] = [[Int32, Int8, Float32], [Int64, UInt8, Float64], [UInt32, Int16, Float32]];

fn with_types(batch: &RecordBatch, [row, age, hours]: &[DataType; 3]) -> RecordBatch {
    let column = |name: &str| {
        let column = batch.column_by_name(name).unwrap();
        match name {
            "row" => cast(column, row).unwrap(),
            "age" => cast(column, age).unwrap(),
            "hours" => cast(column, hours).unwrap(),
            _ => Arc::clone(column),
        }
    };
    let schema = batch.schema();
    table(schema.fields().iter().map(|field| (field.name().as_str(), column(field.name()))).collect())
}

/// An input of three files, of which the n-th has the types of `widths[n]`.
fn sandbox(widths: [&[DataType; 3]; 3], extension: &str, write: fn(&Path, &RecordBatch)) -> Sandbox {
    let sandbox = Sandbox::new();
    for (number, (rows, types)) in pieces(&people(ROWS), 3).iter().zip(widths).enumerate() {
        write(&sandbox.path(&format!("input/{number}.{extension}")), &with_types(rows, types));
    }
    sandbox.policy(4, 2, COLUMNS);
    sandbox
}

fn released(sandbox: &Sandbox) -> Vec<Vec<u8>> {
    sandbox.run(&["--overwrite"]);
    data_files(&sandbox.release()).iter().map(|file| std::fs::read(file).unwrap()).collect()
}

#[test]
fn the_widest_type_is_read_whatever_the_order_of_the_files() {
    let wide = [Int64, Int16, Float64];
    let expected = released(&sandbox([&wide, &wide, &wide], "parquet", write_parquet));
    for order in [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]] {
        let found = released(&sandbox(order.map(|at| &WIDTHS[at]), "parquet", write_parquet));
        assert!(found == expected, "{order:?}: other bytes than with the widest types in every file");
    }
}

#[test]
fn arrow_files_of_several_widths_are_refused_with_both_files() {
    let sandbox = sandbox(WIDTHS.each_ref(), "arrow", write_ipc);
    let message = sandbox.run_refused(65, &[]);
    assert_contains(
        &message,
        &["input/0.arrow", "input/1.arrow", "column `row` is Int32 in the first and Int64 in the second"],
    );
}

#[test]
fn every_command_reads_the_same_rows() {
    let wide = [Int64, Int16, Float64];
    let said = |widths: [&[DataType; 3]; 3]| -> Vec<Value> {
        let sandbox = sandbox(widths, "parquet", write_parquet);
        sandbox.run(&[]);
        let commands = [
            &["check", "policy.toml"][..],
            &["risk", "input/", "--quasi", "age,sex,hours"],
            &["verify", "input/", "--quasi", "sex", "--sensitive", "age", "-k", "2", "-p", "2"],
            &["utility", "out/release", "--original", "input/", "--policy", "policy.toml"],
            &["init", "input/", "-o", "draft.toml"],
        ];
        let mut said: Vec<Value> = commands.iter().map(|command| sandbox.throng(command).done()).collect();
        let draft = std::fs::read_to_string(sandbox.path("draft.toml")).unwrap();
        let sums = "SELECT sum(row) AS rows, min(age) AS youngest, max(age) AS oldest, sum(hours) AS hours FROM";
        let query = format!("{sums} 'input/'; SELECT arrow_typeof(age) AS age, count(*) AS n FROM 'input/' GROUP BY 1");
        let queried = sandbox.throng(&["sql", "--format", "csv", "-c", &query]);
        assert_eq!(queried.code, Some(0), "{queried:?}");
        said.extend([draft, queried.stdout].map(Value::from));
        for outcome in said.iter_mut().filter_map(Value::as_object_mut) {
            for place in ["location", "path", "input", "output", "draft", "seconds"] {
                outcome.remove(place);
            }
        }
        said
    };
    let (narrow, expected) = (said(WIDTHS.each_ref()), said([&wide, &wide, &wide]));
    for (found, expected) in narrow.iter().zip(&expected) {
        assert_eq!(found, expected);
    }
}

#[test]
fn types_that_no_type_holds_are_refused_with_both_files() {
    let ages = |ages: ArrayRef| table(vec![("age", ages)]);
    let number = |data_type: &DataType| ages(cast(&Int64Array::from_iter_values(20..40), data_type).unwrap());
    let large = || ages(Arc::new(UInt64Array::from_iter_values(20..40)));
    let text = || ages(strings((20..40).map(|age| age.to_string())));
    let day = || ages(Arc::new(Date32Array::from_iter_values(20..40)));
    // The two files that are named, and their types.
    let cases = [
        ([number(&Int32), number(&Int64), text()], ["0", "2"], ["Int32", "text"]),
        ([number(&UInt8), number(&Int8), large()], ["1", "2"], ["Int8", "UInt64"]),
        ([large(), number(&UInt8), number(&Int64)], ["0", "2"], ["UInt64", "Int64"]),
        ([number(&Int32), number(&Float64), number(&Int64)], ["0", "1"], ["Int32", "Float64"]),
        ([day(), day(), number(&Int32)], ["0", "2"], ["date", "Int32"]),
    ];
    for (files, named, types) in cases {
        let sandbox = Sandbox::new();
        for (number, rows) in files.iter().enumerate() {
            write_parquet(&sandbox.path(&format!("input/{number}.parquet")), rows);
        }
        sandbox.policy(2, 1, "[columns.age]\nrole = \"quasi\"\n");
        let places = named.map(|name| format!("input/{name}.parquet"));
        for command in [
            &["run", "policy.toml"][..],
            &["check", "policy.toml"],
            &["init", "input/", "-o", "draft.toml"],
            &["risk", "input/", "--quasi", "age"],
            &["verify", "input/", "--quasi", "age", "-k", "2"],
            &["sql", "-c", "SELECT count(*) FROM 'input/'"],
        ] {
            let refused = sandbox.throng(command);
            assert_eq!(refused.code, Some(65), "{refused:?}");
            let message = refused.stderr;
            let types = format!("column `age` is {} in the first and {}", types[0], types[1]);
            assert_contains(&message, &[&places[0], &places[1], &types, "give all input files"]);
        }
    }
}

#[test]
fn an_external_table_has_one_width_or_columns_of_its_own() {
    let sandbox = sandbox(WIDTHS.each_ref(), "parquet", write_parquet);
    let sql = |columns: &str| {
        let create = format!("CREATE EXTERNAL TABLE t {columns} STORED AS PARQUET LOCATION 'input/'");
        sandbox.throng(&["sql", "--format", "csv", "-c", &format!("{create}; SELECT sum(row) AS n FROM t")])
    };
    let refused = sql("");
    assert_eq!(refused.code, Some(65), "{refused:?}");
    let types = "column `row` is Int32 in the first and Int64 in the second";
    assert_contains(
        &refused.stderr,
        &["input/0.parquet", "input/1.parquet", types, "list the columns with their types"],
    );
    // A message does not show the values of folders.
    for number in 0..3 {
        let rows = std::fs::read(sandbox.path(&format!("input/{number}.parquet"))).unwrap();
        let folder = format!("years/year={}", 1990 + number);
        std::fs::create_dir_all(sandbox.path(&folder)).unwrap();
        sandbox.write(&format!("{folder}/people.parquet"), rows);
    }
    let create = "CREATE EXTERNAL TABLE t STORED AS PARQUET LOCATION 'years/'";
    let refused = sandbox.throng(&["sql", "-c", create]);
    assert_eq!(refused.code, Some(65), "{refused:?}");
    assert_contains(&refused.stderr, &["year=…/people.parquet", types]);
    assert!(!refused.stderr.contains("year=1"), "{refused:?}");
    let declared = sql("(row BIGINT)");
    let sum: i64 = (0..ROWS as i64).map(|row| 1_000_000 + row).sum();
    assert_eq!((declared.code, declared.stdout.as_str()), (Some(0), format!("n\n{sum}\n").as_str()), "{declared:?}");
}

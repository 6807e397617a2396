use std::sync::Arc;

use arrow::datatypes::{DataType, Field, IntervalUnit, Schema, TimeUnit};
use throng_core::columns::{ColumnRecoding, Nulls};
use throng_core::hierarchy::HierarchySpec;

use super::*;
use crate::test_policies::{COMPLETE, HEAD, folder, read, read_in};
use crate::{Overrides, PolicyError, SensitiveRelease};

fn schema(columns: &[(&str, DataType)]) -> Schema {
    Schema::new(columns.iter().map(|(name, data_type)| Field::new(*name, data_type.clone(), true)).collect::<Vec<_>>())
}

/// Binds columns that are written from line 5 on.
fn bound(written: &str, columns: &[(&str, DataType)]) -> Result<Binding, PolicyError> {
    read(&format!("{HEAD}{written}")).unwrap().bind(&schema(columns))
}

fn refused(written: &str, columns: &[(&str, DataType)]) -> Vec<String> {
    bound(written, columns).unwrap_err().to_string().lines().map(str::to_owned).collect()
}

#[test]
fn the_complete_policy_binds_in_schema_order() {
    let folder = folder();
    let policy = read_in(folder.path(), COMPLETE, &Overrides::default()).unwrap();
    let schema = schema(&[
        ("hours per week", DataType::Int32),
        ("country", DataType::Utf8),
        ("row", DataType::Int64),
        ("diagnosis", DataType::Utf8View),
        ("age", DataType::Int8),
        ("person_id", DataType::Binary),
    ]);
    let binding = policy.bind(&schema).unwrap();
    assert_eq!((binding.k, binding.alpha, binding.suppression_limit), (10, None, None));
    assert_eq!(binding.dropped, ["row", "person_id"]);
    let [diagnosis] = &binding.sensitive[..] else { panic!("{binding:?}") };
    assert_eq!(diagnosis.column, BoundColumn { name: "diagnosis".to_owned(), index: 3, data_type: DataType::Utf8View });
    assert_eq!((diagnosis.p, diagnosis.release), (3, SensitiveRelease::Value));
    assert_eq!(
        binding.insensitive,
        [BoundColumn { name: "hours per week".to_owned(), index: 0, data_type: DataType::Int32 }]
    );
    let [country, age] = &binding.quasi[..] else { panic!("{binding:?}") };
    assert_eq!((country.column.index, country.spec.release), (1, ColumnRecoding::Ancestor));
    assert!(matches!(*country.spec.hierarchy, HierarchySpec::Tree(_)));
    assert_eq!((age.column.index, age.spec.name.as_str()), (4, "age"));
    assert_eq!((age.spec.release, age.spec.weight, age.spec.nulls), (ColumnRecoding::Bounds, 2.0, Nulls::Suppress));
    assert_eq!(binding.released_quasi_names(), ["country", "age_min", "age_max"]);
    assert_eq!(binding.released_names(), ["hours per week", "country", "diagnosis", "age_min", "age_max"]);
}

fn dictionary(values: DataType) -> DataType {
    DataType::Dictionary(Box::new(DataType::Int32), Box::new(values))
}

fn ordered_types() -> Vec<DataType> {
    let zone = Some(Arc::from("Europe/Berlin"));
    vec![
        DataType::Int8,
        DataType::Int16,
        DataType::Int32,
        DataType::Int64,
        DataType::UInt8,
        DataType::UInt16,
        DataType::UInt32,
        DataType::UInt64,
        DataType::Float16,
        DataType::Float32,
        DataType::Float64,
        DataType::Decimal32(5, 2),
        DataType::Decimal64(10, 2),
        DataType::Decimal128(20, 2),
        DataType::Decimal256(50, 2),
        DataType::Date32,
        DataType::Date64,
        DataType::Timestamp(TimeUnit::Second, None),
        DataType::Timestamp(TimeUnit::Nanosecond, zone),
        DataType::Time32(TimeUnit::Millisecond),
        DataType::Time64(TimeUnit::Microsecond),
        dictionary(DataType::Int64),
    ]
}

fn labelled_types() -> Vec<DataType> {
    vec![DataType::Boolean, DataType::Utf8, DataType::LargeUtf8, DataType::Utf8View, dictionary(DataType::Utf8)]
}

fn refused_types() -> Vec<DataType> {
    let item = Arc::new(Field::new("item", DataType::Int64, true));
    vec![
        DataType::Null,
        DataType::Binary,
        DataType::FixedSizeBinary(4),
        DataType::new_list(DataType::new_list(DataType::Int64, true), true),
        DataType::Struct(vec![item].into()),
        DataType::Duration(TimeUnit::Second),
        DataType::Interval(IntervalUnit::DayTime),
        dictionary(DataType::Binary),
        dictionary(dictionary(DataType::Utf8)),
    ]
}

#[test]
fn every_supported_type_has_its_default_release() {
    for (types, release) in [(ordered_types(), ColumnRecoding::Interval), (labelled_types(), ColumnRecoding::Ancestor)]
    {
        for data_type in types {
            let binding = bound("columns.a.role = 'quasi'", &[("a", data_type.clone())]).unwrap();
            assert_eq!(binding.quasi[0].spec.release, release, "{data_type}");
            assert!(matches!(*binding.quasi[0].spec.hierarchy, HierarchySpec::Flat), "{data_type}");
            assert_eq!(binding.quasi[0].column.data_type, data_type);
        }
    }
}

#[test]
fn ancestors_sets_and_modes_are_for_every_supported_type() {
    for data_type in ordered_types().into_iter().chain(labelled_types()) {
        for (name, release) in
            [("ancestor", ColumnRecoding::Ancestor), ("set", ColumnRecoding::Set), ("mode", ColumnRecoding::Mode)]
        {
            let written = format!("columns.a = {{ role = 'quasi', release = '{name}' }}");
            let binding = bound(&written, &[("a", data_type.clone())]).unwrap();
            assert_eq!(binding.quasi[0].spec.release, release, "{data_type}");
        }
    }
}

#[test]
fn ordered_releases_are_for_what_has_an_order() {
    for (name, release, others) in [
        ("interval", ColumnRecoding::Interval, "`ancestor` or `set`"),
        ("bounds", ColumnRecoding::Bounds, "`ancestor` or `set`"),
        ("mean", ColumnRecoding::Mean, "`mode`, `ancestor` or `set`"),
        ("median", ColumnRecoding::Median, "`mode`, `ancestor` or `set`"),
    ] {
        let written = format!("columns.a = {{ role = 'quasi', release = '{name}' }}");
        for data_type in ordered_types() {
            if name == "mean" && matches!(data_type, DataType::Decimal256(..)) {
                continue;
            }
            let binding = bound(&written, &[("a", data_type)]).unwrap();
            assert_eq!(binding.quasi[0].spec.release, release);
            assert_eq!(binding.quasi[0].spec.released_names().len(), if name == "bounds" { 2 } else { 1 });
        }
        for data_type in labelled_types() {
            assert_eq!(
                refused(&written, &[("a", data_type.clone())]),
                [format!(
                    "policy.toml:5:41: columns.a.release: `{name}` is for numbers, dates and times, and the column has \
                     type {data_type}; use {others}"
                )]
            );
        }
    }
}

#[test]
fn the_widest_decimals_have_no_mean() {
    let written = "columns.a = { role = 'quasi', release = 'mean' }";
    for data_type in [DataType::Decimal256(50, 2), dictionary(DataType::Decimal256(50, 2))] {
        assert_eq!(
            refused(written, &[("a", data_type.clone())]),
            [format!(
                "policy.toml:5:41: columns.a.release: there is no `mean` for columns of type {data_type}; use `median` \
                 or `interval`"
            )]
        );
    }
}

#[test]
fn with_mdr_what_has_an_order_gets_regular_intervals() {
    let mdr = "algorithm.partition = 'mdr'\n";
    for data_type in ordered_types() {
        for release in ["", ", release = 'ancestor'"] {
            let written = format!("{mdr}columns.a = {{ role = 'quasi'{release} }}");
            let spec = &bound(&written, &[("a", data_type.clone())]).unwrap().quasi[0].spec;
            assert_eq!(spec.release, ColumnRecoding::Ancestor);
            assert!(matches!(*spec.hierarchy, HierarchySpec::MeanDifference), "{data_type}");
        }
        for name in ["interval", "bounds", "mean", "median"] {
            assert_eq!(
                refused(
                    &format!("{mdr}columns.a = {{ role = 'quasi', release = '{name}' }}"),
                    &[("a", data_type.clone())]
                ),
                [format!(
                    "policy.toml:6:41: columns.a.release: `{name}` does not go with the partition `mdr`, which gives \
                     this column a hierarchy of regular intervals; leave `release` out, or choose another partition"
                )]
            );
        }
        let set = bound(&format!("{mdr}columns.a = {{ role = 'quasi', release = 'set' }}"), &[("a", data_type)]);
        assert!(matches!(*set.unwrap().quasi[0].spec.hierarchy, HierarchySpec::Flat));
    }
    let written =
        format!("{mdr}columns.a = {{ role = 'quasi', hierarchy = {{ width = 5 }} }}\ncolumns.b.role = 'quasi'");
    let binding = bound(&written, &[("a", DataType::Int64), ("b", DataType::Utf8)]).unwrap();
    assert!(matches!(*binding.quasi[0].spec.hierarchy, HierarchySpec::Intervals { .. }));
    assert!(matches!(*binding.quasi[1].spec.hierarchy, HierarchySpec::Flat));
}

#[test]
fn types_without_order_or_label_can_only_be_kept_or_dropped() {
    for data_type in refused_types() {
        let columns =
            [("q", DataType::Int64), ("a", data_type.clone()), ("b", data_type.clone()), ("c", data_type.clone())];
        let kept = "columns.q.role = 'quasi'\ncolumns.a.role = 'insensitive'\ncolumns.b.role = 'identifier'\n";
        assert!(bound(&format!("{kept}columns.c.role = 'insensitive'\n"), &columns).is_ok());
        assert_eq!(
            refused(
                "columns.q.role = 'quasi'\ncolumns.a.role = 'quasi'\ncolumns.b.role = 'sensitive'\n\
                 columns.c.role = 'quasi'",
                &columns
            ),
            [(6, "a", "quasi"), (7, "b", "sensitive"), (8, "c", "quasi")].map(|(line, name, role)| format!(
                "policy.toml:{line}:18: columns.{name}.role: a column of type {} can't be `{role}`; only \
                 `insensitive` or `identifier` will do",
                describe_type(&data_type)
            ))
        );
    }
    for data_type in ordered_types().into_iter().chain(labelled_types()) {
        let written = "columns.q.role = 'quasi'\ncolumns.a.role = 'sensitive'";
        assert!(bound(written, &[("q", DataType::Int64), ("a", data_type)]).is_ok());
    }
}

#[test]
fn with_a_hierarchy_everything_is_released_as_an_ancestor() {
    let cases = [
        ("{ intervals = [5, 10] }", DataType::Int64),
        ("{ width = 5 }", DataType::Float64),
        ("{ width = 5 }", DataType::Decimal128(10, 2)),
        ("{ date = ['year'] }", DataType::Date32),
        ("{ date = ['year'] }", DataType::Timestamp(TimeUnit::Second, None)),
        ("{ mask = 'right' }", dictionary(DataType::Utf8)),
        ("{ mask = 'right' }", DataType::UInt32),
        ("{ tree = ['1'] }", DataType::Int64),
        ("{ tree = ['true'] }", DataType::Boolean),
        ("{ tree = ['12:00'] }", DataType::Time32(TimeUnit::Second)),
    ];
    for (hierarchy, data_type) in cases {
        let written = format!("columns.a = {{ role = 'quasi', hierarchy = {hierarchy} }}");
        let binding = bound(&written, &[("a", data_type.clone())]).unwrap();
        assert_eq!(binding.quasi[0].spec.release, ColumnRecoding::Ancestor, "{hierarchy} {data_type}");
        assert!(!matches!(*binding.quasi[0].spec.hierarchy, HierarchySpec::Flat));
    }
}

#[test]
fn a_hierarchy_must_go_with_the_type() {
    let refused = |hierarchy: &str, data_type: DataType| {
        refused(&format!("columns.a = {{ role = 'quasi', hierarchy = {hierarchy} }}"), &[("a", data_type)])
    };
    let at = "policy.toml:5:43: columns.a.hierarchy:";
    for data_type in [DataType::Utf8, DataType::Date32, DataType::Boolean, DataType::Time32(TimeUnit::Second)] {
        let message = format!("{at} intervals are for numbers, and the column has type {data_type}");
        assert_eq!(refused("{ intervals = [5, 10] }", data_type.clone()), [message.as_str()]);
        assert_eq!(refused("{ width = 5 }", data_type), [message]);
    }
    for data_type in [DataType::Utf8, DataType::Int64, DataType::Time64(TimeUnit::Nanosecond)] {
        assert_eq!(
            refused("{ date = ['year'] }", data_type.clone()),
            [format!("{at} calendar parts are for dates and timestamps, and the column has type {data_type}")]
        );
    }
    for data_type in [DataType::Float64, DataType::Decimal128(5, 0), DataType::Date32, DataType::Boolean] {
        assert_eq!(
            refused("{ mask = 'left' }", data_type.clone()),
            [format!("{at} masks are for text and whole numbers, and the column has type {data_type}")]
        );
    }
}

#[test]
fn names_are_compared_exactly_and_all_differences_are_reported() {
    let written = "[columns.Age]\nrole = 'quasi'\n[columns.zipcode]\nrole = 'quasi'\n\
                   [columns.ill]\nrole = 'sensitive'\n\
                   [columns.gone]\nrole = 'identifier'\n";
    let int = DataType::Int64;
    assert_eq!(
        refused(
            written,
            &[
                ("age", int.clone()),
                ("zip_code", int.clone()),
                ("zipcodes", int.clone()),
                ("ill", int.clone()),
                ("ill", int.clone()),
                ("x", int.clone()),
                ("x", int),
            ]
        ),
        [
            "policy.toml:5:2: columns.x: the input has more than one column of this name; rename all but one",
            "policy.toml:5:2: columns: the input has columns that the policy does not name: `age`, `zip_code`, \
             `zipcodes`, `x`; give each a role under [columns], or set `default = \"drop\"`",
            "policy.toml:5:10: columns.Age: the input has no such column; did you mean `age`?",
            "policy.toml:7:10: columns.zipcode: the input has no such column; did you mean `zip_code` or `zipcodes`?",
            "policy.toml:9:10: columns.ill: the input has more than one column of this name; rename all but one",
            "policy.toml:11:10: columns.gone: the input has no such column",
        ]
    );
}

#[test]
fn unlisted_columns_are_dropped_when_the_policy_says_so() {
    let written = "[columns]\ndefault = 'drop'\na.role = 'quasi'\n";
    let binding = bound(written, &[("z", DataType::Binary), ("a", DataType::Int8), ("y", DataType::Utf8)]).unwrap();
    assert_eq!(binding.dropped, ["z", "y"]);
    assert_eq!(binding.released_names(), ["a"]);
}

#[test]
fn a_column_may_be_called_default() {
    let written = "columns.a.role = 'quasi'\ncolumns.default.role = 'sensitive'\n";
    let binding = bound(written, &[("default", DataType::Utf8), ("a", DataType::Int8)]).unwrap();
    assert_eq!(binding.sensitive[0].column.name, "default");
    assert!(refused(written, &[("a", DataType::Int8)])[0].contains("columns.default: the input has no such column"));
}

#[test]
fn no_two_columns_have_one_name_in_the_release() {
    let int = DataType::Int64;
    let written = "[columns.age]\nrole = 'quasi'\nrelease = 'bounds'\n[columns.age_min]\nrole = 'insensitive'\n\
                   [columns.age_max]\nrole = 'sensitive'\n";
    let clash = |name: &str| {
        format!(
            "policy.toml:7:11: columns.age.release: its bound `{name}` would have the name that column `{name}` has in \
             the release; choose another release, or rename that column"
        )
    };
    let columns = [("age_min", int.clone()), ("age", int.clone()), ("age_max", int.clone())];
    assert_eq!(refused(written, &columns), [clash("age_min"), clash("age_max")]);
    let dropped = written.replace("insensitive", "identifier").replace("sensitive", "identifier");
    assert_eq!(bound(&dropped, &columns).unwrap().released_names(), ["age_min", "age_max"]);
    let both =
        "columns.a = { role = 'quasi', release = 'bounds' }\ncolumns.a_min = { role = 'quasi', release = 'bounds' }\n";
    assert_eq!(
        bound(both, &[("a", int.clone()), ("a_min", int)]).unwrap().released_names(),
        ["a_min", "a_max", "a_min_min", "a_min_max"]
    );
}

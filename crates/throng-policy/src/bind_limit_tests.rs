use arrow::datatypes::{DataType, Field, Schema, TimeUnit};
use throng_core::columns::Limit;

use crate::test_policies::{HEAD, read};

/// Binds one column of this type, whose limit is written in line 5 from column 39 on.
fn bound(limit: &str, further: &str, data_type: DataType) -> Result<Option<Limit>, String> {
    let text = format!("{HEAD}columns.a = {{ role = 'quasi', limit = {limit}{further} }}");
    let schema = Schema::new(vec![Field::new("a", data_type, true)]);
    let binding = read(&text).unwrap().bind(&schema).map_err(|error| error.to_string())?;
    Ok(binding.quasi[0].spec.limit.clone())
}

fn refused(limit: &str, further: &str, data_type: DataType) -> String {
    let text = bound(limit, further, data_type).unwrap_err();
    text.strip_prefix("policy.toml:5:39: columns.a.limit: ").unwrap().to_owned()
}

#[test]
fn bands_are_for_numbers_on_a_line() {
    let bands = Limit::Bands([18.0, 65.0].into());
    for release in ["", ", release = 'interval'", ", release = 'bounds'", ", release = 'mean'", ", release = 'median'"]
    {
        for data_type in [DataType::Int32, DataType::Float64, DataType::Decimal128(10, 2)] {
            assert_eq!(bound("[18, 65]", release, data_type), Ok(Some(bands.clone())));
        }
        assert_eq!(
            refused("[18, 65]", release, DataType::Date32),
            "bands are for numbers, and the column has type Date32; give it a `hierarchy` of calendar parts, and a \
             level as the limit"
        );
        assert_eq!(
            refused("[18, 65]", release, DataType::Time32(TimeUnit::Second)),
            "bands are for numbers, and the column has type Time32(s); give it a `hierarchy`, and a level as the limit"
        );
    }
}

#[test]
fn bands_are_not_for_hierarchies() {
    for (release, further, data_type) in [
        ("ancestor", ", hierarchy = { width = 5 }", DataType::Int64),
        ("ancestor", "", DataType::Utf8),
        ("set", ", release = 'set'", DataType::Int64),
        ("mode", ", release = 'mode'", DataType::Int64),
    ] {
        assert_eq!(
            refused("[18, 65]", further, data_type),
            format!(
                "bands are for numbers that are released as `interval`, `bounds`, `mean` or `median`, and this column \
                 is released as `{release}`; give a level, or values of its hierarchy"
            )
        );
    }
}

#[test]
fn levels_and_values_are_for_hierarchies_and_categories() {
    for release in ["interval", "bounds", "mean", "median"] {
        let further = format!(", release = '{release}'");
        let without = format!("a hierarchy, and this column is released as `{release}` without one");
        assert_eq!(
            refused("0", &further, DataType::Int64),
            format!("a level needs {without}; list the numbers at which bands begin, or give it a `hierarchy`")
        );
        assert_eq!(
            refused("['x']", &further, DataType::Int64),
            format!("values need {without}; list the numbers at which bands begin, or give it a `hierarchy`")
        );
        assert_eq!(
            refused("1", &further, DataType::Date64),
            format!("a level needs {without}; give it a `hierarchy` of calendar parts, and a level as the limit")
        );
    }
    let date = ", hierarchy = { date = ['month', 'year'] }";
    assert_eq!(bound("1", date, DataType::Date32), Ok(Some(Limit::Level(1))));
    assert_eq!(bound("['2024']", date, DataType::Date32), Ok(Some(Limit::Values(["2024".into()].into()))));
    for further in ["", ", release = 'set'", ", release = 'mode'"] {
        assert_eq!(bound("0", further, DataType::Utf8), Ok(Some(Limit::Level(0))));
        assert_eq!(bound("['x']", further, DataType::Boolean), Ok(Some(Limit::Values(["x".into()].into()))));
    }
    assert_eq!(bound("0", ", release = 'set'", DataType::Int64), Ok(Some(Limit::Level(0))));
}

#[test]
fn without_a_hierarchy_only_level_zero_limits_anything() {
    assert_eq!(
        refused("1", "", DataType::Utf8),
        "limits nothing, since without a hierarchy level 1 is the root; use 0, or give the column a `hierarchy`"
    );
}

#[test]
fn regular_intervals_have_levels() {
    let schema = Schema::new(vec![Field::new("a", DataType::Int64, true)]);
    let with = |limit: &str| {
        let columns = format!("columns.a = {{ role = 'quasi', limit = {limit} }}");
        read(&format!("{HEAD}algorithm.partition = 'mdr'\n{columns}")).unwrap().bind(&schema)
    };
    assert_eq!(with("2").unwrap().quasi[0].spec.limit, Some(Limit::Level(2)));
    assert!(with("[18, 65]").unwrap_err().to_string().contains("and this column is released as `ancestor`"));
}

use arrow::datatypes::{DataType, Field, Schema, TimeUnit};
use throng_core::columns::ColumnRecoding;
use throng_core::cover::CoverGrid;
use throng_core::hierarchy::DatePart;

use crate::test_policies::{HEAD, read};

fn written(cover: &str, further: &str) -> String {
    format!("{HEAD}columns.a = {{ role = 'quasi', cover = {cover}{further} }}")
}

/// Binds one column of this type, whose cover is written in line 5 from column 39 on.
fn bound(cover: &str, further: &str, data_type: DataType) -> Result<(ColumnRecoding, Option<CoverGrid>), String> {
    let schema = Schema::new(vec![Field::new("a", data_type, true)]);
    let binding = read(&written(cover, further)).unwrap().bind(&schema).map_err(|error| error.to_string())?;
    Ok((binding.quasi[0].spec.release, binding.quasi[0].spec.cover))
}

fn refused(cover: &str, further: &str, data_type: DataType) -> String {
    let text = bound(cover, further, data_type).unwrap_err();
    text.strip_prefix("policy.toml:5:39: columns.a.cover: ").unwrap_or(&text).to_owned()
}

#[test]
fn a_grid_is_a_width_a_part_of_the_calendar_or_the_finest_level_of_a_hierarchy() {
    use ColumnRecoding::{Bounds, Interval};
    let grid = |width, origin| Some(CoverGrid::Width { width, origin });
    let day = DataType::Timestamp(TimeUnit::Microsecond, None);
    for (cover, further, data_type, expected) in [
        ("5", "", DataType::Int32, (Interval, grid(5.0, 0.0))),
        ("{ grid = 5, origin = 18 }", ", release = 'bounds'", DataType::UInt8, (Bounds, grid(5.0, 18.0))),
        ("0.25", "", DataType::Float32, (Interval, grid(0.25, 0.0))),
        ("0.25", "", DataType::Decimal128(10, 2), (Interval, grid(0.25, 0.0))),
        ("30", "", DataType::Date32, (Interval, grid(30.0, 0.0))),
        ("0.5", "", day.clone(), (Interval, grid(0.5, 0.0))),
        ("'day'", "", day.clone(), (Interval, Some(CoverGrid::Calendar(DatePart::Day)))),
        ("'decade'", "", DataType::Date32, (Interval, Some(CoverGrid::Calendar(DatePart::Decade)))),
        (
            "'hierarchy'",
            ", release = 'interval', hierarchy = { intervals = [5, 20], origin = 18 }",
            DataType::Int64,
            (Interval, grid(5.0, 18.0)),
        ),
        (
            "'hierarchy'",
            ", release = 'bounds', hierarchy = { date = ['month', 'year'] }",
            DataType::Date32,
            (Bounds, Some(CoverGrid::Calendar(DatePart::Month))),
        ),
        ("5", ", limit = [18, 65]", DataType::Int32, (Interval, grid(5.0, 0.0))),
    ] {
        assert_eq!(bound(cover, further, data_type), Ok(expected), "{cover}{further}");
    }
}

#[test]
fn what_has_no_ends_to_round_is_refused() {
    let others = "use `interval` or `bounds`, or leave `cover` out";
    for release in ["mean", "median", "ancestor", "set"] {
        assert_eq!(
            refused("5", &format!(", release = '{release}'"), DataType::Int32),
            format!("rounds the ends of intervals, and this column is released as `{release}`; {others}")
        );
    }
    assert_eq!(
        refused("5", "", DataType::Utf8),
        format!("rounds the ends of intervals, and this column is released as `ancestor`; {others}")
    );
    assert_eq!(
        refused("5", "", DataType::Time32(TimeUnit::Second)),
        "is for numbers and dates, and the column has type Time32(s); leave it out"
    );
    assert_eq!(
        refused("'year'", "", DataType::Int32),
        "parts of the calendar are for dates, and the column has type Int32"
    );
    for (cover, data_type) in [
        ("0.5", DataType::Int32),
        ("{ grid = 5, origin = 0.5 }", DataType::Int32),
        ("0.125", DataType::Decimal128(10, 2)),
        ("0.5", DataType::Date32),
        ("'day'", DataType::Date32),
        ("5", DataType::Decimal256(50, 2)),
    ] {
        let found = refused(cover, "", data_type);
        assert!(found.starts_with("the borders of this grid are no values of a column of type "), "{cover}: {found}");
    }
    let both = refused("5", ", limit = [18]", DataType::Float64);
    assert!(both.starts_with("does not go with a `limit` for a column of type Float64"), "{both}");
}

#[test]
fn a_cover_is_checked_before_the_type_is_known() {
    let problems = |cover: &str, further: &str| {
        let error = read(&written(cover, further)).unwrap_err().to_string();
        error.strip_prefix("policy.toml:5:").unwrap().to_owned()
    };
    assert_eq!(
        problems("0", ""),
        "39: columns.a.cover: must be greater than zero; to release ends that are values of the table, leave it out"
    );
    assert!(problems("{ grid = -5 }", "").contains("columns.a.cover.grid: must be greater than zero"));
    assert!(problems("'week'", "").contains("columns.a.cover: unknown value `week`"));
    assert!(problems("{ width = 5 }", "").contains("columns.a.cover.width: unknown field"));
    assert!(problems("true", "").contains("columns.a.cover: expected "));
    let tree = ", hierarchy = { mask = 'right' }, release = 'interval'";
    assert!(
        problems("'hierarchy'", tree).contains("takes its grid from a hierarchy of intervals or parts of the calendar")
    );
    assert!(problems("'hierarchy'", ", hierarchy = { intervals = [5] }").contains("add `release = \"interval\"`"));
    let sensitive = format!("{HEAD}columns.a = {{ role = 'sensitive', cover = 5 }}");
    assert!(read(&sensitive).unwrap_err().to_string().contains("columns.a.cover: is for the role `quasi`"));
}

#[test]
fn a_cover_is_in_the_canonical_form_and_in_the_builder() {
    let json = |text: &str| read(text).unwrap().canonical_json();
    assert!(json(&written("5", "")).contains(r#""cover":{"grid":5.0,"origin":0.0}"#));
    assert!(json(&written("'year'", "")).contains(r#""cover":"year""#));
    let levels = ", release = 'interval', hierarchy = { intervals = [5, 20] }";
    assert_eq!(json(&written("'hierarchy'", levels)), json(&written("5", ", release = 'interval'")));
    assert!(!json(&format!("{HEAD}columns.a = {{ role = 'quasi' }}")).contains("cover"));
}

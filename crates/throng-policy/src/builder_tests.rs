use std::path::Path;

use throng_core::columns::{ColumnRecoding, Nulls};
use throng_core::hierarchy::{DatePart, MaskSide};
use throng_core::model::GroundDistance;

use crate::{Budget, ClusterSetting, Goal, Overrides, Policy, PolicyBuilder, PolicyError, Preset, SensitiveRelease};
use throng_core::anonymize::PartitionChoice;

fn parsed(text: &str) -> Policy {
    Policy::parse(text, Path::new(""), &Overrides::for_a_table()).unwrap()
}

/// The fields that problems are about.
fn paths(error: &PolicyError) -> Vec<&str> {
    error.problems().iter().map(|problem| problem.path.as_str()).collect()
}

fn small() -> PolicyBuilder {
    Policy::builder().with_k(5).quasi("age", |age| age)
}

#[test]
fn a_built_policy_is_that_of_the_file_with_the_same_fields() {
    let file = parsed(
        r#"
        version = 1
        privacy = { k = 10, p = 2, alpha = 0.5, suppression_limit = 0.1 }
        algorithm = { partition = "mondrian", cluster = "greedy", seed = 7 }
        [columns]
        default = "drop"
        id.role = "identifier"
        age = { role = "quasi", release = "bounds", weight = 2.0, nulls = "suppress", limit = [20.0, 40.0], cover = { grid = 5.0, origin = 1.0 } }
        income = { role = "quasi", hierarchy = { intervals = [5.0, 10.0], origin = 1.0 }, limit = 1 }
        moved = { role = "quasi", cover = "month" }
        born = { role = "quasi", hierarchy = { date = ["month", "year"] } }
        zip = { role = "quasi", hierarchy = { mask = "right" } }
        country = { role = "quasi", hierarchy = { tree = { Europe = ["France", "Spain"], Asia = ["Japan"] } }, limit = ["Europe"] }
        city = { role = "quasi", release = "ancestor", hierarchy = { lines = "Paris;France;*\nKyoto;Japan;*\n" } }
        [columns.illness]
        role = "sensitive"
        p = 2
        categories = [{ name = "grave", values = ["HIV"] }, { name = "light", values = ["flu", "cold"] }]
        release = "both"
        [columns.job]
        role = "sensitive"
        hierarchy = { tree = { office = ["clerk", "judge"], field = ["farmer"] } }
        protected = ["office"]
        [columns."hours per week"]
        role = "insensitive"
        "#,
    );
    let built = Policy::builder()
        .with_k(10)
        .with_p(2)
        .with_alpha(0.5)
        .with_suppression_limit(0.1)
        .with_partition(PartitionChoice::Mondrian)
        .with_cluster(ClusterSetting::Greedy)
        .with_seed(7)
        .default_drop()
        .identifier("id")
        .quasi("age", |age| {
            let age = age.with_release(ColumnRecoding::Bounds).with_weight(2.0).with_nulls(Nulls::Suppress);
            age.with_limit_bands([20.0, 40.0]).with_cover(5.0, 1.0)
        })
        .quasi("income", |income| income.with_intervals([5.0, 10.0]).with_origin(1.0).with_limit_level(1))
        .quasi("moved", |moved| moved.with_calendar_cover(DatePart::Month))
        .quasi("born", |born| born.with_date_parts([DatePart::Month, DatePart::Year]))
        .quasi("zip", |zip| zip.with_mask(MaskSide::Right))
        .quasi("country", |country| {
            let groups = [("Europe", vec!["France", "Spain"]), ("Asia", vec!["Japan"])];
            country.with_hierarchy_groups(groups).with_limit_values(["Europe"])
        })
        .quasi("city", |city| {
            city.with_release(ColumnRecoding::Ancestor).with_hierarchy_lines("Paris;France;*\nKyoto;Japan;*\n")
        })
        .sensitive("illness", |illness| {
            let illness = illness.with_p(2).with_category("grave", ["HIV"]).with_category("light", ["flu", "cold"]);
            illness.with_release(SensitiveRelease::Both)
        })
        .sensitive("job", |job| {
            let groups = [("office", vec!["clerk", "judge"]), ("field", vec!["farmer"])];
            job.with_hierarchy_groups(groups).with_protected(["office"])
        })
        .insensitive("hours per week")
        .build()
        .unwrap();
    assert_eq!(built.canonical_json(), file.canonical_json());
    assert_eq!(built.to_portable(), Policy::from_portable(&built.to_portable()).unwrap().to_portable());
}

#[test]
fn rules_and_forms_of_sensitive_columns_are_those_of_a_file() {
    let file = parsed(
        r#"
        version = 1
        privacy = { k = 5, p = 2 }
        [columns]
        age = { role = "quasi" }
        code = { role = "sensitive", categories = [{ name = "a", prefixes = ["C", "D0"] }, { name = "b", prefixes = ["D"] }] }
        salary = { role = "sensitive", categories = [{ name = "high", bands = [{ from = 90.5 }] }, { name = "low", bands = [{ below = 90.5 }] }] }
        icd = { role = "sensitive", hierarchy = { mask = "right" }, protected = ["C5*"] }
        born = { role = "sensitive", hierarchy = { date = ["month", "year"] }, protected = ["1990"] }
        pay = { role = "sensitive", hierarchy = { intervals = [5, 10] }, protected = ["[0-9]"] }
        "#,
    );
    let built = Policy::builder()
        .with_k(5)
        .with_p(2)
        .quasi("age", |age| age)
        .sensitive("code", |code| code.with_prefix_category("a", ["C", "D0"]).with_prefix_category("b", ["D"]))
        .sensitive("salary", |salary| {
            let high = salary.with_band_category("high", 90.5, f64::INFINITY);
            high.with_band_category("low", f64::NEG_INFINITY, 90.5)
        })
        .sensitive("icd", |icd| icd.with_mask(MaskSide::Right).with_protected(["C5*"]))
        .sensitive("born", |born| born.with_date_parts([DatePart::Month, DatePart::Year]).with_protected(["1990"]))
        .sensitive("pay", |pay| pay.with_intervals([5.0, 10.0]).with_protected(["[0-9]"]))
        .build()
        .unwrap();
    assert_eq!(built.canonical_json(), file.canonical_json());
    assert_eq!(built.to_portable(), Policy::from_portable(&built.to_portable()).unwrap().to_portable());
}

#[test]
fn a_budget_and_a_preset_are_written_by_their_names() {
    let built = Policy::builder()
        .with_preset(Preset::Cms)
        .with_p(1)
        .with_budget(Budget::Time(std::time::Duration::from_secs(30)))
        .quasi("age", |age| age)
        .build()
        .unwrap();
    assert_eq!(built.privacy.k, 11);
    assert_eq!(built.algorithm.budget, Budget::Time(std::time::Duration::from_secs(30)));
}

#[test]
fn goals_fractions_weights_and_distances_are_those_of_a_file() {
    let file = parsed(
        r#"
        version = 1
        privacy = { k = 10, p = 2, population = { fraction = 0.05 } }
        algorithm = { goal = "classes" }
        [columns]
        age.role = "quasi"
        [columns.job]
        role = "sensitive"
        weight = 2.0
        hierarchy = { tree = { office = ["clerk", "judge"], field = ["farmer"] } }
        t = 0.2
        distance = "hierarchical"
        "#,
    );
    let built = Policy::builder()
        .with_k(10)
        .with_p(2)
        .with_sampling_fraction(0.05)
        .with_goal(Goal::Classes)
        .quasi("age", |age| age)
        .sensitive("job", |job| {
            let groups = [("office", vec!["clerk", "judge"]), ("field", vec!["farmer"])];
            job.with_weight(2.0).with_hierarchy_groups(groups).with_t(0.2, GroundDistance::Hierarchical)
        })
        .build()
        .unwrap();
    assert_eq!(built.canonical_json(), file.canonical_json());
    for part in [r#""population":{"fraction":0.05}"#, r#""goal":"classes""#, r#""distance":"hierarchical""#] {
        assert!(built.canonical_json().contains(part), "{}", built.canonical_json());
    }
    assert_eq!(built.to_portable(), Policy::from_portable(&built.to_portable()).unwrap().to_portable());
}

#[test]
fn problems_name_the_field_and_come_all_at_once() {
    let error = Policy::builder()
        .with_k(1)
        .with_alpha(f64::NAN)
        .quasi("age", |age| age.with_weight(0.0))
        .quasi("zip", |zip| zip.with_mask(MaskSide::Left).with_intervals([5.0]))
        .build()
        .unwrap_err();
    assert_eq!(paths(&error), ["privacy.alpha"], "what is no number is found with the structure: {error}");
    let error = Policy::builder()
        .with_k(1)
        .quasi("age", |age| age.with_weight(0.0))
        .quasi("zip", |zip| zip.with_mask(MaskSide::Left).with_intervals([5.0]))
        .build()
        .unwrap_err();
    let paths = paths(&error);
    for field in ["privacy.k", "columns.age.weight"] {
        assert!(paths.contains(&field), "{field} is not in {paths:?}");
    }
    assert!(paths.iter().any(|path| path.starts_with("columns.zip.hierarchy")), "{paths:?}");
    assert!(error.problems().iter().all(|problem| problem.place.is_none()));
    assert!(error.to_string().starts_with("policy: "), "{error}");
}

#[test]
fn a_policy_needs_a_k_and_a_quasi_identifier() {
    let error = Policy::builder().quasi("age", |age| age).build().unwrap_err();
    assert_eq!(paths(&error), ["privacy.k"]);
    let error = Policy::builder().with_k(5).insensitive("age").build().unwrap_err();
    assert!(paths(&error)[0].starts_with("columns"), "{error}");
}

#[test]
fn a_column_has_one_role() {
    let error = small().identifier("age").build().unwrap_err();
    assert_eq!(paths(&error), ["columns.age"]);
    let error = small().insensitive("default").default_drop().build().unwrap_err();
    assert_eq!(paths(&error), ["columns.default"]);
    assert!(small().insensitive("default").build().is_ok());
}

#[test]
fn locations_are_kept_where_they_are_given() {
    assert_eq!(small().build().unwrap().input.locations, Overrides::for_a_table().input.unwrap());
    let policy = small().with_input(["a.parquet", "b.parquet"]).with_output("out/").build().unwrap();
    assert_eq!((policy.input.locations.len(), policy.output.location.as_str()), (2, "out/"));
}

#[test]
fn hierarchy_files_are_looked_for_in_the_folder_of_the_builder() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("city.csv"), "Paris;France;*\nKyoto;Japan;*\n").unwrap();
    let policy = |folder: &Path| {
        let builder = Policy::builder().with_k(5).with_folder(folder);
        builder.quasi("city", |city| city.with_hierarchy_file("city.csv")).build()
    };
    assert!(policy(folder.path()).is_ok());
    let error = policy(&folder.path().join("elsewhere")).unwrap_err();
    assert!(paths(&error)[0].starts_with("columns.city.hierarchy"), "{error}");
}

use std::sync::Arc;

use arrow::datatypes::{DataType, Field, Schema};
use throng_core::columns::{ColumnRecoding, Limit, SensitiveCoding};

use crate::test_policies::{EXTENDED, HEAD, folder, read, read_in};
use crate::{Binding, Overrides, SensitiveRelease};

fn schema(names: &[&str]) -> Schema {
    Schema::new(names.iter().map(|name| Field::new(*name, DataType::Utf8, true)).collect::<Vec<_>>())
}

/// Returns name, facet and required value of each model.
fn models(binding: &Binding) -> Vec<(&'static str, Option<usize>, u64)> {
    let privacy = binding.privacy();
    privacy.counting_models().map(|model| (model.name(), model.column(), model.required())).collect()
}

fn extended() -> Binding {
    let policy = read_in(folder().path(), EXTENDED, &Overrides::default()).unwrap();
    let names = ["illness", "age", "country", "city", "zip", "income", "treatment"];
    let fields = names.map(|name| Field::new(name, if name == "age" { DataType::Int8 } else { DataType::Utf8 }, true));
    policy.bind(&Schema::new(fields.to_vec())).unwrap()
}

#[test]
fn the_extended_policy_binds_in_schema_order() {
    let binding = extended();
    assert_eq!((binding.k, binding.alpha, binding.suppression_limit), (4, Some(2.0), Some(0.05)));
    let limits: Vec<(ColumnRecoding, &Limit)> =
        binding.quasi.iter().map(|quasi| (quasi.spec.release, quasi.spec.limit.as_ref().unwrap())).collect();
    assert_eq!(
        limits,
        [
            (ColumnRecoding::Median, &Limit::Bands([18.0, 65.0].into())),
            (ColumnRecoding::Ancestor, &Limit::Level(1)),
            (ColumnRecoding::Mode, &Limit::Values(["North".into()].into())),
            (ColumnRecoding::Ancestor, &Limit::Level(0)),
        ]
    );
    let [illness, income, treatment] = &binding.sensitive[..] else { panic!("{binding:?}") };
    assert_eq!((illness.column.index, illness.p, illness.release), (0, 4, SensitiveRelease::Both));
    assert!(
        matches!(&illness.spec.facets[..], [SensitiveCoding::Categories(categories)] if categories.list.len() == 4)
    );
    assert_eq!(illness.categories.as_ref().unwrap().list[1].name, "Lung");
    assert_eq!((income.p, income.release), (2, SensitiveRelease::Value));
    assert!(matches!(income.spec.facets[..], [SensitiveCoding::Values]));
    assert_eq!((treatment.p, treatment.spec.name.as_str()), (3, "treatment"));
    assert!(
        matches!(&treatment.spec.facets[..], [SensitiveCoding::Strong(protection)] if protection.protected == ["surgery"])
    );
    assert!(treatment.protection.is_some() && treatment.categories.is_none());
    assert_eq!(
        binding.released_names(),
        ["illness", "illness_category", "age", "country", "city", "zip", "income", "treatment"]
    );
}

#[test]
fn models_follow_the_facets() {
    assert_eq!(
        models(&extended()),
        [
            ("k-anonymity", None, 4),
            ("p+-sensitivity", Some(0), 4),
            // The weight of a row in the last of four categories is three units.
            ("alpha-weight", Some(0), 6),
            ("p-sensitivity", Some(1), 2),
            ("extended p-sensitivity", Some(2), 3),
        ]
    );
}

#[test]
fn a_column_may_have_two_facets_and_a_p_that_asks_for_nothing() {
    let text = format!(
        "{HEAD}privacy.p = 2\nprivacy.alpha = 1.5\ncolumns.q.role = 'quasi'\n\
         columns.a = {{ role = 'sensitive', categories = [['x'], ['y']], hierarchy = {{ tree = {{ X = ['x'], Y = ['y'] }} }}, \
         protected = ['X'], release = 'both' }}\n\
         columns.b = {{ role = 'sensitive', p = 1 }}\ncolumns.c.role = 'sensitive'\n\
         columns.d = {{ role = 'sensitive', p = 1, categories = [['x'], ['y']] }}\n"
    );
    let binding = read(&text).unwrap().bind(&schema(&["q", "a", "b", "c", "d"])).unwrap();
    assert_eq!(
        models(&binding),
        [
            ("k-anonymity", None, 10),
            ("extended p-sensitivity", Some(0), 2),
            ("p+-sensitivity", Some(1), 2),
            ("alpha-weight", Some(1), 2),
            ("p-sensitivity", Some(3), 2),
            ("alpha-weight", Some(4), 2),
        ]
    );
}

#[test]
fn values_that_are_compared_by_a_hierarchy_have_a_facet_of_their_own() {
    let bound = |fields: &str| {
        let text = format!(
            "{HEAD}privacy.p = 2\ncolumns.q.role = 'quasi'\ncolumns.a = {{ role = 'sensitive', hierarchy = {{ tree = {{ X = \
             ['x', 'z'], Y = ['y'] }} }}, t = 0.2, distance = 'hierarchical', max_share = 0.5{fields} }}\n"
        );
        let binding = read(&text).unwrap().bind(&schema(&["q", "a"])).unwrap();
        let privacy = binding.privacy();
        privacy.models().map(|model| (model.name(), model.column())).collect::<Vec<_>>()
    };
    assert_eq!(
        bound(""),
        [
            ("k-anonymity", None),
            ("p-sensitivity", Some(0)),
            ("(alpha, k)-anonymity", Some(0)),
            ("t-closeness", Some(0)),
        ]
    );
    assert_eq!(
        bound(", protected = ['X']"),
        [
            ("k-anonymity", None),
            ("extended p-sensitivity", Some(0)),
            ("(alpha, k)-anonymity", Some(0)),
            ("t-closeness", Some(1)),
        ]
    );
}

#[test]
fn switching_starts_from_p_values_of_a_column_with_categories() {
    let bound = |cluster: &str| {
        let text = format!(
            "{HEAD}privacy.p = 2\nprivacy.alpha = 1.0\nalgorithm.cluster = '{cluster}'\ncolumns.q.role = 'quasi'\n\
             columns.a = {{ role = 'sensitive', categories = [['x'], ['y'], ['z']], max_share = 0.5 }}\n"
        );
        read(&text).unwrap().bind(&schema(&["q", "a"])).unwrap()
    };
    assert_eq!(
        models(&bound("greedy")),
        [("k-anonymity", None, 10), ("p+-sensitivity", Some(0), 2), ("alpha-weight", Some(0), 2)]
    );
    let switching = bound("switching");
    let of_values = ("p-sensitivity", Some(1), 2);
    assert_eq!(
        models(&switching),
        [("k-anonymity", None, 10), ("p+-sensitivity", Some(0), 2), ("alpha-weight", Some(0), 2), of_values]
    );
    let start = switching.privacy().without_p_plus_alpha();
    let start: Vec<_> = start.models().map(|model| (model.name(), model.column())).collect();
    assert_eq!(start, [("k-anonymity", None), ("(alpha, k)-anonymity", Some(0)), ("p-sensitivity", Some(1))]);
}

#[test]
fn weights_of_sensitive_columns_are_those_of_their_models() {
    let text = format!(
        "{HEAD}privacy.p = 2\ncolumns.q.role = 'quasi'\ncolumns.a = {{ role = 'sensitive', weight = 3.0 }}\n\
         columns.b.role = 'sensitive'\n"
    );
    let binding = read(&text).unwrap().bind(&schema(&["q", "a", "b"])).unwrap();
    let privacy = binding.privacy();
    let weights: Vec<f64> = privacy.diversity_models().map(|model| model.weight_in_diversity()).collect();
    assert_eq!(weights, [3.0, 1.0]);
}

#[test]
fn plain_k_anonymity_is_one_model() {
    let text = format!("{HEAD}columns.q.role = 'quasi'\ncolumns.a.role = 'sensitive'\n");
    let binding = read(&text).unwrap().bind(&schema(&["q", "a"])).unwrap();
    assert_eq!(models(&binding), [("k-anonymity", None, 10)]);
}

#[test]
fn a_category_does_not_take_the_name_of_another_column() {
    let with = |release: &str| {
        let text = format!(
            "{HEAD}columns.q.role = 'quasi'\ncolumns.a_category.role = 'insensitive'\n\
             columns.a = {{ role = 'sensitive', categories = [['x'], ['y']], release = '{release}' }}\n"
        );
        let binding = read(&text).unwrap().bind(&schema(&["a_category", "q", "a"]));
        binding.map(|binding| binding.released_names()).map_err(|error| error.to_string())
    };
    assert_eq!(with("category"), Ok(["a_category", "q", "a"].map(str::to_owned).to_vec()));
    assert_eq!(
        with("both"),
        Err("policy.toml:7:74: columns.a.release: its category `a_category` would have the name that column \
             `a_category` has in the release; choose another release, or rename that column"
            .to_owned())
    );
}

/// Lists of every kind that Arrow has.
fn list_types(element: DataType) -> Vec<DataType> {
    let field = Arc::new(Field::new("item", element, true));
    vec![
        DataType::List(Arc::clone(&field)),
        DataType::LargeList(Arc::clone(&field)),
        DataType::ListView(Arc::clone(&field)),
        DataType::LargeListView(Arc::clone(&field)),
        DataType::FixedSizeList(field, 3),
    ]
}

fn bound_list(fields: &str, data_type: DataType) -> Result<Binding, String> {
    let text = format!("{HEAD}privacy.p = 2\ncolumns.q.role = 'quasi'\n[columns.a]\nrole = 'sensitive'\n{fields}");
    let schema = Schema::new(vec![Field::new("q", DataType::Int64, true), Field::new("a", data_type, true)]);
    read(&text).unwrap().bind(&schema).map_err(|error| error.to_string())
}

#[test]
fn lists_are_counted_by_their_elements() {
    for (element, is_text) in [(DataType::Utf8, true), (DataType::Int64, false), (DataType::Date32, false)] {
        for data_type in list_types(element.clone()) {
            let binding = bound_list("max_share = 0.5\nmissing = ['?']\n", data_type).unwrap();
            let spec = &binding.sensitive[0].spec;
            assert!(matches!(spec.facets[..], [SensitiveCoding::Elements { are_text }] if are_text == is_text));
            let privacy = binding.privacy();
            let names: Vec<&str> = privacy.models().map(|model| model.name()).collect();
            assert_eq!(names, ["k-anonymity", "list p-sensitivity", "(alpha, k)-anonymity"]);
        }
    }
}

#[test]
fn what_has_no_meaning_for_lists_is_refused_by_name() {
    let lists = || DataType::new_list(DataType::Int64, true);
    for (field, value) in [
        ("categories", "[['1'], ['2']]"),
        ("hierarchy", "{ width = 5 }\nprotected = ['[0-4]']"),
        ("bands", "[3]"),
        ("range", "3"),
        ("weight", "2"),
        ("t", "0.2"),
        ("beta", "1"),
        ("delta_disclosure", "1"),
        ("entropy_l", "2"),
        ("recursive", "{ c = 3.0, l = 2 }"),
    ] {
        let refused = bound_list(&format!("{field} = {value}\n"), lists()).unwrap_err();
        assert!(refused.contains(&format!("columns.a.{field}: has no meaning for a column of lists")), "{refused}");
    }
    let nested = bound_list("", DataType::new_list(lists(), true)).unwrap_err();
    assert!(nested.contains("can't be `sensitive`"), "{nested}");
}

#[test]
fn hierarchies_and_categories_must_fit_the_type() {
    let refused = |fields: &str, data_type: DataType| bound_list(fields, data_type).unwrap_err();
    let masked = "hierarchy = { mask = 'right' }\nprotected = ['4*']\n";
    assert!(bound_list(masked, DataType::Utf8).is_ok() && bound_list(masked, DataType::Int32).is_ok());
    assert!(refused(masked, DataType::Date32).contains("columns.a.hierarchy: masks are for text and whole numbers"));
    let prefixed = "categories = [{ name = 'x', prefixes = ['C'] }, ['y']]\n";
    assert!(bound_list(prefixed, DataType::Utf8View).is_ok());
    assert!(refused(prefixed, DataType::Int64).contains("columns.a.categories[0].prefixes: are for text"));
    let banded = "categories = [{ name = 'x', bands = [{ from = 5 }] }, ['3']]\n";
    assert!(bound_list(banded, DataType::Int64).is_ok());
    assert!(refused(banded, DataType::Utf8).contains("columns.a.categories[0].bands: are for numbers and dates"));
}

#[test]
fn values_that_are_compared_by_a_rule_count_as_values_do() {
    let binding =
        bound_list("hierarchy = { mask = 'right' }\nt = 0.3\ndistance = 'hierarchical'\n", DataType::Utf8).unwrap();
    let facets = &binding.sensitive[0].spec.facets;
    assert!(matches!(&facets[..], [SensitiveCoding::Leaves(_), SensitiveCoding::Values]), "{facets:?}");
    let privacy = binding.privacy();
    let models: Vec<(&str, Option<usize>)> = privacy.models().map(|model| (model.name(), model.column())).collect();
    assert_eq!(models, [("k-anonymity", None), ("t-closeness", Some(0)), ("p-sensitivity", Some(1))]);
}

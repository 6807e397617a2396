use crate::test_policies::{HEAD, complaints, read};
use crate::{Borrow, Policy, PopulationSettings, PopulationSource, Secret};

fn with(population: &str) -> String {
    format!("{HEAD}privacy.population = {population}\ncolumns.age.role = 'quasi'\ncolumns.w.role = 'identifier'\n")
}

fn only_complaint(text: &str) -> String {
    let complaints = complaints(text);
    assert_eq!(complaints.len(), 1, "{complaints:?}");
    complaints[0].clone()
}

#[test]
fn people_are_in_a_table_or_known_by_weights() {
    let privacy =
        read(&with("{ table = 'people.csv', k_map = 20, delta_min = 0.01, delta_max = 0.5 }")).unwrap().privacy;
    assert_eq!(
        privacy.population,
        Some(PopulationSettings {
            source: PopulationSource::Table(vec!["people.csv".to_owned()]),
            k_map: Some(20),
            delta_min: Some(0.01),
            delta_max: Some(0.5),
        })
    );
    assert_eq!(privacy.sampling_fraction, None);
    let weights = read(&with("{ weight_of_unit = 'w', k_map = 20 }")).unwrap().privacy.population.unwrap();
    assert_eq!((weights.source, weights.k_map), (PopulationSource::Weights("w".to_owned()), Some(20)));
}

#[test]
fn one_way_of_knowing_people_is_named() {
    assert!(only_complaint(&with("{}")).contains("needs one of `fraction`, `weight_of_unit` and `table`"));
    assert!(only_complaint(&with("{ fraction = 0.5, table = 'x' }")).contains("can't be set together with `fraction`"));
    assert!(only_complaint(&with("{ fraction = 0.5, k_map = 5 }")).contains("set `table` or `weight_of_unit`"));
    assert!(only_complaint(&with("{ weight_of_unit = 'w', delta_max = 0.5 }")).contains("who are in a `table`"));
    assert!(only_complaint(&with("{ weight_of_unit = 'x' }")).contains("`x` is not a column of this policy"));
    assert!(only_complaint(&with("{ weight_of_unit = 'age' }")).contains("`age` is a quasi-identifier"));
    assert!(only_complaint(&with("{ table = [] }")).contains("name at least one location"));
}

#[test]
fn limits_are_shares_and_counts() {
    assert!(only_complaint(&with("{ table = 'x', k_map = 1 }")).contains("must be at least 2"));
    assert!(only_complaint(&with("{ table = 'x', delta_max = 1.5 }")).contains("must be from 0 to 1"));
    assert!(only_complaint(&with("{ table = 'x', delta_min = 0.5, delta_max = 0.4 }")).contains("`delta_max`"));
}

#[test]
fn what_has_no_box_or_no_people_is_refused_by_name() {
    let mean = with("{ table = 'x' }")
        .replace("columns.age.role = 'quasi'", "columns.age = { role = 'quasi', release = 'mean' }");
    assert!(only_complaint(&mean).contains("`age` shows a mean"));
    let unit =
        |population: &str| with(population).replace("privacy.population", "privacy.unit = 'w'\nprivacy.population");
    assert!(only_complaint(&unit("{ table = 'x', delta_max = 0.5 }")).contains("may have several rows"));
    assert!(only_complaint(&unit("{ weight_of_unit = 'w' }")).contains("added up by rows"));
    assert!(read(&unit("{ table = 'x', k_map = 5 }")).is_ok());
}

#[test]
fn locations_are_in_no_digest_and_no_portable_policy() {
    let here = read(&with("{ table = 'here.csv', k_map = 20 }")).unwrap();
    let there = read(&with("{ table = ['there.csv', 'more.csv'], k_map = 20 }")).unwrap();
    assert_eq!(here.canonical_json(), there.canonical_json());
    assert_ne!(here.canonical_json(), read(&with("{ table = 'here.csv', k_map = 21 }")).unwrap().canonical_json());
    assert!(!here.to_portable().contains("here.csv"));
    assert_eq!(Policy::from_portable(&here.to_portable()).unwrap().canonical_json(), here.canonical_json());
}

#[test]
fn the_builder_writes_what_the_file_says() {
    let population = PopulationSettings {
        source: PopulationSource::Table(vec!["x".to_owned()]),
        k_map: Some(7),
        delta_min: None,
        delta_max: Some(0.5),
    };
    let built = Policy::builder().with_k(5).with_population(population.clone()).with_max_gain(2.0);
    let built = built.with_borrow(Borrow::Never).quasi("age", |age| age);
    let built = built.with_secret(Secret::new("a secret of these tests alone").unwrap()).build().unwrap();
    assert_eq!(built.privacy.population, Some(population));
    assert_eq!((built.privacy.max_gain, built.privacy.borrow), (Some(2.0), Borrow::Never));
    let complaints = built.check_unexamined().unwrap_err();
    let paths: Vec<&str> = complaints.problems().iter().map(|problem| problem.path.as_str()).collect();
    assert_eq!(paths, ["privacy.attacks", "privacy.population"]);
    assert!(read(&with("{ table = 'x' }")).unwrap().check_unexamined().is_ok());
}

#[test]
fn classes_of_whole_cells_need_a_method_that_forms_them() {
    let with = |algorithm: &str| format!("{HEAD}privacy.borrow = 'never'\n{algorithm}\ncolumns.age.role = 'quasi'\n");
    for whole in ["", "algorithm.cluster = 'greedy'", "algorithm.cluster = 'none'", "algorithm.partition = 'incognito'"]
    {
        assert_eq!(read(&with(whole)).unwrap().privacy.borrow, Borrow::Never, "{whole}");
    }
    for rows in ["algorithm.cluster = 'mdav'", "algorithm.cluster = 'greedy-pk'", "algorithm.goal = 'classes'"] {
        assert!(only_complaint(&with(rows)).contains("one by one"), "{rows}");
    }
}

use super::*;
use crate::Lexicon;
use crate::test_tables::{Someone, in_intervals, original, random_people, read_original, read_release, release, spec};

fn measured(people: &[Someone]) -> UtilityReport {
    let mut lexicon = Lexicon::new(spec(10, 3)).unwrap();
    let table = read_original(&mut lexicon, &original(people));
    let released = read_release(&mut lexicon, &release(people), None);
    utility(&lexicon, &table, &released, &UtilityOptions::default())
}

/// People whose illness follows their age: the older, the more often gout.
fn with_gout(count: usize) -> Vec<Someone> {
    let mut people = random_people(count, 4, 60, 1);
    for person in &mut people {
        let draw: i64 = person.illness.trim_start_matches("illness ").parse().unwrap();
        person.illness = if draw < person.age - 20 { "gout" } else { "flu" }.to_owned();
    }
    people
}

#[test]
fn a_copy_answers_every_question() {
    let report = measured(&with_gout(2000));
    assert_eq!((report.count_queries.median_error, report.count_queries.p95_error), (0.0, 0.0));
    assert_eq!(report.count_queries.queries, 1500);
    assert!(report.marginals.iter().all(|column| column.total_variation == 0.0));
    assert_eq!(report.association.largest_difference, 0.0);
    let models = report.models.unwrap();
    assert!(models.logistic_regression.release_accuracy > models.majority_accuracy + 0.1, "{models:?}");
    assert!(
        (models.logistic_regression.release_auc - models.logistic_regression.original_auc).abs() < 0.01,
        "{models:?}"
    );
    assert!(models.coefficient_overlap > 0.6, "{models:?}");
}

#[test]
fn wider_labels_answer_worse() {
    let people = with_gout(2000);
    let [narrow, wide, all] = [5, 20, 60].map(|width| measured(&in_intervals(people.clone(), width, 20)));
    let error = |report: &UtilityReport| report.count_queries.median_error;
    assert!(
        error(&narrow) < error(&wide) && error(&wide) <= error(&all),
        "{} {} {}",
        error(&narrow),
        error(&wide),
        error(&all)
    );
    let accuracy = |report: &UtilityReport| report.models.as_ref().unwrap().logistic_regression.release_accuracy;
    // Without ages there is nothing to predict by.
    assert!(accuracy(&narrow) > accuracy(&all) + 0.05, "{} {}", accuracy(&narrow), accuracy(&all));
    let age_and_illness = |report: &UtilityReport| {
        report.association.pairs.iter().find(|pair| pair.columns == ["age", "illness"]).unwrap().clone()
    };
    let hidden = age_and_illness(&all);
    assert!(hidden.original > 0.4 && hidden.release < 0.01, "{hidden:?}");
}

#[test]
fn hidden_values_are_spread_evenly() {
    // Everyone is 20, and the label says from 20 to 29: nine tenths are elsewhere.
    let mut people = random_people(100, 1, 2, 1);
    people.iter_mut().for_each(|person| (person.age, person.label) = (20, "[20-29]".to_owned()));
    // One other person, so that there is a second bin.
    people[0].age = 29;
    let report = measured(&people);
    let age = report.marginals.iter().find(|column| column.column == "age").unwrap();
    assert!((age.total_variation - 0.09).abs() < 1e-9, "{age:?}");
}

#[test]
fn labels_that_are_not_understood_are_counted() {
    let mut people = random_people(100, 1, 2, 1);
    people.iter_mut().for_each(|person| person.label = "grown up".to_owned());
    assert_eq!(measured(&people).unread_labels, 1);
}

#[test]
fn questions_of_a_workload_are_about_its_columns_alone() {
    // Ages are shown in decades, and everything else as it is.
    let people = in_intervals(with_gout(2000), 10, 20);
    let errors = |workload: &[&[&str]]| {
        let mut lexicon = Lexicon::new(spec(10, 3)).unwrap();
        let table = read_original(&mut lexicon, &original(&people));
        let released = read_release(&mut lexicon, &release(&people), None);
        let workload = workload.iter().map(|query| query.iter().map(|name| (*name).to_owned()).collect()).collect();
        let options = UtilityOptions { queries: 200, workload, ..UtilityOptions::default() };
        let report = utility(&lexicon, &table, &released, &options);
        assert_eq!(report.count_queries.queries, 600, "the other questions are not changed");
        report.count_queries.workload
    };
    assert!(errors(&[]).is_none());
    let of_age = errors(&[&["age"]]).unwrap();
    assert!(of_age.queries == 200 && of_age.median_error > 0.0, "{of_age:?}");
    let of_illness = errors(&[&["illness"]]).unwrap();
    assert!(of_illness.queries == 200 && of_illness.p95_error == 0.0, "{of_illness:?}");
    assert_eq!(errors(&[&["age", "illness"], &["illness"], &["unknown"]]).unwrap().queries, 400);
}

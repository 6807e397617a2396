use super::*;

fn facts(before: &[u64], after: &[u64], k: u64, fraction: f64) -> RiskFacts {
    let sizes = |sizes: &[u64]| sizes.iter().copied().collect::<ClassSizes>();
    RiskFacts::of(&sizes(before), &sizes(after), k, SamplingFraction::new(fraction))
}

#[test]
fn a_sampling_fraction_changes_the_risk_of_those_who_need_a_register() {
    let before = [1; 30].into_iter().chain([2; 10]).collect::<Vec<u64>>();
    let with = facts(&before, &[25, 25], 5, 0.1);
    let sizes: ClassSizes = before.iter().copied().collect();
    let without = RiskFacts::of(&sizes, &[25, 25].into_iter().collect(), 5, None);
    assert_eq!(
        (&with.before.prosecutor, &with.after.prosecutor),
        (&without.before.prosecutor, &without.after.prosecutor)
    );
    assert_eq!(without.population, None);
    // s / (1 - s) ln(1 / s) is the highest risk, and that of a release with classes of 25 about s / 25.
    let highest = 0.1 / 0.9 * 10.0_f64.ln();
    assert!((with.before.journalist.highest - highest).abs() < 1e-4, "{with:?}");
    assert!((with.after.journalist.highest - 0.1 / 25.0).abs() < 5e-4, "{with:?}");
    assert_eq!(with.after.marketer.average, with.after.journalist.average);
    assert!(with.before.journalist.average < without.before.journalist.average);
    let above: Vec<f64> = with.after.journalist.at_risk.iter().map(|at_risk| at_risk.share).collect();
    assert_eq!(above, [0.0; 2], "0.2, which is 1/k too, and 0.09");
    let population = with.population.unwrap();
    assert_eq!((population.fraction, population.people), (0.1, 500));
    assert!(population.reidentified_before.is_multiple_of(5) && population.reidentified_before > 0, "{population:?}");
    // 30 / (30 + 10 * 2 * 0.9) of thirty rows are 18.75, and twenty when they are rounded; each stands for ten people.
    assert_eq!(population.uniques, 200);
    assert!((population.reidentified_after - 50.0 * with.after.marketer.average).abs() < 0.01, "{population:?}");
}

#[test]
fn a_table_that_is_its_population_has_the_risk_of_the_prosecutor() {
    let with = facts(&[5, 5, 10], &[10, 10], 5, 1.0);
    assert_eq!(with.after.journalist, with.after.prosecutor);
    assert_eq!(with.population.map(|population| (population.people, population.uniques)), Some((20, 0)));
    let nothing = facts(&[], &[], 5, 0.5);
    assert_eq!((nothing.before.journalist.average, nothing.after.journalist.highest), (0.0, 0.0));
}

#[test]
fn a_sidecar_without_a_fraction_has_no_population() {
    let facts = RiskFacts::of(&[5].into_iter().collect(), &[5].into_iter().collect(), 5, None);
    let text = serde_json::to_value(&facts).unwrap();
    assert!(text.get("population").is_none());
    assert_eq!(serde_json::from_value::<RiskFacts>(text).unwrap(), facts);
}

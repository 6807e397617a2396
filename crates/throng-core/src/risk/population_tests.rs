use super::*;
use crate::key::ReleaseKey;

fn fraction(fraction: f64) -> SamplingFraction {
    SamplingFraction::new(fraction).unwrap()
}

/// The sum of the module's documentation, term by term.
fn sum_of_terms(size: u64, fraction: f64) -> f64 {
    let mut probability = fraction.powi(size as i32);
    let mut sum = 0.0;
    for people in size..size + 200_000 {
        sum += probability / people as f64;
        probability *= (1.0 - fraction) * people as f64 / (people + 1 - size) as f64;
    }
    sum
}

#[test]
fn expected_risks_are_those_of_the_negative_binomial() {
    for of in [0.001, 0.01, 0.1, 0.5, 0.9, 0.999] {
        // In closed form for classes of one and two rows [Benedetti 1998].
        let (odds, log) = (of / (1.0 - of), -f64::ln(of));
        assert!((fraction(of).expected_risk(1) - odds * log).abs() < 1e-9, "{of}");
        assert!((fraction(of).expected_risk(2) - (odds - odds * odds * log)).abs() < 1e-9, "{of}");
        for size in [1, 2, 3, 7, 20, 100] {
            let (found, expected) = (fraction(of).expected_risk(size), sum_of_terms(size, of));
            assert!((found - expected).abs() < 1e-9, "{size} rows, fraction {of}: {found} and {expected}");
        }
    }
}

#[test]
fn a_table_that_is_the_population_has_its_own_risk() {
    let sizes: ClassSizes = [1, 1, 2, 5].into_iter().collect();
    let risk = fraction(1.0).risk(&sizes, 0.4);
    assert!((risk.average - sizes.average_risk()).abs() < 1e-9 && (risk.highest - 1.0).abs() < 1e-9, "{risk:?}");
    assert_eq!((risk.rows_at_risk, risk.people, risk.uniques, risk.unique_if_sample_unique), (4, 9.0, 2.0, 1.0));
    let nothing = fraction(0.5).risk(&ClassSizes::default(), 0.2);
    assert_eq!((nothing.average, nothing.highest, nothing.reidentified, nothing.uniques), (0.0, 0.0, 0.0, 0.0));
}

#[test]
fn larger_classes_and_smaller_fractions_have_less_risk() {
    let mut before = f64::INFINITY;
    for size in 1..200 {
        let risk = fraction(0.1).expected_risk(size);
        assert!(risk < before && risk <= 0.1_f64.max(1.0 / size as f64), "{size}");
        assert!(fraction(0.01).expected_risk(size) < risk, "{size}");
        before = risk;
    }
    // A large class is a tenth of its people.
    assert!((fraction(0.1).expected_risk(100_000) * 1_000_000.0 - 1.0).abs() < 1e-3);
}

#[test]
fn fractions_are_above_zero_and_at_most_one() {
    for wrong in [0.0, -0.1, 1.000_001, f64::NAN, f64::INFINITY] {
        assert_eq!(SamplingFraction::new(wrong), None, "{wrong}");
    }
}

#[test]
fn uniques_of_a_sample_by_hand() {
    // Three classes of one row, one of two: 3 / (3 + 2 * 0.5).
    let sizes: ClassSizes = [1, 1, 1, 2].into_iter().collect();
    let risk = fraction(0.5).risk(&sizes, 0.2);
    assert_eq!((risk.unique_if_sample_unique, risk.uniques), (0.75, 4.5));
}

/// Draws samples of a population with fewer classes the larger they are, and compares estimates with what is true of it.
#[test]
fn estimates_come_close_to_a_simulated_population() {
    let mut draws = ReleaseKey::PUBLIC.stream();
    let sizes = 1..=100_u64;
    let population: Vec<u64> = sizes.flat_map(|size| vec![size; 3000 / size as usize]).collect();
    let of = 0.5;
    let mut is_sampled = || (draws.next_u64() as f64) < of * u64::MAX as f64;
    let (mut true_risk, mut estimated_risk, mut uniques) = (0.0, 0.0, 0.0);
    for _ in 0..10 {
        let mut sizes = ClassSizes::default();
        for people in &population {
            let sampled = (0..*people).filter(|_| is_sampled()).count() as u64;
            sizes.add(sampled, 1);
            true_risk += sampled as f64 / *people as f64;
        }
        let risk = fraction(of).risk(&sizes, 0.2);
        estimated_risk += risk.reidentified;
        uniques += risk.uniques / 10.0;
    }
    assert!((2910.0..3090.0).contains(&uniques), "{uniques} of 3000");
    assert!((0.98..1.02).contains(&(estimated_risk / true_risk)), "{}", estimated_risk / true_risk);
}

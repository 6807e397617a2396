//! Any text as a policy file: it is rejected with positions in the text, or survives a round trip.

use std::path::Path;
use std::sync::Arc;

use arrow::datatypes::{DataType, Field, Schema, TimeUnit};
use throng_policy::{Overrides, Policy, PolicyError, Role};

/// Reads bytes as a policy.
pub fn check(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    // Exclude endless files.
    if !["/dev", "/proc", "/sys"].iter().any(|folder| text.contains(folder))
        && let Err(error) = Policy::parse(text, Path::new("/nonexistent"), &Overrides::default())
    {
        check_error(&error, text);
    }
    match Policy::from_portable(text) {
        Err(error) => check_error(&error, text),
        Ok(policy) => check_policy(&policy),
    }
}

fn check_error(error: &PolicyError, text: &str) {
    assert!(!error.problems().is_empty(), "refused for no reason");
    for problem in error.problems() {
        assert!(!problem.message.is_empty());
        if let Some(place) = problem.place {
            let lines = text.matches('\n').count() + 1;
            assert!((1..=lines).contains(&place.line) && place.column >= 1, "{place} is not in the file");
        }
    }
}

fn check_policy(policy: &Policy) {
    let privacy = &policy.privacy;
    assert!(privacy.k >= 2 && (1..=privacy.k).contains(&privacy.p), "{privacy:?}");
    let quasi = policy.columns.by_name.iter().filter_map(|(_, role)| match role {
        Role::Quasi(quasi) => Some(quasi),
        _ => None,
    });
    let weights: Vec<f64> = quasi.map(|quasi| quasi.weight).collect();
    assert!(!weights.is_empty(), "nothing is generalized");
    assert!(weights.iter().all(|weight| weight.is_finite() && *weight > 0.0), "{weights:?}");
    assert!(policy.promise().0.k >= 2);

    let portable = policy.to_portable();
    let elsewhere = Policy::from_portable(&portable).expect("a policy can be read where it was carried");
    assert_eq!(elsewhere.canonical_json(), policy.canonical_json());
    assert_eq!(elsewhere.to_portable(), portable);

    for shift in 0..TYPES.len() {
        let types = TYPES.iter().cycle().skip(shift);
        let fields = policy.columns.by_name.iter().zip(types).map(|((name, _), of)| Field::new(name, of.clone(), true));
        let schema = Schema::new(fields.collect::<Vec<_>>());
        match policy.bind(&schema) {
            Ok(binding) => assert!(!binding.released_quasi_names().is_empty()),
            Err(error) => assert!(!error.problems().is_empty()),
        }
    }
    let stranger = Schema::new(vec![Arc::new(Field::new("a column that nobody names", DataType::Int64, true))]);
    assert!(policy.bind(&stranger).is_err(), "columns are missing");
}

/// Types that columns may have.
const TYPES: [DataType; 6] = [
    DataType::Utf8,
    DataType::Int64,
    DataType::Float64,
    DataType::Date32,
    DataType::Boolean,
    DataType::Timestamp(TimeUnit::Microsecond, None),
];

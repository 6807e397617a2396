use std::sync::Arc;

use arrow::array::{ArrayRef, Date32Array, Float64Array, Int64Array, NullArray, StringArray};

use super::*;

fn of(name: &str, column: ArrayRef) -> (GuessedRole, bool) {
    let mut profile = Profile::new(column.data_type());
    profile.push(&column);
    let guess = guess(name, &profile, column.data_type());
    assert!(!guess.why.is_empty());
    (guess.role, guess.is_question)
}

fn text(values: impl IntoIterator<Item = String>) -> ArrayRef {
    Arc::new(StringArray::from_iter_values(values))
}

fn numbers(values: impl IntoIterator<Item = i64>) -> ArrayRef {
    Arc::new(Int64Array::from_iter_values(values))
}

const SURE: bool = false;
const ASKED: bool = true;

#[test]
fn what_names_a_person_is_left_out() {
    assert_eq!(of("ssn", numbers((0..100).map(|row| row % 10))), (GuessedRole::Identifier, SURE));
    assert_eq!(of("patient_id", numbers(0..100)), (GuessedRole::Identifier, SURE));
    assert_eq!(
        of("contact", text((0..100).map(|row| format!("p{}@example.org", row % 7)))),
        (GuessedRole::Identifier, SURE)
    );
    assert_eq!(of("notes", text((0..100).map(|row| format!("free text {row}")))), (GuessedRole::Identifier, SURE));
    assert_eq!(of("anything", Arc::new(StringArray::from(vec![None::<&str>; 5]))), (GuessedRole::Identifier, SURE));
}

#[test]
fn what_others_know_is_generalized() {
    assert_eq!(of("age", numbers((0..100).map(|row| row % 40))), (GuessedRole::Quasi, SURE));
    assert_eq!(of("x", Arc::new(Date32Array::from_iter_values(0..100))), (GuessedRole::Quasi, SURE));
    assert_eq!(of("city", text((0..100).map(|row| format!("c{}", row % 9)))), (GuessedRole::Quasi, SURE));
}

#[test]
fn what_people_keep_private_is_counted() {
    assert_eq!(of("diagnosis", text((0..100).map(|row| format!("d{}", row % 9)))), (GuessedRole::Sensitive, SURE));
    assert_eq!(of("salary", numbers((0..100).map(|row| row % 30))), (GuessedRole::Sensitive, SURE));
    // A unique salary identifies its owner.
    assert_eq!(of("salary", numbers(0..100)), (GuessedRole::Sensitive, ASKED));
    assert_eq!(of("diagnosis", text((0..100).map(|_| "same".to_owned()))), (GuessedRole::Quasi, ASKED));
}

#[test]
fn what_is_unclear_is_asked_and_never_taken_for_harmless() {
    assert_eq!(of("x7", numbers((0..100).map(|row| row % 5))), (GuessedRole::Quasi, ASKED));
    assert_eq!(of("x7", numbers((0..1000).map(|row| row % 100))), (GuessedRole::Identifier, ASKED));
    assert_eq!(of("x7", numbers(0..100)), (GuessedRole::Identifier, ASKED));
    assert_eq!(of("city", text((0..100).map(|row| format!("c{row}")))), (GuessedRole::Identifier, ASKED));
    assert_eq!(of("user_id", numbers((0..100).map(|row| row % 30))), (GuessedRole::Identifier, ASKED));
    assert_eq!(of("ward_no", numbers((0..1000).map(|row| row % 4))), (GuessedRole::Quasi, ASKED));
    assert_eq!(of("age", Arc::new(Float64Array::from(vec![1.0, f64::NAN, 1.0]))), (GuessedRole::Identifier, ASKED));
    assert_eq!(of("age", Arc::new(NullArray::new(4))), (GuessedRole::Identifier, ASKED));
}

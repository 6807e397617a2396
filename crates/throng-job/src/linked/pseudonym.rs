//! Pseudonyms: HMAC-SHA-256 of the text of a value, cut to 128 bits, in hexadecimal.

use std::sync::Arc;

use datafusion::arrow::array::{Array, ArrayRef, AsArray, StringArray};
use datafusion::arrow::compute::cast;
use datafusion::arrow::datatypes::DataType;
use datafusion::common::{Result, exec_err};
use ring::hmac;
use throng_policy::{Policy, PolicyError, Pseudonyms, describe_type};

use super::UnitId;
use crate::error::{JobError, Kind};

/// Number of characters of a pseudonym.
pub(super) const LENGTH: usize = 32;

/// The key of the pseudonyms of one run.
#[derive(Clone, Debug)]
pub(crate) struct PseudonymKey(hmac::Key);

impl PseudonymKey {
    /// Derives the key of a run from the secret, the seed, and the id of the run unless pseudonyms are to stay the same.
    pub(crate) fn new(policy: &Policy, run_id: &str) -> std::result::Result<Self, PolicyError> {
        let salt = match policy.privacy.pseudonyms {
            Pseudonyms::PerRun => run_id,
            Pseudonyms::Stable => "",
        };
        let key = policy.release_key()?.derive("pseudonyms", salt.as_bytes());
        Ok(Self(hmac::Key::new(hmac::HMAC_SHA256, &key.to_bytes())))
    }

    /// Returns the pseudonym of each value; null for null.
    pub(super) fn of(&self, values: &ArrayRef) -> Result<ArrayRef> {
        let texts = canonical_texts(values)?;
        Ok(Arc::new(texts.iter().map(|text| Some(self.pseudonym(text?))).collect::<StringArray>()))
    }

    fn pseudonym(&self, text: &str) -> String {
        let tag = hmac::sign(&self.0, text.as_bytes());
        tag.as_ref().iter().take(LENGTH / 2).map(|byte| format!("{byte:02x}")).collect()
    }
}

/// Returns the number of a pseudonym; `None` for any other text.
pub(super) fn unit_id(pseudonym: &str) -> Option<UnitId> {
    let is_plain = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
    let is_pseudonym = pseudonym.len() == LENGTH && pseudonym.bytes().all(is_plain);
    is_pseudonym.then(|| UnitId::from_str_radix(pseudonym, 16).ok()).flatten()
}

/// Returns an error for a type whose values have no canonical text.
pub(super) fn check_type(name: &str, data_type: &DataType) -> std::result::Result<(), JobError> {
    if has_text(data_type) {
        return Ok(());
    }
    let text = format!("a column of type {} has no pseudonym; use text or numbers", describe_type(data_type));
    Err(JobError::new(Kind::BadPolicy, format!("column `{name}`: {text}")).with_column(name))
}

fn has_text(data_type: &DataType) -> bool {
    match data_type {
        DataType::Dictionary(_, value) => has_text(value),
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View | DataType::Null => true,
        other => other.is_numeric() || other.is_temporal(),
    }
}

/// Returns the text of each value. A number has the same text in every type that can hold it, and as text.
fn canonical_texts(values: &ArrayRef) -> Result<StringArray> {
    let data_type = match values.data_type() {
        DataType::Dictionary(_, value) => value.as_ref().clone(),
        other => other.clone(),
    };
    if !has_text(&data_type) {
        return exec_err!("a column that has no text has no pseudonym");
    }
    let texts = cast(values, &DataType::Utf8)?;
    let texts = texts.as_string::<i32>();
    if texts.null_count() != values.logical_null_count() {
        return exec_err!("values that can't be written as text have no pseudonym");
    }
    match data_type.is_floating() || data_type.is_decimal() {
        true => Ok(texts.iter().map(|text| text.map(without_fraction)).collect()),
        false => Ok(texts.clone()),
    }
}

/// Removes a fractional part that consists of zeros.
fn without_fraction(number: &str) -> &str {
    let plain = match number.contains('.') && !number.contains(['e', 'E']) {
        true => number.trim_end_matches('0').trim_end_matches('.'),
        false => number,
    };
    if plain == "-0" { "0" } else { plain }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use datafusion::arrow::array::{
        Date32Array, Decimal128Array, DictionaryArray, Float64Array, Int32Array, Int64Array,
    };
    use datafusion::arrow::datatypes::Int32Type;
    use throng_policy::{Overrides, Secret};

    use super::*;

    fn key(pseudonyms: &str, secret: &str, run_id: &str) -> PseudonymKey {
        let text = format!(
            "version = 1\nprivacy = {{ k = 2, unit = 'id', pseudonyms = '{pseudonyms}' }}\n\
             columns = {{ id = {{ role = 'identifier', release = 'pseudonym' }}, age.role = 'quasi' }}\n"
        );
        let policy = Policy::parse(&text, Path::new("."), &Overrides::for_a_table()).unwrap();
        PseudonymKey::new(&policy.with_secret(Secret::new(secret).unwrap()), run_id).unwrap()
    }

    fn texts(key: &PseudonymKey, values: ArrayRef) -> Vec<Option<String>> {
        key.of(&values).unwrap().as_string::<i32>().iter().map(|text| text.map(str::to_owned)).collect()
    }

    #[test]
    fn a_number_has_one_pseudonym_in_every_type_and_null_has_none() {
        let key = key("per-run", "a secret of the tests", "run");
        let expected = texts(&key, Arc::new(Int64Array::from(vec![Some(42), None, Some(-7)])));
        assert_eq!(expected[1], None);
        let decimal = Decimal128Array::from(vec![Some(4200), None, Some(-700)]).with_precision_and_scale(9, 2).unwrap();
        let dictionary: DictionaryArray<Int32Type> = [Some("42"), None, Some("-7")].into_iter().collect();
        let columns: [ArrayRef; 5] = [
            Arc::new(Int32Array::from(vec![Some(42), None, Some(-7)])),
            Arc::new(StringArray::from(vec![Some("42"), None, Some("-7")])),
            Arc::new(Float64Array::from(vec![Some(42.0), None, Some(-7.0)])),
            Arc::new(decimal),
            Arc::new(dictionary),
        ];
        columns.into_iter().for_each(|column| assert_eq!(texts(&key, column), expected));
        let others = texts(&key, Arc::new(StringArray::from(vec!["042", "42 ", "4.2", "42.0"])));
        assert!(others.iter().all(|other| !expected.contains(other)));
        assert_eq!(texts(&key, Arc::new(Date32Array::from(vec![0]))).len(), 1);
        assert!(expected.iter().flatten().all(|text| unit_id(text).is_some()));
    }

    #[test]
    fn pseudonyms_depend_on_the_secret_and_on_the_run_unless_they_are_stable() {
        let of =
            |pseudonyms, secret, run_id| texts(&key(pseudonyms, secret, run_id), Arc::new(Int64Array::from(vec![1])));
        let (one, other) = ("a secret of the tests", "another secret of the tests");
        assert_eq!(of("per-run", one, "a"), of("per-run", one, "a"));
        assert_ne!(of("per-run", one, "a"), of("per-run", one, "b"));
        assert_ne!(of("per-run", one, "a"), of("per-run", other, "a"));
        assert_eq!(of("stable", one, "a"), of("stable", one, "b"));
        assert_ne!(of("stable", one, "a"), of("stable", other, "a"));
    }

    #[test]
    fn only_pseudonyms_are_taken_for_pseudonyms() {
        assert_eq!(unit_id(&format!("{:032x}", 42)), Some(42));
        for other in ["42", "", &"g".repeat(32), &"A".repeat(32), &format!("+{:031x}", 42)] {
            assert_eq!(unit_id(other), None);
        }
    }
}

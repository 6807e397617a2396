//! Hints in column names: words for identifiers, quasi-identifiers and sensitive data.

/// The meaning of a word in a column name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NameHint {
    /// Identifies a person, whatever its values look like.
    Person,
    /// A number or name of something; identifies a person if most values are unique.
    Reference,
    /// Likely to be known to others.
    Known,
    /// Usually private.
    Private,
}

const PERSON: &[&str] = &[
    "ssn",
    "email",
    "mail",
    "phone",
    "telephone",
    "tel",
    "mobile",
    "cell",
    "fax",
    "passport",
    "iban",
    "surname",
    "firstname",
    "lastname",
    "fullname",
    "forename",
    "username",
    "login",
    "street",
    "address",
    "mrn",
    "ip",
    "imei",
    "mac",
    "licence",
    "license",
    "plate",
    "vin",
    "nino",
    "tin",
    "signature",
    "photo",
];

const REFERENCE: &[&str] = &[
    "id",
    "ids",
    "uid",
    "uuid",
    "guid",
    "key",
    "no",
    "nr",
    "num",
    "number",
    "ref",
    "reference",
    "token",
    "session",
    "cookie",
    "account",
    "record",
    "serial",
    "index",
    "rowid",
    "pk",
    "name",
    "hash",
];

const KNOWN: &[&str] = &[
    "age",
    "birth",
    "birthday",
    "birthdate",
    "dob",
    "yob",
    "born",
    "year",
    "month",
    "day",
    "date",
    "time",
    "timestamp",
    "sex",
    "gender",
    "race",
    "ethnicity",
    "ethnic",
    "nationality",
    "national",
    "native",
    "citizenship",
    "country",
    "nation",
    "state",
    "region",
    "province",
    "county",
    "district",
    "city",
    "town",
    "village",
    "zip",
    "zipcode",
    "postcode",
    "postal",
    "plz",
    "marital",
    "married",
    "family",
    "relationship",
    "education",
    "degree",
    "school",
    "university",
    "occupation",
    "job",
    "profession",
    "title",
    "department",
    "dept",
    "division",
    "team",
    "employer",
    "company",
    "workclass",
    "industry",
    "language",
    "height",
    "latitude",
    "longitude",
    "lat",
    "lon",
    "lng",
    "geo",
    "location",
    "place",
    "children",
    "household",
    "hire",
    "hired",
    "tenure",
    "admission",
    "admitted",
    "discharge",
    "visit",
    "device",
    "browser",
    "agent",
    "platform",
    "os",
    "office",
    "site",
    "branch",
    "grade",
    "seniority",
    "veteran",
    "housing",
    "tract",
    "block",
];

const PRIVATE: &[&str] = &[
    "diagnosis",
    "diagnoses",
    "disease",
    "illness",
    "condition",
    "icd",
    "icd9",
    "icd10",
    "drg",
    "hiv",
    "cancer",
    "treatment",
    "procedure",
    "therapy",
    "drug",
    "medication",
    "medicine",
    "prescription",
    "allergy",
    "symptom",
    "lab",
    "result",
    "outcome",
    "disability",
    "mental",
    "pregnancy",
    "genetic",
    "salary",
    "income",
    "wage",
    "wages",
    "pay",
    "earnings",
    "compensation",
    "bonus",
    "debt",
    "credit",
    "balance",
    "loan",
    "wealth",
    "tax",
    "charges",
    "charge",
    "spend",
    "spending",
    "purchase",
    "rating",
    "performance",
    "review",
    "score",
    "religion",
    "religious",
    "political",
    "politics",
    "party",
    "vote",
    "orientation",
    "union",
    "offense",
    "offence",
    "crime",
    "conviction",
    "arrest",
    "sentence",
    "url",
    "page",
    "path",
    "query",
    "search",
    "referrer",
    "referer",
    "reason",
    "cause",
    "death",
    "grievance",
];

/// Returns the meaning of a column name, with the word that carries it; `None` when no word or two contradicting words are known.
pub(super) fn hint_of_name(name: &str) -> Option<(NameHint, &'static str)> {
    let words = words(name);
    let find = |list: &'static [&'static str]| list.iter().copied().find(|word| words.iter().any(|own| own == word));
    if let Some(word) = find(PERSON) {
        return Some((NameHint::Person, word));
    }
    match (find(REFERENCE), find(KNOWN), find(PRIVATE)) {
        (Some(word), None, None) => Some((NameHint::Reference, word)),
        (_, Some(word), None) => Some((NameHint::Known, word)),
        (_, None, Some(word)) => Some((NameHint::Private, word)),
        _ => None,
    }
}

/// Returns whether a name contains one of these words.
pub(super) fn has_word(name: &str, wanted: &[&str]) -> bool {
    words(name).iter().any(|word| wanted.contains(&word.as_str()))
}

/// Splits a name into lowercase words: `zipCode`, `zip_code` and `ZIP-Code` have the same two. Adjacent words are also
/// joined, so that `first_name` matches `firstname`.
fn words(name: &str) -> Vec<String> {
    let mut words: Vec<String> = vec![String::new()];
    let mut was_lower = false;
    for c in name.chars() {
        if !c.is_alphanumeric() || (c.is_uppercase() && was_lower) {
            words.push(String::new());
        }
        was_lower = c.is_lowercase();
        if c.is_alphanumeric()
            && let Some(last) = words.last_mut()
        {
            last.extend(c.to_lowercase());
        }
    }
    words.retain(|word| !word.is_empty());
    let pairs: Vec<String> = words.windows(2).map(|pair| pair.concat()).collect();
    words.extend(pairs);
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_word_by_word() {
        let kind = |name: &str| hint_of_name(name).map(|(hint, _)| hint);
        for name in ["SSN", "customer_email", "homePhone", "first_name", "lastName", "IP"] {
            assert_eq!(kind(name), Some(NameHint::Person), "{name}");
        }
        for name in ["id", "patient_id", "recordNo", "session", "name"] {
            assert_eq!(kind(name), Some(NameHint::Reference), "{name}");
        }
        for name in ["age", "ZIP-Code", "birthDate", "native-country", "department_id", "marital status"] {
            assert_eq!(kind(name), Some(NameHint::Known), "{name}");
        }
        for name in ["diagnosis", "total_charges", "annualIncome", "ICD10_code"] {
            assert_eq!(kind(name), Some(NameHint::Private), "{name}");
        }
        // No word, a part of a word, or two contradicting words.
        for name in ["", "x1", "usage", "paid_wagons", "zip_income", "fnlwgt"] {
            assert_eq!(kind(name), None, "{name}");
        }
    }
}

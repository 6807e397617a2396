//! Rows that pseudonyms link, counted from outside: by pseudonym, over all rows and tables, with plain maps.
//!
//! | file | what |
//! |---|---|
//! | `pseudonyms` | one table |
//! | `random` | two small random tables with all kinds of edge cases |
//! | `census` | three tables, counted by DuckDB too (`count.py`) |

mod census;
mod pseudonyms;
mod random;

use std::collections::{BTreeMap, BTreeSet, HashMap};

use crate::release_files::Rows;

/// A released table, with the names of its pseudonym, its quasi-identifiers and a sensitive column.
struct Linked<'a> {
    rows: &'a Rows,
    pseudonym: &'a str,
    quasi: &'a [&'a str],
    sensitive: Option<&'a str>,
}

/// People who share the classes of all of their rows.
#[derive(Debug)]
struct Profile {
    people: BTreeSet<String>,
    /// Per class, the people and values of its rows.
    classes: BTreeMap<String, Vec<(String, Option<String>)>>,
}

/// Returns the profiles of all people, and fails if a pseudonym is not a text of 32 hexadecimal digits.
fn profiles(tables: &[Linked<'_>]) -> Vec<Profile> {
    let mut of_person: HashMap<String, BTreeMap<String, Vec<Option<String>>>> = HashMap::new();
    for (number, table) in tables.iter().enumerate() {
        let classes = table.rows.tuples(table.quasi);
        for (row, (pseudonym, class)) in table.rows.column(table.pseudonym).iter().zip(classes).enumerate() {
            let Some(pseudonym) = pseudonym else { continue };
            let is_hexadecimal = |c: char| c.is_ascii_digit() || ('a'..='f').contains(&c);
            assert!(pseudonym.len() == 32 && pseudonym.chars().all(is_hexadecimal), "{pseudonym}");
            let value = table.sensitive.and_then(|name| table.rows.column(name)[row].clone());
            let classes = of_person.entry(pseudonym.clone()).or_default();
            classes.entry(format!("{number} {class:?}")).or_default().push(value);
        }
    }
    let mut profiles: HashMap<Vec<(String, usize)>, Profile> = HashMap::new();
    for (person, classes) in of_person {
        let shape = classes.iter().map(|(class, rows)| (class.clone(), rows.len())).collect();
        let profile =
            profiles.entry(shape).or_insert_with(|| Profile { people: BTreeSet::new(), classes: BTreeMap::new() });
        for (class, values) in classes {
            let rows = values.into_iter().map(|value| (person.clone(), value));
            profile.classes.entry(class).or_default().extend(rows);
        }
        profile.people.insert(person);
    }
    profiles.into_values().collect()
}

/// Asserts that every profile has k people, and p values in every class.
fn assert_linked_promise(profiles: &[Profile], k: usize, p: usize) {
    for profile in profiles {
        assert!(profile.people.len() >= k, "{} people share a profile", profile.people.len());
        for rows in profile.classes.values() {
            let people: BTreeSet<&String> = rows.iter().map(|(person, _)| person).collect();
            assert!(people.len() >= k, "{} people of a profile in a class", people.len());
            let values: BTreeSet<&String> = rows.iter().filter_map(|(_, value)| value.as_ref()).collect();
            assert!(values.is_empty() || values.len() >= p, "{} values of a profile in a class", values.len());
        }
    }
}

//! Suggests known names for an unknown one.

use strsim::damerau_levenshtein;

/// Maximum number of suggestions.
const MAX_GUESSES: usize = 3;

/// Returns "did you mean `a` or `b`?", or `None` if no known name is similar. Names that differ only by case come
/// first.
pub fn did_you_mean<'a>(written: &str, known: impl IntoIterator<Item = &'a str>) -> Option<String> {
    let near = near(written, known);
    (!near.is_empty()).then(|| format!("did you mean {}?", alternatives(&near)))
}

/// Returns "`a`, `b` or `c`".
pub fn alternatives(names: &[&str]) -> String {
    let quoted: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
    joined(&quoted, "or")
}

/// Returns "a, b or c", with the given conjunction.
pub fn joined(parts: &[String], conjunction: &str) -> String {
    match parts {
        [] => String::new(),
        [only] => only.clone(),
        [first @ .., last] => format!("{} {conjunction} {last}", first.join(", ")),
    }
}

fn near<'a>(written: &str, known: impl IntoIterator<Item = &'a str>) -> Vec<&'a str> {
    let lower = written.to_lowercase();
    let mut guesses: Vec<(usize, &str)> = known
        .into_iter()
        .filter(|name| *name != written)
        .map(|name| (damerau_levenshtein(&lower, &name.to_lowercase()), name))
        .filter(|(distance, name)| *distance <= written.chars().count().max(name.chars().count()) / 3)
        .collect();
    guesses.sort_unstable();
    guesses.truncate(MAX_GUESSES);
    guesses.into_iter().map(|(_, name)| name).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_names_come_first() {
        let known = ["weight", "height", "Wieght", "role"];
        assert_eq!(did_you_mean("wieght", known).as_deref(), Some("did you mean `Wieght`, `weight` or `height`?"));
        assert_eq!(did_you_mean("Role", known).as_deref(), Some("did you mean `role`?"));
    }

    #[test]
    fn nothing_is_guessed_from_afar_or_for_short_names() {
        assert_eq!(did_you_mean("salary", ["weight", "role"]), None);
        assert_eq!(did_you_mean("k", ["p"]), None);
        assert_eq!(did_you_mean("K", ["k"]).as_deref(), Some("did you mean `k`?"));
    }
}

//! Writes a draft as a commented policy file.

use std::fmt::Write;

use throng_core::columns::{ColumnRecoding, released_names};
use throng_core::profile::{Profile, ValueKind};
use throng_core::risk::Risk;

use super::builder::builder;
use super::role::GuessedRole;
use super::{DraftColumn, share_of};
use crate::declared_type::DeclaredType;
use crate::open_question::OPEN as OPEN_QUESTION;
use crate::preset::{Preset, highest_risk};
use crate::toml_quote::quoted as toml_quoted;

/// Number of rows from which larger classes are suggested.
const LARGE: u64 = 1000;

/// Width at which comments are wrapped.
const WIDTH: usize = 110;

/// Returns the number of open questions: one per unclear column, and one for p.
pub(super) fn questions(columns: &[DraftColumn]) -> usize {
    1 + columns.iter().filter(|column| column.guess.is_question).count()
}

/// Returns the text of the policy file.
pub(super) fn policy(locations: &[String], rows: u64, columns: &[DraftColumn], risk: Option<&Risk>) -> String {
    let mut text = String::new();
    head(rows, columns, risk, &mut text);
    places(locations, &mut text);
    privacy(rows, columns, &mut text);
    let of = |role: GuessedRole, is_question: bool| {
        columns.iter().filter(move |column| column.guess.role == role && column.guess.is_question == is_question)
    };
    let mut quasi: Vec<&DraftColumn> = of(GuessedRole::Quasi, false).collect();
    let share = |column: &DraftColumn| share_of(risk, &column.name).unwrap_or(0.0);
    // Columns of equal share are ordered by their distinct values.
    quasi.sort_by(|a, b| share(b).total_cmp(&share(a)).then(b.profile.distinct().cmp(&a.profile.distinct())));
    section("Identifiers: left out of the release.", of(GuessedRole::Identifier, false), columns, risk, &mut text);
    let title = match risk.is_none_or(distinguishes_columns) {
        true => "Quasi-identifiers: generalized. Those that single people out most come first.",
        false => "Quasi-identifiers: generalized. Those with most values come first.",
    };
    section(title, quasi.into_iter(), columns, risk, &mut text);
    section(
        "Sensitive: released as they are, with at least p different values in every class.",
        of(GuessedRole::Sensitive, false),
        columns,
        risk,
        &mut text,
    );
    let open = columns.iter().filter(|column| column.guess.is_question);
    section(
        "Questions: quasi if others can know it, sensitive if it must not be learned from the release, insensitive if \
         neither (it is then released as it is), identifier to leave it out, which is always safe.",
        open,
        columns,
        risk,
        &mut text,
    );
    text
}

/// Number of quasi-identifiers from which a draft says that these are many.
const MANY_QUASI: usize = 10;

/// Whether the risk falls when some column is not known. Where the others single out every row anyway, it does not.
fn distinguishes_columns(risk: &Risk) -> bool {
    risk.columns.iter().any(|column| column.share >= 0.005)
}

fn head(rows: u64, columns: &[DraftColumn], risk: Option<&Risk>, text: &mut String) {
    comment(
        &format!(
            "A draft by `throng init`, from {rows} rows and {} columns. It goes by names, types and counts, and may be \
             wrong: read every line. {} questions are open, written as \"{OPEN_QUESTION}\"; `throng check` and `throng run` \
             insist on an answer to each.",
            columns.len(),
            questions(columns)
        ),
        text,
    );
    if let Some(risk) = risk {
        let names: Vec<String> = risk.columns.iter().map(|column| plain(&column.name)).collect();
        comment(
            &format!(
                "As it is, {} of {rows} rows have a combination of {} that no one else has; `throng risk` has the details.",
                risk.uniques,
                names.join(", ")
            ),
            text,
        );
        if !distinguishes_columns(risk) && names.len() > 1 {
            comment(
                "Without any one of these columns that is nearly the same: the others single rows out as well.",
                text,
            );
        }
        if names.len() >= MANY_QUASI {
            comment(
                &format!(
                    "{} columns that are or may be quasi-identifiers are many: the more there are, the less detail each of them \
                     keeps. Leave out (identifier) what the release can do without.",
                    names.len()
                ),
                text,
            );
        }
    }
    text.push_str("version = 1\n\n");
}

fn places(locations: &[String], text: &mut String) {
    // Escape `$`, since `${NAME}` is a variable.
    let quoted: Vec<String> = locations.iter().map(|location| toml_quoted(&location.replace('$', "$$"))).collect();
    let location = match quoted.as_slice() {
        [one] => one.clone(),
        several => format!("[{}]", several.join(", ")),
    };
    let name = locations.first().map_or("table", |location| stem(location));
    let output = toml_quoted(&format!("released/{name}"));
    let _ = writeln!(text, "[input]\nlocation = {location}\n\n[output]");
    comment("A folder that is not there yet, relative to where throng is run.", text);
    let _ = writeln!(text, "location = {output}\n");
}

/// Returns the last segment of a location without its extension, or `table` if it is not a plain name.
fn stem(location: &str) -> &str {
    let last = location.trim_end_matches(['/', '\\']).rsplit(['/', '\\']).next().unwrap_or_default();
    let stem = last.split('.').next().unwrap_or_default();
    let is_name = !stem.is_empty() && stem.chars().all(|c| c.is_alphanumeric() || c == '_' || c == '-');
    if is_name { stem } else { "table" }
}

fn privacy(rows: u64, columns: &[DraftColumn], text: &mut String) {
    text.push_str("[privacy]\n");
    let preset = if rows >= LARGE { Preset::Research } else { Preset::Common };
    comment("Every class of people who look alike has at least k rows. Conventions for k, none of them a law:", text);
    for preset in Preset::ALL {
        let (name, k, risk) = (preset.as_str(), preset.k(), highest_risk(preset.k()));
        comment(&format!("- {name}: k = {k}, risk at most {risk:.3}; {}", preset.basis()), text);
    }
    let why = match preset {
        Preset::Common => format!("Taken because the table has fewer than {LARGE} rows; more protect better."),
        _ => format!("Taken because {rows} rows allow it; for a file in public look at those below it."),
    };
    comment(&why, text);
    let _ = writeln!(text, "preset = {}", toml_quoted(preset.as_str()));
    let sensitive: Vec<&DraftColumn> = columns
        .iter()
        .filter(|column| column.guess.role == GuessedRole::Sensitive && !column.guess.is_question)
        .collect();
    comment(
        "Question: how many different values of each sensitive column must every class have? 1 asks for none of it; with 2 \
         or more no one's value can be inferred from their class.",
        text,
    );
    for column in &sensitive {
        comment(
            &format!(
                "{} has {} values, so p can be at most {}.",
                plain(&column.name),
                column.profile.distinct(),
                column.profile.distinct().min(preset.k())
            ),
            text,
        );
    }
    let fewest = sensitive.iter().map(|column| column.profile.distinct()).min();
    let suggested = fewest.map_or(1, |fewest| fewest.clamp(1, 2));
    if sensitive.is_empty() {
        comment("No column is sensitive so far: more than 1 needs one.", text);
    }
    comment(&format!("Suggested: {suggested}."), text);
    let _ = writeln!(text, "p = \"{OPEN_QUESTION}\"");
    if let Some(unit) = columns.iter().find(|column| column.guess.is_unit) {
        comment(
            &format!(
                "The values of {} repeat: k and p count them, and not rows, so that several rows of one person hide no one. \
                 Take this out if a value is no person.",
                plain(&unit.name)
            ),
            text,
        );
        let _ = writeln!(text, "unit = {}", toml_quoted(&unit.name));
    }
}

fn section<'a>(
    title: &str,
    columns: impl Iterator<Item = &'a DraftColumn>,
    all: &[DraftColumn],
    risk: Option<&Risk>,
    text: &mut String,
) {
    let mut is_begun = false;
    for column in columns {
        if !is_begun {
            text.push('\n');
            comment(title, text);
            is_begun = true;
        }
        write_column(column, all, risk, text);
    }
}

fn write_column(column: &DraftColumn, all: &[DraftColumn], risk: Option<&Risk>, text: &mut String) {
    let _ = writeln!(text, "\n[columns.{}]", toml_quoted(&column.name));
    let guess = &column.guess;
    comment(&format!("{}: {}.", if guess.is_question { "Unclear" } else { "Why" }, guess.why), text);
    let share = share_of(risk.filter(|risk| distinguishes_columns(risk)), &column.name);
    comment(&facts(&column.profile, share), text);
    if let Some(earlier) = &column.same_days_as {
        comment(&format!("It has the day of {} in every row: leave one of the two out.", plain(earlier)), text);
    }
    let built = || {
        let bounds = released_names(&column.name, ColumnRecoding::Bounds);
        let can_be_named = !all.iter().any(|other| bounds.contains(&other.name));
        builder(&column.name, &column.profile, &column.data_type, can_be_named)
    };
    if guess.is_question {
        let lines = built().lines;
        let suggested = match guess.role {
            GuessedRole::Identifier => "identifier, which leaves it out".to_owned(),
            GuessedRole::Quasi if !lines.is_empty() => format!("quasi, with {}", lines.join(" and ")),
            role => role.as_str().to_owned(),
        };
        comment(&format!("Suggested: {suggested}."), text);
        let _ = writeln!(text, "role = \"{OPEN_QUESTION}\"");
        write_type(column, text);
        return;
    }
    let _ = writeln!(text, "role = \"{}\"", guess.role.as_str());
    if guess.role != GuessedRole::Identifier {
        write_type(column, text);
    }
    if guess.role == GuessedRole::Quasi {
        let built = built();
        comment(&format!("How: {}.", built.why), text);
        for line in built.lines {
            let _ = writeln!(text, "{line}");
        }
        if column.profile.nulls() > 0 {
            comment("Rows without a value are a value of their own; \"suppress\" leaves these rows out.", text);
            text.push_str("nulls = \"value\"\n");
        }
    }
}

/// Declares the type of a column, so that a later delivery with another type is refused.
fn write_type(column: &DraftColumn, text: &mut String) {
    if let Some(declared) = DeclaredType::of(&column.data_type) {
        let _ = writeln!(text, "type = \"{}\"", declared.as_str());
    }
}

/// Describes the counts of a column.
fn facts(profile: &Profile, share: Option<f64>) -> String {
    if profile.kind() == ValueKind::Other {
        return format!("Seen: {} rows with a value.", profile.valued());
    }
    let about = if profile.is_exact() { "" } else { "about " };
    let mut facts = format!("Seen: {about}{} values, {about}{} of them once", profile.distinct(), profile.uniques());
    if profile.nulls() > 0 {
        let _ = write!(facts, "; {} rows without a value", profile.nulls());
    }
    if let Some(share) = share {
        let _ = write!(facts, "; without it the average risk falls by {:.0} %", 100.0 * share);
    }
    facts + "."
}

/// Escapes a name for use in a comment.
fn plain(name: &str) -> String {
    format!("`{}`", name.escape_debug())
}

/// Writes a comment, wrapped into lines.
fn comment(sentence: &str, text: &mut String) {
    let mut line = String::from("#");
    for word in sentence.split_whitespace() {
        if line.chars().count() + 1 + word.chars().count() > WIDTH && line.len() > 1 {
            let _ = writeln!(text, "{line}");
            line = String::from("#");
        }
        line.push(' ');
        line.push_str(word);
    }
    let _ = writeln!(text, "{line}");
}

#[cfg(test)]
#[path = "write_tests.rs"]
mod tests;

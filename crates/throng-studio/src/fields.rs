//! Settings of a policy that have a generic control: the path, the type and the texts of each. Roles, k, the preset and
//! hierarchies have their own controls.

use toml_edit::{Array, InlineTable, Item, Value};

/// Type of a setting.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum FieldKind {
    /// An integer that is at least this.
    Whole(u32),
    /// A number that is not negative.
    Number,
    /// A share from 0 to 1.
    Share,
    /// Ascending numbers, separated by commas.
    Numbers,
    /// Texts, separated by commas.
    Words,
    /// One text, or several separated by commas.
    Names,
    /// Lists of texts separated by commas; lists are separated by semicolons.
    Lists,
    /// A text, as it is typed.
    Text,
    /// Yes or no.
    Switch,
    /// One of these values, with their names on the page.
    Choice(&'static [(&'static str, &'static str)]),
    /// The factor c and the number l of recursive diversity.
    Recursive,
    /// A width, a width and an origin, or a part of the calendar.
    Cover,
    /// A level, ascending numbers, or values of a hierarchy.
    Limit,
    /// A number above 0.
    Weight,
}

/// A setting.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Field {
    /// Name in the table of a column, or the path from the root of a policy, with dots.
    pub(crate) name: &'static str,
    pub(crate) kind: FieldKind,
    /// Name on the page.
    pub(crate) label: &'static str,
    /// Short hint.
    pub(crate) hint: &'static str,
}

const fn field(name: &'static str, kind: FieldKind, label: &'static str, hint: &'static str) -> Field {
    Field { name, kind, label, hint }
}

/// Settings of quasi-identifiers.
pub(crate) const QUASI: [Field; 4] = [
    field("weight", FieldKind::Weight, "Weight", "how much its detail counts against that of others"),
    field("limit", FieldKind::Limit, "Limit", "how far it may be generalized: a level, or values with commas"),
    field(
        "nulls",
        FieldKind::Choice(&[("value", "a separate value"), ("suppress", "leaves the row out"), ("error", "an error")]),
        "A missing value is",
        "what happens to a row without a value",
    ),
    field("cover", FieldKind::Cover, "Round intervals to", "10, or 5 from 18, or month, quarter, year, decade"),
];

/// Settings of sensitive columns.
pub(crate) const SENSITIVE: [Field; 13] = [
    field("p", FieldKind::Whole(1), "p of this column", "in place of the p above"),
    field("max_share", FieldKind::Share, "Largest share of one value", "(alpha, k): no value has more of a class"),
    field("t", FieldKind::Share, "t-closeness", "how far a class may be from the whole release"),
    field(
        "distance",
        FieldKind::Choice(&[("equal", "equal"), ("ordered", "by rank"), ("hierarchical", "by the hierarchy")]),
        "Distance of two values",
        "for t-closeness",
    ),
    field("entropy_l", FieldKind::Number, "Entropy l-diversity", "as diverse as this many equally frequent values"),
    field("recursive", FieldKind::Recursive, "Recursive (c, l)-diversity", "c and l with a comma: 3, 2"),
    field("beta", FieldKind::Number, "Beta-likeness", "no value is more than 1 + beta times as frequent as in all"),
    field(
        "delta_disclosure",
        FieldKind::Number,
        "Delta-disclosure",
        "how far any share may be from that in all, as a logarithm",
    ),
    field("bands", FieldKind::Numbers, "Bands", "numbers at which bands begin; values of one band count as one"),
    field("range", FieldKind::Number, "Range in a class", "the largest and smallest value differ by at least this"),
    field("missing", FieldKind::Words, "Stand for no value", "texts with commas, such as ?, unknown"),
    field("protected", FieldKind::Words, "Protected groups", "values of its hierarchy that must not be learned either"),
    field("categories", FieldKind::Lists, "Categories", "most sensitive first: HIV, cancer; asthma; flu"),
];

/// Promises other than k that are always shown.
pub(crate) const COMMON: [Field; 3] = [
    field("privacy.p", FieldKind::Whole(1), "p", "values in each class"),
    field("privacy.suppression_limit", FieldKind::Share, "Rows left out, at most", "a share of all rows"),
    field(
        "algorithm.budget",
        FieldKind::Choice(&[("fast", "fast"), ("balanced", "balanced"), ("thorough", "thorough")]),
        "Search",
        "how long better classes are looked for",
    ),
];

/// Promises that few policies need, by topic.
pub(crate) const RARER: [(&str, &[Field]); 4] = [
    (
        "What a class protects",
        &[
            field(
                "privacy.unit",
                FieldKind::Names,
                "Person or household",
                "columns that identify the person of a row; k and p count these",
            ),
            field(
                "privacy.unit_nulls",
                FieldKind::Choice(&[("own", "counts as a separate unit"), ("error", "is an error")]),
                "A row without a person",
                "for the column before",
            ),
            field(
                "privacy.borrow",
                FieldKind::Choice(&[("allowed", "may be divided"), ("never", "stay in one class")]),
                "Equal rows",
                "never divided: safe against those who know everyone in the table, and more is lost",
            ),
            field(
                "privacy.alpha",
                FieldKind::Number,
                "Weight of categories (alpha)",
                "needs a sensitive column with categories",
            ),
            field(
                "algorithm.bound",
                FieldKind::Switch,
                "Prove how good it is",
                "what any release loses at least; takes long where many rows differ",
            ),
        ],
    ),
    (
        "Publish nothing when",
        &[
            field("privacy.loss_limit", FieldKind::Share, "More detail is lost than", "NCP, from 0 to 1"),
            field(
                "privacy.insensitive_uniqueness",
                FieldKind::Share,
                "Insensitive columns single out more than",
                "share of the rows",
            ),
            field(
                "privacy.attacks.max_gain",
                FieldKind::Number,
                "An attack gains more than",
                "chance with the release over that without, from 1 on",
            ),
            field(
                "privacy.min_rows",
                FieldKind::Whole(1),
                "There are fewer rows than",
                "refuses a delivery that is too small",
            ),
            field(
                "privacy.max_rows_change",
                FieldKind::Number,
                "The rows change by more than",
                "share of those in the release before",
            ),
        ],
    ),
    (
        "The table is a sample",
        &[
            field("privacy.population.fraction", FieldKind::Share, "Share of the population", "that is in the table"),
            field(
                "privacy.population.weight_of_unit",
                FieldKind::Text,
                "Column of weights",
                "people whom a row stands for",
            ),
            field("privacy.population.table", FieldKind::Names, "Table of the population", "one row per person"),
            field("privacy.population.k_map", FieldKind::Whole(2), "People whom a class matches (k-map)", "at least"),
            field(
                "privacy.population.delta_min",
                FieldKind::Share,
                "Share of them in the table, at least",
                "delta-presence",
            ),
            field(
                "privacy.population.delta_max",
                FieldKind::Share,
                "Share of them in the table, at most",
                "delta-presence",
            ),
        ],
    ),
    (
        "Releases of a series",
        &[
            field(
                "output.mode",
                FieldKind::Choice(&[
                    ("error", "one release"),
                    ("overwrite", "replaces the one before"),
                    ("series", "a series"),
                    ("append", "a series that grows"),
                ]),
                "The release is",
                "a series needs the person or household above",
            ),
            field(
                "series.ledger",
                FieldKind::Text,
                "Memory of the series",
                "a private folder; its key is in THRONG_LEDGER_KEY",
            ),
            field("series.reserve", FieldKind::Whole(0), "People above k", "who may leave a class"),
            field("series.remember", FieldKind::Whole(1), "Releases to be safe with", "30 by default"),
            field("series.max_delay", FieldKind::Whole(0), "Releases that a row may wait", "14 by default"),
            field("series.max_waiting", FieldKind::Share, "Share of the rows that may wait", "0.007 by default"),
        ],
    ),
];

/// Returns a setting of columns.
pub(crate) fn of_column(name: &str) -> Option<&'static Field> {
    QUASI.iter().chain(&SENSITIVE).find(|field| field.name == name)
}

/// Returns all settings of the policy as a whole.
pub(crate) fn of_policy() -> impl Iterator<Item = &'static Field> {
    COMMON.iter().chain(RARER.iter().flat_map(|(_, fields)| fields.iter()))
}

impl Field {
    /// Parses the entered text. The error states what is expected.
    pub(crate) fn parse(&self, text: &str) -> Result<Value, String> {
        let text = text.trim();
        let expected = |what: &str| format!("{}: {what}", self.label);
        let parts = || text.split(',').map(str::trim).filter(|part| !part.is_empty());
        let real = |text: &str| text.parse::<f64>().ok().filter(|number| number.is_finite());
        match self.kind {
            FieldKind::Whole(least) => {
                let number = text.parse::<u32>().ok().filter(|number| *number >= least);
                let value = number.map(|number| i64::from(number).into());
                value.ok_or_else(|| expected(&format!("give a whole number from {least} on")))
            }
            FieldKind::Number => {
                real(text).filter(|it| *it >= 0.0).map(Value::from).ok_or_else(|| expected("give a number from 0 on"))
            }
            FieldKind::Share => {
                let value = real(text).filter(|it| (0.0..=1.0).contains(it)).map(Value::from);
                value.ok_or_else(|| expected("give a share from 0 to 1"))
            }
            FieldKind::Weight => {
                real(text).filter(|it| *it > 0.0).map(Value::from).ok_or_else(|| expected("give a number above 0"))
            }
            FieldKind::Numbers => {
                let numbers: Option<Array> = parts().map(|part| real(part).map(number)).collect();
                let numbers = numbers.filter(|numbers| !numbers.is_empty());
                numbers.map(Value::Array).ok_or_else(|| expected("give ascending numbers with commas"))
            }
            FieldKind::Words => Ok(Value::Array(parts().map(Value::from).collect())),
            FieldKind::Names => match parts().collect::<Vec<_>>().as_slice() {
                [one] => Ok((*one).into()),
                several => Ok(Value::Array(several.iter().copied().map(Value::from).collect())),
            },
            FieldKind::Lists => {
                let list = |text: &str| -> Array {
                    text.split(',').map(str::trim).filter(|part| !part.is_empty()).map(Value::from).collect()
                };
                let lists = text.split(';').map(list).filter(|list| !list.is_empty());
                Ok(Value::Array(lists.map(Value::Array).collect()))
            }
            FieldKind::Text => Ok(text.into()),
            FieldKind::Switch => match text {
                "true" => Ok(true.into()),
                "false" => Ok(false.into()),
                _ => Err(expected("yes or no")),
            },
            // A budget may be a time; policy validation reports any other value.
            FieldKind::Choice(_) => Ok(text.into()),
            FieldKind::Recursive => match parts().map(real).collect::<Vec<_>>().as_slice() {
                [Some(c), Some(l)] if *c > 0.0 && *l >= 1.0 && l.fract() == 0.0 => {
                    let pair = [("c", Value::from(*c)), ("l", number(*l))];
                    Ok(Value::InlineTable(InlineTable::from_iter(pair)))
                }
                _ => Err(expected("give c and l with a comma, such as 3, 2")),
            },
            FieldKind::Cover => cover(text).ok_or_else(|| expected(self.hint)),
            FieldKind::Limit => {
                if let Ok(level) = text.parse::<u32>() {
                    return Ok(i64::from(level).into());
                }
                let numbers: Option<Array> = parts().map(|part| real(part).map(number)).collect();
                let list = numbers.unwrap_or_else(|| parts().map(Value::from).collect());
                let list = Some(list).filter(|list| !list.is_empty());
                list.map(Value::Array).ok_or_else(|| expected("a level, or a list with commas"))
            }
        }
    }

    /// Returns a value of a policy as it is entered; `None` if it is written in a form that the control can't
    /// represent.
    pub(crate) fn shown(&self, item: &Item) -> Option<String> {
        let value = item.as_value();
        let joined = |list: &Array| list.iter().map(plain).collect::<Option<Vec<_>>>().map(|texts| texts.join(", "));
        match self.kind {
            FieldKind::Lists => {
                let lists: Option<Vec<String>> =
                    value?.as_array()?.iter().map(|list| joined(list.as_array()?)).collect();
                lists.map(|lists| lists.join("; "))
            }
            FieldKind::Recursive => {
                let pair = item.as_table_like()?;
                Some(format!("{}, {}", plain(pair.get("c")?.as_value()?)?, plain(pair.get("l")?.as_value()?)?))
            }
            FieldKind::Cover => match item.as_table_like() {
                Some(grid) => {
                    let width = plain(grid.get("grid")?.as_value()?)?;
                    let origin = grid.get("origin").and_then(Item::as_value).and_then(plain);
                    Some(origin.map_or_else(|| width.clone(), |origin| format!("{width} from {origin}")))
                }
                None => plain(value?),
            },
            _ => match value?.as_array() {
                Some(list) => joined(list),
                None => plain(value?),
            },
        }
    }
}

fn cover(text: &str) -> Option<Value> {
    let real = |text: &str| text.trim().parse::<f64>().ok().filter(|number| number.is_finite());
    if let Some((width, origin)) = text.split_once(" from ") {
        let grid = [("grid", number(real(width)?)), ("origin", number(real(origin)?))];
        return Some(Value::InlineTable(InlineTable::from_iter(grid)));
    }
    let is_word = !text.is_empty() && text.chars().all(|c| c.is_ascii_lowercase());
    real(text).map(number).or_else(|| is_word.then(|| text.into()))
}

/// Returns a text, a number or a boolean as it is entered.
fn plain(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.value().clone()),
        Value::Integer(number) => Some(number.value().to_string()),
        Value::Float(number) => Some(number.value().to_string()),
        Value::Boolean(is_so) => Some(is_so.value().to_string()),
        _ => None,
    }
}

/// Writes a number without a fraction as an integer.
pub(crate) fn number(number: f64) -> Value {
    if number.fract() == 0.0 && number.abs() < 1e15 { (number as i64).into() } else { number.into() }
}

#[cfg(test)]
#[path = "fields_tests.rs"]
mod tests;

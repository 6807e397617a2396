//! Hierarchies by builder: intervals, masks, parts of a date, a tree as text, and files in the convention of ARX.

use std::path::Path;
use std::sync::Arc;

use throng::arrow::array::{Array, ArrayRef, AsArray};
use throng::arrow::compute::{cast, concat};
use throng::arrow::datatypes::DataType;
use throng::datafusion::prelude::{Column, Expr};
use throng::throng_core::hierarchy::{HierarchySpec, Tree, build_tree};
use throng::throng_core::profile::ValueKind;
use throng::throng_policy::{HierarchyOutline, hierarchy_lines, parse_hierarchy, parse_hierarchy_rule};
use throng_job::OpenTable;

use crate::arrange::indent;
use crate::fields::number;
use crate::places::{below, file_name};

/// Folder for hierarchy files, below that of the policy.
pub(crate) const FOLDER: &str = "hierarchies";

/// Maximum depth and number of lines of a tree that is drawn with `--show-values`.
const DRAWN: (usize, usize) = (6, 40);

/// Maximum number of values that a new tree starts with, if values may be shown.
const MAX_VALUES: usize = 300;

/// Name of the group that a tree of all values starts with.
const FIRST_GROUP: &str = "other";

/// A hierarchy that is being built for one column.
#[derive(Clone, Debug)]
pub(crate) struct BuilderDialog {
    /// Index of the column in the table.
    pub(crate) column: usize,
    /// The kind that is shown: `intervals`, `mask`, `date`, `tree` or `file`.
    pub(crate) kind: String,
    /// The text of the builder: widths, a side, parts, or an indented tree.
    pub(crate) text: String,
    /// The preview of the hierarchy on the column, or an error message.
    pub(crate) preview: Option<Result<HierarchyPreview, String>>,
    /// The reason why the last move was refused.
    pub(crate) refusal: Option<String>,
}

/// Preview of a hierarchy on a column.
#[derive(Clone, Debug)]
pub(crate) struct HierarchyPreview {
    /// The hierarchy as TOML.
    pub(crate) rule: String,
    /// Number of distinct values of the column.
    pub(crate) distinct: usize,
    /// By level, from fine to coarse: the number of distinct values in each group, in the order of the hierarchy.
    pub(crate) levels: Vec<Vec<u32>>,
    /// The tree as text, if values may be shown.
    pub(crate) drawing: Option<String>,
}

/// Returns the kind and text that a builder starts with for a column of this kind.
pub(crate) fn suggestion(kind: Option<ValueKind>) -> (&'static str, &'static str) {
    match kind {
        Some(ValueKind::Integer | ValueKind::Fraction) => ("intervals", "5, 10, 20"),
        Some(ValueKind::Date | ValueKind::Timestamp) => ("date", "month, year, decade"),
        _ => ("mask", "right"),
    }
}

/// Converts the entered text to the TOML of a hierarchy. The error states what is expected.
pub(crate) fn rule(kind: &str, text: &str) -> Result<String, String> {
    let parts = || text.split([',', ' ', '\n']).map(str::trim).filter(|part| !part.is_empty());
    let rule = match kind {
        "intervals" => {
            let widths: Result<Vec<f64>, _> = parts().map(str::parse::<f64>).collect();
            let widths =
                widths.ok().filter(|widths| !widths.is_empty() && widths.iter().all(|width| width.is_finite()));
            let widths = widths.ok_or("give widths from fine to coarse, such as 5, 10, 20")?;
            let widths: Vec<String> = widths.into_iter().map(|width| number(width).to_string()).collect();
            format!("{{ intervals = [{}] }}", widths.join(", "))
        }
        "mask" => match text.trim() {
            side @ ("right" | "left") => format!("{{ mask = \"{side}\" }}"),
            _ => return Err("give the side that is hidden first: right or left".to_owned()),
        },
        "date" => {
            let known = ["day", "month", "quarter", "year", "decade"];
            let parts: Vec<String> = parts().map(|part| format!("\"{part}\"")).collect();
            if parts.is_empty() || !parts.iter().all(|part| known.contains(&part.trim_matches('"'))) {
                return Err("give parts from fine to coarse, such as month, year".to_owned());
            }
            format!("{{ date = [{}] }}", parts.join(", "))
        }
        "tree" => format!("{{ tree = {} }}", branch(text)?),
        "file" => {
            let file = toml_edit::Value::from(text.trim());
            return Ok(file.to_string());
        }
        _ => return Err("there is no such builder".to_owned()),
    };
    Ok(rule)
}

/// Parses a hierarchy that is written as TOML. Files are looked up only below the folder of the policy.
pub(crate) fn parse(rule: &str, folder: &Path) -> Result<HierarchySpec, String> {
    let value: Option<toml_edit::Value> = rule.parse().ok();
    if let Some(file) = value.as_ref().and_then(toml_edit::Value::as_str) {
        let path = below(folder, file).ok_or("name a file below the folder of the policy")?;
        let tree = throng::throng_policy::read_hierarchy(&path).map_err(|error| error.to_string())?;
        return Ok(HierarchySpec::Tree(Arc::new(tree)));
    }
    parse_hierarchy_rule("hierarchy", &format!("hierarchy = {rule}")).map_err(|error| {
        let problems: Vec<String> = error.problems().iter().map(|problem| problem.message.clone()).collect();
        problems.join("; ")
    })
}

/// Builds a hierarchy on the values of a column, and counts its groups.
pub(crate) async fn preview(
    table: &OpenTable,
    column: &str,
    rule: String,
    folder: &Path,
    shows_values: bool,
) -> Result<HierarchyPreview, String> {
    let spec = parse(&rule, folder)?;
    let values = distinct_values(table, column).await?;
    let (tree, positions) = build_tree(&spec, &values).map_err(|error| error.to_string())?;
    let drawing = shows_values.then(|| {
        let text = HierarchyOutline::of(&tree).draw(DRAWN.0);
        let lines: Vec<&str> = text.lines().collect();
        let more = lines.len().saturating_sub(DRAWN.1);
        let mut drawing = lines[..lines.len().min(DRAWN.1)].join("\n");
        if more > 0 {
            drawing += &format!("\n… and {more} more lines");
        }
        drawing
    });
    Ok(HierarchyPreview { rule, distinct: values.len(), levels: levels(&tree, &positions), drawing })
}

/// Writes the hierarchy of a column as lines in the convention of ARX.
pub(crate) async fn as_lines(table: &OpenTable, column: &str, rule: &str, folder: &Path) -> Result<String, String> {
    let spec = parse(rule, folder)?;
    let values = distinct_values(table, column).await?;
    let (tree, _) = build_tree(&spec, &values).map_err(|error| error.to_string())?;
    Ok(hierarchy_lines(&tree))
}

/// Stores the lines of a hierarchy file below the folder of the policy. Returns its name, relative to the policy. A file that exists is
/// kept unless it has the same lines.
pub(crate) fn store(folder: &Path, column: &str, lines: &str) -> Result<String, String> {
    parse_hierarchy(lines).map_err(|error| error.to_string())?;
    let name = file_name(column);
    std::fs::create_dir_all(folder.join(FOLDER))
        .map_err(|error| format!("the folder can't be made: {}", error.kind()))?;
    for number in 1..100 {
        let relative = match number {
            1 => format!("{FOLDER}/{name}.csv"),
            number => format!("{FOLDER}/{name}-{number}.csv"),
        };
        let path = below(folder, &relative).ok_or("the name of the column makes no file name")?;
        match std::fs::read_to_string(&path) {
            Ok(existing) if existing == lines => return Ok(relative),
            Ok(_) => {}
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                let written = crate::places::write_private(&path, lines);
                return written
                    .map(|()| relative)
                    .map_err(|error| format!("the file can't be written: {}", error.kind()));
            }
            Err(error) => return Err(format!("the file can't be read: {}", error.kind())),
        }
    }
    Err("there are too many hierarchy files of this column".to_owned())
}

/// Counts the values in the groups of each level.
fn levels(tree: &Tree, positions: &[u32]) -> Vec<Vec<u32>> {
    // Leaves of a group lie next to each other.
    let mut positions = positions.to_vec();
    positions.sort_unstable();
    let of_level = |level| {
        let mut groups: Vec<(usize, u32)> = Vec::new();
        for position in &positions {
            let node = tree.ancestor(*position, level).index();
            match groups.last_mut().filter(|(last, _)| *last == node) {
                Some((_, values)) => *values += 1,
                None => groups.push((node, 1)),
            }
        }
        groups.into_iter().map(|(_, values)| values).collect()
    };
    (1..=tree.height(tree.root())).map(of_level).collect()
}

/// Returns a hierarchy of a policy as it is entered: its kind and text; `None` if no builder supports it.
pub(crate) fn entered(item: &toml_edit::Item) -> Option<(&'static str, String)> {
    if let Some(file) = item.as_str() {
        return Some(("file", file.to_owned()));
    }
    let rule = item.as_table_like()?;
    let (name, value) = rule.iter().next().filter(|_| rule.len() == 1)?;
    let value = value.as_value()?;
    let joined = || {
        let plain = |value: &toml_edit::Value| match value.as_str() {
            Some(text) => text.to_owned(),
            None => value.to_string().trim().to_owned(),
        };
        Some(value.as_array()?.iter().map(plain).collect::<Vec<_>>().join(", "))
    };
    match name {
        "intervals" => Some(("intervals", joined()?)),
        "date" => Some(("date", joined()?)),
        "mask" => Some(("mask", value.as_str()?.to_owned())),
        "file" => Some(("file", value.as_str()?.to_owned())),
        "tree" => {
            let mut text = String::new();
            indented(value, 0, &mut text)?;
            Some(("tree", text))
        }
        _ => None,
    }
}

fn indented(branch: &toml_edit::Value, depth: usize, text: &mut String) -> Option<()> {
    let mut line = |name: &str| *text += &format!("{}{name}\n", "  ".repeat(depth));
    if let Some(values) = branch.as_array() {
        values.iter().try_for_each(|value| {
            line(value.as_str()?);
            Some(())
        })
    } else {
        branch.as_inline_table()?.iter().try_for_each(|(name, below)| {
            *text += &format!("{}{name}\n", "  ".repeat(depth));
            indented(below, depth + 1, text)
        })
    }
}

/// Returns the values of a column as a tree of one group, to be divided into others.
pub(crate) async fn all_values(table: &OpenTable, column: &str) -> Result<String, String> {
    let values = distinct_values(table, column).await?;
    if values.len() > MAX_VALUES {
        return Err(format!("the column has {} values, which are too many to arrange by hand", values.len()));
    }
    let texts = cast(&values, &DataType::Utf8).map_err(|_| "the values are no texts".to_owned())?;
    let texts = texts.as_string::<i32>();
    let lines = texts.iter().flatten().map(|text| format!("  {}\n", text.trim()));
    Ok(std::iter::once(format!("{FIRST_GROUP}\n")).chain(lines).collect())
}

/// Returns the distinct values of a column, ascending and without null.
async fn distinct_values(table: &OpenTable, column: &str) -> Result<ArrayRef, String> {
    let failed = "the values of the column could not be read";
    let value = || Expr::Column(Column::from_name(column));
    let frame = table.rows().map_err(|error| error.to_string())?;
    let frame = frame.select_columns(&[column]).and_then(|frame| frame.filter(value().is_not_null()));
    let frame = frame.and_then(|frame| frame.distinct()).and_then(|frame| frame.sort(vec![value().sort(true, false)]));
    let frame = frame.map_err(|_| failed.to_owned())?;
    let plain = match frame.schema().field(0).data_type() {
        DataType::Dictionary(_, values) => values.as_ref().clone(),
        other => other.clone(),
    };
    let batches = match frame.collect().await {
        Ok(batches) => batches,
        Err(error) => return Err(table.failure(&[column], &error).await.to_string()),
    };
    let pieces: Result<Vec<ArrayRef>, _> = batches.iter().map(|batch| cast(batch.column(0), &plain)).collect();
    let pieces = pieces.map_err(|_| failed.to_owned())?;
    if pieces.is_empty() {
        return Err("the column has no value".to_owned());
    }
    let pieces: Vec<&dyn Array> = pieces.iter().map(AsRef::as_ref).collect();
    concat(&pieces).map_err(|_| failed.to_owned())
}

/// Converts indented text to the TOML of a tree: a line with deeper lines below it is a group.
fn branch(text: &str) -> Result<String, String> {
    let lines: Vec<(usize, &str)> =
        text.lines().filter(|line| !line.trim().is_empty()).map(|line| (indent(line), line.trim())).collect();
    if lines.is_empty() {
        return Err("write one group per line, and its values below it, indented".to_owned());
    }
    let mut rest = lines.as_slice();
    let value = level(&mut rest, lines[0].0)?;
    match rest.first() {
        None => Ok(value.to_string().trim().to_owned()),
        Some((_, line)) => {
            Err(format!("the line of {} characters is indented less than the first", line.chars().count()))
        }
    }
}

/// Reads the lines of one level and everything below them.
fn level(rest: &mut &[(usize, &str)], indent: usize) -> Result<toml_edit::Value, String> {
    let (mut groups, mut values) = (toml_edit::InlineTable::new(), toml_edit::Array::new());
    while let Some((own, name)) = rest.first().copied().filter(|(own, _)| *own >= indent) {
        if own > indent {
            return Err("lines of one group must be indented equally".to_owned());
        }
        *rest = &rest[1..];
        match rest.first().copied().filter(|(next, _)| *next > indent) {
            Some((next, _)) => {
                let below = level(rest, next)?;
                if groups.insert(name, below).is_some() {
                    return Err("a group is there twice".to_owned());
                }
            }
            None => values.push(name),
        }
    }
    match (groups.is_empty(), values.is_empty()) {
        (false, true) => Ok(groups.into()),
        (true, false) => Ok(values.into()),
        _ => {
            Err("a group has either values or groups below it; put single values into a group of their own".to_owned())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn builders_write_what_a_policy_understands() {
        let folder = Path::new(".");
        for (kind, text, expected) in [
            ("intervals", "5, 10,20", "{ intervals = [5, 10, 20] }"),
            ("intervals", "0.5 1", "{ intervals = [0.5, 1] }"),
            ("mask", "right", "{ mask = \"right\" }"),
            ("date", "month, year", "{ date = [\"month\", \"year\"] }"),
            (
                "tree",
                "Europe\n  France\n  Spain\nAsia\n  Japan",
                "{ tree = { Europe = [\"France\", \"Spain\"], Asia = [\"Japan\"] } }",
            ),
        ] {
            let written = rule(kind, text).unwrap();
            assert_eq!(written, expected);
            parse(&written, folder).unwrap();
        }
        for (kind, text) in
            [("intervals", "five"), ("mask", "top"), ("date", "week"), ("tree", ""), ("tree", "A\n  1\nB"), ("x", "")]
        {
            assert!(rule(kind, text).is_err(), "{kind} {text}");
        }
        assert!(parse("{ intervals = [5, 7] }", folder).is_err(), "7 is no multiple of 5");
    }

    #[test]
    fn a_builder_begins_with_the_hierarchy_of_the_policy() {
        for (kind, text) in [
            ("intervals", "5, 10, 20"),
            ("mask", "right"),
            ("date", "month, year"),
            ("file", "hierarchies/age.csv"),
            ("tree", "World\n  Europe\n    France\n    Spain\n  Asia\n    Japan\n"),
        ] {
            let document = format!("x = {}", rule(kind, text).unwrap()).parse::<toml_edit::DocumentMut>().unwrap();
            assert_eq!(entered(&document["x"]), Some((kind, text.to_owned())));
        }
        let other = "x = { width = 5, levels = 3 }".parse::<toml_edit::DocumentMut>().unwrap();
        assert_eq!(entered(&other["x"]), None);
    }

    #[test]
    fn hierarchy_files_stay_below_the_folder_of_the_policy() {
        for file in ["../secret.csv", "/etc/passwd", "a/../../b.csv"] {
            assert!(parse(&rule("file", file).unwrap(), Path::new(".")).is_err(), "{file}");
        }
        let folder = tempfile::tempdir().unwrap();
        let lines = "a;x;*\nb;x;*\n";
        assert_eq!(store(folder.path(), "../age", lines).unwrap(), "hierarchies/___age.csv");
        assert_eq!(store(folder.path(), "../age", lines).unwrap(), "hierarchies/___age.csv");
        assert_eq!(store(folder.path(), "../age", "a;y;*\n").unwrap(), "hierarchies/___age-2.csv");
        assert!(store(folder.path(), "age", "a;x\nb;y;*\n").is_err(), "levels differ");
    }
}

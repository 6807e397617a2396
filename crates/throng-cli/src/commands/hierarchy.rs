//! `throng hierarchy`

use std::fs;
use std::io::Write;
use std::path::Path;
use std::sync::Arc;

use serde_json::json;
use throng_core::hierarchy::{HierarchySpec, Tree};
use throng_job::{JobError, JobOptions, Kind, check_hierarchy, make_hierarchy};
use throng_policy::{
    HierarchyOutline, finished_tree, hierarchy_inline, hierarchy_lines, parse_hierarchy_rule, read_hierarchy,
};

use crate::args::HierarchyCommand;
use crate::outcome::{Outcome, write_out};

pub(super) async fn hierarchy(command: &HierarchyCommand, job: &JobOptions) -> Result<Outcome, JobError> {
    match command {
        HierarchyCommand::Make(args) => {
            let rule = format!("hierarchy = {{ {} }}", args.builder);
            let spec = parse_hierarchy_rule("--builder", &rule)?;
            let tree = make_hierarchy(std::slice::from_ref(&args.data), &args.column, &spec, job).await?;
            write_new(&args.output, &hierarchy_lines(&tree))?;
            let (values, levels) = (tree.leaf_count(), tree.height(tree.root()));
            let file = args.output.display();
            let text = format!(
                "wrote {file}: {values} values of `{}`, {levels} levels above them; it holds every value of the column",
                args.column
            );
            let json = json!({ "outcome": "made", "output": file.to_string(), "values": values, "levels": levels });
            Ok(Outcome::success(text, json))
        }
        HierarchyCommand::Check(args) => {
            let tree = read(&args.file)?;
            let (values, levels) = (tree.leaf_count(), tree.height(tree.root()));
            let mut text = format!("{}: {values} values, {levels} levels above them", args.file.display());
            let mut json = json!({ "outcome": "checked", "values": values, "levels": levels });
            let (Some(data), Some(column)) = (&args.data, &args.column) else {
                return Ok(Outcome::success(text, json));
            };
            let fit = check_hierarchy(&HierarchySpec::Tree(tree), std::slice::from_ref(data), column, job).await?;
            json["distinct"] = fit.distinct.into();
            json["missing"] = fit.missing.into();
            if fit.missing == 0 {
                text = format!("{text}\nevery one of {} distinct values of `{column}` is in it", fit.distinct);
                return Ok(Outcome::success(text, json));
            }
            let message = format!(
                "{} of {} distinct values of `{column}` are not in the hierarchy; add a line for each of them, or correct \
                 the values",
                fit.missing, fit.distinct
            );
            let code = Kind::BadData.exit_code();
            json["outcome"] = "incomplete".into();
            json["exit_code"] = code.into();
            json["error"] = message.clone().into();
            Ok(Outcome::failure_with(code, format!("{text}\nerror: {message}"), json))
        }
        HierarchyCommand::Print(args) => {
            write_out(&HierarchyOutline::of(read(&args.file)?.as_ref()).draw(args.depth.unwrap_or(usize::MAX)));
            Ok(Outcome::printed())
        }
        HierarchyCommand::Convert(args) => {
            let tree = read(&args.file)?;
            let text = match is_toml(&args.file) {
                true => hierarchy_lines(&tree),
                false => {
                    let bad = |error: throng_policy::NotInline| JobError::new(Kind::BadPolicy, error.to_string());
                    hierarchy_inline(&tree).map_err(bad)?
                }
            };
            let Some(output) = &args.output else {
                write_out(text.trim_end());
                return Ok(Outcome::printed());
            };
            write_new(output, &text)?;
            let message = format!("wrote {}: {} values", output.display(), tree.leaf_count());
            let json = json!({
                "outcome": "converted",
                "output": output.display().to_string(),
                "values": tree.leaf_count(),
            });
            Ok(Outcome::success(message, json))
        }
    }
}

fn is_toml(file: &Path) -> bool {
    file.extension().is_some_and(|end| end.eq_ignore_ascii_case("toml"))
}

/// Reads a hierarchy in either format, chosen by the file extension.
fn read(file: &Path) -> Result<Arc<Tree>, JobError> {
    let name = file.display();
    let bad = |text: String| JobError::new(Kind::BadPolicy, format!("{name}: {text}"));
    if !is_toml(file) {
        return read_hierarchy(file).map(Arc::new).map_err(|error| bad(error.to_string()));
    }
    let text = fs::read_to_string(file).map_err(|error| bad(format!("it can't be read: {}", error.kind())))?;
    finished_tree(parse_hierarchy_rule(&name.to_string(), &text)?).ok_or_else(|| {
        bad("a builder has no values of its own; `throng hierarchy make` builds it for a column".to_owned())
    })
}

/// Writes a file that must not exist.
pub(super) fn write_new(file: &Path, text: &str) -> Result<(), JobError> {
    let name = file.display();
    let created = fs::OpenOptions::new().write(true).create_new(true).open(file);
    created.and_then(|mut file| file.write_all(text.as_bytes())).map_err(|error| match error.kind() {
        std::io::ErrorKind::AlreadyExists => {
            JobError::new(Kind::BadPolicy, format!("{name} is already there, and is not replaced; choose another name"))
        }
        _ => JobError::creating(format!("writing {name}"), &error),
    })
}

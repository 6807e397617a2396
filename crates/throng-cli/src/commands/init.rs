//! `throng init`

use serde_json::json;
use throng_job::{JobError, JobOptions, Kind, draft, plural};

use super::hierarchy::write_new;
use crate::args::InitArgs;
use crate::outcome::Outcome;

pub(super) async fn init(args: &InitArgs, job: &JobOptions) -> Result<Outcome, JobError> {
    let file = args.output.display().to_string();
    if args.output.exists() {
        // Fail early, before the table is read.
        let text = format!("{file} is already there, and is not replaced; choose another name with -o");
        return Err(JobError::new(Kind::BadPolicy, text));
    }
    let draft = draft(&args.data, job).await?;
    write_new(&args.output, &draft.text)?;
    let text = format!(
        "wrote {file} for {} of {}\nread it, answer its {} (\"?\"), then: throng check {file}",
        plural(draft.columns, "column"),
        plural(draft.rows, "row"),
        plural(draft.questions, "question")
    );
    let json = json!({
        "outcome": "drafted",
        "output": file,
        "rows": draft.rows,
        "columns": draft.columns,
        "questions": draft.questions,
    });
    Ok(Outcome::success(text, json))
}

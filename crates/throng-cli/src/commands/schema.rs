//! `throng schema`

use throng_job::{JobError, Kind};

use crate::outcome::{Outcome, write_out};

pub(super) fn schema() -> Result<Outcome, JobError> {
    let text = serde_json::to_string_pretty(&throng_policy::json_schema())
        .map_err(|_| JobError::new(Kind::Internal, "the schema could not be printed"))?;
    write_out(&text);
    Ok(Outcome::printed())
}

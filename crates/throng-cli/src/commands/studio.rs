//! `throng studio`

use serde_json::json;
use throng_job::{JobError, Stop};
use throng_studio::{Studio, StudioOptions, open_in_browser};

use crate::args::StudioArgs;
use crate::outcome::{Outcome, eprint_line, write_out};

pub(super) async fn studio(
    args: StudioArgs,
    threads: usize,
    memory_limit: Option<u64>,
    stop: Stop,
) -> Result<Outcome, JobError> {
    let StudioArgs { location, port, no_browser, show_values, exit_when_closed } = args;
    let studio = Studio::bind(StudioOptions {
        location,
        port: port.unwrap_or(0),
        shows_values: show_values,
        exits_when_closed: exit_when_closed,
        threads,
        memory_limit,
    })
    .await?;
    let address = studio.address();
    write_out(&json!({ "outcome": "serving", "address": address }).to_string());
    let leads_there = match no_browser {
        true => None,
        false => open_in_browser(&address).ok(),
    };
    if leads_there.is_none() {
        eprint_line(&format!("open {address}\nCtrl-C ends it"));
    }
    let served = studio.serve(stop).await;
    if let Some(folder) = leads_there {
        // Removed by the system with its other temporary files if this fails.
        let _ = std::fs::remove_dir_all(folder);
    }
    served?;
    Ok(Outcome::success("closed".to_owned(), json!({ "outcome": "closed" })))
}

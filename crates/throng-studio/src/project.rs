//! One open table: the text of its policy, and everything known about it.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use throng::throng_core::profile::Profile;
use throng::{Overrides, Policy, PolicyError, Risk};
use throng_job::{OpenTable, Stopper, SweepReport};
use tokio::task::AbortHandle;

use crate::answer::LiveAnswer;
use crate::builder::BuilderDialog;
use crate::edit::answered;
use crate::held_survey::HeldSurvey;
use crate::history::PolicyHistory;
use crate::jobs::StudioJob;
use crate::written::WrittenPolicy;

/// A table and its policy.
#[derive(Debug)]
pub(crate) struct Project {
    /// Number that stays the same while the table is open.
    pub(crate) id: usize,
    /// Name of the table on the page.
    pub(crate) name: String,
    /// Locations of the table.
    pub(crate) locations: Vec<String>,
    /// File of the policy.
    pub(crate) file: PathBuf,
    /// State of reading the table.
    pub(crate) opened: Opened,
    /// Columns in the order of the table.
    pub(crate) columns: Vec<ColumnProfile>,
    /// Number of rows, once it is known.
    pub(crate) rows: Option<u64>,
    /// Texts of the policy.
    pub(crate) history: PolicyHistory,
    /// Text of the file on disk; `None` if there is no file.
    pub(crate) saved: Option<String>,
    /// The table, to be read again.
    pub(crate) table: Option<Arc<OpenTable>>,
    /// Figures of the current text.
    pub(crate) live: LiveFigures,
    /// The last check, trial or release.
    pub(crate) job: Option<StudioJob>,
    /// The hierarchy that is being built.
    pub(crate) dialog: Option<BuilderDialog>,
    /// Index of the column whose settings are open.
    pub(crate) settings: Option<usize>,
}

/// Progress of opening a table.
#[derive(Clone, Debug)]
pub(crate) enum Opened {
    /// Its rows are being counted.
    Reading,
    /// It is known.
    Known,
    /// It can't be opened.
    Failed(String),
}

/// A column and its profile.
#[derive(Clone, Debug)]
pub(crate) struct ColumnProfile {
    pub(crate) name: String,
    pub(crate) data_type: String,
    /// Counts; absent until all rows are read.
    pub(crate) profile: Option<Profile>,
}

/// Figures of the current text, in the order in which they arrive.
#[derive(Debug, Default)]
pub(crate) struct LiveFigures {
    /// Number of the text whose figures are being computed.
    pub(crate) generation: u64,
    /// The figures that are being computed.
    pub(crate) doing: Option<&'static str>,
    /// Set when the generation is stale.
    pub(crate) stale: Arc<AtomicBool>,
    /// Cancels the work of the generation.
    pub(crate) work: Option<AbortHandle>,
    /// Problems of the policy, as its validation reports them.
    pub(crate) problems: Vec<PolicyProblem>,
    /// Cells and groups of the whole table, as long as columns and hierarchies stay as they are.
    pub(crate) survey: Option<Arc<HeldSurvey>>,
    /// Risk of the table as it is.
    pub(crate) risk: Option<Arc<Risk>>,
    /// Whether the figures below are those of the previous text.
    pub(crate) is_outdated: bool,
    /// Figures of a release on a sample.
    pub(crate) sample: Option<Arc<LiveAnswer>>,
    /// Figures of the release.
    pub(crate) exact: Option<Arc<LiveAnswer>>,
    /// The reason why there is no release.
    pub(crate) refusal: Option<String>,
    /// A grid of k.
    pub(crate) frontier: Option<Arc<SweepReport>>,
}

/// A problem of a policy with its line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PolicyProblem {
    pub(crate) line: Option<usize>,
    pub(crate) text: String,
}

impl Project {
    /// Creates a project for a table whose rows are not yet read.
    pub(crate) fn new(id: usize, locations: Vec<String>, file: PathBuf, text: Option<String>) -> Self {
        let name = match locations.as_slice() {
            [one] => short_name(one),
            several => format!("{} and {} more", several.first().map_or("table", |one| one), several.len().max(1) - 1),
        };
        let history = PolicyHistory::new("opened", text.clone().unwrap_or_default());
        Self {
            id,
            name,
            locations,
            file,
            opened: Opened::Reading,
            columns: Vec::new(),
            rows: None,
            history,
            saved: text,
            table: None,
            live: LiveFigures::default(),
            job: None,
            dialog: None,
            settings: None,
        }
    }

    /// Returns the folder of the policy, to which hierarchies are relative.
    pub(crate) fn folder(&self) -> &Path {
        self.file.parent().unwrap_or(Path::new(""))
    }

    /// Returns the policy as it is written.
    pub(crate) fn written(&self) -> Result<WrittenPolicy, String> {
        WrittenPolicy::read(self.history.text())
    }

    /// Whether the file on disk differs from the text.
    pub(crate) fn is_unsaved(&self) -> bool {
        self.saved.as_deref() != Some(self.history.text())
    }

    /// Returns the policy, or every problem of its text.
    pub(crate) fn policy(&self, overrides: &Overrides) -> Result<Policy, PolicyError> {
        Policy::parse(self.history.text(), self.folder(), overrides)
    }

    /// Returns the policy with open questions answered cautiously, for figures; `None` if it has other problems.
    pub(crate) fn provisional(&self, overrides: &Overrides) -> Option<Policy> {
        Policy::parse(&answered(self.history.text())?, self.folder(), overrides).ok()
    }

    /// Returns the name of the policy file, as a command would name it.
    pub(crate) fn file_text(&self) -> String {
        self.file.display().to_string()
    }
}

impl LiveFigures {
    /// Cancels the work on the last text, and returns the number of the next one.
    pub(crate) fn restart(&mut self) -> (u64, Arc<AtomicBool>) {
        self.stale.store(true, std::sync::atomic::Ordering::Relaxed);
        if let Some(work) = self.work.take() {
            work.abort();
        }
        self.generation += 1;
        self.stale = Arc::default();
        (self.generation, Arc::clone(&self.stale))
    }
}

impl Drop for Project {
    fn drop(&mut self) {
        self.live.restart();
        if let Some(stop) = self.job.as_ref().and_then(|job| job.stop.as_ref()) {
            Stopper::stop(stop);
        }
    }
}

/// Returns the problems of a policy for the page.
pub(crate) fn problems(error: &PolicyError) -> Vec<PolicyProblem> {
    let problem = |problem: &throng::Problem| PolicyProblem {
        line: problem.place.map(|place| place.line),
        text: problem.to_string(),
    };
    error.problems().iter().map(problem).collect()
}

/// Returns the last part of a location.
fn short_name(location: &str) -> String {
    let last = location.trim_end_matches(['/', '\\']).rsplit(['/', '\\']).next().unwrap_or(location);
    if last.is_empty() { location.to_owned() } else { last.to_owned() }
}

//! The state of the page: open tables, and the parts that were sent to browsers.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use serde_json::json;
use throng_job::{JobOptions, NoProgress, Progress, Stop, Stopper};
use tokio::sync::{Notify, broadcast};

use crate::places::AllowedFolders;
use crate::project::Project;
use crate::view;

/// Time without a page after which the process ends, if it is configured to end with its last page. A reload takes
/// less.
const GONE: Duration = Duration::from_secs(2);

/// State that all requests share.
pub(crate) struct StudioState {
    desk: Mutex<Desk>,
    updates: broadcast::Sender<Arc<str>>,
    /// Number of pages that listen.
    listeners: AtomicUsize,
    /// Notified when the process should end.
    pub(crate) ended: Notify,
    /// Whether the process ends with its last page.
    pub(crate) exits_when_closed: bool,
    /// Whether values of the table may be shown.
    pub(crate) shows_values: bool,
    /// Folders that the page may open tables in.
    pub(crate) allowed: AllowedFolders,
    threads: usize,
    memory_limit: Option<u64>,
}

/// Open tables, and the parts of them that were sent.
#[derive(Debug, Default)]
pub(crate) struct Desk {
    pub(crate) projects: Vec<Project>,
    /// Id of the table that the page shows.
    pub(crate) selected: usize,
    /// A message about the last action.
    pub(crate) notice: Option<Notice>,
    next_id: usize,
    sent: BTreeMap<&'static str, String>,
}

/// A message about the last action.
#[derive(Clone, Debug)]
pub(crate) struct Notice {
    pub(crate) text: String,
    pub(crate) is_error: bool,
}

/// Settings of the state.
#[derive(Clone, Debug)]
pub(crate) struct StateOptions {
    pub(crate) exits_when_closed: bool,
    pub(crate) shows_values: bool,
    pub(crate) allowed: AllowedFolders,
    pub(crate) threads: usize,
    pub(crate) memory_limit: Option<u64>,
}

impl StudioState {
    pub(crate) fn new(options: StateOptions) -> Arc<Self> {
        let StateOptions { exits_when_closed, shows_values, allowed, threads, memory_limit } = options;
        Arc::new(Self {
            desk: Mutex::default(),
            updates: broadcast::channel(64).0,
            listeners: AtomicUsize::new(0),
            ended: Notify::new(),
            exits_when_closed,
            shows_values,
            allowed,
            threads,
            memory_limit,
        })
    }

    /// Locks the desk. It must not be held across an await.
    pub(crate) fn desk(&self) -> MutexGuard<'_, Desk> {
        self.desk.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns options for work on this machine, and its stopper.
    pub(crate) fn job_options(&self, observer: Arc<dyn Progress>) -> (JobOptions, Stopper) {
        let (stopper, stop) = Stopper::new();
        (self.with_stop(observer, stop), stopper)
    }

    /// Returns options for work that ends when its future is dropped.
    pub(crate) fn quiet_options(&self) -> JobOptions {
        self.job_options(Arc::new(NoProgress)).0
    }

    fn with_stop(&self, observer: Arc<dyn Progress>, stop: Stop) -> JobOptions {
        JobOptions {
            threads: self.threads,
            memory_limit: self.memory_limit,
            observer,
            recorder: None,
            stop,
            table: None,
            is_table_in_memory: false,
        }
    }

    /// Renders the page and sends the parts that have changed.
    pub(crate) fn publish(&self) {
        let mut desk = self.desk();
        let parts = view::parts(&desk, self.shows_values);
        let changed: BTreeMap<&str, &String> = parts
            .iter()
            .filter(|(name, part)| desk.sent.get(*name) != Some(part))
            .map(|(name, part)| (*name, part))
            .collect();
        if changed.is_empty() {
            return;
        }
        let update = json!({ "parts": changed }).to_string();
        // No page may be listening, which is fine.
        let _ = self.updates.send(update.into());
        desk.sent = parts;
    }

    /// Returns all parts of the page, and the updates from now on.
    pub(crate) fn listen(&self) -> (Arc<str>, broadcast::Receiver<Arc<str>>) {
        let desk = self.desk();
        let updates = self.updates.subscribe();
        let parts = view::parts(&desk, self.shows_values);
        (json!({ "parts": parts }).to_string().into(), updates)
    }

    /// Counts a page that listens, until the result is dropped.
    pub(crate) fn listener(self: &Arc<Self>) -> Listener {
        self.listeners.fetch_add(1, Ordering::Relaxed);
        Listener(Arc::clone(self))
    }

    /// Changes a project, if it is still open.
    pub(crate) fn with_project<T>(&self, id: usize, change: impl FnOnce(&mut Project) -> T) -> Option<T> {
        self.desk().project(id).map(change)
    }

    /// Ends all work.
    pub(crate) fn end(&self) {
        self.desk().projects.clear();
    }
}

impl Desk {
    /// Adds a project, selects it and returns its id.
    pub(crate) fn add(&mut self, project: impl FnOnce(usize) -> Project) -> usize {
        let id = self.next_id;
        self.next_id += 1;
        self.projects.push(project(id));
        self.selected = id;
        id
    }

    /// Returns the project with this id, if it is open.
    pub(crate) fn project(&mut self, id: usize) -> Option<&mut Project> {
        self.projects.iter_mut().find(|project| project.id == id)
    }

    /// Returns the project that the page shows.
    pub(crate) fn shown(&self) -> Option<&Project> {
        self.projects.iter().find(|project| project.id == self.selected)
    }

    /// Returns the project that the page shows, to change it.
    pub(crate) fn shown_mut(&mut self) -> Option<&mut Project> {
        self.project(self.selected)
    }

    /// Sets the message about the last action.
    pub(crate) fn say(&mut self, text: impl Into<String>, is_error: bool) {
        self.notice = Some(Notice { text: text.into(), is_error });
    }
}

/// A page that listens.
pub(crate) struct Listener(Arc<StudioState>);

impl Drop for Listener {
    fn drop(&mut self) {
        let state = Arc::clone(&self.0);
        if state.listeners.fetch_sub(1, Ordering::Relaxed) == 1 && state.exits_when_closed {
            // Dropped within the runtime that serves the page.
            tokio::spawn(async move {
                tokio::time::sleep(GONE).await;
                if state.listeners.load(Ordering::Relaxed) == 0 {
                    state.ended.notify_one();
                }
            });
        }
    }
}

//! Actions of the page. An action changes a text or starts work; its effects arrive as events.

use std::sync::Arc;

use serde::Deserialize;

use crate::arrange;
use crate::builder::{self, BuilderDialog};
use crate::edit::PolicyEdit;
use crate::first_look::first_look;
use crate::jobs::{self, JobKind};
use crate::live;
use crate::places::{policy_of, replace};
use crate::project::Project;
use crate::state::StudioState;
use crate::written::WrittenPolicy;

/// An action of the page. Columns are identified by index, so that no name has to be escaped.
#[derive(Clone, Debug, Deserialize)]
#[serde(tag = "do", rename_all = "snake_case", deny_unknown_fields)]
pub(crate) enum StudioAction {
    /// Opens a table or a policy.
    Open {
        path: String,
    },
    /// Shows another open table.
    Select {
        table: usize,
    },
    /// Closes a table.
    Close {
        table: usize,
    },
    /// Sets a field of a column.
    Column {
        column: usize,
        field: String,
        value: String,
    },
    /// Sets a promise.
    Promise {
        field: String,
        value: String,
    },
    /// Replaces the text of the policy.
    Text {
        text: String,
    },
    Undo,
    Redo,
    /// Returns to a text of the history.
    Restore {
        at: usize,
    },
    Save,
    Check,
    Try,
    Release {
        overwrite: bool,
    },
    Cancel,
    /// Opens the builder of a column.
    Builder {
        column: usize,
    },
    /// Opens the settings of a column.
    Settings {
        column: usize,
    },
    CloseDialog,
    /// Previews a hierarchy on the column.
    Preview {
        kind: String,
        text: String,
    },
    /// Writes a hierarchy into the policy.
    Apply {
        kind: String,
        text: String,
    },
    /// Moves a line of the tree with all below it: onto another line, or to the top.
    Move {
        text: String,
        from: usize,
        onto: Option<usize>,
    },
    /// Puts a line of the tree into a new group.
    Group {
        text: String,
        from: usize,
        name: String,
    },
    /// Starts a tree with the values of the column.
    Values,
    /// Removes the hierarchy of the column.
    NoHierarchy,
    /// Takes the lines of a hierarchy file.
    Import {
        lines: String,
    },
    /// Writes a hierarchy to a file.
    Export {
        kind: String,
        text: String,
    },
    /// Hides the message.
    Dismiss,
}

/// Performs an action. The error is a message for the page.
pub(crate) async fn act(state: &Arc<StudioState>, action: StudioAction) -> Result<(), String> {
    state.desk().notice = None;
    match action {
        StudioAction::Open { path } => {
            let path = path.trim().to_owned();
            if path.is_empty() {
                return Err("name a file, a folder or a policy".to_owned());
            }
            state.allowed.check(&path)?;
            open(state, &path);
        }
        StudioAction::Select { table } => {
            let mut desk = state.desk();
            if desk.project(table).is_some() {
                desk.selected = table;
            }
        }
        StudioAction::Close { table } => {
            let mut desk = state.desk();
            desk.projects.retain(|project| project.id != table);
            desk.selected = desk.projects.last().map_or(0, |project| project.id);
        }
        StudioAction::Column { column, field, value } => {
            let name = column_name(state, column)?;
            edit(state, &PolicyEdit::Column(name, field, value))?;
        }
        StudioAction::Promise { field, value } => edit(state, &PolicyEdit::Promise(field, value))?,
        StudioAction::Text { text } => change(state, |project| Ok(project.history.push("text", text)))?,
        StudioAction::Undo => change(state, |project| Ok(project.history.undo()))?,
        StudioAction::Redo => change(state, |project| Ok(project.history.redo()))?,
        StudioAction::Restore { at } => change(state, |project| Ok(project.history.go_to(at)))?,
        StudioAction::Save => save(state)?,
        StudioAction::Check => start(state, JobKind::Check)?,
        StudioAction::Try => start(state, JobKind::Try)?,
        StudioAction::Release { overwrite } => start(state, JobKind::Release { overwrites: overwrite })?,
        StudioAction::Cancel => {
            if let Some(stop) = state.desk().shown().and_then(|project| project.job.as_ref()?.stop.as_ref()) {
                stop.stop();
            }
        }
        StudioAction::Dismiss => {}
        StudioAction::Settings { column } => {
            let mut desk = state.desk();
            let project = desk.shown_mut().ok_or("no table is open")?;
            (project.settings, project.dialog) = (Some(column), None);
        }
        StudioAction::CloseDialog => {
            let mut desk = state.desk();
            let project = desk.shown_mut().ok_or("no table is open")?;
            (project.settings, project.dialog) = (None, None);
        }
        builder => build(state, builder).await?,
    }
    Ok(())
}

/// Opens a table or a policy, and starts reading it.
pub(crate) fn open(state: &Arc<StudioState>, location: &str) {
    let is_policy = location.ends_with(".toml");
    let (file, text) = match is_policy {
        true => (location.into(), None),
        false => (policy_of(location), None::<String>),
    };
    let file: std::path::PathBuf = file;
    let on_disk = std::fs::read_to_string(&file).ok().or(text);
    let opened = match (&on_disk, is_policy) {
        (None, true) => {
            state.desk().say(format!("{location}: there is no such policy file"), true);
            return;
        }
        (Some(text), true) => locations_of(text),
        (_, false) => vec![location.to_owned()],
    };
    if opened.is_empty() {
        state.desk().say(format!("{location}: the policy names no input"), true);
        return;
    }
    let is_resumed = on_disk.is_some() && !is_policy;
    let id = {
        let mut desk = state.desk();
        let id = desk.add(|id| Project::new(id, opened, file.clone(), on_disk));
        if is_resumed {
            desk.say(format!("opened with its policy {}", file.display()), false);
        }
        id
    };
    tokio::spawn(first_look(Arc::clone(state), id));
}

/// Returns the input of a policy, ignoring any other problems in it.
fn locations_of(text: &str) -> Vec<String> {
    let Ok(document) = text.parse::<toml_edit::DocumentMut>() else { return Vec::new() };
    let location =
        document.get("input").and_then(toml_edit::Item::as_table_like).and_then(|input| input.get("location"));
    match location.map(|location| (location.as_str(), location.as_array())) {
        Some((Some(one), _)) => vec![one.to_owned()],
        Some((_, Some(several))) => several.iter().filter_map(|one| one.as_str().map(str::to_owned)).collect(),
        _ => Vec::new(),
    }
}

fn column_name(state: &StudioState, column: usize) -> Result<String, String> {
    let desk = state.desk();
    let found = desk.shown().and_then(|project| project.columns.get(column));
    found.map(|column| column.name.clone()).ok_or_else(|| "there is no such column".to_owned())
}

fn edit(state: &Arc<StudioState>, edit: &PolicyEdit) -> Result<(), String> {
    change(state, |project| {
        let text = edit.apply(project.history.text())?;
        Ok(project.history.push(&edit.words(), text))
    })
}

/// Changes the text of the policy, and recomputes its figures if it has changed.
fn change(state: &Arc<StudioState>, change: impl FnOnce(&mut Project) -> Result<bool, String>) -> Result<(), String> {
    let changed = {
        let mut desk = state.desk();
        let project = desk.shown_mut().ok_or("no table is open")?;
        let is_changed = change(project)?;
        is_changed.then_some(project.id)
    };
    if let Some(id) = changed {
        live::refresh(state, id);
    }
    Ok(())
}

/// Saves the policy next to its table. A file that has changed since it was read is not replaced.
fn save(state: &StudioState) -> Result<(), String> {
    let mut desk = state.desk();
    let project = desk.shown_mut().ok_or("no table is open")?;
    let (file, text) = (project.file.clone(), project.history.text().to_owned());
    let on_disk = std::fs::read_to_string(&file).ok();
    if on_disk.is_some() && on_disk != project.saved {
        return Err(format!("{} has been changed by another program, and is not replaced", file.display()));
    }
    replace(&file, &text).map_err(|error| format!("{} can't be written: {}", file.display(), error.kind()))?;
    project.saved = Some(text);
    desk.say(format!("saved {}", file.display()), false);
    Ok(())
}

/// Saves the policy and starts a job on the file.
fn start(state: &Arc<StudioState>, kind: JobKind) -> Result<(), String> {
    let is_unsaved = state.desk().shown().is_some_and(Project::is_unsaved);
    if is_unsaved {
        save(state)?;
    }
    jobs::start(state, kind)
}

async fn build(state: &Arc<StudioState>, action: StudioAction) -> Result<(), String> {
    if let StudioAction::Builder { column } = action {
        let (kind, text) = {
            let mut desk = state.desk();
            let project = desk.shown_mut().ok_or("no table is open")?;
            let known = project.columns.get(column).ok_or("there is no such column")?;
            let entered = project.written_or_empty().column(&known.name).and_then(|written| written.entered.clone());
            let (kind, text) = entered.unwrap_or_else(|| {
                let (kind, text) = builder::suggestion(known.profile.as_ref().map(|profile| profile.kind()));
                (kind, text.to_owned())
            });
            let dialog =
                BuilderDialog { column, kind: kind.to_owned(), text: text.clone(), preview: None, refusal: None };
            (project.dialog, project.settings) = (Some(dialog), None);
            (kind.to_owned(), text)
        };
        return preview(state, kind, text).await;
    }
    if let StudioAction::Preview { kind, text } = action {
        // A preview that arrives after its dialog was closed is not a mistake of the user.
        let is_open = state.desk().shown().is_some_and(|project| project.dialog.is_some());
        return if is_open { preview(state, kind, text).await } else { Ok(()) };
    }
    if let Some(arranged) = match &action {
        StudioAction::Move { text, from, onto } => Some(arrange::moved(text, *from, *onto)),
        StudioAction::Group { text, from, name } => Some(arrange::grouped(text, *from, name)),
        _ => None,
    } {
        // Do not create a tree that no policy could hold.
        return match arranged.and_then(|text| builder::rule("tree", &text).map(|_| text)) {
            Ok(text) => preview(state, "tree".to_owned(), text).await,
            Err(why) => {
                let mut desk = state.desk();
                let dialog =
                    desk.shown_mut().and_then(|project| project.dialog.as_mut()).ok_or("no builder is open")?;
                dialog.refusal = Some(why);
                Ok(())
            }
        };
    }
    if let StudioAction::Apply { kind, text } | StudioAction::Export { kind, text } = &action {
        preview(state, kind.clone(), text.clone()).await?;
    }
    let (id, name, table, rule, folder) = {
        let desk = state.desk();
        let project = desk.shown().ok_or("no table is open")?;
        let dialog = project.dialog.as_ref().ok_or("no builder is open")?;
        let name = project.columns.get(dialog.column).ok_or("there is no such column")?.name.clone();
        let rule =
            dialog.preview.as_ref().and_then(|preview| preview.as_ref().ok()).map(|preview| preview.rule.clone());
        (project.id, name, project.table.clone(), rule, project.folder().to_owned())
    };
    let built = || rule.clone().ok_or("the hierarchy is not complete yet");
    match action {
        StudioAction::Apply { .. } => {
            edit(state, &PolicyEdit::Hierarchy(name, Some(built()?)))?;
            state.with_project(id, |project| project.dialog = None);
        }
        StudioAction::Values if !state.shows_values => {
            return Err("values are shown only if the Studio is started with --show-values".to_owned());
        }
        StudioAction::Values => {
            let table = table.ok_or("the table is not open")?;
            let text = builder::all_values(&table, &name).await?;
            preview(state, "tree".to_owned(), text).await?;
        }
        StudioAction::NoHierarchy => {
            edit(state, &PolicyEdit::Hierarchy(name, None))?;
            state.with_project(id, |project| project.dialog = None);
        }
        StudioAction::Import { lines } => {
            let file = builder::store(&folder, &name, &lines)?;
            preview(state, "file".to_owned(), file).await?;
        }
        StudioAction::Export { .. } => {
            let table = table.ok_or("the table is not open")?;
            let lines = builder::as_lines(&table, &name, &built()?, &folder).await?;
            let file = builder::store(&folder, &name, &lines)?;
            state.desk().say(
                format!(
                    "wrote {} in the convention of ARX; it holds every value of the column, and only you can read it",
                    folder.join(&file).display()
                ),
                false,
            );
        }
        _ => return Err("the action is not known".to_owned()),
    }
    Ok(())
}

/// Previews a hierarchy on the column of the builder.
async fn preview(state: &Arc<StudioState>, kind: String, text: String) -> Result<(), String> {
    let (id, name, table, folder) = {
        let mut desk = state.desk();
        let project = desk.shown_mut().ok_or("no table is open")?;
        let dialog = project.dialog.as_mut().ok_or("no builder is open")?;
        (dialog.kind, dialog.text, dialog.refusal) = (kind.clone(), text.clone(), None);
        let name = project.columns.get(dialog.column).ok_or("there is no such column")?.name.clone();
        (project.id, name, project.table.clone().ok_or("the table is not open")?, project.folder().to_owned())
    };
    let found = match builder::rule(&kind, &text) {
        Ok(rule) => builder::preview(&table, &name, rule, &folder, state.shows_values).await,
        Err(error) => Err(error),
    };
    state.with_project(id, |project| {
        if let Some(dialog) = project.dialog.as_mut().filter(|dialog| dialog.kind == kind && dialog.text == text) {
            dialog.preview = Some(found);
        }
    });
    Ok(())
}

impl Project {
    /// Returns the policy as it is written, or an empty one if the text is not TOML.
    pub(crate) fn written_or_empty(&self) -> WrittenPolicy {
        self.written().unwrap_or_default()
    }
}

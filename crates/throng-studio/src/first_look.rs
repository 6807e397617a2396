//! Opening a table: its columns at once, their profiles after one read, and a draft of a policy if there is none.

use std::sync::Arc;

use futures::TryStreamExt;
use throng::Overrides;
use throng::throng_core::profile::Profile;
use throng::throng_datafusion::Anonymizer;
use throng::throng_policy::PolicyDraft;
use throng_job::{JobError, Kind, OpenTable};

use crate::held_survey::HeldSurvey;
use crate::history::PolicyHistory;
use crate::live;
use crate::project::{ColumnProfile, Opened};
use crate::state::StudioState;

/// Opens the table of a project and fills it. Problems are shown on the page.
pub(crate) async fn first_look(state: Arc<StudioState>, id: usize) {
    let Err(error) = look(&state, id).await else { return };
    state.with_project(id, |project| project.opened = Opened::Failed(error.to_string()));
    state.publish();
}

async fn look(state: &Arc<StudioState>, id: usize) -> Result<(), JobError> {
    let closed = || JobError::new(Kind::Stopped, "the table was closed");
    let options = state.quiet_options();
    let known = state.with_project(id, |project| {
        let overrides = Overrides::default();
        (project.locations.clone(), project.policy(&overrides).ok().or_else(|| project.provisional(&overrides)))
    });
    let (locations, policy) = known.ok_or_else(closed)?;
    // A policy may state how its input is read.
    let table = match &policy {
        Some(policy) => OpenTable::of(policy, &options).await?,
        None => OpenTable::at(&locations, &options).await?,
    };
    let table = Arc::new(table);
    let schema = Arc::clone(table.schema());
    table.check_names()?;
    state.with_project(id, |project| {
        project.rows = table.declared_rows();
        project.table = Some(Arc::clone(&table));
        let column = |field: &Arc<throng::arrow::datatypes::Field>| ColumnProfile {
            name: field.name().clone(),
            data_type: type_name(&field.data_type().to_string()),
            profile: None,
        };
        project.columns = schema.fields().iter().map(column).collect();
    });
    state.publish();
    // Figures of an existing policy need not wait for the profiles.
    if policy.is_some() {
        live::refresh(state, id);
    }

    let profiles = profiles(&table).await?;
    let draft = PolicyDraft::new(schema.fields().iter().map(AsRef::as_ref).zip(profiles.clone()));
    if draft.rows() == 0 {
        return Err(JobError::new(Kind::BadData, "the table has no rows, so nothing is known about its columns"));
    }
    let is_new = state.with_project(id, |project| {
        project.rows = Some(draft.rows());
        for (column, profile) in project.columns.iter_mut().zip(profiles) {
            column.profile = Some(profile);
        }
        project.saved.is_none()
    });
    state.publish();
    if is_new.ok_or_else(closed)? {
        let text = draft.text(&locations, None);
        state.with_project(id, |project| project.history = PolicyHistory::new("drafted", text.clone()));
        state.publish();
        // The risk, which the draft mentions as a reason, is computed with the cells that the first figures need too.
        if let Some(survey) = survey(state, id, &table).await? {
            let with_risk = draft.text(&locations, survey.risk.as_deref());
            state.with_project(id, |project| {
                if project.history.text() == text {
                    project.history = PolicyHistory::new("drafted", with_risk);
                }
                project.live.risk.clone_from(&survey.risk);
                project.live.survey = Some(survey);
            });
        }
    }
    state.with_project(id, |project| project.opened = Opened::Known);
    if is_new == Some(true) || policy.is_none() {
        live::refresh(state, id);
    }
    state.publish();
    Ok(())
}

/// Reads the cells of the current text; `None` if it has no quasi-identifiers.
async fn survey(state: &StudioState, id: usize, table: &OpenTable) -> Result<Option<Arc<HeldSurvey>>, JobError> {
    let policy = state.with_project(id, |project| project.provisional(&Overrides::default())).flatten();
    let Some(policy) = policy else { return Ok(None) };
    let anonymizer = Anonymizer::new(Arc::new(policy), Arc::clone(table.schema()))?;
    if anonymizer.binding().quasi.is_empty() {
        return Ok(None);
    }
    HeldSurvey::read(table, anonymizer.binding()).await.map(|survey| Some(Arc::new(survey)))
}

/// Reads all rows and profiles their columns.
async fn profiles(table: &OpenTable) -> Result<Vec<Profile>, JobError> {
    let schema = table.schema();
    let names: Vec<&str> = schema.fields().iter().map(|field| field.name().as_str()).collect();
    let mut profiles: Vec<Profile> = schema.fields().iter().map(|field| Profile::new(field.data_type())).collect();
    let mut stream = match table.rows()?.execute_stream().await {
        Ok(stream) => stream,
        Err(error) => return Err(table.failure(&names, &error).await),
    };
    loop {
        match stream.try_next().await {
            Ok(Some(batch)) => {
                let pushed = tokio::task::spawn_blocking(move || {
                    std::thread::scope(|scope| {
                        // Two halves keep two cores busy; more would not be worthwhile for batches of this size.
                        let (left, right) = profiles.split_at_mut(batch.num_columns() / 2);
                        let half = batch.num_columns() / 2;
                        let columns = batch.columns();
                        scope.spawn(move || {
                            left.iter_mut().zip(columns).for_each(|(profile, column)| profile.push(column));
                        });
                        right.iter_mut().zip(&columns[half..]).for_each(|(profile, column)| profile.push(column));
                    });
                    profiles
                });
                profiles = pushed.await.map_err(|_| JobError::new(Kind::Internal, "a column could not be profiled"))?;
            }
            Ok(None) => return Ok(profiles),
            Err(error) => return Err(table.failure(&names, &error).await),
        }
    }
}

/// Shortens the name of a type for the page.
fn type_name(data_type: &str) -> String {
    match data_type {
        "Utf8" | "LargeUtf8" | "Utf8View" => "text".to_owned(),
        text if text.starts_with("Dictionary(") => {
            if text.contains("Utf8") {
                "text".to_owned()
            } else {
                "dictionary".to_owned()
            }
        }
        "Int8" | "Int16" | "Int32" | "Int64" | "UInt8" | "UInt16" | "UInt32" | "UInt64" => "whole number".to_owned(),
        "Float16" | "Float32" | "Float64" => "number".to_owned(),
        text if text.starts_with("Decimal") => "decimal".to_owned(),
        "Date32" | "Date64" => "date".to_owned(),
        text if text.starts_with("Timestamp") => "date and time".to_owned(),
        "Boolean" => "true or false".to_owned(),
        text if text.starts_with("List") || text.starts_with("LargeList") => "list".to_owned(),
        text if text.starts_with("Struct") => "struct".to_owned(),
        text => text.chars().take(24).collect(),
    }
}

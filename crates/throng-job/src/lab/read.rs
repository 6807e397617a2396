//! Reads tables for the lab, batch by batch and in the order of the files.

use std::fmt;
use std::sync::Arc;

use datafusion::arrow::array::RecordBatch;
use datafusion::arrow::datatypes::{Schema, SchemaRef};
use datafusion::catalog::TableProvider;
use datafusion::prelude::SessionContext;
use futures::TryStreamExt;
use throng_datafusion::{catch_decode_panic, catch_decode_panics};
use throng_lab::attacks::FileTraces;
use throng_lab::{Lexicon, OriginalReader, OriginalTable, ReleasedForm, ReleasedReader};
use throng_policy::Store;

use crate::error::JobError;
use crate::input::{JobInput, of_host, open_locations};
use crate::job::JobOptions;
use crate::session::{one_stream, session_in_order};
use crate::verify::open_release;

/// Lets other tasks run after this many batches: reading and counting are one task.
const BATCHES_PER_TURN: usize = 4;

/// A table that the lab is asked about.
#[derive(Clone)]
pub enum LabTable {
    /// Files, folders or globs.
    Locations(Vec<String>),
    /// A table of the host, which is read more than once.
    Host(Arc<dyn TableProvider>),
}

/// Without a table of the host, which may show rows.
impl fmt::Debug for LabTable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Locations(locations) => f.debug_tuple("Locations").field(locations).finish(),
            Self::Host(_) => f.debug_tuple("Host").finish_non_exhaustive(),
        }
    }
}

impl From<String> for LabTable {
    fn from(location: String) -> Self {
        Self::Locations(vec![location])
    }
}

impl From<&str> for LabTable {
    fn from(location: &str) -> Self {
        Self::from(location.to_owned())
    }
}

/// A table that the lab can read.
pub(crate) struct LabSource {
    session: SessionContext,
    input: Arc<dyn JobInput>,
}

impl LabSource {
    /// Opens a table of any format.
    pub(crate) async fn open(table: &LabTable, store: &Store, options: &JobOptions) -> Result<Self, JobError> {
        let session = session_in_order(options, 1)?;
        let input = match table {
            LabTable::Locations(locations) => open_locations(&session, locations, store).await?,
            LabTable::Host(table) => of_host(table),
        };
        Ok(Self { session, input })
    }

    /// Opens a release: the files of its manifest, or a table without one.
    pub(crate) async fn open_release(table: &LabTable, store: &Store, options: &JobOptions) -> Result<Self, JobError> {
        let session = session_in_order(options, 1)?;
        let input = match table {
            LabTable::Locations(locations) => open_release(&session, locations, store).await?,
            LabTable::Host(table) => of_host(table),
        };
        Ok(Self { session, input })
    }

    /// Opens a table of any format in a session, with the memory of that session.
    pub(crate) async fn at(locations: &[String], store: &Store, session: &SessionContext) -> Result<Self, JobError> {
        let session = one_stream(session);
        let input = open_locations(&session, locations, store).await?;
        Ok(Self { session, input })
    }

    /// Uses an input that a session has opened already, with the stores and the memory of that session.
    pub(crate) fn of_input(input: Arc<dyn JobInput>, session: &SessionContext) -> Self {
        Self { session: one_stream(session), input }
    }

    /// Returns the number of rows that the table declares, if its format does.
    pub(crate) fn expected_rows(&self) -> Option<u64> {
        self.input.expected_rows()
    }

    /// Returns an error if the number of rows read differs from the declared one.
    pub(crate) fn check_rows(&self, read: u64) -> Result<(), JobError> {
        self.input.check_rows(read)
    }

    /// Returns an error if the table is no longer in the version that was opened.
    pub(crate) async fn check_unchanged(&self) -> Result<(), JobError> {
        self.input.check_unchanged().await
    }

    pub(crate) fn schema(&self) -> &SchemaRef {
        self.input.schema()
    }

    /// Reads some columns, and passes on every batch until `visit` returns false.
    pub(crate) async fn visit(
        &self,
        columns: &[String],
        mut visit: impl FnMut(&RecordBatch) -> Result<bool, JobError>,
    ) -> Result<(), JobError> {
        let mut names: Vec<&str> = columns.iter().map(String::as_str).collect();
        names.sort_unstable();
        names.dedup();
        let failed = |error| JobError::reading("the table", &error);
        let frame = self.input.rows(&self.session)?.select_columns(&names).map_err(failed)?;
        let stream = catch_decode_panic(frame.execute_stream()).await.map_err(failed)?;
        let mut stream = catch_decode_panics(stream);
        let mut batches = 0;
        loop {
            match stream.try_next().await {
                Ok(Some(batch)) => {
                    if !visit(&batch)? {
                        return Ok(());
                    }
                    batches += 1;
                    if batches % BATCHES_PER_TURN == 0 {
                        tokio::task::yield_now().await;
                    }
                }
                Ok(None) => return Ok(()),
                Err(error) => return Err(self.input.locate(&self.session, &names, &error).await),
            }
        }
    }
}

/// Returns the schema of some columns, in the order in which [`LabSource::visit`] reads them.
pub(super) fn read_schema(source: &LabSource, columns: &[String]) -> Schema {
    let mut names: Vec<&String> = columns.iter().collect();
    names.sort_unstable();
    names.dedup();
    let schema = source.schema();
    Schema::new(names.into_iter().filter_map(|name| schema.field_with_name(name).ok().cloned()).collect::<Vec<_>>())
}

/// Returns those of the columns that the table has; the lab reports the others.
pub(super) fn present(source: &LabSource, columns: Vec<String>) -> Vec<String> {
    columns.into_iter().filter(|name| source.schema().field_with_name(name).is_ok()).collect()
}

/// Reads an original, of which `targets` people are drawn.
pub(super) async fn read_original(
    lexicon: &mut Lexicon,
    source: &LabSource,
    targets: usize,
    seed: u64,
) -> Result<OriginalTable, JobError> {
    let mut columns = lexicon.original_columns();
    columns.extend_from_slice(lexicon.unit_columns());
    let columns = present(source, columns);
    let mut reader = OriginalReader::new(lexicon, &read_schema(source, &columns), targets, seed)?;
    source.visit(&columns, |batch| Ok(reader.push(lexicon, batch).map(|()| true)?)).await?;
    Ok(reader.finish()?)
}

/// Reads people of whom only the quasi-identifiers are known.
pub(super) async fn read_population(
    lexicon: &mut Lexicon,
    source: &LabSource,
    targets: usize,
    seed: u64,
) -> Result<OriginalTable, JobError> {
    let columns = present(source, lexicon.original_columns());
    let mut reader = OriginalReader::of_population(lexicon, &read_schema(source, &columns), targets, seed)?;
    source.visit(&columns, |batch| Ok(reader.push(lexicon, batch).map(|()| true)?)).await?;
    Ok(reader.finish()?)
}

/// Reads a release; the link and the forms of its columns, if they are other than those of the lexicon.
pub(super) async fn read_release(
    lexicon: &mut Lexicon,
    source: &LabSource,
    other: Option<(Option<&str>, Vec<ReleasedForm>)>,
) -> Result<ReleasedReader, JobError> {
    let (link, forms) = match other {
        Some((link, forms)) => (link, Some(forms)),
        None => (None, None),
    };
    let mut columns = lexicon.released_columns();
    columns.extend(lexicon.original_columns());
    columns.extend(link.map(str::to_owned));
    let columns = present(source, columns);
    let schema = read_schema(source, &columns);
    let mut reader = match forms {
        Some(forms) => ReleasedReader::with_forms(lexicon, &schema, link, forms)?,
        None => ReleasedReader::new(lexicon, &schema, link)?,
    };
    source.visit(&columns, |batch| Ok(reader.push(lexicon, batch).map(|()| true)?)).await?;
    Ok(reader)
}

/// Returns the text that the Parquet files of a release hold beside their values.
pub(super) async fn read_traces(source: &LabSource) -> Result<FileTraces, JobError> {
    Ok(FileTraces { texts: source.input.file_texts().await? })
}

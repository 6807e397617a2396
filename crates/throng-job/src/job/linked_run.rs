//! Releases tables whose rows are linked by pseudonyms, together or not at all.

use std::sync::Arc;

use datafusion::prelude::SessionContext;
use throng_core::exposure::InsensitiveExposure;
use throng_datafusion::{AnonymizedTable, Facts};
use throng_policy::{OutputFormat, Policy, Pseudonyms};
use throng_report::document::{PseudonymFacts, RunFacts, Sidecar, TableFacts};
use tracing::Instrument;

use super::{DescribedRelease, JobOptions, StagedRelease, columns_read, output_facts, run_local};
use crate::delta::check_releasable;
use crate::distributed::StagedFacts;
use crate::error::{JobError, Kind};
use crate::guards::{DeliveryGuards, check_types};
use crate::input::{self, JobInput};
use crate::lab::ReleaseGate;
use crate::linked::{LinkedFindings, LinkedRows, LinkedTable, PseudonymKey, StagedTable, check_profiles, link};
use crate::manifest::{FileEntry, input_digest};
use crate::progress::Stage;
use crate::publish::Staged;
use crate::readback::{ReadBack, StagedFiles, read_back};
use crate::session::session;
use crate::stage_timer::StageTimer;
use crate::store_path::StorePath;
use crate::telemetry::ColumnOrigins;
use crate::write::check_writable;

/// A job on tables that are linked.
struct LinkedJob<'a> {
    options: &'a JobOptions,
    staged: &'a Staged,
    run: &'a RunFacts,
    session: SessionContext,
    clock: Arc<StageTimer>,
    linked: LinkedRows,
}

/// A table that has been written and read back.
struct StagedTableRelease {
    place: StorePath,
    files: Vec<FileEntry>,
    sidecar: Sidecar,
    read_back: ReadBack,
    warnings: Vec<String>,
}

/// Anonymizes the tables of a policy with pseudonyms, and verifies each of them and the profiles of all people.
pub(super) async fn anonymize_linked(
    policy: &Policy,
    options: &JobOptions,
    staged: &Staged,
    run: &RunFacts,
) -> Result<StagedRelease, JobError> {
    if options.table.is_some() {
        let text = "rows that are linked by pseudonyms are read several times, and a table of the host is read once; name files";
        return Err(JobError::new(Kind::BadPolicy, text));
    }
    let clock = Arc::new(StageTimer::start(options));
    let session = session(options)?;
    let named = policy.linked_tables();
    let mut tables = Vec::new();
    for (_, policy) in &named {
        tables.push(LinkedTable { policy, input: open(policy, &session, options).await? });
    }
    let mut guards = Vec::new();
    for table in &tables {
        let of_table = DeliveryGuards::of(table.policy).await?;
        of_table.check_declared(table.input.expected_rows())?;
        guards.push(of_table);
    }
    let linked = link(&tables, PseudonymKey::new(policy, &run.run_id)?, &session, &clock).await?;
    let job = LinkedJob { options, staged, run, session, clock, linked };
    let mut made = Vec::new();
    for (number, table) in tables.iter().enumerate() {
        let place = match &named[number].0 {
            Some(name) => staged.place()?.child(name),
            None => staged.place()?,
        };
        let of_table = |error: JobError| match &named[number].0 {
            Some(name) => error.with_prefix(format_args!("table `{name}`: ")),
            None => error,
        };
        made.push(job.make(number, table, &guards[number], place).await.map_err(of_table)?);
    }
    for table in &tables {
        table.input.check_unchanged().await?;
    }
    let span = job.clock.begin(Stage::Verify, None);
    let written: Vec<StagedTable<'_>> = tables
        .iter()
        .zip(&made)
        .map(|(table, made)| StagedTable { policy: table.policy, place: made.place.clone(), files: &made.files })
        .collect();
    let found = check_profiles(&written, options).instrument(span).await?;
    // There is no up-to-date check over several inputs: such a job always runs.
    let fingerprint = tables[0].input.fingerprint().filter(|_| !policy.has_tables());
    let input_digest = fingerprint.map(|fingerprint| input_digest(policy, fingerprint)).transpose()?;
    let names = named.iter().map(|(name, _)| name.clone());
    let mut release = joined(names.zip(made).collect(), &found, job.clock)?;
    release.sidecar.privacy.pseudonyms = facts(policy, found);
    release.warnings.extend(warning(policy));
    Ok(StagedRelease { input_digest, ..release })
}

/// Joins the tables of a release. A table without a name is the only one.
fn joined(
    made: Vec<(Option<String>, StagedTableRelease)>,
    found: &LinkedFindings,
    clock: Arc<StageTimer>,
) -> Result<StagedRelease, JobError> {
    let described = made.iter().filter_map(|(name, table)| Some(TableFacts::of(name.as_ref()?, &table.sidecar)));
    let described: Vec<TableFacts> = described.collect();
    let (mut first, mut warnings, mut in_folders) = (None, Vec::new(), Vec::new());
    for (name, table) in made {
        warnings.extend(table.warnings);
        match name {
            Some(name) => in_folders.push((name, table.read_back)),
            None => {
                let (sidecar, read_back) = (table.sidecar, table.read_back);
                return Ok(StagedRelease { sidecar, read_back, input_digest: None, clock, warnings });
            }
        }
        first.get_or_insert(table.sidecar);
    }
    let Some(sidecar) = first else { return Err(JobError::internal("no table was made")) };
    let sidecar = Sidecar { tables: described, ..sidecar };
    let read_back = ReadBack::of_tables(in_folders, found);
    Ok(StagedRelease { sidecar, read_back, input_digest: None, clock, warnings })
}

async fn open(policy: &Policy, session: &SessionContext, options: &JobOptions) -> Result<Arc<dyn JobInput>, JobError> {
    let input = input::open(policy, session, options).await?;
    check_types(policy, input.as_ref())?;
    Ok(input)
}

/// Returns what the sidecar says about pseudonyms.
fn facts(policy: &Policy, found: LinkedFindings) -> Option<PseudonymFacts> {
    Some(PseudonymFacts {
        column: policy.pseudonym_column()?.to_owned(),
        scope: policy.privacy.pseudonyms.as_str().into(),
        people: found.people,
        profiles: found.profiles,
        smallest_profile: found.smallest,
    })
}

/// Returns what a reader of the release must know about pseudonyms.
pub(crate) fn warning(policy: &Policy) -> Option<String> {
    let column = policy.pseudonym_column()?;
    let text = format!(
        "column `{column}` is released as a pseudonym, which is not anonymity: it links all rows of a person, and anyone with the \
         secret can find out whose they are"
    );
    Some(match policy.privacy.pseudonyms {
        Pseudonyms::PerRun => text,
        Pseudonyms::Stable => {
            format!("{text}; it is the same in every run, and no promise covers what several releases show together")
        }
    })
}

impl LinkedJob<'_> {
    /// Writes the release of a table to a store path, and reads it back.
    async fn make(
        &self,
        number: usize,
        table: &LinkedTable<'_>,
        guards: &DeliveryGuards,
        place: StorePath,
    ) -> Result<StagedTableRelease, JobError> {
        let LinkedTable { policy, input } = table;
        if !self.linked.has_rows(number) {
            let text = "nobody with rows of it is in a group of people who satisfy the policy together; people are grouped with \
                        those who have as many rows in every table: ask for less (k, p), or release this table on its own";
            return Err(JobError::new(Kind::Infeasible, text));
        }
        let gate = ReleaseGate::open(policy, &self.session, input).await?;
        let rows = self.linked.rows_of(number, table, &self.session)?;
        let released = AnonymizedTable::new(rows.into_view(), Arc::new(policy.for_blocks()))?;
        let anonymizer = Arc::clone(released.anonymizer());
        check_writable(anonymizer.schema(), anonymizer.input_schema())?;
        if policy.output.format == OutputFormat::Delta {
            check_releasable(anonymizer.schema())?;
        }
        if let Some(recorder) = self.options.recorder.as_ref().filter(|_| number == 0) {
            recorder.bound(ColumnOrigins::of(&anonymizer));
        }
        let reading = input.read_plan(Some(&columns_read(&released)));
        let expected = input.expected_rows().unwrap_or_else(|| reading.rows_of(input.describe().bytes));
        reading.writing(expected).apply(&self.session)?;
        let Self { options, staged, session, clock, .. } = self;
        let StagedFacts { facts, files, units, .. } =
            run_local(policy, options, clock, session, input.as_ref(), released, &place, guards).await?;
        let span = clock.begin(Stage::Verify, Some(facts.rows_read - facts.suppressed));
        let output = output_facts(&files, &facts, staged);
        let written = StagedFiles { files: files.clone(), place: &place, facts: &facts, units };
        let (findings, read_back) = read_back(written, &anonymizer, options, None).instrument(span).await?;
        let examined = gate.examine_files(&place, &files).await?;
        let verified = DescribedRelease {
            policy,
            anonymizer: &anonymizer,
            guards,
            input: &input.describe(),
            output,
            facts: self.with_grouping(facts),
            findings: &findings,
            exposure: read_back.exposure(),
            examined,
            threads: options.threads,
            cluster: None,
        };
        let sidecar = verified.sidecar(self.run);
        let warnings = read_back.exposure().map(InsensitiveExposure::warnings).unwrap_or_default();
        Ok(StagedTableRelease { place, files, sidecar, read_back, warnings })
    }

    /// Returns the facts of a release, with the method that formed the groups.
    fn with_grouping(&self, facts: Facts) -> Facts {
        let Facts { method, reason, leaves, cycles, .. } = self.linked.grouping;
        Facts { method, reason, leaves, cycles, ..facts }
    }
}

//! Decides one night: which rows are shown in which classes, and what the series remembers.
//!
//! ```text
//!  keys of the ledger ─┐                       ┌─ known: a bit per remembered row
//!  tonight's rows ─────┴─ match, by units ─────┤
//!                                              └─ pool ─► classes ─► newcomers, by classes
//!  part of the ledger ─┬─► next_state, audit ─┬─► part of the next ledger
//!  its newcomers ──────┘     (part by part)   └─► rows of the release, with their classes
//! ```

use std::sync::Arc;

use datafusion::arrow::array::{ArrayRef, AsArray, BooleanBufferBuilder, RecordBatch, UInt32Array, UInt64Array};
use datafusion::arrow::compute::{concat_batches, interleave_record_batch, take_record_batch};
use datafusion::arrow::datatypes::{DataType, Field, Schema, SchemaRef, UInt64Type};
use datafusion::physical_plan::spill::get_record_batch_memory_size;
use datafusion::prelude::SessionContext;
use futures::TryStreamExt;
use rayon::prelude::*;
use rustc_hash::FxHashSet;
use throng_core::columns::BLOCK_COLUMN;
use throng_core::row_hash::Checksum;
use throng_core::series::{
    ABSENT, CarriedRows, Crowd, Newcomers, NightCounts, Pool, RememberedRow, RowKey, SeriesRules, SeriesState,
    ShownRow, WaitingRow, audit, next_state,
};
use throng_datafusion::{AnonymizedTable, Anonymizer, Progress};
use throng_policy::{BoundSensitive, LeaverSetting, Policy, SeriesSettings};
use tracing::Instrument;

use crate::error::{JobError, Kind};
use crate::memory::too_little;
use crate::progress::Stage;
use crate::stage_timer::StageTimer;

use super::buckets::{BUCKETS, BucketWriter, StoredBuckets, WRITING_BYTES, reservation, reserve};
use super::cells::{CellCounter, CellCounts};
use super::check::class_checksum;
use super::disk_table::disk_table;
use super::form::form;
use super::kernel;
use super::ledger::{Ledger, LedgerPart, LedgerWriter, part_of};
use super::match_rows::match_rows;
use super::place::LedgerPlace;
use super::rows::{
    KEY_COLUMNS, KeyedRows, TonightRows, bucket_of, code_columns, code_fields, codes, codes_of, counted_columns,
    fingerprints, hashes, key_columns, key_fields, keys_of,
};
use super::turnover::Turnover;
use super::unit_classes::UnitClasses;

/// Rows of a release that are read at a time.
const BATCH_ROWS: usize = 8 << 10;

/// Memory of newcomers over that of their rows, while their classes are formed.
const POOL_OVER_ROWS: usize = 3;

/// The inputs of one night.
pub(super) struct Night<'a> {
    pub(super) anonymizer: &'a Arc<Anonymizer>,
    pub(super) settings: &'a SeriesSettings,
    pub(super) session: &'a SessionContext,
    pub(super) place: &'a LedgerPlace,
    pub(super) tonight: Arc<TonightRows>,
    pub(super) ledger: Option<Ledger>,
    pub(super) threads: usize,
}

/// A night that has been decided.
pub(super) struct DecidedNight {
    /// Rows of the release, with their classes as blocks, in the parts of their classes.
    pub(super) rows: Arc<StoredBuckets>,
    /// Checksum of the classes and codes of these rows.
    pub(super) checksum: Checksum,
    /// The next ledger, not finished yet.
    pub(super) ledger: LedgerWriter,
    pub(super) waiting: Vec<WaitingRow>,
    pub(super) releases: u64,
    /// Number of remembered releases, with this one.
    pub(super) remembered: usize,
    pub(super) counts: NightCounts,
    /// Leaves and cycles of search of the newcomers.
    pub(super) formed: (u64, u32),
    pub(super) cells: CellCounts,
    /// Number of units that the release shows in more than one class.
    pub(super) in_several_classes: u64,
}

/// Newcomers that are shown, in the parts of their classes, and rows that wait.
struct ChosenRows {
    /// Key, codes, class and content of each row.
    rows: StoredBuckets,
    waiting: Vec<WaitingRow>,
    counts: NightCounts,
    formed: (u64, u32),
}

/// Which remembered rows the input has, and which rows of it are not remembered.
struct MatchedRows {
    is_present: BooleanBufferBuilder,
    pool: KeyedRows,
    _reservation: datafusion::execution::memory_pool::MemoryReservation,
}

impl Night<'_> {
    /// Decides the night.
    pub(super) async fn decide(&self, clock: &Arc<StageTimer>) -> Result<DecidedNight, JobError> {
        let span = clock.begin(Stage::Cluster, None);
        let rules = self.rules();
        let (is_present, chosen) = match &self.ledger {
            None => (BooleanBufferBuilder::new(0), self.first_rows(&rules, clock).await?),
            Some(ledger) => {
                let decided = async {
                    let matched = self.matched(ledger).await?;
                    let chosen = self.new_rows(ledger, &matched, &rules).await?;
                    Ok::<_, JobError>((matched.is_present, chosen))
                };
                decided.instrument(span).await?
            }
        };
        self.closed(&is_present, chosen, &rules).await
    }

    fn rules(&self) -> SeriesRules {
        let (settings, binding) = (self.settings, self.anonymizer.binding());
        SeriesRules {
            crowd: Crowd::new(binding.k, binding.sensitive.iter().map(|column| column.p)),
            remember: usize::try_from(settings.remember).unwrap_or(usize::MAX),
            max_delay: settings.max_delay,
            max_waiting: (settings.max_waiting * self.tonight.rows as f64) as usize,
            leavers: match settings.leavers {
                LeaverSetting::ShowOn => throng_core::series::Leavers::ShowOn,
                LeaverSetting::DropClass => throng_core::series::Leavers::DropBlock,
            },
        }
    }

    /// Returns the memory of a part of the ledger.
    fn state(&self, ledger: &Ledger, part: &LedgerPart) -> Result<SeriesState, JobError> {
        ledger.state(part).ok_or_else(|| self.place.damaged(&ledger.header.run_id))
    }

    /// Matches the rows of the input with those of the ledger, unit by unit.
    async fn matched(&self, ledger: &Ledger) -> Result<MatchedRows, JobError> {
        let room = reservation(self.session);
        // Twice the index, and one more if the last release did not show the row.
        let place = Field::new("place", DataType::UInt64, false);
        let schema = Arc::new(Schema::new(key_fields().chain([place]).collect::<Vec<_>>()));
        let mut known = BucketWriter::new(Arc::clone(&schema), self.session)?;
        let mut first = 0;
        for part in &ledger.parts {
            // Yields, so that a job can be stopped here.
            tokio::task::yield_now().await;
            reserve(&room, part.state_room())?;
            let state = self.state(ledger, part)?;
            let keys: Vec<RowKey> = state.rows.iter().map(|row| row.key).collect();
            let is_dropped = |row: &RememberedRow| u64::from(state.last_class(row.block) == ABSENT);
            let places = (first..).zip(&state.rows).map(|(index, row)| 2 * index + is_dropped(row));
            let mut columns = key_columns(&keys);
            columns.push(Arc::new(places.collect::<UInt64Array>()));
            let batch = RecordBatch::try_new(Arc::clone(&schema), columns).map_err(kernel)?;
            known.push(batch, keys.iter().map(|key| bucket_of(key.unit)))?;
            first += part.rows;
        }
        let known = known.finish()?;
        let mut is_present = BooleanBufferBuilder::new(first as usize);
        is_present.append_n(first as usize, false);
        let pool_room = reservation(self.session);
        let (mut pool_bytes, mut largest, mut is_refused) = (first as usize / 8, 0, false);
        reserve(&pool_room, pool_bytes)?;
        let (mut keys, mut codes, mut content) = (Vec::new(), Vec::new(), Vec::new());
        let width = self.anonymizer.binding().sensitive.len();
        for bucket in 0..BUCKETS {
            tokio::task::yield_now().await;
            let bucket_room = known.room(bucket) + self.tonight.room(bucket);
            largest = largest.max(bucket_room);
            reserve(&room, bucket_room)?;
            let rows = self.tonight.read(bucket)?;
            let known = known.read(bucket)?;
            let places = known.column(KEY_COLUMNS.len()).as_primitive::<UInt64Type>();
            let mut known: Vec<(RowKey, u64)> =
                keys_of(&known).into_iter().zip(places.values().iter().copied()).collect();
            known.par_sort_unstable();
            let known_keys: Vec<RowKey> = known.iter().map(|(key, _)| *key).collect();
            let mut new: Vec<(RowKey, u32)> = Vec::new();
            let is_shown = |at: usize| known[at].1.is_multiple_of(2);
            for (row, found) in (0..).zip(match_rows(&rows.keys, &known_keys, is_shown)) {
                match found {
                    Some(at) => is_present.set_bit((known[at].1 / 2) as usize, true),
                    None => new.push((rows.keys[row as usize], row)),
                }
            }
            if new.is_empty() {
                continue;
            }
            // A row that waits keeps its key, and so its place in the queue.
            let waiting = ledger.waiting.iter().map(|row| row.key).filter(|key| bucket_of(key.unit) == bucket as u32);
            let waiting: Vec<RowKey> = waiting.collect();
            let keys_of_new: Vec<RowKey> = new.iter().map(|(key, _)| *key).collect();
            for ((key, _), found) in new.iter_mut().zip(match_rows(&keys_of_new, &waiting, |_| true)) {
                *key = found.map_or(*key, |at| waiting[at]);
            }
            new.par_sort_unstable();
            let (added, new): (Vec<RowKey>, Vec<u32>) = new.into_iter().unzip();
            let of_row = |row: &u32| &rows.codes[*row as usize * width..(*row as usize + 1) * width];
            let added_codes: Vec<u64> = new.iter().flat_map(of_row).copied().collect();
            let rows = take_record_batch(&rows.content, &UInt32Array::from(new)).map_err(kernel)?;
            let row_bytes = size_of::<RowKey>() + size_of::<u64>() * width;
            pool_bytes += POOL_OVER_ROWS * (get_record_batch_memory_size(&rows) + rows.num_rows() * row_bytes);
            // If newcomers do not fit, the rest of them are counted, so that the error states a sufficient limit.
            if is_refused || pool_room.try_resize(pool_bytes).is_err() {
                is_refused = true;
                (keys, codes, content) = (Vec::new(), Vec::new(), Vec::new());
                pool_room.free();
                continue;
            }
            keys.extend(added);
            codes.extend(added_codes);
            content.push(rows);
        }
        if is_refused {
            let least = pool_bytes + largest + WRITING_BYTES;
            return Err(too_little("the rows that no release of the series has shown", Some(least as u64)));
        }
        let content = concat_batches(&self.content_schema(), &content).map_err(kernel)?;
        Ok(MatchedRows { is_present, pool: KeyedRows { keys, codes, content }, _reservation: pool_room })
    }

    fn content_schema(&self) -> SchemaRef {
        Arc::new(self.tonight.content_schema())
    }

    /// Returns the columns of newcomers.
    fn new_schema(&self) -> SchemaRef {
        let width = self.anonymizer.binding().sensitive.len();
        let class = Field::new("__throng_class", DataType::UInt64, false);
        let content = self.content_schema();
        let content = content.fields().iter().map(|field| field.as_ref().clone());
        Arc::new(Schema::new(key_fields().chain(code_fields(width)).chain([class]).chain(content).collect::<Vec<_>>()))
    }

    /// Adds newcomers to the parts of their classes.
    fn push_new(&self, to: &mut BucketWriter, rows: &KeyedRows, chosen: &[(u32, u64)]) -> Result<(), JobError> {
        let width = self.anonymizer.binding().sensitive.len();
        let keys: Vec<RowKey> = chosen.iter().map(|(row, _)| rows.keys[*row as usize]).collect();
        let of_row = |(row, _): &(u32, u64)| &rows.codes[*row as usize * width..(*row as usize + 1) * width];
        let codes: Vec<u64> = chosen.iter().flat_map(of_row).copied().collect();
        let order: UInt32Array = chosen.iter().map(|(row, _)| *row).collect();
        let mut columns = key_columns(&keys);
        columns.extend(code_columns(&codes, width));
        columns.push(Arc::new(chosen.iter().map(|(_, class)| *class).collect::<UInt64Array>()));
        columns.extend(take_record_batch(&rows.content, &order).map_err(kernel)?.columns().iter().cloned());
        let batch = RecordBatch::try_new(self.new_schema(), columns).map_err(kernel)?;
        to.push(batch, chosen.iter().map(|(_, class)| part_of(*class)))
    }

    /// Forms classes of newcomers, and chooses those that are shown.
    async fn new_rows(
        &self,
        ledger: &Ledger,
        matched: &MatchedRows,
        rules: &SeriesRules,
    ) -> Result<ChosenRows, JobError> {
        let MatchedRows { is_present, pool, .. } = matched;
        let room = reservation(self.session);
        let all: Vec<u32> = (0..pool.keys.len() as u32).collect();
        let units = Pool::units_of(&pool.keys, all.iter().copied());
        let mut turnover = Turnover::new(&pool.keys, &units);
        let (mut shown_units, mut first) = (FxHashSet::default(), 0);
        for part in &ledger.parts {
            tokio::task::yield_now().await;
            reserve(&room, part.state_room())?;
            let state = self.state(ledger, part)?;
            let is_present = bits(is_present, first, state.rows.len());
            first += state.rows.len();
            turnover.add(&state, &is_present);
            shown_units.extend(CarriedRows::decide(&state, rules, &is_present).shown_units(&state, &units));
        }
        drop(room);
        turnover.check(&self.settings.unit)?;
        let units: Vec<u128> = pool.keys.iter().map(|key| key.unit).collect();
        let formed = form(self.anonymizer, &pool.content, &units, self.place.key, self.settings.reserve)?;
        let of_pool = Pool {
            rules,
            releases: ledger.header.releases,
            waiting: &ledger.waiting,
            keys: &pool.keys,
            codes: &pool.codes,
            rows: &all,
            shown_units: &shown_units,
        };
        let mut is_new = vec![false; all.len()];
        let mut chosen: Vec<(u32, u64)> = Vec::new();
        for class in of_pool.choose(&formed.classes) {
            class.rows.iter().for_each(|row| is_new[*row as usize] = true);
            chosen.extend(class.rows.iter().map(|row| (*row, class.class)));
        }
        let mut rows = BucketWriter::new(self.new_schema(), self.session)?;
        self.push_new(&mut rows, pool, &chosen)?;
        let mut counts = NightCounts::default();
        let waiting = of_pool.wait(&is_new, &mut counts);
        Ok(ChosenRows { rows: rows.finish()?, waiting, counts, formed: (formed.leaves, formed.cycles) })
    }

    /// Forms the classes of the first release, in which every row is new.
    async fn first_rows(&self, rules: &SeriesRules, clock: &Arc<StageTimer>) -> Result<ChosenRows, JobError> {
        let has_repeated = self.tonight.has_repeated_units()?;
        let unit = if has_repeated { &KEY_COLUMNS[..2] } else { &[] };
        let content = self.content_schema();
        let policy = self.anonymizer.policy().for_first_classes(&KEY_COLUMNS, unit, self.settings.reserve);
        let fields = content.fields().iter().map(|field| field.as_ref().clone()).chain(key_fields());
        let schema: SchemaRef = Arc::new(Schema::new(fields.collect::<Vec<_>>()));
        let policy = for_columns(policy, &schema);
        let (tonight, columns) = (Arc::clone(&self.tonight), Arc::clone(&schema));
        let load = Arc::new(move |bucket| {
            let rows = tonight.read(bucket)?;
            let all = rows.content.columns().iter().cloned().chain(key_columns(&rows.keys)).collect();
            RecordBatch::try_new(Arc::clone(&columns), all).map_err(kernel)
        });
        let table = AnonymizedTable::new(disk_table(schema, self.threads, load)?, Arc::new(policy))?
            .with_progress(Arc::clone(clock) as Arc<dyn Progress>)
            .with_expected_rows(Some(self.tonight.rows))
            .with_external_verification();
        let failed = |error| JobError::reading("the input", &error);
        let plan = table.plan(&self.session.state()).await.map_err(failed)?;
        let release = plan.release(self.session.task_ctx()).await?;
        let facts = release.facts();
        let formed = (facts.leaves, facts.cycles);
        let quasi = table.anonymizer().binding().released_quasi_names();
        let class = Field::new("__throng_class", DataType::UInt64, false);
        let class_schema = Arc::new(Schema::new(key_fields().chain([class]).collect::<Vec<_>>()));
        let mut classes = BucketWriter::new(Arc::clone(&class_schema), self.session)?;
        let mut batches = release.stream(BATCH_ROWS, 1);
        drop((release, plan, table));
        while let Some(batch) = batches.try_next().await.map_err(failed)? {
            let missing = || JobError::internal("a column of the first classes is missing");
            let column = |name: &str| batch.column_by_name(name).cloned().ok_or_else(missing);
            let labels = quasi.iter().map(|name| column(name)).collect::<Result<Vec<ArrayRef>, _>>()?;
            let mut columns = KEY_COLUMNS.iter().map(|name| column(name)).collect::<Result<Vec<ArrayRef>, _>>()?;
            columns.push(Arc::new(UInt64Array::from(fingerprints(&labels, self.place.key)?)));
            let batch = RecordBatch::try_new(Arc::clone(&class_schema), columns).map_err(kernel)?;
            let keys = keys_of(&batch);
            classes.push(batch, keys.iter().map(|key| bucket_of(key.unit)))?;
        }
        drop(batches);
        self.in_first_classes(rules, &classes.finish()?, formed).await
    }

    /// Puts the rows of the first release into the parts of their classes.
    async fn in_first_classes(
        &self,
        rules: &SeriesRules,
        classes: &StoredBuckets,
        formed: (u64, u32),
    ) -> Result<ChosenRows, JobError> {
        let room = reservation(self.session);
        let mut new = BucketWriter::new(self.new_schema(), self.session)?;
        let (mut waiting, mut counts) = (Vec::new(), NightCounts::default());
        for bucket in 0..BUCKETS {
            tokio::task::yield_now().await;
            reserve(&room, classes.room(bucket) + self.tonight.room(bucket))?;
            let rows = self.tonight.read(bucket)?;
            let found = classes.read(bucket)?;
            let of_key = found.column(KEY_COLUMNS.len()).as_primitive::<UInt64Type>();
            let mut of_key: Vec<(RowKey, u64)> =
                keys_of(&found).into_iter().zip(of_key.values().iter().copied()).collect();
            of_key.par_sort_unstable();
            let mut of_key = of_key.into_iter().peekable();
            let mut chosen: Vec<(u32, u64)> = Vec::with_capacity(rows.keys.len());
            let mut is_new = vec![false; rows.keys.len()];
            for (row, key) in (0..).zip(&rows.keys) {
                if let Some((_, class)) = of_key.next_if(|(other, _)| other == key) {
                    is_new[row as usize] = true;
                    chosen.push((row, class));
                }
            }
            if of_key.next().is_some() {
                return Err(JobError::internal("a row of the first release is not in the input"));
            }
            self.push_new(&mut new, &rows, &chosen)?;
            let all: Vec<u32> = (0..rows.keys.len() as u32).collect();
            let pool = Pool {
                rules,
                releases: 0,
                waiting: &[],
                keys: &rows.keys,
                codes: &rows.codes,
                rows: &all,
                shown_units: &FxHashSet::default(),
            };
            // All rows of a unit are in one bucket.
            waiting.extend(pool.wait(&is_new, &mut counts));
        }
        Ok(ChosenRows { rows: new.finish()?, waiting, counts, formed })
    }

    /// Ends the night part by part: the rows of the release, and the next ledger. Checks every part against the memory once
    /// more, from the values to release.
    async fn closed(
        &self,
        is_present: &BooleanBufferBuilder,
        chosen: ChosenRows,
        rules: &SeriesRules,
    ) -> Result<DecidedNight, JobError> {
        let ChosenRows { rows: new, waiting, mut counts, formed } = chosen;
        let (releases, remembered) =
            self.ledger.as_ref().map_or((0, 0), |ledger| (ledger.header.releases, ledger.header.remembered));
        let mut fields: Vec<Field> =
            self.content_schema().fields().iter().map(|field| field.as_ref().clone()).collect();
        fields.push(Field::new(BLOCK_COLUMN, DataType::UInt64, false));
        let schema: SchemaRef = Arc::new(Schema::new(fields));
        let mut release = BucketWriter::new(Arc::clone(&schema), self.session)?;
        let mut next = LedgerWriter::create(self.place.key)?;
        let mut cells = CellCounter::new(rules.crowd.width(), self.session)?;
        let mut unit_classes = UnitClasses::new(self.session)?;
        let room = reservation(self.session);
        let (mut checksum, mut first, mut broken) = (Checksum::default(), 0, 0);
        for number in 0..BUCKETS as u32 {
            tokio::task::yield_now().await;
            let of_number = |ledger: &'_ Ledger| ledger.parts.iter().find(|part| part.number == number).copied();
            let part = self.ledger.as_ref().and_then(|ledger| Some((ledger, of_number(ledger)?)));
            let of_ledger = part.as_ref().map_or(0, |(_, part)| part.room());
            reserve(&room, of_ledger + new.room(number as usize))?;
            let (state, before) = match part {
                None => (SeriesState { releases, remembered, ..SeriesState::default() }, None),
                Some((ledger, part)) => {
                    let damaged = || self.place.damaged(&ledger.header.run_id);
                    (self.state(ledger, &part)?, Some(ledger.content(&part).ok_or_else(damaged)?))
                }
            };
            let newcomers = self.newcomers(&new, number as usize)?;
            if state.rows.is_empty() && newcomers.rows.is_empty() {
                continue;
            }
            let present = bits(is_present, first, state.rows.len());
            first += state.rows.len();
            let carried = CarriedRows::decide(&state, rules, &present);
            let borrowed = Newcomers { rows: &newcomers.rows, codes: &newcomers.codes };
            let mut closed = next_state(&state, rules, &carried, borrowed);
            counts.add(&closed.counts);
            let key_of = |(row, _): &(ShownRow, u64)| match row {
                ShownRow::Again(row) => state.rows[*row as usize].key,
                ShownRow::New(row) => newcomers.rows[*row as usize].0,
            };
            // The memory has the rows of the release in the order of their keys, and so has its content.
            closed.shown.par_sort_unstable_by_key(key_of);
            let content = shown_rows(&state, before, &newcomers.content, &closed.shown)?;
            if content.num_rows() != closed.state.shown() {
                return Err(JobError::internal("the memory of the series has other rows than the release"));
            }
            let classes: Vec<u64> = closed.shown.iter().map(|(_, class)| *class).collect();
            let released = self.codes_to_release(&content)?;
            let width = rules.crowd.width();
            let codes_of = |row: usize| &released[row * width..(row + 1) * width];
            let rows = closed.shown.iter().enumerate().map(|(at, shown)| (key_of(shown), codes_of(at), shown.1));
            broken += audit(&state, &rules.crowd, rows).broken_blocks;
            checksum.merge(class_checksum(&classes, &released, width, self.place.key));
            cells.add(&classes, &self.cells_of(&content)?, &released)?;
            unit_classes.add(closed.shown.iter().map(|shown| (key_of(shown).unit, shown.1)))?;
            next.push(number, &closed.state, &content)?;
            let mut columns = content.columns().to_vec();
            columns.push(Arc::new(UInt64Array::from(classes)));
            let batch = RecordBatch::try_new(Arc::clone(&schema), columns).map_err(kernel)?;
            let rows = batch.num_rows();
            release.push(batch, std::iter::repeat_n(number, rows))?;
        }
        if broken > 0 {
            let text = format!(
                "the release and the ones before it single out {broken} sets of rows that do not satisfy the policy; nothing is \
                 published"
            );
            return Err(JobError::new(Kind::Verification, text));
        }
        drop(room);
        let rows = Arc::new(release.finish()?);
        let cells = cells.finish(&rules.crowd, self.session)?;
        let in_several_classes = unit_classes.finish(self.session)?;
        let remembered = rules.remembered_after(remembered);
        let releases = releases + 1;
        Ok(DecidedNight {
            rows,
            checksum,
            ledger: next,
            waiting,
            releases,
            remembered,
            counts,
            formed,
            cells,
            in_several_classes,
        })
    }

    /// Reads the newcomers of a part, in ascending order of their keys.
    fn newcomers(&self, new: &StoredBuckets, number: usize) -> Result<NewRows, JobError> {
        let batch = new.read(number)?;
        let width = self.anonymizer.binding().sensitive.len();
        let first = KEY_COLUMNS.len();
        let keys = keys_of(&batch);
        let mut order: Vec<u32> = (0..keys.len() as u32).collect();
        order.par_sort_unstable_by_key(|row| keys[*row as usize]);
        let classes = batch.column(first + width).as_primitive::<UInt64Type>();
        let rows = order.iter().map(|row| (keys[*row as usize], classes.value(*row as usize))).collect();
        let codes = codes_of(&batch, first, width, &order);
        let content: Vec<usize> = (first + width + 1..batch.num_columns()).collect();
        let content = batch.project(&content).map_err(kernel)?;
        let content = take_record_batch(&content, &UInt32Array::from(order)).map_err(kernel)?;
        Ok(NewRows { rows, codes, content })
    }

    /// Returns a hash of the quasi-identifiers of each row.
    fn cells_of(&self, rows: &RecordBatch) -> Result<Vec<u64>, JobError> {
        let missing = || JobError::internal("a column of the series is missing");
        let quasi = self.anonymizer.binding().quasi.iter();
        let columns = quasi.map(|bound| rows.column_by_name(&bound.column.name).cloned().ok_or_else(missing));
        let cells = hashes(&columns.collect::<Result<Vec<_>, _>>()?, self.place.key.derive("series cell", &[]))?;
        Ok(cells.into_iter().map(|cell| cell as u64).collect())
    }

    /// Returns the codes of the sensitive values of rows.
    fn codes_to_release(&self, rows: &RecordBatch) -> Result<Vec<u64>, JobError> {
        let sensitive = &self.anonymizer.binding().sensitive;
        let missing = || JobError::internal("a column of the series is missing");
        let column = |bound: &BoundSensitive| rows.column_by_name(&bound.column.name).cloned().ok_or_else(missing);
        let columns = sensitive.iter().map(column).collect::<Result<Vec<_>, _>>()?;
        let rules = sensitive.iter().map(|bound| &bound.spec.look_alikes);
        codes(&counted_columns(&columns, rules)?, self.place.key)
    }
}

/// Newcomers of a part.
struct NewRows {
    rows: Vec<(RowKey, u64)>,
    codes: Vec<u64>,
    content: RecordBatch,
}

/// Returns a policy for a table with some of the columns of the input, in the types of a release.
pub(super) fn for_columns(mut policy: Policy, schema: &Schema) -> Policy {
    policy.columns.by_name.retain(|(name, _)| schema.index_of(name).is_ok());
    policy.columns.types.clear();
    policy
}

fn bits(from: &BooleanBufferBuilder, first: usize, rows: usize) -> Vec<bool> {
    (first..first + rows).map(|row| from.get_bit(row)).collect()
}

/// Returns the content of the rows to show. A row that was shown before is shown unchanged, including columns that are
/// neither quasi-identifiers nor sensitive: someone who tracks a row by these would see it change.
fn shown_rows(
    state: &SeriesState,
    before: Option<RecordBatch>,
    new: &RecordBatch,
    shown: &[(ShownRow, u64)],
) -> Result<RecordBatch, JobError> {
    let before = before.unwrap_or_else(|| new.slice(0, 0));
    if before.schema() != new.schema() {
        let text = "the columns of the input, or their types, have changed since the last release of the series; take the \
                    change back, or begin a new series with `throng run --rebase`";
        return Err(JobError::new(Kind::BadPolicy, text));
    }
    // Rows of the memory that were shown, in the order of the content.
    let mut place_of = Vec::with_capacity(state.rows.len());
    let mut places = 0;
    for row in &state.rows {
        place_of.push(places);
        places += usize::from(state.last_class(row.block) != ABSENT);
    }
    if before.num_rows() != places {
        return Err(JobError::internal("a row of the series has no content"));
    }
    let place = |(row, _): &(ShownRow, u64)| match row {
        ShownRow::New(row) => (1, *row as usize),
        ShownRow::Again(row) => (0, place_of[*row as usize]),
    };
    let places: Vec<(usize, usize)> = shown.iter().map(place).collect();
    interleave_record_batch(&[&before, new], &places).map_err(kernel)
}

//! The ledger: the memory of a series, in a file.
//!
//! ```text
//!  part: zstd( rows | codes | trails ) | zstd( rows of the last release as Arrow IPC )    … once per part
//!  waiting rows
//!  directory as JSON: header, where the sections of each part are
//! ```
//!
//! The memory of the series is divided into parts by the classes of its rows, so that a night holds one part at a time. A
//! remembered row takes 40 bytes and 8 per sensitive column before compression, of which pseudonym and content hash, 32
//! bytes, don't compress. The rows of the last release are kept as they were read, without identifiers, because a row that
//! leaves the input may have to be shown again.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::Read;

use datafusion::arrow::array::RecordBatch;
use serde::{Deserialize, Serialize};
use throng_core::key::ReleaseKey;
use throng_core::series::{RememberedRow, RowKey, SeriesState, WaitingRow};

use crate::error::JobError;

use super::buckets::{BUCKETS, decode, encode};
use super::sealed::{NotOpened, SealedFile, SealingFile, Section};

const ZSTD_LEVEL: i32 = 1;

/// Memory of the content of a part relative to its size, while it is decoded and merged with new rows.
const CONTENT_OVER_BYTES: u64 = 4;

/// Returns the part that holds the rows of a class.
pub(super) fn part_of(class: u64) -> u32 {
    (class >> (u64::BITS - BUCKETS.ilog2())) as u32
}

/// Facts that identify a ledger.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct LedgerHeader {
    /// Run that published the release.
    pub(super) run_id: String,
    /// Digest of the policy of the series.
    pub(super) policy_digest: String,
    /// Number of releases of the series.
    pub(super) releases: u64,
    /// Number of remembered releases: the length of every trail.
    pub(super) remembered: usize,
    /// Number of sensitive columns.
    pub(super) width: usize,
    /// Number of rows of the input.
    pub(super) delivered: u64,
    /// Type of each column of the unit, in the order of the policy; see [`super::rows::unit_types`].
    pub(super) unit_types: Vec<String>,
    /// Length of the longest code of the first release, for each column that is masked.
    pub(super) mask_lengths: BTreeMap<String, usize>,
}

/// One part of the memory.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(super) struct LedgerPart {
    /// Number of the part, see [`part_of`].
    pub(super) number: u32,
    /// Number of remembered rows.
    pub(super) rows: u64,
    /// Size of the memory, not compressed.
    state_bytes: u64,
    /// Size of the content, not compressed.
    content_bytes: u64,
    state: Section,
    content: Section,
}

impl LedgerPart {
    /// Returns the memory to work on the remembered rows.
    pub(super) fn state_room(&self) -> usize {
        (3 * self.state_bytes) as usize
    }

    /// Returns the memory to work on the rows and their content.
    pub(super) fn room(&self) -> usize {
        self.state_room() + (CONTENT_OVER_BYTES * self.content_bytes) as usize
    }
}

#[derive(Debug, Serialize, Deserialize)]
struct Directory {
    header: LedgerHeader,
    parts: Vec<LedgerPart>,
    waiting: Section,
}

/// A ledger that is being written.
pub(super) struct LedgerWriter {
    sealing: SealingFile,
    parts: Vec<LedgerPart>,
}

/// A ledger that is written, but not yet stored in its location.
#[derive(Debug)]
pub(super) struct WrittenLedger {
    pub(super) file: File,
    pub(super) size: u64,
    pub(super) run_id: String,
    pub(super) rows: u64,
}

impl LedgerWriter {
    pub(super) fn create(key: ReleaseKey) -> Result<Self, JobError> {
        Self::in_file(tempfile::tempfile().map_err(|error| JobError::temporary_file(&error))?, key)
    }

    fn in_file(file: File, key: ReleaseKey) -> Result<Self, JobError> {
        let sealing = SealingFile::create(file, key).map_err(|error| JobError::temporary_file(&error))?;
        Ok(Self { sealing, parts: Vec::new() })
    }

    /// Appends a part: its memory, and the rows of the release in the order of [`SeriesState::rows`].
    pub(super) fn push(&mut self, number: u32, state: &SeriesState, content: &RecordBatch) -> Result<(), JobError> {
        let plain = state_bytes(state).ok_or_else(|| JobError::internal("too many releases"))?;
        let content = encode(content)?;
        let (state_bytes, content_bytes) = (plain.len() as u64, content.len() as u64);
        let state_section = self.section(&plain)?;
        let part = LedgerPart {
            number,
            rows: state.rows.len() as u64,
            state_bytes,
            content_bytes,
            state: state_section,
            content: self.section(&content)?,
        };
        self.parts.push(part);
        Ok(())
    }

    fn section(&mut self, plain: &[u8]) -> Result<Section, JobError> {
        let compressed = zstd::bulk::compress(plain, ZSTD_LEVEL);
        compressed.and_then(|bytes| self.sealing.push(bytes)).map_err(|error| JobError::temporary_file(&error))
    }

    pub(super) fn finish(mut self, header: LedgerHeader, waiting: &[WaitingRow]) -> Result<WrittenLedger, JobError> {
        let mut plain = Vec::with_capacity(waiting.len() * 40);
        for row in waiting {
            write_key(&mut plain, row.key);
            plain.extend(row.since.to_le_bytes());
        }
        let waiting = self.section(&plain)?;
        let rows = self.parts.iter().map(|part| part.rows).sum();
        let run_id = header.run_id.clone();
        let directory = Directory { header, parts: self.parts, waiting };
        let directory =
            serde_json::to_vec(&directory).map_err(|_| JobError::internal("a ledger without a directory"))?;
        let (file, size) = self.sealing.finish(directory).map_err(|error| JobError::temporary_file(&error))?;
        Ok(WrittenLedger { file, size, run_id, rows })
    }
}

/// A ledger.
#[derive(Debug)]
pub(super) struct Ledger {
    pub(super) header: LedgerHeader,
    pub(super) parts: Vec<LedgerPart>,
    /// Rows that wait, in ascending order of their keys.
    pub(super) waiting: Vec<WaitingRow>,
    sealed: SealedFile,
}

impl Ledger {
    /// Opens a ledger.
    pub(super) fn open(key: ReleaseKey, file: File) -> Result<Self, NotOpened> {
        let (sealed, directory) = SealedFile::open(file, key)?;
        Self::opened(sealed, &directory).ok_or(NotOpened::Damaged)
    }

    fn opened(sealed: SealedFile, directory: &[u8]) -> Option<Self> {
        let Directory { header, parts, waiting } = serde_json::from_slice(directory).ok()?;
        let plain = zstd::decode_all(sealed.read(waiting)?.as_slice()).ok()?;
        let mut from = plain.as_slice();
        let mut waiting = Vec::new();
        while !from.is_empty() {
            waiting.push(WaitingRow { key: read_key(&mut from)?, since: read_number(&mut from)? });
        }
        Some(Self { header, parts, waiting, sealed })
    }

    /// Reads the memory of a part. `None` if it is damaged.
    pub(super) fn state(&self, part: &LedgerPart) -> Option<SeriesState> {
        let plain = zstd::decode_all(self.sealed.read(part.state)?.as_slice()).ok()?;
        let mut from = plain.as_slice();
        let rows = (0..part.rows).map(|_| {
            let key = read_key(&mut from)?;
            let block = u32::from_le_bytes(read(&mut from)?);
            let left_at = u64::from(u32::from_le_bytes(read(&mut from)?));
            Some(RememberedRow { key, block, left_at })
        });
        let rows = rows.collect::<Option<Vec<_>>>()?;
        let codes = (0..rows.len() * self.header.width).map(|_| read_number(&mut from)).collect::<Option<Vec<_>>>()?;
        let (blocks, remembered) = (read_number(&mut from)?, self.header.remembered);
        let trail = |_| (0..remembered).map(|_| read_number(&mut from)).collect::<Option<Vec<_>>>();
        let trails = (0..blocks).map(trail).collect::<Option<Vec<_>>>()?;
        let releases = self.header.releases;
        let state = SeriesState { releases, remembered, rows, codes, trails, waiting: Vec::new() };
        let is_whole = state.rows.iter().all(|row| (row.block as usize) < state.trails.len());
        (is_whole && from.is_empty()).then_some(state)
    }

    /// Reads the rows of a part that the last release showed, in the order of its memory. `None` if they are damaged.
    pub(super) fn content(&self, part: &LedgerPart) -> Option<RecordBatch> {
        decode(&zstd::decode_all(self.sealed.read(part.content)?.as_slice()).ok()?)
    }
}

fn state_bytes(state: &SeriesState) -> Option<Vec<u8>> {
    let mut plain = Vec::with_capacity(state.rows.len() * 40 + state.codes.len() * 8);
    for row in &state.rows {
        write_key(&mut plain, row.key);
        plain.extend(row.block.to_le_bytes());
        plain.extend(u32::try_from(row.left_at).ok()?.to_le_bytes());
    }
    state.codes.iter().for_each(|code| plain.extend(code.to_le_bytes()));
    plain.extend((state.trails.len() as u64).to_le_bytes());
    state.trails.iter().flatten().for_each(|class| plain.extend(class.to_le_bytes()));
    Some(plain)
}

fn write_key(to: &mut Vec<u8>, key: RowKey) {
    to.extend(key.unit.to_le_bytes());
    to.extend(key.content.to_le_bytes());
}

fn read<const N: usize>(from: &mut &[u8]) -> Option<[u8; N]> {
    let mut bytes = [0; N];
    from.read_exact(&mut bytes).ok()?;
    Some(bytes)
}

fn read_number(from: &mut &[u8]) -> Option<u64> {
    read(from).map(u64::from_le_bytes)
}

fn read_key(from: &mut &[u8]) -> Option<RowKey> {
    Some(RowKey { unit: u128::from_le_bytes(read(from)?), content: u128::from_le_bytes(read(from)?) })
}

#[cfg(test)]
mod tests {
    use std::io::{Seek, SeekFrom};
    use std::sync::Arc;

    use datafusion::arrow::array::{ArrayRef, Int32Array, StringArray};

    use super::*;
    use crate::Kind;

    #[test]
    #[cfg(target_os = "linux")]
    fn a_full_disk_is_no_bug() {
        let full = || File::options().write(true).open("/dev/full").unwrap();
        let error = LedgerWriter::in_file(full(), ReleaseKey::PUBLIC).err().unwrap();
        assert_eq!(error.kind(), Kind::TemporaryIo, "{error}");
        assert!(error.to_string().contains("free room"), "{error}");
    }

    #[test]
    fn a_ledger_survives_sealing() {
        let key = |unit| RowKey { unit, content: unit + 1000 };
        let rows = (0..3).map(|row| RememberedRow { key: key(row), block: u32::from(row == 2), left_at: row as u64 });
        let state = SeriesState {
            releases: 7,
            remembered: 2,
            rows: rows.collect(),
            codes: vec![11, 12, 13],
            trails: vec![vec![5, 6], vec![5, 0]],
            waiting: Vec::new(),
        };
        let other = SeriesState { releases: 7, remembered: 2, ..SeriesState::default() };
        let columns: [(&str, ArrayRef); 2] = [
            ("age", Arc::new(Int32Array::from(vec![1, 2]))),
            ("illness", Arc::new(StringArray::from(vec![Some("flu"), None]))),
        ];
        let content = RecordBatch::try_from_iter(columns).unwrap();
        let header = LedgerHeader {
            run_id: "run".into(),
            policy_digest: "digest".into(),
            releases: 7,
            remembered: 2,
            width: 1,
            delivered: 5,
            unit_types: vec!["integer".into()],
            mask_lengths: BTreeMap::from([("zip".into(), 5)]),
        };
        let waiting = [WaitingRow { key: key(9), since: 7 }];
        let mut writer = LedgerWriter::create(ReleaseKey::PUBLIC).unwrap();
        writer.push(3, &state, &content).unwrap();
        writer.push(9, &other, &content.slice(0, 0)).unwrap();
        let mut written = writer.finish(header.clone(), &waiting).unwrap();
        let mut bytes = Vec::new();
        written.file.seek(SeekFrom::Start(0)).unwrap();
        written.file.read_to_end(&mut bytes).unwrap();
        assert!(!bytes.windows(3).any(|bytes| bytes == b"flu" || bytes == b"run"), "nothing can be read in it");
        assert_eq!((written.size, written.rows), (bytes.len() as u64, 3));
        let opened = Ledger::open(ReleaseKey::PUBLIC, written.file).unwrap();
        assert_eq!((&opened.header, &opened.waiting[..]), (&header, &waiting[..]));
        assert_eq!(opened.parts.iter().map(|part| part.number).collect::<Vec<_>>(), [3, 9]);
        assert_eq!((opened.state(&opened.parts[0]), opened.state(&opened.parts[1])), (Some(state), Some(other)));
        assert_eq!(opened.content(&opened.parts[0]), Some(content));
    }
}

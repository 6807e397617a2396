//! The ledger: the memory of a series, as bytes.
//!
//! ```text
//!  zstd( header as JSON | rows | codes | trails | waiting rows | rows of the last release as Arrow IPC )
//! ```
//!
//! A remembered row takes 40 bytes and 8 per sensitive column before compression, of which pseudonym and content hash, 32
//! bytes, don't compress. The rows of the last release are kept as they were read, without identifiers, because a row that
//! leaves the input may have to be shown again.

use std::io::{BufReader, BufWriter, Read, Write};

use datafusion::arrow::array::RecordBatch;
use datafusion::arrow::compute::concat_batches;
use datafusion::arrow::ipc::reader::StreamReader;
use datafusion::arrow::ipc::writer::StreamWriter;
use serde::{Deserialize, Serialize};
use throng_core::key::ReleaseKey;
use throng_core::series::{RememberedRow, RowKey, SeriesState, WaitingRow};

use super::sealed;

/// Version of the content of a ledger.
const VERSION: u32 = 1;
const ZSTD_LEVEL: i32 = 3;
const BUFFER: usize = 1 << 16;

/// The memory of a series after one of its releases.
#[derive(Clone, Debug)]
pub(super) struct Ledger {
    pub(super) header: LedgerHeader,
    pub(super) state: SeriesState,
    /// Rows of the release, in the order of [`SeriesState::rows`].
    pub(super) content: RecordBatch,
}

/// Facts by which a ledger is recognized.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct LedgerHeader {
    pub(super) version: u32,
    /// Run that published the release.
    pub(super) run_id: String,
    /// Digest of the policy of the series.
    pub(super) policy_digest: String,
    /// Number of releases of the series.
    pub(super) releases: u64,
    /// Number of sensitive columns.
    pub(super) width: usize,
}

impl Ledger {
    pub(super) fn new(
        run_id: &str,
        policy_digest: &str,
        width: usize,
        state: SeriesState,
        content: RecordBatch,
    ) -> Self {
        let header = LedgerHeader {
            version: VERSION,
            run_id: run_id.to_owned(),
            policy_digest: policy_digest.to_owned(),
            releases: state.releases,
            width,
        };
        Self { header, state, content }
    }

    /// Returns the encrypted ledger.
    pub(super) fn seal(&self, key: ReleaseKey) -> Option<Vec<u8>> {
        // The numbers of rows are a few bytes each, and every call of the compressor costs more than these.
        let mut plain = BufWriter::with_capacity(BUFFER, zstd::stream::Encoder::new(Vec::new(), ZSTD_LEVEL).ok()?);
        let header = serde_json::to_vec(&self.header).ok()?;
        write_bytes(&mut plain, &header)?;
        let state = &self.state;
        write_number(&mut plain, state.rows.len() as u64)?;
        for row in &state.rows {
            write_key(&mut plain, row.key)?;
            plain.write_all(&row.block.to_le_bytes()).ok()?;
            plain.write_all(&u32::try_from(row.left_at).ok()?.to_le_bytes()).ok()?;
        }
        state.codes.iter().try_for_each(|code| write_number(&mut plain, *code))?;
        write_number(&mut plain, state.trails.len() as u64)?;
        write_number(&mut plain, state.trails.first().map_or(0, Vec::len) as u64)?;
        state.trails.iter().flatten().try_for_each(|class| write_number(&mut plain, *class))?;
        write_number(&mut plain, state.waiting.len() as u64)?;
        for row in &state.waiting {
            write_key(&mut plain, row.key)?;
            write_number(&mut plain, row.since)?;
        }
        let mut content = StreamWriter::try_new(Vec::new(), &self.content.schema()).ok()?;
        content.write(&self.content).ok()?;
        write_bytes(&mut plain, &content.into_inner().ok()?)?;
        sealed::seal(key, &plain.into_inner().ok()?.finish().ok()?)
    }

    /// Opens an encrypted ledger. `None` if it is damaged, of another version, or sealed with another key.
    pub(super) fn open(key: ReleaseKey, bytes: &[u8]) -> Option<Self> {
        let plain = sealed::open(key, bytes)?;
        let mut plain = BufReader::with_capacity(BUFFER, zstd::stream::Decoder::new(plain.as_slice()).ok()?);
        let header: LedgerHeader = serde_json::from_slice(&read_bytes(&mut plain)?).ok()?;
        if header.version != VERSION {
            return None;
        }
        let rows = read_number(&mut plain)?;
        let rows = (0..rows).map(|_| {
            let key = read_key(&mut plain)?;
            let block = u32::from_le_bytes(read(&mut plain)?);
            let left_at = u64::from(u32::from_le_bytes(read(&mut plain)?));
            Some(RememberedRow { key, block, left_at })
        });
        let rows = rows.collect::<Option<Vec<_>>>()?;
        let codes = (0..rows.len() * header.width).map(|_| read_number(&mut plain)).collect::<Option<Vec<_>>>()?;
        let (blocks, length) = (read_number(&mut plain)?, read_number(&mut plain)?);
        let trail = |_| (0..length).map(|_| read_number(&mut plain)).collect::<Option<Vec<_>>>();
        let trails = (0..blocks).map(trail).collect::<Option<Vec<_>>>()?;
        let waiting = read_number(&mut plain)?;
        let waiting =
            (0..waiting).map(|_| Some(WaitingRow { key: read_key(&mut plain)?, since: read_number(&mut plain)? }));
        let waiting = waiting.collect::<Option<Vec<_>>>()?;
        let content = read_bytes(&mut plain)?;
        let reader = StreamReader::try_new(content.as_slice(), None).ok()?;
        let schema = reader.schema();
        let content = concat_batches(&schema, &reader.collect::<Result<Vec<_>, _>>().ok()?).ok()?;
        let state = SeriesState { releases: header.releases, rows, codes, trails, waiting };
        let is_whole = state.rows.iter().all(|row| (row.block as usize) < state.trails.len())
            && content.num_rows() == state.shown();
        is_whole.then_some(Self { header, state, content })
    }
}

fn write_number(to: &mut impl Write, number: u64) -> Option<()> {
    to.write_all(&number.to_le_bytes()).ok()
}

fn write_bytes(to: &mut impl Write, bytes: &[u8]) -> Option<()> {
    write_number(to, bytes.len() as u64)?;
    to.write_all(bytes).ok()
}

fn write_key(to: &mut impl Write, key: RowKey) -> Option<()> {
    to.write_all(&key.unit.to_le_bytes()).ok()?;
    to.write_all(&key.content.to_le_bytes()).ok()
}

fn read<const N: usize>(from: &mut impl Read) -> Option<[u8; N]> {
    let mut bytes = [0; N];
    from.read_exact(&mut bytes).ok()?;
    Some(bytes)
}

fn read_number(from: &mut impl Read) -> Option<u64> {
    read(from).map(u64::from_le_bytes)
}

/// Reads a length and as many bytes. A length beyond the end is no reason to reserve memory for it.
fn read_bytes(from: &mut impl Read) -> Option<Vec<u8>> {
    let length = read_number(from)?;
    let mut bytes = Vec::new();
    from.take(length).read_to_end(&mut bytes).ok()?;
    (bytes.len() as u64 == length).then_some(bytes)
}

fn read_key(from: &mut impl Read) -> Option<RowKey> {
    Some(RowKey { unit: u128::from_le_bytes(read(from)?), content: u128::from_le_bytes(read(from)?) })
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use datafusion::arrow::array::{ArrayRef, Int32Array, StringArray};

    use super::*;

    #[test]
    fn a_ledger_survives_sealing() {
        let key = |unit| RowKey { unit, content: unit + 1000 };
        let rows = (0..3).map(|row| RememberedRow { key: key(row), block: u32::from(row == 2), left_at: row as u64 });
        let state = SeriesState {
            releases: 7,
            rows: rows.collect(),
            codes: vec![11, 12, 13],
            trails: vec![vec![5, 6], vec![5, 0]],
            waiting: vec![WaitingRow { key: key(9), since: 7 }],
        };
        let columns: [(&str, ArrayRef); 2] = [
            ("age", Arc::new(Int32Array::from(vec![1, 2]))),
            ("illness", Arc::new(StringArray::from(vec![Some("flu"), None]))),
        ];
        let content = RecordBatch::try_from_iter(columns).unwrap();
        let ledger = Ledger::new("run", "digest", 1, state, content);
        let sealed = ledger.seal(ReleaseKey::PUBLIC).unwrap();
        assert!(!sealed.windows(3).any(|bytes| bytes == b"flu" || bytes == b"run"), "nothing can be read in it");
        let opened = Ledger::open(ReleaseKey::PUBLIC, &sealed).unwrap();
        assert_eq!((opened.header, opened.state, opened.content), (ledger.header, ledger.state, ledger.content));
    }
}

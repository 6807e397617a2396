//! Checks the lengths that an Arrow file or stream declares.
//!
//! A reader allocates the memory of a block, and of each compressed buffer, before it reads it, and an allocation that is too
//! large aborts the process. So no block of a file and no message of a stream may extend beyond the end, and no compressed buffer
//! may declare a decoded size that its codec can't reach, or for which there is no memory.

use std::ops::Range;

use arrow::ipc::{Block, CompressionType, Footer, Message, MetadataVersion, RecordBatch, root_as_message};
use bytes::Bytes;
use object_store::ObjectStore;

use super::InputFile;
use super::names::{damaged, read};
use crate::error::{JobError, Kind};

/// Size of the first read of a message: enough for the metadata of most messages.
const MESSAGE_START: u64 = 64 << 10;

/// Size of the decoded length that precedes a compressed buffer.
const DECODED_LENGTH: u64 = 8;

/// Maximum expansion of LZ4: each length byte adds at most 255 bytes to a match.
const LZ4_RATIO: u64 = 255;

/// Maximum expansion of Zstandard: a block of 128 KiB takes at least four bytes.
const ZSTD_RATIO: u64 = 32 << 10;

const NO_DESCRIPTION: &str = "one of its batches has no description that can be read";

/// Checks all blocks of an Arrow file. Returns the decoded size of the largest one.
pub(super) async fn check_blocks(file: &InputFile, footer: Footer<'_>) -> Result<u64, JobError> {
    let blocks = || [footer.dictionaries(), footer.recordBatches()].into_iter().flatten().flatten();
    if blocks().any(|block| block.metaDataLength() == 0) {
        return Err(damaged(file, NO_DESCRIPTION));
    }
    let blocks: Option<Vec<(Range<u64>, u64)>> = blocks().map(|block| parts_of(block, file.meta.size)).collect();
    let blocks = blocks.ok_or_else(|| too_long(file))?;
    let metadata: Vec<Range<u64>> = blocks.iter().map(|(metadata, _)| metadata.clone()).collect();
    let mut largest = 0;
    for (bytes, (metadata, body_bytes)) in read_ranges(file, &metadata).await?.into_iter().zip(blocks) {
        // A reader would accept a message that overlaps the body.
        let (prefix, _) = metadata_length(&bytes).ok_or_else(|| damaged(file, NO_DESCRIPTION))?;
        let message = bytes.get(prefix as usize..).and_then(|message| root_as_message(message).ok());
        let message = message.ok_or_else(|| damaged(file, NO_DESCRIPTION))?;
        // Old files have no version in their footer.
        if footer.version() != MetadataVersion::V1 && message.version() != footer.version() {
            let text = format!("{} is not readable: its footer and its batches declare different versions", file.place);
            return Err(JobError::new(
                Kind::BadData,
                format!("{text}; write it in the current version, or as Parquet"),
            ));
        }
        largest = largest.max(decoded_bytes(file, message, metadata.end..metadata.end + body_bytes).await?);
    }
    Ok(largest)
}

/// Returns the range of a block's metadata, and the size of its body, if both are within the file.
fn parts_of(block: &Block, size: u64) -> Option<(Range<u64>, u64)> {
    let offset = u64::try_from(block.offset()).ok()?;
    let body = offset.checked_add(u64::try_from(block.metaDataLength()).ok()?)?;
    let body_bytes = u64::try_from(block.bodyLength()).ok()?;
    (body.checked_add(body_bytes)? <= size).then_some((offset..body, body_bytes))
}

/// Checks all messages of an Arrow stream. Returns the decoded size of the largest one. Bytes that are not a message are left
/// to the reader, which reports them.
pub(super) async fn check_messages(file: &InputFile) -> Result<u64, JobError> {
    let (size, mut at, mut largest) = (file.meta.size, 0, 0);
    while at < size {
        let start = read(file, at, size.min(at.saturating_add(MESSAGE_START))).await?;
        let Some((prefix, length)) = metadata_length(&start) else { break };
        if length == 0 {
            break;
        }
        let (from, end) = (at + prefix, at + prefix + length);
        if end > size {
            return Err(too_long(file));
        }
        let metadata = match start.get(prefix as usize..(prefix + length) as usize) {
            Some(metadata) => start.slice_ref(metadata),
            None => read(file, from, end).await?,
        };
        let Ok(message) = root_as_message(&metadata) else { break };
        let body = u64::try_from(message.bodyLength()).ok();
        at = body.and_then(|body| end.checked_add(body)).filter(|end| *end <= size).ok_or_else(|| too_long(file))?;
        largest = largest.max(decoded_bytes(file, message, end..at).await?);
    }
    Ok(largest)
}

/// Returns the size of a message with this body once it is read and decoded. Checks the lengths of its compressed buffers.
async fn decoded_bytes(file: &InputFile, message: Message<'_>, body: Range<u64>) -> Result<u64, JobError> {
    let stored = body.end - body.start;
    let batch = message.header_as_record_batch();
    let batch = batch.or_else(|| message.header_as_dictionary_batch().and_then(|dictionary| dictionary.data()));
    let Some((batch, ratio)) = batch.and_then(|batch| Some((batch, largest_ratio(batch)?))) else { return Ok(stored) };
    let buffers = buffers_of(batch, &body).ok_or_else(|| too_long(file))?;
    let lengths: Vec<Range<u64>> = buffers.iter().map(|buffer| buffer.start..buffer.start + DECODED_LENGTH).collect();
    let mut decoded = 0_u64;
    for (buffer, length) in buffers.iter().zip(read_ranges(file, &lengths).await?) {
        let length = length.first_chunk().map_or(0, |length| i64::from_le_bytes(*length));
        // An uncompressed buffer declares -1; the reader reports any other negative length.
        let length = u64::try_from(length).unwrap_or(0);
        if length > (buffer.end - buffer.start).saturating_mul(ratio) {
            return Err(too_long(file));
        }
        decoded = decoded.saturating_add(length);
    }
    check_allocation(decoded).map_err(|text| JobError::new(Kind::BadData, format!("{} {text}", file.place)))?;
    Ok(stored.saturating_add(decoded))
}

/// Returns the maximum ratio of decoded to compressed size of a buffer; `None` if buffers are not compressed.
fn largest_ratio(batch: RecordBatch<'_>) -> Option<u64> {
    match batch.compression()?.codec() {
        CompressionType::LZ4_FRAME => Some(LZ4_RATIO),
        _ => Some(ZSTD_RATIO),
    }
}

/// Returns the ranges of the buffers that declare a length; `None` if one is not within the body.
fn buffers_of(batch: RecordBatch<'_>, body: &Range<u64>) -> Option<Vec<Range<u64>>> {
    let buffers = batch.buffers().into_iter().flatten().map(|buffer| {
        let start = body.start.checked_add(u64::try_from(buffer.offset()).ok()?)?;
        let end = start.checked_add(u64::try_from(buffer.length()).ok()?)?;
        (end <= body.end).then_some(start..end)
    });
    let buffers: Option<Vec<Range<u64>>> = buffers.collect();
    Some(buffers?.into_iter().filter(|buffer| buffer.end - buffer.start >= DECODED_LENGTH).collect())
}

/// Checks that this much memory can be allocated, since the reader does not handle a failure.
fn check_allocation(bytes: u64) -> Result<(), String> {
    let mut probe: Vec<u8> = Vec::new();
    match usize::try_from(bytes).is_ok_and(|bytes| probe.try_reserve_exact(bytes).is_ok()) {
        true => Ok(()),
        false => {
            let size = bytes.div_ceil(1 << 20);
            Err(format!(
                "has a batch of {size} MiB, which is more than there is memory for; write it in smaller batches"
            ))
        }
    }
}

/// Returns the size of the prefix before the metadata of a message, and the length of the metadata. Since version 0.15 of the
/// format a marker precedes the length.
pub(super) fn metadata_length(message: &[u8]) -> Option<(u64, u64)> {
    let (prefix, rest) = match message.strip_prefix(&[0xff; 4]) {
        Some(rest) => (8, rest),
        None => (4, message),
    };
    let length = i32::from_le_bytes(*rest.first_chunk()?);
    Some((prefix, u64::try_from(length).ok()?))
}

async fn read_ranges(file: &InputFile, ranges: &[Range<u64>]) -> Result<Vec<Bytes>, JobError> {
    let failed = |error| JobError::storage(format!("reading {}", file.place), &error);
    file.place.store.get_ranges(&file.place.path, ranges).await.map_err(failed)
}

fn too_long(file: &InputFile) -> JobError {
    damaged(file, "it declares more data than the file has")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_batch_beyond_all_memory_is_refused() {
        check_allocation(1 << 20).unwrap();
        for bytes in [1 << 60, u64::MAX] {
            let text = check_allocation(bytes).unwrap_err();
            assert!(text.contains("MiB, which is more than there is memory for"), "{text}");
        }
    }
}

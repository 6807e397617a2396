//! Checks the lengths that an Arrow file or stream declares.
//!
//! A reader allocates the memory of a block before it reads it, and a process that asks for more than there is ends at once. So no
//! block of a file and no message of a stream may reach beyond the end.

use arrow::ipc::{Block, Footer, root_as_message};

use super::InputFile;
use super::names::read;
use crate::error::{JobError, Kind};

/// Size of a read at the beginning of a message: enough for the metadata of most.
const MESSAGE_START: u64 = 64 << 10;

/// Checks that all blocks of an Arrow file are within it.
pub(super) fn check_blocks(file: &InputFile, footer: Footer<'_>) -> Result<(), JobError> {
    let blocks = [footer.dictionaries(), footer.recordBatches()];
    match blocks.into_iter().flatten().flatten().all(|block| is_within(block, file.meta.size)) {
        true => Ok(()),
        false => Err(too_long(file)),
    }
}

fn is_within(block: &Block, size: u64) -> bool {
    let parts = [block.offset(), i64::from(block.metaDataLength()), block.bodyLength()];
    let end = parts.into_iter().try_fold(0_u64, |end, part| end.checked_add(u64::try_from(part).ok()?));
    end.is_some_and(|end| end <= size)
}

/// Checks that all messages of an Arrow stream are within it. What is no message is left to the reader, which reports it.
pub(super) async fn check_messages(file: &InputFile) -> Result<(), JobError> {
    let (size, mut at) = (file.meta.size, 0);
    while at < size {
        let start = read(file, at, size.min(at.saturating_add(MESSAGE_START))).await?;
        let Some((prefix, length)) = metadata_length(&start) else { return Ok(()) };
        if length == 0 {
            return Ok(());
        }
        let (from, end) = (at + prefix, at + prefix + length);
        if end > size {
            return Err(too_long(file));
        }
        let metadata = match start.get(prefix as usize..(prefix + length) as usize) {
            Some(metadata) => start.slice_ref(metadata),
            None => read(file, from, end).await?,
        };
        let Ok(message) = root_as_message(&metadata) else { return Ok(()) };
        let body = u64::try_from(message.bodyLength()).ok();
        at = body.and_then(|body| end.checked_add(body)).filter(|end| *end <= size).ok_or_else(|| too_long(file))?;
    }
    Ok(())
}

/// Returns the size of what precedes the metadata of a message, and the length of the metadata. Since version 0.15 of the format a
/// marker precedes the length.
pub(super) fn metadata_length(message: &[u8]) -> Option<(u64, u64)> {
    let (prefix, rest) = match message.strip_prefix(&[0xff; 4]) {
        Some(rest) => (8, rest),
        None => (4, message),
    };
    let length = i32::from_le_bytes(*rest.first_chunk()?);
    Some((prefix, u64::try_from(length).ok()?))
}

fn too_long(file: &InputFile) -> JobError {
    let text = format!("{} is damaged: it declares more data than the file has", file.place);
    JobError::new(Kind::BadData, format!("{text}; write the file again"))
}

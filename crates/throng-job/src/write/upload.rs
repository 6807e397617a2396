//! The way of one file to storage, in parts where it is large.

use std::sync::Arc;

use bytes::Bytes;
use object_store::buffered::BufWriter;
use tokio::io::AsyncWriteExt;

use crate::error::JobError;
use crate::publish::writing;
use crate::store_path::StorePath;

/// Uploads are cut into parts of this size.
const PART_BYTES: usize = 16 * 1024 * 1024;

/// A file that is being sent. If it is dropped before it is finished, the store is told to forget the parts that it has:
/// otherwise it would keep them, unseen and unverified.
pub(super) struct Upload {
    place: StorePath,
    writer: Option<BufWriter>,
}

impl Upload {
    pub(super) fn new(place: StorePath) -> Self {
        let writer = BufWriter::with_capacity(Arc::clone(&place.store), place.path.clone(), PART_BYTES);
        Self { place, writer: Some(writer) }
    }

    pub(super) async fn send(&mut self, bytes: Bytes) -> Result<(), JobError> {
        let Some(writer) = &mut self.writer else { return Err(JobError::internal("a file was written after its end")) };
        writer.put(bytes).await.map_err(|error| writing(format!("writing {}", self.place), &error))
    }

    pub(super) async fn finish(mut self) -> Result<(), JobError> {
        let Some(mut writer) = self.writer.take() else { return Ok(()) };
        writer.shutdown().await.map_err(|error| {
            let doing = format!("writing {}", self.place);
            // The error of the store is behind one of input and output.
            match error.downcast::<object_store::Error>() {
                Ok(error) => writing(doing, &error),
                Err(error) => JobError::file_system(doing, &error),
            }
        })
    }
}

impl Drop for Upload {
    fn drop(&mut self) {
        if let Some(mut writer) = self.writer.take()
            && let Ok(runtime) = tokio::runtime::Handle::try_current()
        {
            // What it can't remove, a rule of the bucket for incomplete uploads does.
            runtime.spawn(async move { writer.abort().await.ok() });
        }
    }
}

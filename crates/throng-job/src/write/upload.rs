//! Uploads one file, in parts if it is large.

use std::sync::Arc;

use bytes::Bytes;
use object_store::buffered::BufWriter;
use tokio::io::AsyncWriteExt;

use crate::error::JobError;
use crate::publish::writing;
use crate::store_path::StorePath;

/// Size of the parts of an upload.
const PART_BYTES: usize = 16 * 1024 * 1024;

/// An upload in progress. Dropping it before it is finished aborts it, because the store would otherwise keep the
/// parts, invisible and unverified.
pub(crate) struct Upload {
    place: StorePath,
    writer: Option<BufWriter>,
}

impl Upload {
    pub(crate) fn new(place: StorePath) -> Self {
        let writer = BufWriter::with_capacity(Arc::clone(&place.store), place.path.clone(), PART_BYTES);
        Self { place, writer: Some(writer) }
    }

    pub(crate) async fn send(&mut self, bytes: Bytes) -> Result<(), JobError> {
        let Some(writer) = &mut self.writer else { return Err(JobError::internal("a file was written after its end")) };
        writer.put(bytes).await.map_err(|error| writing(format!("writing {}", self.place), &error))
    }

    pub(crate) async fn finish(mut self) -> Result<(), JobError> {
        let Some(mut writer) = self.writer.take() else { return Ok(()) };
        writer.shutdown().await.map_err(|error| {
            let doing = format!("writing {}", self.place);
            // The store error is wrapped in an I/O error.
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
            // If this fails, the parts stay until a lifecycle rule of the bucket removes incomplete uploads.
            runtime.spawn(async move { writer.abort().await.ok() });
        }
    }
}

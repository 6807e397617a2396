//! Turns panics of file decoders into errors.
//!
//! On invalid bytes, some decoders overflow, slice out of bounds or fail an assertion instead of returning an error.
//! Catching the panic makes a damaged file fail the query instead of the process.

use std::cell::Cell;
use std::future::{Future, poll_fn};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;

use datafusion::error::{DataFusionError, Result};
use datafusion::physical_plan::SendableRecordBatchStream;
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use futures::StreamExt;
use thiserror::Error as ThisError;

/// A decoder panicked. Its message may quote bytes of the file, and is dropped.
#[derive(Clone, Debug, Default, PartialEq, Eq, ThisError)]
#[error("a file is damaged in a way that its decoder does not expect")]
pub struct DecodePanic {
    /// The file, or the files of the scan, where they are known.
    pub(crate) files: Option<Arc<str>>,
}

thread_local! {
    static DECODING: Cell<bool> = const { Cell::new(false) };
}

/// Returns whether this thread is decoding an input. A panic is then returned as an error, and a panic hook should not
/// report it.
pub fn is_decoding() -> bool {
    DECODING.get()
}

/// Awaits a decoder. Returns `DecodePanic` if it panics.
pub async fn catch_decode_panic<T>(decoder: impl Future<Output = Result<T>>) -> Result<T> {
    let mut decoder = pin!(decoder);
    poll_fn(|context| {
        poll_decoder(|| decoder.as_mut().poll(context), None).unwrap_or_else(|error| Poll::Ready(Err(error)))
    })
    .await
}

/// Wraps the stream of a decoder. A panic becomes `DecodePanic`, after which the stream ends.
pub fn catch_decode_panics(rows: SendableRecordBatchStream) -> SendableRecordBatchStream {
    catch_panics_of(rows, None)
}

/// Returns the rows of a scan of these files. If its decoder panics, even while the scan is opened, the error is a
/// `DecodePanic` with their name.
pub(crate) fn catch_scan_panics(
    files: &Arc<str>,
    scan: impl FnOnce() -> Result<SendableRecordBatchStream>,
) -> Result<SendableRecordBatchStream> {
    let files = Some(Arc::clone(files));
    let rows = poll_decoder(scan, files.as_ref()).flatten()?;
    Ok(catch_panics_of(rows, files))
}

fn catch_panics_of(rows: SendableRecordBatchStream, files: Option<Arc<str>>) -> SendableRecordBatchStream {
    let schema = rows.schema();
    let mut rows = Some(rows);
    let guarded = futures::stream::poll_fn(move |context| {
        let Some(stream) = &mut rows else { return Poll::Ready(None) };
        poll_decoder(|| stream.poll_next_unpin(context), files.as_ref()).unwrap_or_else(|error| {
            // The decoder is in an unknown state after a panic, and is not polled again.
            rows = None;
            Poll::Ready(Some(Err(error)))
        })
    });
    Box::pin(RecordBatchStreamAdapter::new(schema, guarded))
}

fn poll_decoder<T>(poll: impl FnOnce() -> T, files: Option<&Arc<str>>) -> Result<T> {
    let outer = DECODING.replace(true);
    let polled = catch_unwind(AssertUnwindSafe(poll));
    DECODING.set(outer);
    polled.map_err(|_| DataFusionError::External(Box::new(DecodePanic { files: files.cloned() })))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use datafusion::arrow::array::RecordBatch;
    use datafusion::arrow::datatypes::Schema;
    use futures::TryStreamExt;

    use super::*;

    fn is_decode_panic(error: DataFusionError) -> bool {
        matches!(error, DataFusionError::External(inner) if inner.is::<DecodePanic>())
    }

    #[tokio::test]
    async fn a_panic_is_an_error_and_the_hook_knows_that_it_will_be_one() {
        let error = catch_decode_panic::<()>(async {
            assert!(is_decoding());
            tokio::task::yield_now().await;
            panic!("of a decoder")
        });
        assert!(is_decode_panic(error.await.unwrap_err()));
        assert!(!is_decoding());
        assert_eq!(catch_decode_panic(async { Ok(7) }).await.unwrap(), 7);
        assert!(!is_decoding());
    }

    #[tokio::test]
    async fn rows_before_a_panic_come_through_and_the_stream_ends_after_it() {
        let schema = Arc::new(Schema::empty());
        let empty = RecordBatch::new_empty(Arc::clone(&schema));
        let batches = futures::stream::iter(0..3).map(move |number| match number {
            1 => panic!("of a decoder"),
            _ => Ok(empty.clone()),
        });
        let mut rows = catch_decode_panics(Box::pin(RecordBatchStreamAdapter::new(schema, batches)));
        assert!(rows.try_next().await.unwrap().is_some());
        assert!(is_decode_panic(rows.try_next().await.unwrap_err()));
        assert!(rows.try_next().await.unwrap().is_none());
        assert!(!is_decoding());
    }
}

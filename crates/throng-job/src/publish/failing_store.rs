//! An object store with injected faults.

use std::fmt;
use std::sync::Arc;
use std::sync::Mutex;
use std::time::Duration;

use futures::future::BoxFuture;
use futures::stream::BoxStream;
use futures::{FutureExt, StreamExt};
use object_store::memory::InMemory;
use object_store::path::Path;
use object_store::{
    CopyOptions, Error, GetOptions, GetResult, ListResult, MultipartUpload, ObjectMeta, ObjectStore, PutMode,
    PutMultipartOptions, PutOptions, PutPayload, PutResult, Result,
};

/// An injected fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fault {
    /// A put fails and changes nothing.
    Put,
    /// A put succeeds and reports a failure.
    Answer,
    /// A put succeeds and reports a failure, and the object can't be read afterwards.
    AnswerAndGet,
    /// A get fails.
    Get,
    /// A put fails with `NotFound`.
    Absent,
    /// A put fails with `PermissionDenied`.
    Denied,
    /// A copy is truncated and reports success.
    Half,
    /// A delete fails.
    Delete,
    /// A put in mode `Create` overwrites.
    IgnoreCreate,
    /// A put in mode `Update` ignores the version and overwrites.
    IgnoreUpdate,
}

/// In-memory store in which operations on paths with a suffix fail a number of times.
#[derive(Debug, Default)]
pub(super) struct FailingStore {
    objects: InMemory,
    faults: Mutex<Vec<(Fault, &'static str, usize)>>,
    /// Added to the age of all objects.
    age: Duration,
}

impl FailingStore {
    /// Lets the next `times` operations fail with `fault` where the path ends with `suffix`.
    pub(super) fn fail(&self, fault: Fault, suffix: &'static str, times: usize) {
        self.faults.lock().unwrap().push((fault, suffix, times));
    }

    /// Removes all faults.
    pub(super) fn heal(&self) {
        self.faults.lock().unwrap().clear();
    }

    pub(super) fn aged(age: Duration) -> Arc<Self> {
        Arc::new(Self { age, ..Self::default() })
    }

    fn next_fault(&self, path: &Path, among: &[Fault]) -> Option<Fault> {
        let mut faults = self.faults.lock().unwrap();
        let (fault, suffix, times) = faults
            .iter_mut()
            .find(|(fault, suffix, times)| among.contains(fault) && *times > 0 && path.as_ref().ends_with(suffix))?;
        *times -= 1;
        let (fault, suffix) = (*fault, *suffix);
        if fault == Fault::AnswerAndGet {
            faults.push((Fault::Get, suffix, 1));
        }
        Some(fault)
    }
}

fn failure() -> Error {
    Error::Generic { store: "failing", source: "the store fails on request".into() }
}

impl fmt::Display for FailingStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "FailingStore")
    }
}

/// The expansion of `async_trait`, written by hand.
impl ObjectStore for FailingStore {
    fn put_opts<'a, 'b, 'c>(
        &'a self,
        location: &'b Path,
        payload: PutPayload,
        options: PutOptions,
    ) -> BoxFuture<'c, Result<PutResult>>
    where
        'a: 'c,
        'b: 'c,
        Self: 'c,
    {
        async move {
            let mut options = options;
            let ignored = match &options.mode {
                PutMode::Create => self.next_fault(location, &[Fault::IgnoreCreate]),
                PutMode::Update(_) => self.next_fault(location, &[Fault::IgnoreUpdate]),
                PutMode::Overwrite => None,
            };
            if ignored.is_some() {
                options.mode = PutMode::Overwrite;
            }
            let faults = [Fault::Put, Fault::Answer, Fault::AnswerAndGet, Fault::Absent, Fault::Denied];
            let path = || location.to_string();
            match self.next_fault(location, &faults) {
                None => self.objects.put_opts(location, payload, options).await,
                Some(Fault::Absent) => Err(Error::NotFound { path: path(), source: "no bucket".into() }),
                Some(Fault::Denied) => Err(Error::PermissionDenied { path: path(), source: "not yours".into() }),
                Some(Fault::Answer | Fault::AnswerAndGet) => {
                    self.objects.put_opts(location, payload, options).await?;
                    Err(failure())
                }
                Some(_) => Err(failure()),
            }
        }
        .boxed()
    }

    fn put_multipart_opts<'a, 'b, 'c>(
        &'a self,
        location: &'b Path,
        options: PutMultipartOptions,
    ) -> BoxFuture<'c, Result<Box<dyn MultipartUpload>>>
    where
        'a: 'c,
        'b: 'c,
        Self: 'c,
    {
        self.objects.put_multipart_opts(location, options)
    }

    fn get_opts<'a, 'b, 'c>(&'a self, location: &'b Path, options: GetOptions) -> BoxFuture<'c, Result<GetResult>>
    where
        'a: 'c,
        'b: 'c,
        Self: 'c,
    {
        async move {
            match self.next_fault(location, &[Fault::Get]) {
                None => self.objects.get_opts(location, options).await,
                Some(_) => Err(failure()),
            }
        }
        .boxed()
    }

    fn delete_stream(&self, locations: BoxStream<'static, Result<Path>>) -> BoxStream<'static, Result<Path>> {
        let faults: Vec<&str> = self
            .faults
            .lock()
            .unwrap()
            .iter()
            .filter(|(fault, ..)| *fault == Fault::Delete)
            .map(|(_, suffix, _)| *suffix)
            .collect();
        let checked = locations.map(move |path| match path {
            Ok(path) if faults.iter().any(|suffix| path.as_ref().ends_with(suffix)) => Err(failure()),
            path => path,
        });
        self.objects.delete_stream(checked.boxed())
    }

    fn list(&self, prefix: Option<&Path>) -> BoxStream<'static, Result<ObjectMeta>> {
        let age = self.age;
        let older = move |object: ObjectMeta| ObjectMeta { last_modified: object.last_modified - age, ..object };
        self.objects.list(prefix).map(move |object| object.map(older)).boxed()
    }

    fn list_with_delimiter<'a, 'b, 'c>(&'a self, prefix: Option<&'b Path>) -> BoxFuture<'c, Result<ListResult>>
    where
        'a: 'c,
        'b: 'c,
        Self: 'c,
    {
        self.objects.list_with_delimiter(prefix)
    }

    fn copy_opts<'a, 'b, 'c, 'd>(
        &'a self,
        from: &'b Path,
        to: &'c Path,
        options: CopyOptions,
    ) -> BoxFuture<'d, Result<()>>
    where
        'a: 'd,
        'b: 'd,
        'c: 'd,
        Self: 'd,
    {
        async move {
            match self.next_fault(to, &[Fault::Put, Fault::Half]) {
                None => self.objects.copy_opts(from, to, options).await,
                Some(Fault::Half) => self.objects.put_opts(to, "da".into(), PutOptions::default()).await.map(|_| ()),
                Some(_) => Err(failure()),
            }
        }
        .boxed()
    }
}

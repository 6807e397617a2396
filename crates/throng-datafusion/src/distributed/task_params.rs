//! Parameters of tasks, and their encoding.

use std::sync::Arc;

use prost::Message;

use super::message::TaskParamsMessage;
use super::shuffle_rows::PartitionKeys;
use super::store_folder::StoreFolder;
use crate::anonymizer::Anonymizer;
use crate::codec::AnonymizerMessage;
use crate::{AnonymizeError, CodecError};

/// Parameters of the tasks of a job. All tasks are encoded by their name and these.
#[derive(Clone, Debug)]
pub struct TaskParams {
    /// The bound policy.
    pub anonymizer: Arc<Anonymizer>,
    /// Folder of the release plan and the staged files.
    pub folder: StoreFolder,
    /// Name of the release plan or the partitioned plan; empty before there is one.
    pub plan: String,
    /// Maximum number of rows per file.
    pub rows_per_file: u64,
    pub(super) keys: PartitionKeys,
}

impl TaskParams {
    /// Creates the parameters of tasks that shuffle rows to `partitions` partitions.
    pub fn new(anonymizer: Arc<Anonymizer>, folder: StoreFolder, partitions: usize, rows_per_file: u64) -> Self {
        let keys = PartitionKeys::for_partitions(partitions);
        Self { anonymizer, folder, plan: String::new(), rows_per_file, keys }
    }

    /// Returns the parameters of tasks that follow the plan of this name.
    pub fn with_plan(&self, name: &str) -> Self {
        Self { plan: name.to_owned(), ..self.clone() }
    }

    pub(crate) fn encode(&self) -> Vec<u8> {
        let message = TaskParamsMessage {
            anonymizer: Some(AnonymizerMessage::of(&self.anonymizer)),
            folder: self.folder.url().to_owned(),
            plan: self.plan.clone(),
            keys: self.keys.keys().to_vec(),
            rows_per_file: self.rows_per_file,
        };
        message.encode_to_vec()
    }

    pub(crate) fn decode(bytes: &[u8]) -> Result<Self, AnonymizeError> {
        let malformed = || AnonymizeError::Codec(CodecError::Malformed("a task"));
        let message = TaskParamsMessage::decode(bytes).map_err(|_| malformed())?;
        Ok(Self {
            anonymizer: Arc::new(message.anonymizer.ok_or_else(malformed)?.anonymizer()?),
            folder: StoreFolder::new(message.folder),
            plan: message.plan,
            keys: PartitionKeys::of_keys(message.keys),
            rows_per_file: message.rows_per_file,
        })
    }
}

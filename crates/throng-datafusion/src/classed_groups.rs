//! The group of the recoding that each group of a snapshot belongs to, and the classes of its rows.
//!
//! A snapshot has groups per chunk, and the same group may be in many chunks. If the table is not cut, one list maps
//! each of them to its group of the recoding. If it is cut into parts, there is no list of all groups: the mapping of a
//! part is stored when its classes have been formed, and read again when its rows are assigned.
//!
//! ```text
//!  chunk by chunk   part_of   the part of each group of the chunk
//!  part by part     formed    the group in the part of each group that was routed there, and the clusters of each group
//! ```

use datafusion::execution::memory_pool::MemoryReservation;
use throng_core::recode::{ClusterShares, Shares};

use crate::AnonymizeError;
use crate::buffered_rows::numbers;
use crate::resources::{Resources, reserve};
use crate::snapshot::{number_batch, tuple_schema};
use crate::spill_buffer::{BatchReader, BufferedBatches, SharedQuota, SpillBuffer};

/// Groups of a snapshot in the recoding.
pub(crate) enum ClassedGroups {
    /// One part: the group of each group of each chunk, in the order of streams and chunks. The recoding has the shares.
    Whole(Vec<u32>),
    /// Several parts.
    InParts(Box<GroupsInParts>),
}

/// Groups of a table that is cut into parts.
pub(crate) struct GroupsInParts {
    part_of: BufferedBatches,
    formed: BufferedBatches,
    /// Number of parts.
    parts: usize,
    /// Class of each cluster.
    class_of: Vec<u32>,
    workspace: Resources,
}

/// Groups of one part.
pub(crate) struct GroupsOfPart {
    /// For each group that was routed to the part, in order of arrival, the group of the part.
    pub(crate) numbers: Vec<u32>,
    /// Shares of the groups of the part.
    pub(crate) shares: Shares,
    _room: MemoryReservation,
}

/// Stores the groups of parts as their classes are formed.
pub(crate) struct FormedGroups {
    formed: SpillBuffer,
    parts: usize,
    workspace: Resources,
}

/// Name of the resource in the out-of-memory error.
const WHAT: &str = "the groups of a part";

impl FormedGroups {
    /// Creates an empty store.
    pub(crate) fn new(workspace: &Resources, allowance: &SharedQuota) -> Self {
        let formed = SpillBuffer::new(workspace, tuple_schema(), allowance, "formed groups");
        Self { formed, parts: 0, workspace: workspace.clone() }
    }

    /// Appends the next part: the group of each group that was routed to it, and the shares of its groups.
    pub(crate) fn push(&mut self, numbers: &[u32], shares: ClusterShares) -> Result<(), AnonymizeError> {
        let (first, pairs) = shares.into_numbers();
        let sizes = [numbers.len() as u32, first.len() as u32];
        self.parts += 1;
        self.formed.push(number_batch([&sizes[..], numbers, &first[..], &pairs[..]].concat())?)
    }

    /// Ends the store. `part_of` has the part of each group of each chunk, one batch per chunk; `class_of` the class of
    /// each cluster.
    pub(crate) fn finish(self, part_of: BufferedBatches, class_of: Vec<u32>) -> Result<GroupsInParts, AnonymizeError> {
        let Self { formed, parts, workspace } = self;
        Ok(GroupsInParts { part_of, formed: formed.finish()?, parts, class_of, workspace })
    }
}

impl GroupsInParts {
    /// Returns the number of parts.
    pub(crate) fn parts(&self) -> usize {
        self.parts
    }

    /// Reads the parts of the groups of all chunks, one batch per chunk.
    pub(crate) fn part_of(&self) -> Result<BatchReader<'_>, AnonymizeError> {
        self.part_of.read()
    }

    /// Calls `then` with the groups of every part, in order.
    pub(crate) fn for_each_part(
        &self,
        mut then: impl FnMut(usize, GroupsOfPart) -> Result<(), AnonymizeError>,
    ) -> Result<(), AnonymizeError> {
        let mut batches = self.formed.read()?;
        for part in 0..self.parts {
            self.workspace.check()?;
            let batch = batches.next()?.ok_or(AnonymizeError::Task)?;
            let stored = numbers(&batch);
            let room = self.workspace.reservation("groups of a part");
            // The stored numbers and their copy.
            reserve(&room, 8 * stored.len(), WHAT)?;
            let [routed, firsts, rest @ ..] = stored else { return Err(AnonymizeError::Task) };
            let (numbers, rest) = rest.split_at_checked(*routed as usize).ok_or(AnonymizeError::Task)?;
            let (first, pairs) = rest.split_at_checked(*firsts as usize).ok_or(AnonymizeError::Task)?;
            let shares = ClusterShares::from_numbers(first.to_vec(), pairs).in_classes(&self.class_of);
            then(part, GroupsOfPart { numbers: numbers.to_vec(), shares, _room: room })?;
        }
        Ok(())
    }

    /// Returns the memory of [`GroupsInParts::gather`], in bytes.
    pub(crate) fn gathered_bytes(&self) -> usize {
        self.part_of.bytes() + 2 * self.formed.bytes()
    }

    /// Returns the group over all parts of each group of each chunk, in the order of streams and chunks, and the shares
    /// of all groups.
    pub(crate) fn gather(&self) -> Result<(Vec<u32>, Shares), AnonymizeError> {
        let (mut of_part, mut shares) = (Vec::with_capacity(self.parts), Shares::new([]));
        self.for_each_part(|_, part| {
            let first = shares.groups() as u32;
            of_part.push(part.numbers.iter().map(|number| first + number).collect::<Vec<u32>>().into_iter());
            shares.append(&part.shares);
            Ok(())
        })?;
        let (mut group_of, mut chunks) = (Vec::new(), self.part_of()?);
        while let Some(chunk) = chunks.next()? {
            group_of.extend(numbers(&chunk).iter().filter_map(|part| of_part[*part as usize].next()));
        }
        Ok((group_of, shares))
    }
}

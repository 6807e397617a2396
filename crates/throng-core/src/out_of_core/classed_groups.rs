//! The group of the recoding that each group of a survey belongs to, and the classes of its rows.
//!
//! A survey has groups per chunk, and the same group may be in many chunks. If the table is not cut, one list maps
//! each of them to its group of the recoding. If it is cut into parts, there is no list of all groups: the mapping of a
//! part is stored when its classes have been formed, and read again when its rows are assigned.
//!
//! ```text
//!  chunk by chunk   part_of   the part of each group of the chunk
//!  part by part     formed    the group in the part of each group that was routed there, and the clusters of each group
//! ```

use std::sync::Arc;

use super::memory::reserve;
use super::{ListReader, ListWriter, MemoryBudget, OutOfCoreError, SharedQuota, StoredLists, Workspace};
use crate::recode::{ClusterShares, Shares};

/// Groups of a survey in the recoding.
#[derive(Debug)]
pub enum ClassedGroups {
    /// One part: the group of each group of each chunk, in the order of streams and chunks. The recoding has the shares.
    Whole(Vec<u32>),
    /// Several parts.
    InParts(Box<GroupsInParts>),
}

/// Groups of a table that is cut into parts.
#[derive(Debug)]
pub struct GroupsInParts {
    part_of: Box<dyn StoredLists<u32>>,
    formed: Box<dyn StoredLists<u32>>,
    /// Number of parts, which are numbered from 0.
    parts: usize,
    /// Class of each cluster.
    class_of: Vec<u32>,
    workspace: Arc<dyn Workspace>,
}

/// Groups of one part.
pub struct GroupsOfPart {
    /// For each group that was routed to the part, in order of arrival, the group of the part.
    pub numbers: Vec<u32>,
    /// Shares of the groups of the part.
    pub shares: Shares,
    _memory: Box<dyn MemoryBudget>,
}

/// Stores the groups of parts as their classes are formed.
pub(super) struct FormedGroups {
    formed: Box<dyn ListWriter<u32>>,
    parts: usize,
    workspace: Arc<dyn Workspace>,
}

/// Name of the resource in the out-of-memory error.
const GROUPS_OF_PART: &str = "the groups of a part";

impl FormedGroups {
    /// Creates an empty store.
    pub(super) fn new(workspace: &Arc<dyn Workspace>, quota: &SharedQuota) -> Self {
        Self { formed: workspace.numbers("formed groups", quota), parts: 0, workspace: Arc::clone(workspace) }
    }

    /// Appends the next part: the group of each group that was routed to it, and the shares of its groups.
    pub(super) fn push(&mut self, numbers: &[u32], shares: ClusterShares) -> Result<(), OutOfCoreError> {
        let (first, pairs) = shares.into_numbers();
        let sizes = [numbers.len() as u32, first.len() as u32];
        self.parts += 1;
        self.formed.push([&sizes[..], numbers, &first[..], &pairs[..]].concat())
    }

    /// Ends the store. `part_of` has the part of each group of each chunk, one list per chunk; `class_of` the class of
    /// each cluster.
    pub(super) fn finish(
        self,
        part_of: Box<dyn StoredLists<u32>>,
        class_of: Vec<u32>,
    ) -> Result<GroupsInParts, OutOfCoreError> {
        let Self { formed, parts, workspace } = self;
        Ok(GroupsInParts { part_of, formed: formed.finish()?, parts, class_of, workspace })
    }
}

impl GroupsInParts {
    /// Returns the number of parts.
    pub fn parts(&self) -> usize {
        self.parts
    }

    /// Reads the parts of the groups of all chunks, one list per chunk.
    pub fn part_of(&self) -> Result<ListReader<'_, u32>, OutOfCoreError> {
        self.part_of.read()
    }

    /// Calls `then` with the groups of every part, in order. Reserves memory for one part at a time. Fails if that is
    /// refused, if the run was cancelled, or if groups can't be read back.
    pub fn for_each_part<E: From<OutOfCoreError>>(
        &self,
        mut then: impl FnMut(usize, GroupsOfPart) -> Result<(), E>,
    ) -> Result<(), E> {
        let mut lists = self.formed.read()?;
        for part in 0..self.parts {
            self.workspace.check()?;
            let list = lists.next().ok_or(OutOfCoreError::Damaged)??;
            then(part, self.groups_of_part(&list)?)?;
        }
        Ok(())
    }

    fn groups_of_part(&self, stored: &[u32]) -> Result<GroupsOfPart, OutOfCoreError> {
        let memory = self.workspace.budget("groups of a part");
        // The stored numbers and their copy.
        reserve(memory.as_ref(), 8 * stored.len(), GROUPS_OF_PART)?;
        let [routed, firsts, rest @ ..] = stored else { return Err(OutOfCoreError::Damaged) };
        let (numbers, rest) = rest.split_at_checked(*routed as usize).ok_or(OutOfCoreError::Damaged)?;
        let (first, pairs) = rest.split_at_checked(*firsts as usize).ok_or(OutOfCoreError::Damaged)?;
        let shares = ClusterShares::from_numbers(first.to_vec(), pairs).in_classes(&self.class_of);
        Ok(GroupsOfPart { numbers: numbers.to_vec(), shares, _memory: memory })
    }

    /// Returns the memory of [`GroupsInParts::gather`], in bytes.
    pub fn gathered_bytes(&self) -> usize {
        self.part_of.bytes() + 2 * self.formed.bytes()
    }

    /// Returns the group over all parts of each group of each chunk, in the order of streams and chunks, and the shares
    /// of all groups.
    pub fn gather(&self) -> Result<(Vec<u32>, Shares), OutOfCoreError> {
        let (mut of_part, mut shares) = (Vec::with_capacity(self.parts), Shares::new([]));
        self.for_each_part::<OutOfCoreError>(|_, part| {
            let first = shares.groups() as u32;
            of_part.push(part.numbers.iter().map(|number| first + number).collect::<Vec<u32>>().into_iter());
            shares.append(&part.shares);
            Ok(())
        })?;
        let mut group_of = Vec::new();
        for chunk in self.part_of()? {
            group_of.extend(chunk?.iter().filter_map(|part| of_part[*part as usize].next()));
        }
        Ok((group_of, shares))
    }
}

//! Gathers the classes of all parts of a table, and recodes them.

use std::sync::Arc;

use super::classes::CLASSES;
use super::error::check_feasibility;
use super::memory::reserve;
use super::spilled_values::SpilledColumn;
use super::{
    ClassSpec, ClassedGroups, Classes, FormedPart, ListWriter, MemoryBudget, OutOfCoreError, SharedQuota, StoredLists,
    Workspace, halves, join_halves,
};
use crate::feasibility::{Feasibility, FeasibilityCounts};
use crate::metrics::{Marginals, SlicedMarginal, SlicedRows, Utility};
use crate::model::Privacy;
use crate::partition::FeasibleRegions;
use crate::recode::{ClusterShares, Recoder};
use crate::risk::{BorrowedRows, ClassSizes};
use crate::survey::Domains;
use crate::table::Table;

/// Accumulates the classes of parts.
pub struct GatheredClasses {
    like: Table,
    examined: FeasibilityCounts,
    recoder: Recoder,
    counted: PartTotals,
    borrowed: BorrowedRows,
    leaves: u64,
    cycles: u32,
    memory: Box<dyn MemoryBudget>,
    /// Columns whose values are not in memory, and the rows at each of their positions, part by part.
    spilled: Arc<Vec<SpilledColumn>>,
    marginals: Box<dyn ListWriter<u32>>,
}

/// Accumulated counts of parts.
struct PartTotals {
    marginals: Marginals,
    cells: ClassSizes,
}

impl PartTotals {
    fn add(&mut self, table: &Table) {
        self.marginals.add(table);
        self.cells.add_cells(table);
    }
}

impl GatheredClasses {
    /// Creates an accumulator without parts.
    pub fn new(domains: &Domains, workspace: &dyn Workspace) -> Self {
        let like = Table::empty(domains);
        let counted = PartTotals { marginals: Marginals::new(&like), cells: ClassSizes::default() };
        Self {
            examined: FeasibilityCounts::new(&like),
            recoder: Recoder::new(&like),
            counted,
            borrowed: BorrowedRows::default(),
            like,
            leaves: 0,
            cycles: u32::MAX,
            memory: workspace.budget("classes"),
            spilled: Arc::default(),
            marginals: workspace.numbers("marginals", &SharedQuota::new(0)),
        }
    }

    /// Sets the columns whose values are not in memory.
    pub(super) fn with_spilled(self, spilled: Arc<Vec<SpilledColumn>>) -> Self {
        Self { spilled, ..self }
    }

    /// Adds a part whose classes were formed by another task. Reserves the memory of all classes so far, and fails if it
    /// is refused, or if the classes don't have every row of the part exactly once.
    pub fn add_formed(&mut self, table: &Table, privacy: &Privacy, formed: FormedPart) -> Result<(), OutOfCoreError> {
        let allowed = FeasibleRegions::of(table, privacy);
        self.examine(table, &allowed);
        self.add(table, &allowed, || Ok(formed))
    }

    /// Counts what decides whether a release of the part is possible.
    pub(super) fn examine(&mut self, table: &Table, allowed: &FeasibleRegions) {
        self.examined.add(table, allowed);
    }

    /// Returns whether a release of the parts examined so far is possible.
    pub(super) fn feasibility(&self, privacy: &Privacy) -> Feasibility {
        self.examined.conclude(privacy)
    }

    /// Adds a part that was examined. Its statistics are counted in parallel with `form`.
    pub(super) fn add(
        &mut self,
        table: &Table,
        allowed: &FeasibleRegions,
        form: impl FnOnce() -> Result<FormedPart, OutOfCoreError> + Send,
    ) -> Result<(), OutOfCoreError> {
        let Self { recoder, counted, borrowed, .. } = self;
        let formed = || {
            let formed = form()?;
            recoder.add(table, &formed.classes, &allowed.suppressed_cells)?;
            borrowed.add(table, &allowed.privacy, &formed.classes);
            Ok::<_, OutOfCoreError>((formed.leaves, formed.cycles))
        };
        let (formed, ()) = rayon::join(formed, || counted.add(table));
        let (leaves, cycles) = formed?;
        for spilled in self.spilled.iter() {
            self.marginals.push(marginal_list(table, spilled.ranked.column))?;
        }
        self.leaves += leaves;
        self.cycles = self.cycles.min(cycles);
        reserve(self.memory.as_ref(), self.recoder.size() + self.counted.marginals.size(), CLASSES)
    }

    /// Returns the number of leaves, and of clusters, of all parts so far.
    pub(super) fn counts(&self) -> (u64, usize) {
        (self.leaves, self.recoder.clusters())
    }

    /// Removes the shares of the groups of the parts since the last call.
    pub(super) fn take_shares(&mut self) -> ClusterShares {
        self.recoder.take_shares()
    }

    /// Returns the memory that is needed when the recoding of the classes so far is built, in bytes.
    pub(super) fn building_size(&self) -> usize {
        self.recoder.building_size() + self.counted.marginals.size()
    }

    /// Fails early if the recoding of the classes so far could not be built after the `freed` bytes of a part are
    /// released.
    pub(super) fn check_room(&self, workspace: &dyn Workspace, freed: usize) -> Result<(), OutOfCoreError> {
        let probe = workspace.budget("classes to come");
        reserve(probe.as_ref(), self.building_size().saturating_sub(self.memory.size() + freed), CLASSES)
    }

    /// Finishes the recoding. `rows` and `suppressed` are those of the whole input. The result has no groups; also
    /// returns the class of each cluster. Reserves memory to build the recoding, and keeps that of the recoding. Fails if it
    /// is refused, or if no release is possible.
    pub fn finish(self, spec: &ClassSpec, rows: u64, suppressed: u64) -> Result<(Classes, Vec<u32>), OutOfCoreError> {
        let Self { like, examined, mut recoder, counted, borrowed, leaves, cycles, memory, spilled, marginals } = self;
        let feasibility = examined.conclude(&spec.privacy);
        check_feasibility(&feasibility, spec.suppression_limit, rows, suppressed)?;
        reserve(memory.as_ref(), recoder.building_size() + counted.marginals.size(), CLASSES)?;
        for ((column, positions), spilled) in recoder.shown_positions().into_iter().zip(spilled.iter()) {
            let Some(whole) = like.quasi()[column].domain.slice().map(|slice| slice.whole()) else { continue };
            let keys = spilled.keys_at(positions.iter().filter_map(|position| whole.rank(*position)))?;
            recoder.set_shown_values(column, &positions, &keys)?;
        }
        let like = like.with_columns(Arc::clone(recoder.quasi()));
        let (recoding, class_of) = recoder.finish_with_classes()?;
        reserve(memory.as_ref(), recoding.size() + recoding.group_count() * 16, CLASSES)?;
        let mut sliced = counted.marginals.sliced(&like, &recoding);
        add_marginals(&mut sliced, marginals.finish()?.as_ref())?;
        let changes = counted.marginals.changes(&like, &recoding, spec.k, &sliced);
        let utility = Utility::of(&like, &recoding, spec.k).with_changes(changes);
        let suppressed = suppressed + feasibility.suppressed;
        let (cells, key) = (counted.cells, spec.key.derive("row assignment", &[]));
        let groups = ClassedGroups::Whole(Vec::new());
        let classes = Classes { recoding, utility, cells, groups, borrowed, key, leaves, cycles, suppressed, memory };
        Ok((classes, class_of))
    }
}

/// Returns the rows of a part at each position of a column whose values are not in memory. The first number is the column.
fn marginal_list(table: &Table, column: usize) -> Vec<u32> {
    let numbers = |SlicedRows { position, coordinate, rows }| {
        let ([low, high], [few, many]) = (halves(f64::to_bits(coordinate)), halves(rows));
        [position, low, high, few, many]
    };
    let rows = SlicedMarginal::rows_of(table, column).into_iter().flat_map(numbers);
    [column as u32].into_iter().chain(rows).collect()
}

/// Adds the rows of all parts to the histograms of their columns.
fn add_marginals(sliced: &mut [SlicedMarginal], stored: &dyn StoredLists<u32>) -> Result<(), OutOfCoreError> {
    for list in stored.read()? {
        let list = list?;
        let Some((column, rest)) = list.split_first() else { continue };
        let Some(sliced) = sliced.iter_mut().find(|sliced| sliced.column() == *column as usize) else { continue };
        for [position, low, high, few, many] in rest.as_chunks::<5>().0 {
            let coordinate = f64::from_bits(join_halves([*low, *high]));
            sliced.add(SlicedRows { position: *position, coordinate, rows: join_halves([*few, *many]) });
        }
    }
    Ok(())
}

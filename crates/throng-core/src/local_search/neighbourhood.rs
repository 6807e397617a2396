//! A neighbourhood: some classes and the lenders near them, with a local, densely indexed copy of everything that a
//! proposal reads.

use super::local_near::LocalNear;
use super::nearest_cells::NearestCells;
use super::search_state::{Allocation, MutableClass, SearchState};
use super::surplus::Surplus;
use crate::geometry::{BoundingBox, ClassBoxes, LossSpace};
use crate::model::{Privacy, Tally, TallyShape};
use crate::table::Table;

/// Sentinel: no cell or lender.
pub(super) const NONE: u16 = u16::MAX;

/// Number of cells for which a class has room before its memory grows.
const ROOM: usize = 4;

/// Classes and lenders that one thread anneals.
pub(super) struct Neighbourhood<'a> {
    pub(super) table: &'a Table,
    pub(super) privacy: &'a Privacy,
    pub(super) least_rows: u32,
    /// Whether a model may be violated although all that count are satisfied.
    pub(super) has_frequency_models: bool,
    /// Required units of each counting diversity model.
    pub(super) required: Vec<u32>,
    pub(super) axes: LossSpace,
    pub(super) cells: LocalCells,
    pub(super) lenders: LocalLenders,
    pub(super) classes: Vec<LocalClass>,
    /// The classes without a cell, ascending.
    empty: Vec<usize>,
    /// Bounding boxes of the classes, without borrowed rows.
    pub(super) bounds: ClassBoxes,
    /// Scratch buffers.
    pub(super) ranges: BoundingBox,
    pub(super) origins: Vec<(u16, usize)>,
}

/// The movable cells.
pub(super) struct LocalCells {
    /// Indices into `SearchState::movable`.
    numbers: Vec<u32>,
    /// Cells in the table.
    pub(super) of_table: Vec<u32>,
    pub(super) places: Vec<f32>,
    pub(super) rows: Vec<u32>,
    /// Units that each cell alone contributes to each diversity model: an upper bound of what a class loses without it.
    pub(super) brings: Vec<u32>,
    pub(super) class_of: Vec<u16>,
    /// Cached savings of the class without the cell; NaN if unknown.
    pub(super) gains: Vec<f32>,
    near: LocalNear,
}

/// The lenders.
pub(super) struct LocalLenders {
    /// Indices into `SearchState::lenders`.
    numbers: Vec<u32>,
    pub(super) places: Vec<f32>,
    pub(super) stocks: Vec<Surplus>,
}

/// A class of a neighbourhood.
#[derive(Clone, Debug)]
pub(super) struct LocalClass {
    pub(super) members: Vec<u16>,
    pub(super) rows: u32,
    /// Without borrowed rows, as are `rows` and `reached`.
    pub(super) tally: Tally,
    /// Units reached of each diversity model.
    pub(super) reached: Vec<u32>,
    /// Allocations; lenders are local indices.
    pub(super) allocations: Vec<Allocation>,
    /// Loss with borrowed rows, times the penalty if undiverse.
    pub(super) cost: f32,
    pub(super) is_undiverse: bool,
}

/// For each cell and lender of the state, its neighbourhood in this round and its local index there.
pub(super) struct LocalAddresses {
    pub(super) cells: Vec<(u32, u16)>,
    pub(super) lenders: Vec<(u32, u16)>,
}

impl<'a> Neighbourhood<'a> {
    /// Creates neighbourhood `number` with these classes and lenders. Without `near`, it finds the near cells of its cells.
    pub(super) fn new(
        state: &SearchState<'a>,
        near: Option<&NearestCells>,
        addresses: &LocalAddresses,
        number: u32,
        classes: &[u32],
        lenders: &[u32],
    ) -> Self {
        let (table, privacy) = (state.table, state.privacy);
        let searched = || classes.iter().map(|class| &state.classes[*class as usize]);
        let numbers: Vec<u32> = searched().flat_map(|class| class.cells.iter().copied()).collect();
        let is_here = |lender: u32| addresses.lenders[lender as usize].0 == number;
        // Lenders of other neighbourhoods only keep their existing allocations: they get an empty surplus here.
        let allocations = searched().flat_map(|class| &class.allocations).map(|allocation| allocation.lender);
        let mut strangers: Vec<u32> = allocations.filter(|lender| !is_here(*lender)).collect();
        strangers.sort_unstable();
        strangers.dedup();
        let of_table: Vec<u32> = numbers.iter().map(|cell| state.movable[*cell as usize]).collect();
        let all_lenders: Vec<u32> = lenders.iter().chain(&strangers).copied().collect();
        let lending = all_lenders.iter().map(|lender| state.lenders[*lender as usize]);
        let all: Vec<u32> = of_table.iter().copied().chain(lending).collect();
        let (axes, mut places) = LossSpace::new(table, all.iter().copied());
        let near = match near {
            Some(near) => LocalNear::of_table(near, &numbers, addresses, number),
            None => LocalNear::in_leaves(&axes, &places, &of_table, lenders.len()),
        };
        let lender_places = places.split_off(numbers.len() * axes.stride());
        let surplus = |lender: &u32| state.stocks[*lender as usize].clone();
        let stocks =
            lenders.iter().map(surplus).chain(strangers.iter().map(|lender| surplus(lender).emptied())).collect();
        let models: Vec<_> = privacy.counting_diversity().collect();
        let mut cells = LocalCells {
            places,
            rows: of_table.iter().map(|cell| small(table.cell_rows(*cell))).collect(),
            brings: Vec::with_capacity(numbers.len() * models.len()),
            class_of: vec![0; numbers.len()],
            gains: vec![0.0; numbers.len()],
            near,
            numbers,
            of_table,
        };
        for cell in &cells.numbers {
            cells.brings.extend_from_slice(state.gain(*cell));
        }
        let lenders = LocalLenders { places: lender_places, stocks, numbers: all_lenders };
        let stride = axes.stride();
        let mut neighbourhood = Self {
            table,
            privacy,
            least_rows: small(privacy.least_rows()),
            has_frequency_models: models.len() < privacy.diversity_models().count(),
            required: models.iter().map(|model| small(model.required())).collect(),
            axes,
            cells,
            lenders,
            bounds: ClassBoxes::new(stride),
            ranges: BoundingBox::new(stride),
            origins: Vec::new(),
            classes: Vec::with_capacity(classes.len() + 1),
            empty: Vec::new(),
        };
        let own = neighbourhood.lenders.numbers.len() - strangers.len();
        let local = |lender: u32| match addresses.lenders[lender as usize] {
            (neighbourhood, local) if neighbourhood == number => Some(u32::from(local)),
            _ => strangers.binary_search(&lender).ok().map(|place| (own + place) as u32),
        };
        neighbourhood.add_classes(searched(), local);
        neighbourhood
    }

    /// Adds classes, whose cells are consecutive; `local` maps a lender to its local index.
    fn add_classes<'b>(
        &mut self,
        searched: impl Iterator<Item = &'b MutableClass>,
        local: impl Fn(u32) -> Option<u32>,
    ) {
        let mut next = 0;
        for searched in searched {
            let allocation =
                |allocation: &Allocation| Some(Allocation { lender: local(allocation.lender)?, ..allocation.clone() });
            let allocations = searched.allocations.iter().filter_map(allocation).collect();
            let members = Vec::with_capacity(searched.cells.len() + ROOM);
            let mut class = LocalClass { members, allocations, ..self.empty_class() };
            for _ in &searched.cells {
                self.cells.class_of[usize::from(next)] = self.classes.len() as u16;
                class.members.push(next);
                class.tally.add_cell(self.table, self.cells.of_table[usize::from(next)]);
                next += 1;
            }
            self.push(class);
            self.measure(self.classes.len() - 1);
        }
    }

    fn push(&mut self, class: LocalClass) {
        self.classes.push(class);
        self.bounds.push();
    }

    /// Returns the first class without a cell, which is added if there is none.
    pub(super) fn first_empty(&mut self) -> usize {
        if let Some(first) = self.empty.first() {
            return *first;
        }
        let class = self.classes.len();
        self.push(self.empty_class());
        self.empty.push(class);
        class
    }

    /// Notes whether a class has cells.
    pub(super) fn note_emptiness(&mut self, class: usize, is_empty: bool) {
        match self.empty.binary_search(&class) {
            Ok(at) if !is_empty => drop(self.empty.remove(at)),
            Err(at) if is_empty => self.empty.insert(at, class),
            _ => {}
        }
    }

    pub(super) fn empty_class(&self) -> LocalClass {
        LocalClass {
            members: Vec::new(),
            rows: 0,
            tally: Tally::empty(self.table.tally_shape()),
            reached: vec![0; self.required.len()],
            allocations: Vec::new(),
            cost: 0.0,
            is_undiverse: false,
        }
    }

    pub(super) fn place(&self, cell: u16) -> &[f32] {
        let stride = self.axes.stride();
        &self.cells.places[usize::from(cell) * stride..][..stride]
    }

    pub(super) fn lender_place(&self, lender: u16) -> &[f32] {
        let stride = self.axes.stride();
        &self.lenders.places[usize::from(lender) * stride..][..stride]
    }

    pub(super) fn class_of(&self, cell: u16) -> usize {
        usize::from(self.cells.class_of[usize::from(cell)])
    }

    /// Returns the near cells of a cell that are in this neighbourhood.
    pub(super) fn near(&self, cell: u16) -> &[u16] {
        self.cells.near.cells.get(cell)
    }

    /// Returns the near lenders of a cell that are in this neighbourhood.
    pub(super) fn near_lenders(&self, cell: u16) -> &[u16] {
        self.cells.near.lenders.get(cell)
    }

    /// Returns the non-empty classes, with the indices of the search state.
    pub(super) fn finish(self) -> Vec<MutableClass> {
        let Self { cells, lenders, classes, .. } = self;
        let allocation =
            |allocation: Allocation| Allocation { lender: lenders.numbers[allocation.lender as usize], ..allocation };
        let class = |class: LocalClass| MutableClass {
            cells: class.members.iter().map(|cell| cells.numbers[usize::from(*cell)]).collect(),
            allocations: class.allocations.into_iter().map(allocation).collect(),
            cost: class.cost,
            is_undiverse: class.is_undiverse,
        };
        classes.into_iter().filter(|class| !class.members.is_empty()).map(class).collect()
    }
}

impl LocalClass {
    /// Placeholder for a class that is taken out while it is updated.
    pub(super) fn nothing() -> Self {
        let (members, reached, allocations) = (Vec::new(), Vec::new(), Vec::new());
        Self {
            members,
            rows: 0,
            tally: Tally::empty(TallyShape::without_units(0)),
            reached,
            allocations,
            cost: 0.0,
            is_undiverse: false,
        }
    }
}

/// Saturating cast to u32; the cap leaves room for additions.
pub(super) fn small(count: u64) -> u32 {
    u32::try_from(count).unwrap_or(u32::MAX / 2)
}

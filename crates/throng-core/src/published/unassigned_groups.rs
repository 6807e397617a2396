//! The rows of a leaf without a class, and the classes that take them one by one.
//!
//! [Truta 2007] and [Sun 2008] work on rows. Rows of one group are interchangeable, so the pool keeps groups with the
//! number of rows that remain of each. Groups with the same sensitive codes are one *kind*: the diversity that a row
//! adds to a class (Div, Def. 11) depends on its kind alone, and the loss that it adds on its cell alone. Where a paper
//! says "any" row, it is the lowest cell of the leaf, and the most frequent kind of that cell.

use rustc_hash::FxHashMap;

use crate::cluster::leaf_view::{DenseBox, LeafView, LossMeasure, WideningLosses};
use crate::cluster::{Class, Portion};
use crate::model::{Privacy, Tally};
use crate::table::Table;

/// Rows without a class.
pub(super) struct UnassignedGroups<'a> {
    frame: LeafView<'a>,
    privacy: &'a Privacy,
    leaf: &'a [u32],
    /// Groups in the order of the cells of the leaf.
    groups: Vec<UnassignedGroup>,
    kinds: Vec<SensitiveKind>,
    /// The groups of cell `c` of the leaf are `first_group[c]..first_group[c + 1]`.
    first_group: Vec<usize>,
    /// Remaining rows by cell of the leaf.
    cell_rows: Vec<u32>,
    rows: u64,
    /// Reused buffer.
    reach: WideningLosses,
    most_diverse: Vec<usize>,
}

/// A group of the leaf.
struct UnassignedGroup {
    id: u32,
    cell: usize,
    kind: usize,
    /// Remaining rows.
    rows: u32,
}

/// All groups with the same sensitive codes.
struct SensitiveKind {
    groups: Vec<usize>,
    /// Remaining rows.
    rows: u64,
}

/// A candidate row of a class, and its effect.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct GroupMatch {
    pub(super) group: usize,
    /// Div [Truta 2007, Def. 11].
    pub(super) diversity: f64,
    /// Increase of the information loss of the class.
    pub(super) cost: f64,
}

/// A class that takes rows one by one.
#[derive(Clone, Debug)]
pub(super) struct GrowingClass {
    /// `None` if there is no row.
    span: Option<DenseBox>,
    /// Loss per row of the bounding box.
    loss: f32,
    tally: Tally,
    /// Groups of the pool with row counts; a group may occur more than once.
    taken: Vec<(usize, u32)>,
}

impl GrowingClass {
    pub(super) fn rows(&self) -> u64 {
        self.tally.rows()
    }

    pub(super) fn tally(&self) -> &Tally {
        &self.tally
    }

    /// Returns the increase of the information loss by one row if the loss per row is `after` then.
    fn cost(&self, after: f32) -> f64 {
        self.rows() as f64 * (f64::from(after) - f64::from(self.loss)) + f64::from(after)
    }
}

impl<'a> UnassignedGroups<'a> {
    pub(super) fn new(leaf: &'a [u32], table: &'a Table, privacy: &'a Privacy) -> Self {
        let frame = LeafView::new(leaf, table, LossMeasure::InformationLoss);
        let mut kind_of: FxHashMap<&[u32], usize> = FxHashMap::default();
        let (mut groups, mut kinds, mut first_group) = (Vec::new(), Vec::<SensitiveKind>::new(), vec![0]);
        for (cell, id_of_cell) in leaf.iter().enumerate() {
            for id in table.groups(*id_of_cell) {
                let kind = *kind_of.entry(table.codes(id)).or_insert(kinds.len());
                if kind == kinds.len() {
                    kinds.push(SensitiveKind { groups: Vec::new(), rows: 0 });
                }
                let rows = table.group_rows(id);
                kinds[kind].groups.push(groups.len());
                kinds[kind].rows += u64::from(rows);
                groups.push(UnassignedGroup { id, cell, kind, rows });
            }
            first_group.push(groups.len());
        }
        let cells = first_group.windows(2);
        let cell_rows: Vec<u32> = cells.map(|at| groups[at[0]..at[1]].iter().map(|group| group.rows).sum()).collect();
        let rows = cell_rows.iter().map(|rows| u64::from(*rows)).sum();
        let reach = WideningLosses::new(&frame, DenseBox::origin(&frame));
        Self { frame, privacy, leaf, groups, kinds, first_group, cell_rows, rows, reach, most_diverse: Vec::new() }
    }

    /// Returns the number of remaining rows.
    pub(super) fn rows(&self) -> u64 {
        self.rows
    }

    /// Returns the number of kinds.
    pub(super) fn kind_count(&self) -> usize {
        self.kinds.len()
    }

    /// Returns the number of remaining rows of a kind.
    pub(super) fn kind_rows(&self, kind: usize) -> u64 {
        self.kinds[kind].rows
    }

    /// Returns the number of remaining rows of a group.
    pub(super) fn group_rows(&self, group: usize) -> u32 {
        self.groups[group].rows
    }

    /// Returns the sensitive codes of a kind.
    pub(super) fn codes(&self, kind: usize) -> &'a [u32] {
        self.frame.table().codes(self.groups[self.kinds[kind].groups[0]].id)
    }

    /// Returns a class without rows.
    pub(super) fn empty_class(&self) -> GrowingClass {
        let tally = Tally::empty(self.frame.table().tally_shape());
        GrowingClass { span: None, loss: 0.0, tally, taken: Vec::new() }
    }

    /// Returns the first group with a remaining row.
    pub(super) fn first(&self) -> Option<usize> {
        self.groups.iter().position(|group| group.rows > 0)
    }

    /// Returns the group of the row with the largest loss together with a row of this group.
    pub(super) fn farthest(&mut self, from: usize) -> Option<usize> {
        self.reach.restart(&self.frame, self.groups[from].cell);
        let mut farthest: Option<(f32, usize)> = None;
        for cell in (0..self.cell_rows.len()).filter(|cell| self.cell_rows[*cell] > 0) {
            let loss = self.reach.loss_with(&self.frame, cell);
            if farthest.is_none_or(|(most, _)| loss > most) {
                farthest = Some((loss, cell));
            }
        }
        farthest.and_then(|(_, cell)| self.commonest_of(cell))
    }

    /// Returns the most frequent kind among the rows of a cell, which all cost the same: rare ones are kept for classes
    /// that need them.
    fn commonest_of(&self, cell: usize) -> Option<usize> {
        let groups = (self.first_group[cell]..self.first_group[cell + 1]).filter(|at| self.groups[*at].rows > 0);
        groups.max_by_key(|group| (self.kinds[self.groups[*group].kind].rows, std::cmp::Reverse(*group)))
    }

    /// `BestMatch` of [Truta 2007] for one class: returns the row of these kinds with the highest diversity, then the
    /// least cost.
    pub(super) fn best_match(
        &mut self,
        kinds: impl IntoIterator<Item = usize>,
        class: &GrowingClass,
    ) -> Option<GroupMatch> {
        let mut diversity = f64::NEG_INFINITY;
        self.most_diverse.clear();
        for kind in kinds {
            if self.kinds[kind].rows == 0 {
                continue;
            }
            let found = self.privacy.diversity(&class.tally, self.codes(kind));
            if found > diversity {
                diversity = found;
                self.most_diverse.clear();
            }
            if found == diversity {
                self.most_diverse.push(kind);
            }
        }
        let mut best: Option<(f32, usize)> = None;
        if let Some(span) = &class.span {
            self.reach.move_to(&self.frame, span);
        }
        for kind in &self.most_diverse {
            for group in self.kinds[*kind].groups.iter().filter(|group| self.groups[**group].rows > 0) {
                // A class of a single row has no loss.
                let alone = class.span.is_none();
                let loss = if alone { 0.0 } else { self.reach.loss_with(&self.frame, self.groups[*group].cell) };
                if best.is_none_or(|least| (loss, *group) < least) {
                    best = Some((loss, *group));
                }
            }
        }
        best.map(|(loss, group)| GroupMatch { group, diversity, cost: class.cost(loss) })
    }

    /// Returns the row with the least cost for a class.
    fn nearest(&mut self, class: &GrowingClass) -> Option<usize> {
        let Some(span) = &class.span else { return self.first() };
        self.reach.move_to(&self.frame, span);
        let mut nearest: Option<(f32, usize)> = None;
        for cell in (0..self.cell_rows.len()).filter(|cell| self.cell_rows[*cell] > 0) {
            let loss = self.reach.loss_with(&self.frame, cell);
            if nearest.is_none_or(|(least, _)| loss < least) {
                nearest = Some((loss, cell));
            }
        }
        nearest.and_then(|(_, cell)| self.commonest_of(cell))
    }

    /// Moves `rows` rows of a group, which must have as many, to a class.
    pub(super) fn give(&mut self, group: usize, rows: u32, class: &mut GrowingClass) {
        let UnassignedGroup { id, cell, kind, .. } = self.groups[group];
        self.groups[group].rows -= rows;
        self.kinds[kind].rows -= u64::from(rows);
        self.cell_rows[cell] -= rows;
        self.rows -= u64::from(rows);
        match &mut class.span {
            Some(span) => span.include(&self.frame, cell),
            None => class.span = Some(DenseBox::of(&self.frame, cell)),
        }
        class.loss = class.span.as_ref().map_or(0.0, |span| span.loss(&self.frame));
        class.tally.add(self.frame.table().codes(id), u64::from(rows));
        class.taken.push((group, rows));
    }

    /// Takes all rows of a class back.
    pub(super) fn dissolve(&mut self, class: GrowingClass) {
        for (group, rows) in class.taken {
            let UnassignedGroup { cell, kind, .. } = self.groups[group];
            self.groups[group].rows += rows;
            self.kinds[kind].rows += u64::from(rows);
            self.cell_rows[cell] += rows;
            self.rows += u64::from(rows);
        }
    }

    /// Adds the nearest rows to a class until it satisfies all models, or no row remains.
    pub(super) fn complete(&mut self, class: &mut GrowingClass) {
        while !self.privacy.is_satisfied(&class.tally) {
            let Some(group) = self.nearest(class) else { return };
            self.give(group, 1, class);
        }
    }

    /// Adds every remaining row to the class with the least increase of information loss. Classes that do not satisfy
    /// the models are dissolved first; without any class all rows are one.
    ///
    /// Once a row has joined a class, another row of its cell costs less there than the first one did, and as much as
    /// before elsewhere. All rows of a cell therefore join the same class, and are moved together.
    pub(super) fn spread(mut self, classes: Vec<GrowingClass>) -> Vec<Class> {
        let (mut classes, broken): (Vec<GrowingClass>, Vec<GrowingClass>) =
            classes.into_iter().partition(|class| self.privacy.is_satisfied(&class.tally));
        broken.into_iter().for_each(|class| self.dissolve(class));
        for cell in 0..self.cell_rows.len() {
            if self.cell_rows[cell] == 0 {
                continue;
            }
            let cost = |class: &GrowingClass| {
                class.span.as_ref().map_or(f64::INFINITY, |span| class.cost(span.loss_with(&self.frame, cell)))
            };
            let costs = classes.iter().map(cost).enumerate();
            let Some((home, _)) = costs.min_by(|a, b| a.1.total_cmp(&b.1)) else {
                return vec![Class::of_cells(self.frame.table(), self.leaf)];
            };
            for group in self.first_group[cell]..self.first_group[cell + 1] {
                if self.groups[group].rows > 0 {
                    self.give(group, self.groups[group].rows, &mut classes[home]);
                }
            }
        }
        let portion = |(group, rows): (usize, u32)| Portion { group: self.groups[group].id, rows };
        let class = |class: GrowingClass| Class::of_portions(class.taken.into_iter().map(portion).collect());
        classes.into_iter().map(class).collect()
    }
}

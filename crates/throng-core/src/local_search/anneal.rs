//! Simulated annealing [Kirkpatrick 1983] within one neighbourhood.
//!
//! A proposal moves a cell to the class of a near cell, exchanges two cells, or splits the cells of two or three classes
//! along other cuts (`split.rs`). Descent alone gets stuck early: a better division of the same rows into three classes
//! often starts with a step that raises the loss. Proposals are biased: of a few random candidates the most promising
//! one is kept (the cell whose removal saves most, the near class that grows least, the exchange partner that fits
//! best). A proposal is accepted with a probability that falls with the loss it adds [Metropolis 1953].

use std::ops::Range;

use super::cell_exchange::CellExchange;
use super::neighbourhood::{NONE, Neighbourhood};
use super::proposal_mix::ProposalMix;
use super::rng::SplitMix64;
use super::split::Splitter;
use crate::geometry::BoundingBox;

/// Number of consecutive cells that get their proposals one after another. Cells are numbered such that near ones follow each
/// other, so what a window reads stays in the cache of a core.
pub(super) const WINDOW: usize = 1 << 10;

/// One in `NEW_CLASS` proposals opens a new class; one in `NEW_CLASS_OF_LARGE` if the class has rows for two.
const NEW_CLASS: usize = 64;
const NEW_CLASS_OF_LARGE: usize = 8;

/// Two classes are split at most once in as many proposals as they have this many cells, because the time of a split grows
/// with them.
const SPLIT_CELLS: usize = 16;

/// Share of the remaining proposals that exchange two cells, as (numerator, denominator).
const EXCHANGES: (usize, usize) = (2, 3);

/// Number of random candidates of which the most promising is kept.
const CELLS_DRAWN: usize = 3;
const CLASSES_DRAWN: usize = 6;
const PARTNERS_DRAWN: usize = 3;

/// Number of attempts to draw a third class that differs from two others.
const THIRDS_DRAWN: usize = 4;

/// Temperature range of an annealing run, in units of the loss that a proposal may add.
#[derive(Clone, Copy, Debug)]
pub(super) struct Temperature {
    pub(super) from: f32,
    pub(super) to: f32,
}

/// Makes the proposals of `mix`, cooling geometrically from `heat.from` to `heat.to`.
pub(super) fn anneal(neighbourhood: &mut Neighbourhood<'_>, mix: ProposalMix, heat: Temperature, draws: SplitMix64) {
    let cells = neighbourhood.cells.rows.len();
    let stride = neighbourhood.axes.stride();
    let mut proposer = Proposer {
        mix,
        draws,
        splitter: Splitter::new(stride, mix.by_column),
        first: BoundingBox::new(stride),
        second: BoundingBox::new(stride),
    };
    let cooling = (heat.to / heat.from).powf(1.0 / mix.passes.max(1) as f32);
    let mut now = heat.from;
    for _ in 0..mix.passes {
        for start in (0..cells).step_by(WINDOW) {
            let window = start..cells.min(start + WINDOW);
            for _ in 0..mix.proposals(window.len()) {
                proposer.propose(neighbourhood, &window, now);
            }
        }
        now *= cooling;
    }
}

struct Proposer {
    mix: ProposalMix,
    splitter: Splitter,
    draws: SplitMix64,
    first: BoundingBox,
    second: BoundingBox,
}

impl Proposer {
    /// Makes a proposal for one of the cells of a window.
    fn propose(&mut self, neighbourhood: &mut Neighbourhood<'_>, window: &Range<usize>, heat: f32) {
        let cell = self.draw_cell(neighbourhood, window);
        let from = neighbourhood.class_of(cell);
        let is_large = neighbourhood.classes[from].rows >= 2 * neighbourhood.least_rows;
        if self.draws.below(if is_large { NEW_CLASS_OF_LARGE } else { NEW_CLASS }) == 0 {
            if let Some(new) = self.new_class(neighbourhood, from, is_large)
                && Splitter::can_split(neighbourhood, &[from, new])
            {
                self.splitter.propose(neighbourhood, &[from, new], cell, heat, &mut self.draws);
            }
            return;
        }
        let Some(to) = self.draw_class(neighbourhood, cell, from) else { return };
        if self.splits(neighbourhood, [from, to]) {
            let third = if self.draws.below(self.mix.three_way) == 0 {
                self.draw_third(neighbourhood, [from, to])
            } else {
                None
            };
            match third.map(|third| [from, to, third]) {
                Some(three) if Splitter::can_split(neighbourhood, &three) => {
                    self.splitter.propose(neighbourhood, &three, cell, heat, &mut self.draws);
                }
                _ => self.splitter.propose(neighbourhood, &[from, to], cell, heat, &mut self.draws),
            }
            return;
        }
        let must_exchange = neighbourhood.is_without_lenders() && !neighbourhood.has_rows_without(from, cell);
        let exchanges = must_exchange || self.draws.below(EXCHANGES.1) < EXCHANGES.0;
        let joins = if exchanges { self.draw_partner(neighbourhood, cell, from, to) } else { NONE };
        let change = CellExchange { leaves: cell, joins };
        let before = neighbourhood.classes[from].cost + neighbourhood.classes[to].cost;
        let most = before - heat * (1.0 - self.draws.share()).ln();
        let here = neighbourhood.estimate(from, change, to, most, &mut self.first);
        if here.cost > most {
            return;
        }
        let there = neighbourhood.estimate(to, change.reversed(), from, most - here.cost, &mut self.second);
        if here.cost + there.cost <= most {
            let moving = [(cell, to), (joins, from)];
            let moving = if joins == NONE { &moving[..1] } else { &moving };
            neighbourhood.apply(&[from, to], moving, &[here.lender, there.lender], most);
        }
    }

    /// Returns the random cell of a window whose removal saves its class most.
    fn draw_cell(&mut self, neighbourhood: &mut Neighbourhood<'_>, window: &Range<usize>) -> u16 {
        let mut best = (f32::NEG_INFINITY, window.start as u16);
        for _ in 0..CELLS_DRAWN {
            let cell = (window.start + self.draws.below(window.len())) as u16;
            let gain = neighbourhood.gain(cell, &mut self.first);
            if gain > best.0 {
                best = (gain, cell);
            }
        }
        best.1
    }

    /// Returns the class of a random near cell that would grow least.
    fn draw_class(&mut self, neighbourhood: &Neighbourhood<'_>, cell: u16, from: usize) -> Option<usize> {
        let near = neighbourhood.near(cell);
        if near.is_empty() {
            return None;
        }
        let mut best: Option<(f32, usize)> = None;
        let mut draw = || neighbourhood.class_of(near[self.draws.below(near.len())]);
        for _ in 0..CLASSES_DRAWN {
            let mut class = draw();
            for _ in 0..self.mix.redraws {
                class = if class == from { draw() } else { class };
            }
            if class == from || best.is_some_and(|(_, known)| known == class) {
                continue;
            }
            let growth = neighbourhood.growth(class, cell);
            if best.is_none_or(|(least, _)| growth < least) {
                best = Some((growth, class));
            }
        }
        best.map(|(_, class)| class)
    }

    /// Draws whether two classes are split.
    fn splits(&mut self, neighbourhood: &Neighbourhood<'_>, classes: [usize; 2]) -> bool {
        let cells: usize = classes.iter().map(|class| neighbourhood.classes[*class].members.len()).sum();
        self.draws.below(self.mix.splits.max(cells / SPLIT_CELLS)) == 0 && Splitter::can_split(neighbourhood, &classes)
    }

    /// Returns a third class near two others.
    fn draw_third(&mut self, neighbourhood: &Neighbourhood<'_>, two: [usize; 2]) -> Option<usize> {
        let members = &neighbourhood.classes[two[self.draws.below(2)]].members;
        let near = neighbourhood.near(members[self.draws.below(members.len())]);
        if near.is_empty() {
            return None;
        }
        let mut class = || neighbourhood.class_of(near[self.draws.below(near.len())]);
        (0..THIRDS_DRAWN).map(|_| class()).find(|class| !two.contains(class))
    }

    /// Returns an empty class if `from` has rows for two classes, or lenders may supply the rows that are missing.
    fn new_class(&self, neighbourhood: &mut Neighbourhood<'_>, from: usize, is_large: bool) -> Option<usize> {
        if (neighbourhood.is_without_lenders() && !is_large) || neighbourhood.classes[from].members.len() < 2 {
            return None;
        }
        Some(neighbourhood.first_empty())
    }

    /// Returns the random cell of `to` that fits best into `from` once `leaves` has left it.
    fn draw_partner(&mut self, neighbourhood: &Neighbourhood<'_>, leaves: u16, from: usize, to: usize) -> u16 {
        let members = &neighbourhood.classes[to].members;
        if neighbourhood.classes[from].members.len() == 1 {
            return members[self.draws.below(members.len())];
        }
        neighbourhood.fill_ranges(from, CellExchange { leaves, joins: NONE }, &mut self.first);
        let mut best = (f32::INFINITY, NONE);
        for _ in 0..PARTNERS_DRAWN.min(members.len()) {
            let partner = members[self.draws.below(members.len())];
            let loss = neighbourhood.axes.loss_with(&self.first.lo, &self.first.hi, neighbourhood.place(partner));
            if loss < best.0 {
                best = (loss, partner);
            }
        }
        best.1
    }
}

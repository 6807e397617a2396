//! Annealing: changes that lose something are made at first, ever fewer of them, and in the end none.
//!
//! A change moves a cell to the class of a cell nearby, exchanges two cells, or parts two classes anew (`split.rs`).
//! Changes that only ever gain soon get stuck: a better way to form three classes out of the same rows often begins with a
//! step that loses. Proposals are drawn, and of a few draws the most promising is taken: the cell without which its class gains most, the
//! class nearby that grows least, the cell in exchange that fits best. What is proposed is accepted with a probability
//! that falls with what it loses (Metropolis).

use super::change::Change;
use super::draws::Draws;
use super::hood::{Hood, NONE};
use super::split::Splitter;
use crate::places::Ranges;

/// Of so many proposals one founds a new class; more often where there are rows for two.
const NEW_CLASS: usize = 64;
const NEW_CLASS_OF_LARGE: usize = 8;

/// Of so many proposals one parts two classes anew.
const SPLITS: usize = 5;

/// The share of other proposals that exchange two cells.
const EXCHANGES: (usize, usize) = (2, 3);

/// How many are drawn of which the most promising is taken.
const CELLS_DRAWN: usize = 4;
const CLASSES_DRAWN: usize = 4;
const PARTNERS_DRAWN: usize = 3;

/// How hot it is: what a change may lose on average.
#[derive(Clone, Copy, Debug)]
pub(super) struct Heat {
    pub(super) from: f32,
    pub(super) to: f32,
}

/// Proposes so many changes per cell.
pub(super) fn anneal(hood: &mut Hood<'_>, proposals: u32, heat: Heat, draws: Draws) {
    let cells = hood.cells.rows.len();
    let stride = hood.axes.stride();
    let mut proposer =
        Proposer { draws, splitter: Splitter::new(stride), first: Ranges::new(stride), second: Ranges::new(stride) };
    let cooling = (heat.to / heat.from).powf(1.0 / proposals.max(1) as f32);
    let mut now = heat.from;
    for _ in 0..proposals {
        for _ in 0..cells {
            proposer.propose(hood, now);
        }
        now *= cooling;
    }
}

struct Proposer {
    splitter: Splitter,
    draws: Draws,
    first: Ranges,
    second: Ranges,
}

impl Proposer {
    fn propose(&mut self, hood: &mut Hood<'_>, heat: f32) {
        let cell = self.draw_cell(hood);
        let from = hood.class_of(cell);
        let is_large = hood.classes[from].rows >= 2 * hood.least_rows;
        if self.draws.below(if is_large { NEW_CLASS_OF_LARGE } else { NEW_CLASS }) == 0 {
            if let Some(new) = self.new_class(hood, from, is_large) {
                self.splitter.propose(hood, [from, new], cell, heat, &mut self.draws);
            }
            return;
        }
        let Some(to) = self.draw_class(hood, cell, from) else { return };
        if self.draws.below(SPLITS) == 0 {
            self.splitter.propose(hood, [from, to], cell, heat, &mut self.draws);
            return;
        }
        let must_exchange = hood.is_without_lenders() && !hood.has_rows_without(from, cell);
        let exchanges = must_exchange || self.draws.below(EXCHANGES.1) < EXCHANGES.0;
        let joins = if exchanges { self.draw_partner(hood, cell, from, to) } else { NONE };
        let change = Change { leaves: cell, joins };
        let before = hood.classes[from].cost + hood.classes[to].cost;
        let most = before - heat * (1.0 - self.draws.share()).ln();
        let here = hood.estimate(from, change, to, most, &mut self.first);
        if here.cost > most {
            return;
        }
        let there = hood.estimate(to, change.reversed(), from, most - here.cost, &mut self.second);
        if here.cost + there.cost <= most {
            let moving = [cell, joins];
            let moving = if joins == NONE { &moving[..1] } else { &moving };
            hood.apply([from, to], moving, [here.lender, there.lender], most);
        }
    }

    /// Of some cells the one without which its class would gain most.
    fn draw_cell(&mut self, hood: &mut Hood<'_>) -> u16 {
        let cells = hood.cells.rows.len();
        let mut best = (f32::NEG_INFINITY, 0);
        for _ in 0..CELLS_DRAWN {
            let cell = self.draws.below(cells) as u16;
            let gain = hood.gain(cell, &mut self.first);
            if gain > best.0 {
                best = (gain, cell);
            }
        }
        best.1
    }

    /// Of some other classes of cells nearby the one that would grow least.
    fn draw_class(&mut self, hood: &Hood<'_>, cell: u16, from: usize) -> Option<usize> {
        let near = hood.near(cell);
        if near.is_empty() {
            return None;
        }
        let mut best: Option<(f32, usize)> = None;
        for _ in 0..CLASSES_DRAWN {
            let class = hood.class_of(near[self.draws.below(near.len())]);
            if class == from || best.is_some_and(|(_, known)| known == class) {
                continue;
            }
            let growth = hood.growth(class, cell);
            if best.is_none_or(|(least, _)| growth < least) {
                best = Some((growth, class));
            }
        }
        best.map(|(_, class)| class)
    }

    /// An empty class, where another one has rows for both, or somebody could lend what they lack.
    fn new_class(&self, hood: &mut Hood<'_>, from: usize, is_large: bool) -> Option<usize> {
        if (hood.is_without_lenders() && !is_large) || hood.classes[from].members.len() < 2 {
            return None;
        }
        let empty = hood.classes.iter().position(|class| class.members.is_empty());
        Some(empty.unwrap_or_else(|| {
            hood.push(hood.empty_class());
            hood.classes.len() - 1
        }))
    }

    /// Of some cells of a class the one that fits best into another class, once a cell has left it.
    fn draw_partner(&mut self, hood: &Hood<'_>, leaves: u16, from: usize, to: usize) -> u16 {
        let members = &hood.classes[to].members;
        if hood.classes[from].members.len() == 1 {
            return members[self.draws.below(members.len())];
        }
        hood.fill_ranges(from, Change { leaves, joins: NONE }, &mut self.first);
        let mut best = (f32::INFINITY, NONE);
        for _ in 0..PARTNERS_DRAWN.min(members.len()) {
            let partner = members[self.draws.below(members.len())];
            let loss = hood.axes.loss_with(&self.first.lo, &self.first.hi, hood.place(partner));
            if loss < best.0 {
                best = (loss, partner);
            }
        }
        best.1
    }
}

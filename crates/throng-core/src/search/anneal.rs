//! Annealing: changes that lose something are made at first, ever fewer of them, and in the end none.
//!
//! A change moves a cell to the class of a cell nearby, or exchanges two cells. One at a time, changes that only ever
//! gain soon get stuck: a better way to form three classes out of the same rows often begins with a step that loses.
//! Proposals are drawn, and of a few draws the most promising is taken: the cell without which its class gains most, the
//! class nearby that grows least, the cell in exchange that fits best. What is proposed is accepted with a probability
//! that falls with what it loses (Metropolis).

use super::bounds::Ranges;
use super::change::Change;
use super::draws::Draws;
use super::hood::{Hood, NONE};

/// Of so many proposals one founds a new class.
const NEW_CLASS: usize = 64;

/// The share of proposals that exchange two cells.
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
    let width = hood.axes.width();
    let mut proposer = Proposer { draws, first: Ranges::new(width), second: Ranges::new(width) };
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
    draws: Draws,
    first: Ranges,
    second: Ranges,
}

impl Proposer {
    fn propose(&mut self, hood: &mut Hood<'_>, heat: f32) {
        let cell = self.draw_cell(hood);
        let from = hood.class_of(cell);
        let is_new = self.draws.below(NEW_CLASS) == 0;
        let to = match is_new {
            true => self.new_class(hood, from),
            false => self.draw_class(hood, cell, from),
        };
        let Some(to) = to else { return };
        let must_exchange = hood.is_without_lenders() && !hood.has_rows_without(from, cell);
        let exchanges = must_exchange || self.draws.below(EXCHANGES.1) < EXCHANGES.0;
        let joins = if exchanges && !is_new { self.draw_partner(hood, cell, from, to) } else { NONE };
        let change = Change { leaves: cell, joins };
        let before = hood.classes[from].cost + hood.classes[to].cost;
        let most = before - heat * (1.0 - self.draws.share()).ln();
        let here = hood.estimate(from, change, to, &mut self.first);
        if here.cost > most {
            return;
        }
        let there = hood.estimate(to, change.reversed(), from, &mut self.second);
        if here.cost + there.cost <= most {
            hood.apply([from, to], change, [here, there], most);
        }
    }

    /// Of some cells the one without which its class would gain most.
    fn draw_cell(&mut self, hood: &Hood<'_>) -> u16 {
        let gains = &hood.cells.gains;
        let mut best = self.draws.below(gains.len());
        for _ in 1..CELLS_DRAWN {
            let other = self.draws.below(gains.len());
            best = if gains[other] > gains[best] { other } else { best };
        }
        best as u16
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

    /// An empty class, where somebody could lend the rows that a single cell lacks.
    fn new_class(&self, hood: &mut Hood<'_>, from: usize) -> Option<usize> {
        if hood.is_without_lenders() || hood.classes[from].members.len() < 2 {
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

//! Runs nights of a series over a changing census.

use std::hash::{DefaultHasher, Hash, Hasher};

use anyhow::Result;
use arrow::array::AsArray;
use rustc_hash::FxHashMap;
use throng_core::series::{
    Crowd, Leavers, NightCounts, OpenNight, PoolClass, RowKey, SeriesRules, SeriesState, ShownRow, audit,
};

use crate::classes::{Effort, Former};
use crate::intruder::{Intruder, SeenRow};
use crate::world::{Churn, Resident, World};

/// Parameters of a simulation.
#[derive(Clone, Copy, Debug)]
pub struct Simulation {
    /// People in the first night.
    pub people: usize,
    /// Number of nights.
    pub nights: usize,
    /// Changes of one night.
    pub churn: Churn,
    /// Least number of people of a class.
    pub k: u64,
    /// Least number of occupations of a class.
    pub p: u64,
    /// Number of earlier releases that a release must be safe with; `None` for independent releases.
    pub remember: Option<usize>,
    /// Releases that a newcomer may wait.
    pub max_delay: u64,
    /// Share of the rows that may wait.
    pub max_waiting: f64,
    /// People above k of a new class.
    pub reserve: u64,
    /// What happens to rows that have left.
    pub leavers: Leavers,
    /// Number of nights between measurements of the loss; the last night is always measured.
    pub measure_every: usize,
}

/// One night of a simulation.
#[derive(Clone, Copy, Debug)]
pub struct NightFigures {
    /// Number of the night.
    pub night: usize,
    /// Rows of the input.
    pub rows: usize,
    /// Counts of the series.
    pub counts: NightCounts,
    /// Loss of the release, and of the part of it that the input still has; if measured.
    pub loss: Option<(f64, f64)>,
    /// Loss of a release that ignores the previous ones; if measured.
    pub fresh: Option<f64>,
}

impl Simulation {
    /// Runs all nights, calling `each` after each, and returns the intruder, who has kept every release.
    pub fn run(&self, mut each: impl FnMut(&NightFigures)) -> Result<Intruder> {
        let spare = (self.people as f64 * self.churn.come * self.nights as f64 * 1.2) as usize + 100;
        let mut world = World::new(self.people, spare, 42)?;
        let former = Former::new(&world, self.k, self.p)?;
        let rules = SeriesRules {
            crowd: Crowd::new(self.k, [self.p]),
            remember: self.remember.unwrap_or(1),
            max_delay: self.max_delay,
            max_waiting: (self.people as f64 * self.max_waiting) as usize,
            leavers: self.leavers,
        };
        let mut state = SeriesState::default();
        let mut content: FxHashMap<RowKey, Resident> = FxHashMap::default();
        let mut intruder = Intruder::default();
        for night in 1..=self.nights {
            if self.remember.is_none() {
                state = SeriesState::default();
            }
            let residents = world.present().to_vec();
            let quasi = former.quasi_hashes(&world, &residents)?;
            let keys: Vec<RowKey> =
                residents.iter().zip(quasi).map(|(resident, quasi)| key(*resident, quasi)).collect();
            content.extend(keys.iter().copied().zip(residents.iter().copied()));
            let codes = codes(&world, &residents)?;
            let open = OpenNight::new(&state, &rules, &keys, &codes);
            let pool: Vec<Resident> = open.pool().iter().map(|row| residents[*row as usize]).collect();
            let mut classes: Vec<PoolClass> = former.form(&world, &pool, self.k + self.reserve, Effort::BALANCED)?.0;
            for class in &mut classes {
                class.rows.iter_mut().for_each(|row| *row = open.pool()[*row as usize]);
            }
            let closed = open.close(&classes);
            let key_of = |shown: &ShownRow| match shown {
                ShownRow::Again(row) => state.rows[*row as usize].key,
                ShownRow::New(row) => keys[*row as usize],
            };
            let shown: Vec<(Resident, u64)> =
                closed.shown.iter().map(|(row, class)| (content[&key_of(row)], *class)).collect();
            let people: Vec<Resident> = shown.iter().map(|(resident, _)| *resident).collect();
            let secrets = self::codes(&world, &people)?;
            if self.remember.is_some() {
                let rows = closed.shown.iter().zip(secrets.chunks(1));
                let rows = rows.map(|((row, class), codes)| (key_of(row), codes, *class));
                anyhow::ensure!(audit(&state, &rules.crowd, rows).holds(), "night {night} breaks the series");
            }
            let seen = shown.iter().zip(&secrets).map(|((resident, class), secret)| SeenRow {
                person: resident.person,
                secret: *secret as u32,
                row: resident.row(),
                class: *class,
            });
            intruder.keep(&seen.collect::<Vec<_>>());
            let is_measured = night % self.measure_every == 0 || night == 1 || night == self.nights;
            let (mut loss, mut fresh) = (None, None);
            if is_measured {
                loss = Some(former.loss(&world, &shown, &residents)?);
                fresh = Some(former.form(&world, &residents, self.k, Effort::BALANCED)?.1);
            }
            each(&NightFigures { night, rows: residents.len(), counts: closed.counts, loss, fresh });
            state = closed.state;
            world.pass(self.churn);
        }
        Ok(intruder)
    }
}

fn key(resident: Resident, quasi: u128) -> RowKey {
    RowKey::new(u128::from(resident.person), quasi, 0, u128::from(resident.row()) << 64)
}

/// Returns a code for the occupation of each person.
fn codes(world: &World, residents: &[Resident]) -> Result<Vec<u64>> {
    let names = world.column("occupation", residents.iter().map(|resident| resident.secret_of))?;
    let code = |name: Option<&str>| {
        let mut hasher = DefaultHasher::new();
        name.hash(&mut hasher);
        (hasher.finish() & u64::from(u32::MAX)).max(1)
    };
    Ok(names.as_string::<i32>().iter().map(code).collect())
}

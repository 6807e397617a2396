//! Checks comparisons on disk against one in memory.

use std::collections::BTreeMap;

use throng_core::look_alikes::LookAlikeRule;
use throng_core::verify::{SensitivePromise, SensitiveReading};

use super::*;
use crate::memory::MIN_MEMORY_LIMIT;

/// A row: class, other columns, and the value of the sensitive column.
type Row = (u128, u128, u64);

fn promise(k: u64, p: u64) -> Promise {
    let sensitive = SensitivePromise {
        column: "illness".into(),
        reading: SensitiveReading::Values,
        p,
        alpha: None,
        frequencies: Vec::new(),
        look_alikes: LookAlikeRule::default(),
    };
    Promise { quasi: vec!["age".into()], k, sensitive: vec![sensitive], limits: Vec::new(), unit: None }
}

/// A pseudorandom number generator.
struct Draws(u64);

impl Draws {
    fn below(&mut self, most: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % most
    }
}

/// A row of few classes and few values, so that rows repeat, move and vanish.
fn row(draws: &mut Draws, classes: u64, rests: u64) -> Row {
    let rest = draws.below(rests);
    (ReleaseKey::PUBLIC.hash(draws.below(classes).into()), ReleaseKey::PUBLIC.hash((1000 + rest).into()), rest % 4)
}

/// Two releases, of which the later one has most rows of the earlier one.
fn releases(seed: u64, rows: u64, classes: u64, rests: u64) -> [Vec<Row>; 2] {
    let mut draws = Draws(seed);
    let earlier: Vec<Row> = (0..rows).map(|_| row(&mut draws, classes, rests)).collect();
    let mut later = earlier.clone();
    later.retain(|_| draws.below(20) > 0);
    for kept in &mut later {
        if draws.below(15) == 0 {
            kept.0 = ReleaseKey::PUBLIC.hash(draws.below(classes).into());
        }
    }
    later.extend((0..rows / 15).map(|_| row(&mut draws, classes, rests)));
    [earlier, later]
}

/// A literal implementation of the comparison, in memory.
fn literal(earlier: &[Row], later: &[Row], promise: &Promise) -> SeriesComparison {
    let mut found = SeriesComparison::default();
    let mut old = earlier.to_vec();
    let mut new = Vec::new();
    let mut sets: BTreeMap<SetKey, Vec<u64>> = BTreeMap::new();
    for row in later {
        match old.iter().position(|other| other == row) {
            Some(at) => {
                old.swap_remove(at);
                found.stayed += 1;
                sets.entry((Some(row.0), Some(row.0))).or_default().push(row.2);
            }
            None => new.push(*row),
        }
    }
    let alike = |rows: &[Row], row: &Row| rows.iter().filter(|other| other.1 == row.1).count();
    let moves = |row: &Row| alike(&old, row) == 1 && alike(&new, row) == 1;
    for row in &new {
        if moves(row) {
            let from = old.iter().find(|other| other.1 == row.1).unwrap().0;
            found.moved += 1;
            sets.entry((Some(from), Some(row.0))).or_default().push(row.2);
        } else {
            found.come += 1;
            sets.entry((None, Some(row.0))).or_default().push(row.2);
        }
    }
    for row in old.iter().filter(|row| !moves(row)) {
        found.left += 1;
        sets.entry((Some(row.0), None)).or_default().push(row.2);
    }
    for values in sets.values() {
        let rows = values.len() as u64;
        let distinct: FxHashSet<u64> = values.iter().copied().filter(|value| *value != UNCOUNTED).collect();
        found.rows_below_k += if rows < promise.k { rows } else { 0 };
        let p = promise.sensitive[0].p;
        found.rows_below_p += if p > 1 && (distinct.len() as u64) < p { rows } else { 0 };
    }
    found
}

/// Compares releases on disk, in this many buckets.
fn on_disk(releases: &[Vec<Row>; 2], promise: &Promise, buckets: usize, limit: Option<u64>) -> SeriesComparison {
    let session = session(&JobOptions { memory_limit: limit, ..JobOptions::default() }).unwrap();
    let comparer = Comparer { promise, session: &session, buckets };
    let [earlier, later] = [0, 1].map(|release| {
        let mut writer = comparer.writer(BucketBy::Row).unwrap();
        for rows in releases[release].chunks(50_000) {
            let mut columns = writer.columns();
            for (class, rest, value) in rows {
                let class = Some(*class);
                let (earlier, later) = if release == 0 { (class, None) } else { (None, class) };
                columns.push(&SeenRows { earlier, later, rest: *rest, rows: 1 }, &[*value]);
            }
            writer.push(columns).unwrap();
        }
        writer.finish().unwrap()
    });
    comparer.compare(&earlier, &later).unwrap()
}

#[test]
fn what_is_found_does_not_depend_on_buckets() {
    let mut all = SeriesComparison::default();
    for seed in 0..60 {
        let (classes, rests) = ([1, 3, 12, 40][seed as usize % 4], [1, 4, 90, 5000][seed as usize / 4 % 4]);
        let (releases, promise) = (releases(seed, 150, classes, rests), promise(seed % 7, 1 + seed % 4));
        let expected = literal(&releases[0], &releases[1], &promise);
        for buckets in [1, 2, BUCKETS] {
            assert_eq!(on_disk(&releases, &promise, buckets, None), expected, "seed {seed}, {buckets} buckets");
        }
        all.stayed += expected.stayed;
        all.moved += expected.moved;
        all.left += expected.left;
        all.come += expected.come;
        all.rows_below_k += expected.rows_below_k;
        all.rows_below_p += expected.rows_below_p;
    }
    let counts = [all.stayed, all.moved, all.left, all.come, all.rows_below_k, all.rows_below_p];
    assert!(counts.iter().all(|count| *count > 50), "nothing to be found: {all:?}");
}

/// All rows are in one class with the same values, so that they are in one bucket however many there are.
#[test]
fn a_class_that_does_not_fit_is_counted_piece_by_piece() {
    let row = (ReleaseKey::PUBLIC.hash(1), ReleaseKey::PUBLIC.hash(2), 3);
    let releases = [vec![row; 1_500_000], vec![row; 1_499_999]];
    let found = on_disk(&releases, &promise(2, 1), BUCKETS, Some(MIN_MEMORY_LIMIT));
    assert_eq!((found.stayed, found.left, found.rows_below_k), (1_499_999, 1, 1));
}

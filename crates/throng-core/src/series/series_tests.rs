//! Random histories of tiny tables, checked by brute force.

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;

use super::*;
use crate::test_tables::cases;

/// A person's value in one night.
type Table = BTreeMap<u8, u8>;
type Row = (u8, u8);

/// One night of a history: the table, and numbers that decide how the pool is clustered.
#[derive(Clone, Debug)]
struct Night {
    table: Table,
    dice: Vec<u8>,
}

fn key((person, value): Row) -> RowKey {
    RowKey { unit: u128::from(person), content: u128::from(value) }
}

fn row(key: &RowKey) -> Row {
    (key.unit as u8, key.content as u8)
}

/// Code of a value; values 0 are null.
fn code(value: u8) -> u64 {
    if value == 0 { UNCOUNTED } else { u64::from(value) }
}

/// Clusters the pool. Any clustering must be safe, even one whose classes are too small or share their values with older ones.
fn classes_of(pool: &[u32], dice: &[u8]) -> Vec<PoolClass> {
    let mut clusters: BTreeMap<u8, Vec<u32>> = BTreeMap::new();
    for (row, dice) in pool.iter().zip(dice.iter().cycle()) {
        clusters.entry(dice % 3).or_default().push(*row);
    }
    let class =
        |(number, rows): (u8, Vec<u32>)| PoolClass { rows, class: 1 + u64::from(number % 2), loss: f64::from(number) };
    clusters.into_iter().map(class).collect()
}

/// Runs a history. Returns what each release showed.
fn run(nights: &[Night], rules: &SeriesRules) -> Vec<BTreeMap<Row, u64>> {
    run_with_memory(nights, rules).0
}

/// Runs a history. Returns what each release showed, the counts of each night, and the memory.
fn run_with_memory(nights: &[Night], rules: &SeriesRules) -> (Vec<BTreeMap<Row, u64>>, Vec<NightCounts>, Memory) {
    let (releases, counts, states) = run_remembering(nights, rules, &[rules.remember]);
    (releases, counts, states.last().map(memory).unwrap_or_default())
}

/// Runs a history in which the rules remember these numbers of releases, night after night and again from the first. Returns
/// what each release showed, the counts of each night, and the memory after it.
fn run_remembering(
    nights: &[Night],
    rules: &SeriesRules,
    remember: &[usize],
) -> (Vec<BTreeMap<Row, u64>>, Vec<NightCounts>, Vec<SeriesState>) {
    let mut counts = Vec::new();
    let (mut state, mut states) = (SeriesState::default(), Vec::new());
    let mut releases: Vec<BTreeMap<Row, u64>> = Vec::new();
    for (night, remember) in nights.iter().zip(remember.iter().cycle()) {
        let rules = &SeriesRules { remember: *remember, ..rules.clone() };
        let rows: Vec<Row> = night.table.iter().map(|(person, value)| (*person, *value)).collect();
        let keys: Vec<RowKey> = rows.iter().copied().map(key).collect();
        let codes: Vec<u64> = rows.iter().map(|(_, value)| code(*value)).collect();
        let open = OpenNight::new(&state, rules, &keys, &codes);
        let classes = classes_of(open.pool(), &night.dice);
        let closed = open.close(&classes);
        let of = |shown: &ShownRow| match shown {
            ShownRow::Again(at) => row(&state.rows[*at as usize].key),
            ShownRow::New(at) => rows[*at as usize],
        };
        let release: BTreeMap<Row, u64> = closed.shown.iter().map(|(shown, class)| (of(shown), *class)).collect();
        assert_eq!(release.len(), closed.shown.len(), "a row is shown once");
        check_rows(&night.table, &release, releases.last(), &closed);
        let shown_codes: BTreeMap<Row, [u64; 1]> = release.keys().map(|row| (*row, [code(row.1)])).collect();
        let audited = release.iter().map(|(row, class)| (key(*row), &shown_codes[row][..], *class));
        assert!(audit(&state, &rules.crowd, audited).holds());
        releases.push(release);
        counts.push(closed.counts);
        state = closed.state;
        states.push(state.clone());
    }
    (releases, counts, states)
}

/// Every row of the input is shown or waits, and every other row was shown before in the same class.
fn check_rows(table: &Table, release: &BTreeMap<Row, u64>, last: Option<&BTreeMap<Row, u64>>, closed: &ClosedNight) {
    let NightCounts { shown, shown_on, held, outdated, suppressed, .. } = closed.counts;
    assert_eq!(shown, release.len() as u64);
    let is_present = |row: &Row| table.get(&row.0) == Some(&row.1);
    let missing = table.iter().filter(|(person, value)| !release.contains_key(&(**person, **value))).count();
    assert_eq!(missing as u64, held + outdated + suppressed);
    let stale: Vec<&Row> = release.keys().filter(|row| !is_present(row)).collect();
    assert_eq!(stale.len() as u64, shown_on);
    for row in stale {
        assert_eq!(last.and_then(|last| last.get(row)), Some(&release[row]), "a row that left is shown as before");
    }
}

/// Runs a history with a memory that is divided by classes. Returns what each release showed, and the memory.
fn run_divided(nights: &[Night], rules: &SeriesRules) -> (Vec<BTreeMap<Row, u64>>, Vec<NightCounts>, Memory) {
    const PARTS: u64 = 2;
    let mut parts = vec![SeriesState::default(); PARTS as usize];
    let (mut waiting, mut releases, mut all_counts) = (Vec::new(), Vec::new(), Vec::new());
    for night in nights {
        let keys: Vec<RowKey> = night.table.iter().map(|(person, value)| key((*person, *value))).collect();
        let codes: Vec<u64> = night.table.values().map(|value| code(*value)).collect();
        let is_present = |row: &RememberedRow| keys.contains(&row.key);
        let carried: Vec<CarriedRows> = parts
            .iter()
            .map(|part| CarriedRows::decide(part, rules, &part.rows.iter().map(is_present).collect::<Vec<_>>()))
            .collect();
        let is_known = |key: &RowKey| parts.iter().any(|part| part.rows.iter().any(|row| row.key == *key));
        let pool: Vec<u32> = (0..).zip(&keys).filter(|(_, key)| !is_known(key)).map(|(row, _)| row).collect();
        let units = Pool::units_of(&keys, pool.iter().copied());
        let shown_units =
            carried.iter().zip(&parts).flat_map(|(carried, part)| carried.shown_units(part, &units)).collect();
        let releases_before = parts[0].releases;
        let pool = Pool {
            rules,
            releases: releases_before,
            waiting: &waiting,
            keys: &keys,
            codes: &codes,
            rows: &pool,
            shown_units: &shown_units,
        };
        let classes = classes_of(pool.rows, &night.dice);
        let mut is_new = vec![false; keys.len()];
        let mut come: Vec<(RowKey, u64)> = Vec::new();
        for class in pool.choose(&classes) {
            class.rows.iter().for_each(|row| is_new[*row as usize] = true);
            come.extend(class.rows.iter().map(|row| (keys[*row as usize], class.class)));
        }
        come.sort_unstable();
        let mut counts = NightCounts::default();
        let next_waiting = pool.wait(&is_new, &mut counts);
        let mut release = BTreeMap::new();
        let mut next = Vec::new();
        for (number, (part, carried)) in (0..).zip(parts.iter().zip(&carried)) {
            let rows: Vec<(RowKey, u64)> = come.iter().copied().filter(|(_, class)| class % PARTS == number).collect();
            let codes: Vec<u64> = rows.iter().map(|(key, _)| code(row(key).1)).collect();
            let closed = next_state(part, rules, carried, Newcomers { rows: &rows, codes: &codes });
            counts.add(&closed.counts);
            for (shown, class) in &closed.shown {
                let key = match shown {
                    ShownRow::Again(at) => part.rows[*at as usize].key,
                    ShownRow::New(at) => rows[*at as usize].0,
                };
                assert_eq!(class % PARTS, number, "a row is shown in the part of its class");
                release.insert(row(&key), *class);
            }
            next.push(closed.state);
        }
        (parts, waiting) = (next, next_waiting);
        releases.push(release);
        all_counts.push(counts);
    }
    let mut memory: Memory = parts.iter().flat_map(memory).collect();
    memory.sort();
    (releases, all_counts, memory)
}

/// Rows of a memory with their trails, the release since which they are gone, and their codes.
type Memory = Vec<(RowKey, Vec<u64>, u64, Vec<u64>)>;

fn memory(state: &SeriesState) -> Memory {
    let of_row = |(at, row): (usize, &RememberedRow)| {
        (row.key, state.trails[row.block as usize].clone(), row.left_at, state.codes(at, 1).to_vec())
    };
    state.rows.iter().enumerate().map(of_row).collect()
}

fn satisfies(rows: &BTreeSet<Row>, crowd: &Crowd) -> bool {
    let people: BTreeSet<u8> = rows.iter().map(|row| row.0).collect();
    let values: BTreeSet<u8> = rows.iter().map(|row| row.1).filter(|value| *value != 0).collect();
    people.len() >= crowd.k && values.len() >= crowd.p[0]
}

/// Checks that every set that two releases, or all releases of a window, single out is empty or satisfies the models.
fn check(releases: &[BTreeMap<Row, u64>], rules: &SeriesRules) {
    check_windows(releases, rules, |_| rules.remember);
}

/// Same as [`check`], where the release at an index was made safe with a number of earlier ones.
fn check_windows(releases: &[BTreeMap<Row, u64>], rules: &SeriesRules, remembered: impl Fn(usize) -> usize) {
    let class = |release: &BTreeMap<Row, u64>, class: u64| -> BTreeSet<Row> {
        release.iter().filter(|(_, of)| **of == class).map(|(row, _)| *row).collect()
    };
    let all = |release: &BTreeMap<Row, u64>| -> BTreeSet<Row> { release.keys().copied().collect() };
    let good = |rows: BTreeSet<Row>| assert!(rows.is_empty() || satisfies(&rows, &rules.crowd), "{rows:?}");
    for (at, release) in releases.iter().enumerate() {
        let window = &releases[at.saturating_sub(remembered(at))..at];
        for before in window {
            for a in [1, 2] {
                let a = class(before, a);
                good(&a - &all(release));
                for b in [1, 2] {
                    let b = class(release, b);
                    good(&a & &b);
                    good(&b - &all(before));
                    good(&a - &b);
                    good(&b - &a);
                }
            }
        }
        // The finest sets: equal trails over the whole window.
        let mut trails: BTreeMap<Vec<u64>, BTreeSet<Row>> = BTreeMap::new();
        let rows: BTreeSet<Row> = window.iter().chain([release]).flat_map(|release| release.keys().copied()).collect();
        for row in rows {
            let trail = window.iter().chain([release]).map(|release| release.get(&row).copied().unwrap_or(0)).collect();
            trails.entry(trail).or_default().insert(row);
        }
        trails.into_values().for_each(good);
    }
}

fn nights() -> impl Strategy<Value = Vec<Night>> {
    let table = proptest::collection::btree_map(0..12_u8, 0..4_u8, 0..12);
    let night = (table, proptest::collection::vec(any::<u8>(), 1..6)).prop_map(|(table, dice)| Night { table, dice });
    // Few people change from night to night: each night keeps most of the one before.
    proptest::collection::vec((night, any::<u16>()), 2..8).prop_map(|drawn| {
        let mut nights: Vec<Night> = Vec::new();
        for (drawn, keep) in drawn {
            let table = match nights.last() {
                Some(last) => {
                    let kept = |person: &u8| keep >> (person % 16) & 1 == 1 || person.is_multiple_of(3);
                    let stay = last.table.iter().filter(|(person, _)| kept(person));
                    let come = drawn.table.iter().filter(|(person, _)| !kept(person));
                    stay.chain(come).map(|(person, value)| (*person, *value)).collect()
                }
                None => drawn.table,
            };
            nights.push(Night { table, dice: drawn.dice });
        }
        nights
    })
}

fn rules() -> impl Strategy<Value = SeriesRules> {
    let leavers = prop_oneof![Just(Leavers::ShowOn), Just(Leavers::DropBlock)];
    (1..4_usize, 0..3_usize, 1..4_usize, 0..3_u64, 0..4_usize, leavers).prop_map(
        |(k, p, remember, max_delay, max_waiting, leavers)| SeriesRules {
            crowd: Crowd { k, p: vec![p] },
            remember,
            max_delay,
            max_waiting,
            leavers,
        },
    )
}

proptest! {
    #![proptest_config(cases(2000))]

    #[test]
    fn nothing_that_releases_single_out_is_too_small(nights in nights(), rules in rules()) {
        check(&run(&nights, &rules), &rules);
    }

    #[test]
    fn releases_stay_safe_with_those_that_are_remembered_when_their_number_changes(
        nights in nights(),
        rules in rules(),
        remember in prop::collection::vec(0..6_usize, 1..4),
    ) {
        let (releases, _, states) = run_remembering(&nights, &rules, &remember);
        let before = |at: usize| if at == 0 { 0 } else { states[at - 1].remembered };
        for (at, (state, remember)) in states.iter().zip(remember.iter().cycle()).enumerate() {
            prop_assert!(state.trails.iter().all(|trail| trail.len() == state.remembered), "{:?}", state.trails);
            prop_assert_eq!(state.remembered, (before(at) + 1).min((*remember).max(1)));
        }
        check_windows(&releases, &rules, before);
    }

    #[test]
    fn a_memory_may_be_divided_by_classes(nights in nights(), rules in rules()) {
        prop_assert_eq!(run_divided(&nights, &rules), run_with_memory(&nights, &rules));
    }
}

fn strict(k: usize) -> SeriesRules {
    let crowd = Crowd { k, p: vec![1] };
    SeriesRules { crowd, remember: 4, max_delay: 0, max_waiting: 0, leavers: Leavers::ShowOn }
}

fn night(people: impl IntoIterator<Item = u8>) -> Night {
    Night { table: people.into_iter().map(|person| (person, 1 + person % 3)).collect(), dice: vec![0] }
}

#[test]
fn a_row_that_has_left_is_shown_until_enough_have_left_with_it() {
    let releases = run(&[night(0..4), night(1..4), night(2..4)], &strict(2));
    assert_eq!(releases[1].len(), 4, "one has left, and is shown on");
    assert_eq!(releases[2].len(), 2, "two have left together");
}

#[test]
fn survivors_are_never_too_few() {
    let releases = run(&[night(0..4), night(3..4), night([])], &strict(2));
    assert_eq!(releases[1].len(), 4, "one would stay behind alone");
    assert_eq!(releases[2].len(), 0, "the block leaves as a whole");
}

#[test]
fn newcomers_wait_for_each_other() {
    let releases = run(&[night(0..3), night(0..4), night(0..5)], &strict(2));
    assert_eq!(releases[1].len(), 3);
    assert_eq!(releases[2].len(), 5);
}

#[test]
fn a_row_that_was_dropped_returns_once_it_is_forgotten() {
    let rules = SeriesRules { remember: 1, ..strict(2) };
    let releases = run(&[night(0..4), night(2..4), night(0..4), night(0..4)], &rules);
    assert_eq!(releases[1].len(), 2);
    assert_eq!(releases[2].len(), 4, "the release that showed them is no longer remembered");
    let rules = SeriesRules { remember: 2, ..rules };
    let releases = run(&[night(0..4), night(2..4), night(0..4), night(0..4)], &rules);
    assert_eq!(releases[2].len(), 2, "they would be known as the two who left");
    assert_eq!(releases[3].len(), 4);
}

#[test]
fn a_changed_row_is_another_row() {
    let mut second = night(0..4);
    second.table.insert(0, 3);
    let releases = run(&[night(0..4), second], &strict(2));
    assert!(releases[1].contains_key(&(0, 1)) && !releases[1].contains_key(&(0, 3)));
}

#[test]
fn rows_leave_a_block_only_if_the_others_keep_its_label() {
    let rules = strict(2);
    // The label of rows that differ may follow from those that leave.
    for (has_one_cell, shown) in [(true, 2), (false, 4)] {
        let quasi = |unit: u128| if has_one_cell { 0 } else { unit << 100 };
        let keys: Vec<RowKey> = (0..4).map(|unit| RowKey::new(unit, quasi(unit), 0, 0)).collect();
        let codes = [1, 2, 1, 2];
        let classes = [PoolClass { rows: (0..4).collect(), class: 1, loss: 0.0 }];
        let state = OpenNight::new(&SeriesState::default(), &rules, &keys, &codes).close(&classes).state;
        let carried = CarriedRows::decide(&state, &rules, &[true, true, false, false]);
        let units = keys.iter().map(|key| key.unit).collect();
        assert_eq!(carried.shown_units(&state, &units).count(), shown, "{has_one_cell}");
        // All of them may leave.
        let carried = CarriedRows::decide(&state, &rules, &[false; 4]);
        assert_eq!(carried.shown_units(&state, &units).count(), 0);
    }
}

#[test]
fn a_release_that_hides_one_row_is_found() {
    let rules = strict(2);
    let mut releases = run(&[night(0..4)], &rules);
    let mut state = SeriesState::default();
    let keys: Vec<RowKey> = releases[0].keys().copied().map(key).collect();
    let codes = vec![1; keys.len()];
    let classes = [PoolClass { rows: (0..4).collect(), class: 1, loss: 0.0 }];
    state = OpenNight::new(&state, &rules, &keys, &codes).close(&classes).state;
    let hidden = keys[1..].iter().map(|key| (*key, &[1][..], 1));
    let findings = audit(&state, &rules.crowd, hidden);
    assert_eq!((findings.blocks, findings.broken_blocks, findings.broken_rows), (2, 1, 1));
    releases.clear();
}

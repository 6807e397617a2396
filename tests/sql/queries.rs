//! Queries over `released`, the release of sixty people, for one machine and for a cluster.

use std::collections::BTreeMap;
use std::fmt::Debug;

/// Number of rows of `released`.
pub const ROWS: usize = 60;

/// Queries with one result, up to the order of its rows.
pub const QUERIES: [&str; 18] = [
    "SELECT * FROM released WHERE hours > 30",
    "SELECT * FROM released WHERE country = 'Europe' AND sex <> 'M'",
    "SELECT * FROM released WHERE st['a'] = 3",
    "SELECT st['b'], hours FROM released WHERE st['a'] = 3 OR st['b'] = 'x'",
    "SELECT * FROM released WHERE diagnosis IS NULL",
    "SELECT * FROM released WHERE false",
    "SELECT * FROM released ORDER BY hours, st['a'], diagnosis LIMIT 7",
    "SELECT hours FROM released ORDER BY hours DESC LIMIT 3 OFFSET 2",
    "SELECT count(*) FROM released",
    "SELECT min(hours), max(hours) FROM released",
    "SELECT diagnosis, count(*), avg(hours) FROM released WHERE hours < 40 GROUP BY diagnosis HAVING count(*) > 2",
    "SELECT DISTINCT country, sex FROM released",
    "SELECT land, hours FROM released JOIN regions ON country = region WHERE land = 'France'",
    "SELECT count(*) FROM regions LEFT JOIN released ON country = region AND hours > 30",
    "SELECT hours, row_number() OVER (PARTITION BY sex ORDER BY hours, st['a'], diagnosis) FROM released",
    "SELECT * FROM (SELECT hours, rank() OVER (ORDER BY hours) AS place FROM released) WHERE place <= 3",
    "SELECT * FROM released WHERE hours = (SELECT max(hours) FROM released)",
    "SELECT hours FROM released WHERE hours > 45 UNION ALL SELECT hours FROM released WHERE hours < 12",
];

/// Queries whose rows `random()` or a limit selects.
pub const PICKS: [&str; 5] = [
    "SELECT * FROM released WHERE random() < 0.5",
    "SELECT * FROM released WHERE random() < 0.5 AND hours > 15",
    "SELECT * FROM released LIMIT 7",
    "SELECT * FROM (SELECT * FROM released LIMIT 20) WHERE hours > 15",
    "SELECT * FROM released ORDER BY random() LIMIT 9",
];

/// Asserts that the rows of one of [`PICKS`] are some of the rows of the release, each at most once.
pub fn assert_picked<T: Ord + Debug>(query: &str, whole: &[T], picked: &[T]) {
    assert_eq!(whole.len(), ROWS);
    assert!(!picked.is_empty() && picked.len() < ROWS, "{query}: {picked:?}");
    let mut left: BTreeMap<&T, usize> = BTreeMap::new();
    for row in whole {
        *left.entry(row).or_default() += 1;
    }
    for row in picked {
        let rows = left.get_mut(row).unwrap_or_else(|| panic!("{query} shows a row that is not in the release"));
        *rows = rows.checked_sub(1).unwrap_or_else(|| panic!("{query} shows a row twice"));
    }
}

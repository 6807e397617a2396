//! An intruder who keeps every release of a series and intersects and subtracts their classes.
//!
//! The intruder knows for every row in which class of which release it was shown, which is more than releases reveal.
//! Shares no code with Throng.

use std::collections::{BTreeMap, BTreeSet};

/// One row of one release.
#[derive(Clone, Debug)]
pub struct SeenRow {
    /// The person.
    pub person: u32,
    /// The sensitive value.
    pub secret: u32,
    /// The row: changes with the sensitive value or a quasi-identifier of the person.
    pub row: u64,
    /// The class, by its released values.
    pub class: u64,
}

/// People whom an intruder singles out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Exposed {
    /// Rows in sets of fewer than k people.
    pub below_k: usize,
    /// Rows in sets of fewer than p values.
    pub below_p: usize,
}

impl Exposed {
    fn add(&mut self, other: Self) {
        self.below_k = self.below_k.max(other.below_k);
        self.below_p = self.below_p.max(other.below_p);
    }
}

/// Rows that releases single out together.
#[derive(Debug, Default)]
struct SingledOut {
    rows: usize,
    people: BTreeSet<u32>,
    secrets: BTreeSet<u32>,
}

/// Everything that the intruder knows.
#[derive(Debug, Default)]
pub struct Intruder {
    /// Per row: person, secret and, release by release, the class (0: absent).
    rows: BTreeMap<u64, (u32, u32, Vec<u64>)>,
    releases: usize,
}

impl Intruder {
    /// Adds the next release.
    pub fn keep(&mut self, release: &[SeenRow]) {
        for seen in release {
            let entry = self.rows.entry(seen.row).or_insert_with(|| (seen.person, seen.secret, Vec::new()));
            entry.2.resize(self.releases, 0);
            entry.2.push(seen.class);
        }
        self.releases += 1;
        self.rows.values_mut().for_each(|(_, _, classes)| classes.resize(self.releases, 0));
    }

    /// Compares all pairs of releases that are at most `distance` apart. Returns the worst pair.
    pub fn pairs(&self, k: usize, p: usize, distance: usize) -> Exposed {
        let mut worst = Exposed::default();
        for first in 0..self.releases {
            for second in first + 1..self.releases.min(first.saturating_add(distance).saturating_add(1)) {
                worst.add(self.exposed(k, p, |classes| vec![classes[first], classes[second]]));
            }
        }
        worst
    }

    /// Compares the last `distance` + 1 releases before each release at once, from the first on. Returns the worst.
    pub fn prefixes(&self, k: usize, p: usize, distance: usize) -> Exposed {
        let mut worst = Exposed::default();
        for end in 0..self.releases {
            worst.add(self.exposed(k, p, |classes| classes[end.saturating_sub(distance)..=end].to_vec()));
        }
        worst
    }

    /// Compares all releases at once.
    pub fn all(&self, k: usize, p: usize) -> Exposed {
        self.exposed(k, p, <[u64]>::to_vec)
    }

    fn exposed(&self, k: usize, p: usize, view: impl Fn(&[u64]) -> Vec<u64>) -> Exposed {
        let mut sets: BTreeMap<Vec<u64>, SingledOut> = BTreeMap::new();
        for (person, secret, classes) in self.rows.values() {
            let seen = view(classes);
            if seen.iter().any(|class| *class != 0) {
                let set = sets.entry(seen).or_default();
                set.rows += 1;
                set.people.insert(*person);
                set.secrets.insert(*secret);
            }
        }
        let rows = |is_small: &dyn Fn(&SingledOut) -> bool| {
            sets.values().filter(|set| is_small(set)).map(|set| set.rows).sum()
        };
        Exposed { below_k: rows(&|set| set.people.len() < k), below_p: rows(&|set| set.secrets.len() < p) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn release(rows: &[(u32, u32, u64)]) -> Vec<SeenRow> {
        let row = |&(person, secret, class)| SeenRow { person, secret, row: u64::from(person), class };
        rows.iter().map(row).collect()
    }

    #[test]
    fn finds_who_left_who_came_and_who_stayed() {
        let mut intruder = Intruder::default();
        intruder.keep(&release(&[(1, 1, 7), (2, 2, 7), (3, 3, 7), (4, 4, 7)]));
        assert_eq!(intruder.all(2, 2), Exposed::default());
        intruder.keep(&release(&[(1, 1, 7), (2, 2, 7), (3, 3, 7)]));
        assert_eq!(intruder.pairs(2, 2, 9), Exposed { below_k: 1, below_p: 1 }, "one has left");
        intruder.keep(&release(&[(1, 1, 7), (2, 2, 7), (3, 3, 8), (5, 5, 8)]));
        // 3 and 4 each have a unique trail, and so has 5, who came later.
        assert_eq!(intruder.all(2, 2), Exposed { below_k: 3, below_p: 3 });
    }
}

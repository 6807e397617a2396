//! Risk of a release whose classes have known numbers of people in the population.
//!
//! The labels of a class match `F` people of a register of the population. An intruder who does not know which of them are in the
//! release picks the right person of a row with probability `1/F` at most; a register that lacks some people of the release, so
//! that `F < f`, is no more useful than the `f` rows themselves. Every class has at least k people under k-map [El Emam 2008], and
//! the share of them who are in the release lies between two limits under delta-presence [Nergiz 2007].
//!
//! If `F` is the sum of sampling weights, it is an estimate, and so is the risk: its expectation given the class's own sampling
//! fraction ([`SamplingFraction::expected_risk`]).

use super::population::SamplingFraction;

/// A class of a release in the population.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ClassPeople {
    /// Rows of the class.
    pub rows: u64,
    /// Minimum number of people of the class: its rows, or the k of the policy if a person may have several rows.
    pub hidden: u64,
    /// People of the population whom its labels match.
    pub people: f64,
    /// People of the input among them, if presence is measured.
    pub members: Option<u64>,
}

/// Source of the numbers of people.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PeopleSource {
    /// Counted in a table of the population.
    Table,
    /// Estimated by sampling weights.
    Weights,
}

impl PeopleSource {
    /// Returns the name in documents.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Table => "table",
            Self::Weights => "weights",
        }
    }
}

/// The classes of a release in the population.
#[derive(Clone, Debug, PartialEq)]
pub struct ReleasePeople {
    /// Source of the numbers of people.
    pub source: PeopleSource,
    /// Rows and people of each class.
    pub classes: Vec<ClassPeople>,
    /// Number of people of the population.
    pub people: f64,
    /// Number of people whom no class matches.
    pub outside: f64,
    /// Requirements of the policy.
    pub limits: PeopleLimits,
}

/// Requirements of a policy on the people whom classes match.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct PeopleLimits {
    /// Minimum number of people.
    pub k_map: Option<u64>,
    /// The smallest share of them who are in the input.
    pub delta_min: Option<f64>,
    /// The largest share of them who are in the input.
    pub delta_max: Option<f64>,
}

/// Smallest and largest share of the people of a box who are in the input.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Presence {
    /// Smallest share; 0 where a person of the population is in no box.
    pub least: f64,
    /// Largest share.
    pub most: f64,
}

impl ReleasePeople {
    /// Returns the fewest people whom a class matches: the k of k-map. Rounded down where weights have fractions.
    pub fn fewest(&self) -> u64 {
        let fewest = self.classes.iter().map(|class| class.people).reduce(f64::min);
        fewest.map_or(0, |people| people.floor() as u64)
    }

    /// Returns the highest risk of a row.
    pub fn highest(&self) -> f64 {
        self.classes.iter().map(|class| self.risk(class)).fold(0.0, f64::max)
    }

    /// Returns the expected number of rows that an intruder with a register of the population re-identifies.
    pub fn reidentified(&self) -> f64 {
        self.classes.iter().map(|class| class.rows as f64 * self.risk(class)).sum()
    }

    /// Returns the mean risk of a row.
    pub fn average(&self) -> f64 {
        match self.rows() {
            0 => 0.0,
            rows => self.reidentified() / rows as f64,
        }
    }

    /// Returns the number of rows whose risk is above a threshold.
    pub fn rows_above(&self, threshold: f64) -> u64 {
        self.classes.iter().filter(|class| self.risk(class) > threshold).map(|class| class.rows).sum()
    }

    /// Returns the number of rows.
    pub fn rows(&self) -> u64 {
        self.classes.iter().map(|class| class.rows).sum()
    }

    /// Returns the presence of people, if members were counted.
    pub fn presence(&self) -> Option<Presence> {
        let mut presence: Option<Presence> = None;
        for class in &self.classes {
            // People of the input who are not in the table of the population are present all the same.
            let members = class.members? as f64;
            let share = if members == 0.0 { 0.0 } else { members / class.people.max(members) };
            let Presence { least, most } = presence.unwrap_or(Presence { least: share, most: share });
            presence = Some(Presence { least: least.min(share), most: most.max(share) });
        }
        presence.map(|presence| if self.outside > 0.0 { Presence { least: 0.0, ..presence } } else { presence })
    }

    /// Returns the share of the population that `rows` people of the input are; at most 1. `None` without people.
    pub fn fraction(&self, rows: u64) -> Option<SamplingFraction> {
        SamplingFraction::new((rows as f64 / self.people).min(1.0))
    }

    fn risk(&self, class: &ClassPeople) -> f64 {
        let hidden = class.hidden.max(1);
        let people = class.people.max(hidden as f64);
        match self.source {
            PeopleSource::Table => 1.0 / people,
            PeopleSource::Weights => {
                let own = SamplingFraction::new(hidden as f64 / people);
                own.map_or(1.0 / hidden as f64, |own| own.expected_risk(hidden))
            }
        }
    }
}

#[cfg(test)]
#[path = "people_tests.rs"]
mod tests;

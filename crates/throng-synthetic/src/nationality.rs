//! Race and birth place.

use crate::age_profile::by_age;
use crate::alias::Alias;
use crate::geography::{STATES, zone};
use crate::rng::Rng;

/// Labels of the races.
pub(crate) const RACES: [&str; 13] = [
    "White",
    "Black",
    "American Indian",
    "Alaska Native",
    "Pacific Islander",
    "Asian Indian",
    "Chinese",
    "Filipino",
    "Japanese",
    "Korean",
    "Vietnamese",
    "Some other race",
    "Two or more races",
];

/// Races by zone (the first digit of a region code), in thousandths.
#[rustfmt::skip]
const RACES_BY_ZONE: [[f64; 13]; 10] = [
    [772.0,  78.0,  3.0,  0.1, 0.4, 25.0, 20.0,  7.0, 2.0,  6.0,  6.0, 52.0, 28.0],
    [716.0, 132.0,  4.0,  0.1, 0.4, 21.0, 29.0,  6.0, 2.0,  7.0,  4.0, 52.0, 27.0],
    [692.0, 210.0,  7.0,  0.1, 0.6, 14.0,  8.0,  7.0, 2.0,  7.0,  6.0, 22.0, 24.0],
    [706.0, 208.0,  3.0,  0.1, 0.6,  9.0,  5.0,  6.0, 1.0,  3.0,  5.0, 30.0, 23.0],
    [822.0, 105.0,  3.0,  0.1, 0.3, 10.0,  6.0,  3.0, 2.0,  3.0,  3.0, 17.0, 26.0],
    [868.0,  42.0, 19.0,  0.2, 0.4,  5.0,  5.0,  2.0, 1.0,  3.0,  6.0, 22.0, 26.0],
    [790.0, 112.0,  6.0,  0.1, 0.5, 13.0,  8.0,  7.0, 1.0,  4.0,  5.0, 30.0, 23.0],
    [722.0, 134.0, 18.0,  0.1, 0.9, 12.0,  6.0,  5.0, 1.0,  3.0,  9.0, 62.0, 27.0],
    [796.0,  38.0, 38.0,  0.3, 4.0,  5.0,  6.0, 10.0, 4.0,  4.0,  5.0, 58.0, 32.0],
    [612.0,  52.0, 11.0,  3.0, 9.0, 15.0, 35.0, 36.0, 9.0, 13.0, 17.0, 142.0, 46.0],
];

/// Share of adults born outside the states, by race.
const BORN_OUTSIDE: [f64; 13] = [0.065, 0.09, 0.03, 0.005, 0.22, 0.72, 0.62, 0.56, 0.3, 0.6, 0.6, 0.42, 0.09];

/// Factor on that share by age.
const OUTSIDE_BY_AGE: [(f64, f64); 4] = [(0.0, 0.08), (15.0, 0.4), (30.0, 1.1), (80.0, 1.0)];

/// Share of those born in a state who still live in it, by age.
const STAYED_BY_AGE: [(f64, f64); 4] = [(0.0, 0.96), (17.0, 0.93), (35.0, 0.87), (100.0, 0.84)];

/// A birth place outside the states: its name, its weights by broad origin (white, black, indigenous, Asian, other or
/// several), and the Asian race whose home it is, if any.
struct Outside {
    name: &'static str,
    broad: [u16; 5],
    home: Option<usize>,
}

const fn from(name: &'static str, broad: [u16; 5]) -> Outside {
    Outside { name, broad, home: None }
}

const fn home(name: &'static str, race: usize) -> Outside {
    Outside { name, broad: [2, 0, 0, 10, 3], home: Some(race) }
}

/// Birth places outside the states.
const OUTSIDE: [Outside; 72] = [
    from("Puerto Rico", [90, 40, 1, 0, 160]),
    from("Guam", [1, 0, 60, 4, 2]),
    from("American Samoa", [0, 0, 60, 1, 1]),
    from("U.S. Virgin Islands", [2, 25, 0, 0, 1]),
    from("Mexico", [620, 4, 30, 1, 900]),
    from("Guatemala", [60, 1, 6, 0, 110]),
    from("El Salvador", [80, 1, 2, 0, 150]),
    from("Honduras", [40, 4, 1, 0, 80]),
    from("Nicaragua", [22, 2, 0, 0, 25]),
    from("Costa Rica", [10, 1, 0, 0, 6]),
    from("Panama", [8, 10, 0, 0, 8]),
    from("Cuba", [140, 10, 0, 0, 50]),
    from("Dominican Republic", [40, 40, 0, 0, 120]),
    from("Haiti", [1, 130, 0, 0, 2]),
    from("Jamaica", [3, 140, 0, 2, 4]),
    from("Trinidad and Tobago", [1, 40, 0, 6, 6]),
    from("Bahamas", [1, 8, 0, 0, 0]),
    from("Barbados", [0, 9, 0, 0, 0]),
    from("Colombia", [90, 4, 1, 0, 50]),
    from("Ecuador", [40, 1, 2, 0, 55]),
    from("Peru", [45, 0, 3, 1, 45]),
    from("Venezuela", [50, 1, 0, 0, 25]),
    from("Brazil", [60, 3, 0, 1, 20]),
    from("Argentina", [35, 0, 0, 0, 4]),
    from("Chile", [18, 0, 0, 0, 5]),
    from("Bolivia", [9, 0, 3, 0, 9]),
    from("Guyana", [2, 28, 0, 14, 10]),
    from("Canada", [150, 5, 10, 8, 4]),
    from("England", [110, 8, 0, 6, 3]),
    from("Scotland", [20, 0, 0, 0, 0]),
    from("Ireland", [30, 0, 0, 0, 0]),
    from("Germany", [150, 22, 0, 2, 6]),
    from("France", [35, 2, 0, 1, 2]),
    from("Netherlands", [18, 0, 0, 1, 0]),
    from("Sweden", [10, 0, 0, 0, 0]),
    from("Norway", [6, 0, 0, 0, 0]),
    from("Italy", [75, 1, 0, 0, 1]),
    from("Spain", [22, 0, 0, 0, 4]),
    from("Portugal", [36, 1, 0, 0, 3]),
    from("Greece", [28, 0, 0, 0, 0]),
    from("Poland", [85, 0, 0, 0, 0]),
    from("Russia", [80, 0, 0, 1, 0]),
    from("Ukraine", [70, 0, 0, 0, 0]),
    from("Romania", [32, 0, 0, 0, 0]),
    from("Hungary", [15, 0, 0, 0, 0]),
    from("Bosnia and Herzegovina", [22, 0, 0, 0, 0]),
    from("Albania", [18, 0, 0, 0, 0]),
    from("Turkey", [24, 0, 0, 1, 1]),
    from("Iran", [75, 0, 0, 2, 3]),
    from("Iraq", [45, 0, 0, 1, 3]),
    from("Israel", [28, 0, 0, 0, 0]),
    from("Lebanon", [26, 0, 0, 0, 0]),
    from("Egypt", [36, 3, 0, 0, 1]),
    from("Morocco", [14, 2, 0, 0, 1]),
    from("Nigeria", [0, 75, 0, 0, 0]),
    from("Ghana", [0, 38, 0, 0, 0]),
    from("Ethiopia", [0, 55, 0, 0, 0]),
    from("Somalia", [0, 26, 0, 0, 0]),
    from("Kenya", [1, 24, 0, 1, 0]),
    from("South Africa", [24, 4, 0, 1, 1]),
    home("India", 5),
    home("China", 6),
    home("Taiwan", 6),
    home("Hong Kong", 6),
    home("Philippines", 7),
    home("Japan", 8),
    home("South Korea", 9),
    home("Vietnam", 10),
    from("Pakistan", [6, 0, 0, 12, 4]),
    from("Thailand", [4, 0, 0, 12, 2]),
    from("Cambodia", [0, 0, 0, 10, 1]),
    from("Laos", [0, 0, 0, 12, 1]),
];

/// Spanish-speaking birth places outside the states.
#[rustfmt::skip]
const SPANISH_SPEAKING: [&str; 18] = [
    "Puerto Rico", "Mexico", "Guatemala", "El Salvador", "Honduras", "Nicaragua", "Costa Rica", "Panama", "Cuba",
    "Dominican Republic", "Colombia", "Ecuador", "Peru", "Venezuela", "Argentina", "Chile", "Bolivia", "Spain",
];

/// Returns the column of [`Outside::broad`] for a race.
const fn broad_origin(race: usize) -> usize {
    match race {
        0 => 0,
        1 => 1,
        2..=4 => 2,
        5..=10 => 3,
        _ => 4,
    }
}

/// Whether a race is one of the Asian ones.
pub(crate) fn is_asian(race: usize) -> bool {
    broad_origin(race) == 3
}

/// Alias tables of race and birth place.
#[derive(Debug)]
pub(crate) struct Nationality {
    races: Vec<Alias>,
    outside: Vec<Alias>,
    outside_by_age: Vec<f64>,
    states: Alias,
    stayed: Vec<f64>,
    spanish_speaking: Vec<bool>,
}

impl Nationality {
    /// Builds the tables.
    pub fn new() -> Self {
        let inhabitants: Vec<f64> = STATES.iter().map(|state| f64::from(state.inhabitants)).collect();
        Self {
            races: (0..STATES.len()).map(|state| Alias::new(&RACES_BY_ZONE[zone(state)])).collect(),
            outside: (0..RACES.len()).map(|race| Alias::new(&outside_weights(race))).collect(),
            outside_by_age: by_age(&OUTSIDE_BY_AGE),
            states: Alias::new(&inhabitants),
            stayed: by_age(&STAYED_BY_AGE),
            spanish_speaking: birth_places().iter().map(|place| SPANISH_SPEAKING.contains(place)).collect(),
        }
    }

    /// Draws a race.
    #[inline]
    pub fn race(&self, rng: &mut Rng, state: usize) -> usize {
        self.races[state].pick(rng)
    }

    /// Draws a birth place, as an index into [`birth_places`].
    #[inline]
    pub fn birth_place(&self, rng: &mut Rng, race: usize, age: usize, state: usize) -> usize {
        if rng.chance(BORN_OUTSIDE[race] * self.outside_by_age[age]) {
            STATES.len() + self.outside[race].pick(rng)
        } else if rng.chance(self.stayed[age]) {
            state
        } else {
            self.states.pick(rng)
        }
    }

    /// Whether a birth place is a Spanish-speaking place outside the states.
    #[inline]
    pub fn is_spanish_speaking(&self, birth_place: usize) -> bool {
        self.spanish_speaking[birth_place]
    }
}

/// Returns the labels of the birth places: the states, then the places outside.
pub(crate) fn birth_places() -> Vec<&'static str> {
    STATES.iter().map(|state| state.name).chain(OUTSIDE.iter().map(|place| place.name)).collect()
}

/// Returns the weights of the places outside as birth places of a race.
fn outside_weights(race: usize) -> Vec<f64> {
    OUTSIDE
        .iter()
        .map(|place| match place.home {
            // Of several places of one race (China, Taiwan, Hong Kong) the first is by far the most frequent.
            Some(home) if home == race && ["Taiwan", "Hong Kong"].contains(&place.name) => 150.0,
            Some(home) if home == race => 1000.0,
            _ => f64::from(place.broad[broad_origin(race)]),
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn places_are_distinct_and_every_named_place_exists() {
        let places = birth_places();
        assert_eq!(places.iter().collect::<HashSet<_>>().len(), places.len());
        assert!(SPANISH_SPEAKING.iter().all(|name| places.contains(name)));
    }

    #[test]
    fn a_birth_place_follows_race_and_residence() {
        let (nationality, places) = (Nationality::new(), birth_places());
        let mut rng = Rng::new(9, 0);
        let mut count = |race, age, name: &str| {
            (0..10_000).filter(|_| places[nationality.birth_place(&mut rng, race, age, 0)] == name).count()
        };
        assert!(count(0, 5, "California") > 9_000);
        assert!(count(5, 40, "India") > 6_500);
        assert!(count(0, 40, "India") < 20);
    }
}

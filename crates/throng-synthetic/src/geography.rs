//! Regions: ZIP-like codes, grouped by their leading digits.
//!
//! A state owns a range of three-digit prefixes, and its codes fill these from the largest region to the smallest.
//! Neighbouring codes are therefore in the same area: `90001` and `90021` share `900**`, and the whole Pacific coast
//! `9****`.

use crate::alias::{Alias, zipf_weights};
use crate::rng::Rng;

/// A state: name, inhabitants in units of ten thousand, first three-digit prefix of its region codes.
pub(crate) struct State {
    pub name: &'static str,
    pub inhabitants: u32,
    pub prefix: u32,
}

const fn state(name: &'static str, inhabitants: u32, prefix: u32) -> State {
    State { name, inhabitants, prefix }
}

/// The fifty states and the federal district, from large to small.
pub(crate) const STATES: [State; 51] = [
    state("California", 3954, 900),
    state("Texas", 2915, 750),
    state("Florida", 2154, 320),
    state("New York", 2020, 100),
    state("Pennsylvania", 1300, 150),
    state("Illinois", 1281, 600),
    state("Ohio", 1180, 430),
    state("Georgia", 1071, 300),
    state("North Carolina", 1044, 270),
    state("Michigan", 1008, 480),
    state("New Jersey", 929, 70),
    state("Virginia", 863, 220),
    state("Washington", 771, 980),
    state("Arizona", 715, 850),
    state("Massachusetts", 703, 10),
    state("Tennessee", 691, 370),
    state("Indiana", 679, 460),
    state("Maryland", 618, 206),
    state("Missouri", 615, 630),
    state("Wisconsin", 589, 530),
    state("Colorado", 577, 800),
    state("Minnesota", 571, 550),
    state("South Carolina", 512, 290),
    state("Alabama", 502, 350),
    state("Louisiana", 466, 700),
    state("Kentucky", 451, 400),
    state("Oregon", 424, 970),
    state("Oklahoma", 396, 730),
    state("Connecticut", 361, 60),
    state("Utah", 327, 840),
    state("Iowa", 319, 500),
    state("Nevada", 310, 889),
    state("Arkansas", 301, 716),
    state("Mississippi", 296, 386),
    state("Kansas", 294, 660),
    state("New Mexico", 212, 870),
    state("Nebraska", 196, 680),
    state("Idaho", 184, 832),
    state("West Virginia", 179, 247),
    state("Hawaii", 146, 967),
    state("New Hampshire", 138, 30),
    state("Maine", 136, 39),
    state("Rhode Island", 110, 28),
    state("Montana", 108, 590),
    state("Delaware", 99, 197),
    state("South Dakota", 89, 570),
    state("North Dakota", 78, 580),
    state("Alaska", 73, 995),
    state("District of Columbia", 69, 200),
    state("Vermont", 64, 50),
    state("Wyoming", 58, 820),
];

/// Inhabitants, in units of ten thousand, for which a state gets one region code.
const INHABITANTS_PER_CODE: u32 = 50;
/// Codes that even the smallest state gets.
const FEWEST_CODES: usize = 3;
/// Codes that share their first three digits.
const CODES_PER_PREFIX: u32 = 5;
/// Exponent of the region sizes within a state (see [`zipf_weights`]).
const SIZE_EXPONENT: f64 = 2.2;

/// All regions with their sizes and states.
#[derive(Debug)]
pub(crate) struct Geography {
    sizes: Alias,
    codes: Vec<String>,
    states: Vec<usize>,
}

impl Geography {
    /// Lays out the codes of every state.
    pub fn new() -> Self {
        let (mut weights, mut codes, mut states) = (Vec::new(), Vec::new(), Vec::new());
        for (index, state) in STATES.iter().enumerate() {
            let count = FEWEST_CODES.max((state.inhabitants / INHABITANTS_PER_CODE) as usize);
            let shares = zipf_weights(count, 0.0, SIZE_EXPONENT);
            let total: f64 = shares.iter().sum();
            for (number, share) in (0_u32..).zip(shares) {
                let prefix = state.prefix + number / CODES_PER_PREFIX;
                codes.push(format!("{:05}", prefix * 100 + number % CODES_PER_PREFIX * (100 / CODES_PER_PREFIX) + 1));
                weights.push(f64::from(state.inhabitants) * share / total);
                states.push(index);
            }
        }
        Self { sizes: Alias::new(&weights), codes, states }
    }

    /// Draws a region.
    #[inline]
    pub fn draw(&self, rng: &mut Rng) -> usize {
        self.sizes.pick(rng)
    }

    /// Returns the codes of all regions.
    pub fn codes(&self) -> &[String] {
        &self.codes
    }

    /// Returns the state of a region, as an index into [`STATES`].
    #[inline]
    pub fn state(&self, region: usize) -> usize {
        self.states[region]
    }
}

/// Returns the zone of a state: the first digit of its codes.
pub(crate) fn zone(state: usize) -> usize {
    (STATES[state].prefix / 100) as usize
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn codes_are_five_digits_and_unique_and_no_prefix_is_in_two_states() {
        let geography = Geography::new();
        assert!(geography.codes.iter().all(|code| code.len() == 5 && code.bytes().all(|b| b.is_ascii_digit())));
        assert_eq!(geography.codes.iter().collect::<HashSet<_>>().len(), geography.codes.len());
        let prefixes: HashSet<(&str, usize)> =
            geography.codes.iter().zip(&geography.states).map(|(code, state)| (&code[..3], *state)).collect();
        assert_eq!(prefixes.iter().map(|(prefix, _)| prefix).collect::<HashSet<_>>().len(), prefixes.len());
        assert!((400..=1000).contains(&geography.codes.len()), "{} codes", geography.codes.len());
    }

    #[test]
    fn a_zone_is_the_first_digit_of_the_codes() {
        let geography = Geography::new();
        for (code, state) in geography.codes.iter().zip(&geography.states) {
            assert_eq!(code[..1], zone(*state).to_string());
        }
    }
}

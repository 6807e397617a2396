//! Household size and survey weight of a person.

use crate::alias::Alias;
use crate::demographics::SPOUSE_PRESENT;
use crate::geography::STATES;
use crate::rng::Rng;

/// Persons by household size, from 1 to 9, in thousandths; one line per age band and marital situation.
const SIZES: [[f64; 9]; 7] = [
    // Children.
    [0.0, 60.0, 215.0, 350.0, 205.0, 95.0, 42.0, 20.0, 13.0],
    // Up to 34 years, without and with a spouse at home.
    [150.0, 265.0, 235.0, 185.0, 90.0, 42.0, 18.0, 9.0, 6.0],
    [0.0, 340.0, 270.0, 225.0, 98.0, 40.0, 15.0, 8.0, 4.0],
    // From 35 to 64 years.
    [310.0, 285.0, 190.0, 110.0, 58.0, 27.0, 11.0, 6.0, 3.0],
    [0.0, 350.0, 240.0, 245.0, 105.0, 38.0, 13.0, 6.0, 3.0],
    // From 65 years.
    [590.0, 255.0, 88.0, 35.0, 17.0, 8.0, 4.0, 2.0, 1.0],
    [0.0, 800.0, 120.0, 42.0, 20.0, 10.0, 5.0, 2.0, 1.0],
];

/// One household in this many is sampled in a state of average size.
const MEAN_WEIGHT: f64 = 95.0;
/// Standard deviation of the logarithm of weights within a state.
const WEIGHT_SPREAD: f64 = 0.22;

/// Alias tables of household sizes and base weights by state.
#[derive(Debug)]
pub(crate) struct Household {
    sizes: Vec<Alias>,
    base_weights: Vec<f64>,
}

impl Household {
    /// Builds the tables.
    pub fn new() -> Self {
        let mean = f64::from(STATES.iter().map(|state| state.inhabitants).sum::<u32>()) / STATES.len() as f64;
        Self {
            sizes: SIZES.iter().map(|shares| Alias::new(shares)).collect(),
            // Small states are sampled more densely.
            base_weights: STATES.iter().map(|s| MEAN_WEIGHT * (f64::from(s.inhabitants) / mean).powf(0.3)).collect(),
        }
    }

    /// Draws the number of people in the household.
    #[inline]
    pub fn size(&self, rng: &mut Rng, age: usize, marital_status: usize) -> i32 {
        let with_spouse = usize::from(marital_status == SPOUSE_PRESENT);
        let situation = match age {
            0..=17 if with_spouse == 0 => 0,
            0..=34 => 1 + with_spouse,
            35..=64 => 3 + with_spouse,
            _ => 5 + with_spouse,
        };
        self.sizes[situation].pick(rng) as i32 + 1
    }

    /// Draws the weight of the household, rounded to hundredths. Large households respond more often and weigh less.
    #[inline]
    pub fn weight(&self, rng: &mut Rng, state: usize, size: i32) -> f64 {
        let response = 1.12 - 0.04 * f64::from(size);
        let weight = self.base_weights[state] * response * (WEIGHT_SPREAD * rng.normal()).exp();
        (weight * 100.0).round() / 100.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nobody_lives_alone_with_a_spouse_and_weights_are_positive() {
        let (household, mut rng) = (Household::new(), Rng::new(4, 0));
        for i in 0..20_000 {
            let size = household.size(&mut rng, 18 + i % 80, SPOUSE_PRESENT);
            assert!((2..=9).contains(&size));
            let weight = household.weight(&mut rng, i % STATES.len(), size);
            assert!((10.0..600.0).contains(&weight), "{weight}");
        }
    }
}

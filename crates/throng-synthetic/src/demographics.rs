//! Columns that depend on age: sex, marital status, education.

use crate::age_profile::{by_age, curve};
use crate::alias::Alias;
use crate::rng::Rng;

/// Number of ages: 0 to 100, the last one being open-ended.
pub(crate) const AGES: usize = 101;

/// The age below which no person is married or works.
pub(crate) const ADULT_LIFE: usize = 16;

/// Labels of the sexes; [`FEMALE`] and [`MALE`] index them.
pub(crate) const SEXES: [&str; 2] = ["Female", "Male"];
/// Index of the label "Female".
pub(crate) const FEMALE: usize = 0;
/// Index of the label "Male".
pub(crate) const MALE: usize = 1;

/// Labels of the marital statuses.
pub(crate) const MARITAL_STATUSES: [&str; 6] =
    ["Never married", "Married, spouse present", "Married, spouse absent", "Separated", "Divorced", "Widowed"];
/// Index of "Married, spouse present".
pub(crate) const SPOUSE_PRESENT: usize = 1;

/// Labels of the levels of education, from low to high.
pub(crate) const EDUCATIONS: [&str; 16] = [
    "No schooling",
    "Preschool",
    "Grade 1-4",
    "Grade 5-6",
    "Grade 7-8",
    "Grade 9",
    "Grade 10",
    "Grade 11",
    "Grade 12, no diploma",
    "High school diploma",
    "Some college, no degree",
    "Vocational associate degree",
    "Academic associate degree",
    "Bachelor's degree",
    "Master's degree",
    "Professional or doctoral degree",
];

/// Population by age, in thousandths.
const PYRAMID: [(f64, f64); 11] = [
    (0.0, 11.5),
    (10.0, 12.8),
    (20.0, 13.3),
    (30.0, 14.0),
    (40.0, 12.8),
    (50.0, 12.5),
    (60.0, 12.8),
    (70.0, 10.0),
    (80.0, 5.0),
    (90.0, 1.4),
    (100.0, 0.1),
];

/// The share of women at an age.
const FEMALE_SHARE: [(f64, f64); 5] = [(0.0, 0.488), (35.0, 0.5), (65.0, 0.52), (85.0, 0.6), (100.0, 0.76)];

/// The share of women who have ever married; men follow [`MALE_DELAY`] years later.
const EVER_MARRIED: [(f64, f64); 9] = [
    (16.0, 0.0),
    (18.0, 0.02),
    (22.0, 0.14),
    (26.0, 0.36),
    (30.0, 0.58),
    (35.0, 0.74),
    (45.0, 0.84),
    (60.0, 0.92),
    (75.0, 0.96),
];
const MALE_DELAY: f64 = 2.0;

/// The share of the ever married whose last spouse has died.
const WIDOWED_WOMEN: [(f64, f64); 6] =
    [(25.0, 0.0), (50.0, 0.025), (65.0, 0.11), (75.0, 0.27), (85.0, 0.58), (100.0, 0.9)];
const WIDOWED_MEN: [(f64, f64); 6] =
    [(30.0, 0.0), (50.0, 0.01), (65.0, 0.04), (75.0, 0.11), (85.0, 0.28), (100.0, 0.6)];

/// The share of the ever married and not widowed who are divorced.
const DIVORCED: [(f64, f64); 5] = [(18.0, 0.0), (30.0, 0.1), (45.0, 0.18), (60.0, 0.2), (85.0, 0.12)];
/// Shares of the separated, and of those with an absent spouse, among the ever married and not widowed.
const SEPARATED: f64 = 0.024;
const SPOUSE_ABSENT: f64 = 0.028;

/// Completed education of adults aged 25 to 55, in thousandths.
const ADULT_EDUCATION: [f64; 16] =
    [8.0, 1.0, 5.0, 9.0, 10.0, 12.0, 14.0, 17.0, 16.0, 258.0, 175.0, 45.0, 58.0, 235.0, 103.0, 34.0];
/// The youngest age at which a level can be completed.
const YOUNGEST: [usize; 16] = [0, 3, 6, 10, 12, 14, 15, 16, 17, 18, 18, 20, 20, 21, 23, 25];
/// The age from which adults are distinguished from pupils, who have the level of their age.
const LEAVES_SCHOOL: usize = 18;

/// Alias tables by age (and sex for marital status).
#[derive(Debug)]
pub(crate) struct Demographics {
    ages: Alias,
    female: Vec<f64>,
    marital: Vec<Alias>,
    education: Vec<Alias>,
}

impl Demographics {
    /// Builds the tables.
    pub fn new() -> Self {
        Self {
            ages: Alias::new(&by_age(&PYRAMID)),
            female: by_age(&FEMALE_SHARE),
            marital: (0..AGES * 2).map(|i| Alias::new(&marital_shares(i / 2, i % 2))).collect(),
            education: (0..AGES).map(|age| Alias::new(&education_shares(age))).collect(),
        }
    }

    /// Draws an age.
    #[inline]
    pub fn age(&self, rng: &mut Rng) -> usize {
        self.ages.pick(rng)
    }

    /// Draws a sex.
    #[inline]
    pub fn sex(&self, rng: &mut Rng, age: usize) -> usize {
        if rng.chance(self.female[age]) { FEMALE } else { MALE }
    }

    /// Draws a marital status.
    #[inline]
    pub fn marital_status(&self, rng: &mut Rng, age: usize, sex: usize) -> usize {
        self.marital[age * 2 + sex].pick(rng)
    }

    /// Draws a level of education.
    #[inline]
    pub fn education(&self, rng: &mut Rng, age: usize) -> usize {
        self.education[age].pick(rng)
    }
}

/// Returns the shares of the marital statuses at an age.
fn marital_shares(age: usize, sex: usize) -> [f64; 6] {
    let years = age as f64;
    let (delay, widowed) = if sex == FEMALE { (0.0, &WIDOWED_WOMEN) } else { (MALE_DELAY, &WIDOWED_MEN) };
    let ever = if age < ADULT_LIFE { 0.0 } else { curve(&EVER_MARRIED, years - delay) };
    let widowed = ever * curve(widowed, years);
    let rest = ever - widowed;
    let divorced = curve(&DIVORCED, years);
    let present = 1.0 - divorced - SEPARATED - SPOUSE_ABSENT;
    [1.0 - ever, rest * present, rest * SPOUSE_ABSENT, rest * SEPARATED, rest * divorced, widowed]
}

/// Returns the shares of the levels of education at an age.
fn education_shares(age: usize) -> [f64; 16] {
    let at_school = YOUNGEST.partition_point(|youngest| *youngest <= age) - 1;
    if age < LEAVES_SCHOOL {
        // Most pupils are at the level of their age, some one level behind.
        return std::array::from_fn(|level| match at_school - level.min(at_school) {
            0 if level == at_school => 0.92,
            1 => 0.08,
            _ => 0.0,
        });
    }
    // Degrees are rarer among the old, and the young have not had time to get them.
    let higher = curve(&[(18.0, 0.35), (25.0, 0.9), (35.0, 1.05), (60.0, 0.85), (80.0, 0.55)], age as f64);
    let lower = curve(&[(18.0, 1.6), (25.0, 0.9), (55.0, 1.0), (80.0, 2.6)], age as f64);
    std::array::from_fn(|level| match level {
        _ if YOUNGEST[level] > age => 0.0,
        0..=8 => ADULT_EDUCATION[level] * lower,
        9 | 10 => ADULT_EDUCATION[level],
        // Degrees become more frequent over the years after the youngest age for them.
        _ => ADULT_EDUCATION[level] * higher * ((age - YOUNGEST[level] + 1) as f64 / 5.0).min(1.0),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_are_never_negative_and_marital_shares_sum_to_one() {
        for age in 0..AGES {
            for sex in [FEMALE, MALE] {
                let shares = marital_shares(age, sex);
                assert!(shares.iter().all(|share| *share >= 0.0), "{age} {sex} {shares:?}");
                assert!((shares.iter().sum::<f64>() - 1.0).abs() < 1e-9);
            }
            let shares = education_shares(age);
            assert!(shares.iter().all(|share| *share >= 0.0) && shares.iter().sum::<f64>() > 0.0, "{age} {shares:?}");
        }
    }

    #[test]
    fn children_are_at_the_level_of_their_age_and_never_married() {
        assert_eq!(education_shares(0)[0], 0.92);
        assert_eq!(education_shares(7), std::array::from_fn(|l| [0.0, 0.08, 0.92].get(l).copied().unwrap_or(0.0)));
        assert_eq!((MARITAL_STATUSES[0], marital_shares(15, FEMALE)[0]), ("Never married", 1.0));
        assert!(marital_shares(40, MALE)[SPOUSE_PRESENT] > 0.5);
    }
}

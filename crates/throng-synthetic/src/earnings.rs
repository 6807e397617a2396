//! Hours of work and income.

use crate::age_profile::by_age;
use crate::demographics::FEMALE;
use crate::occupation::{GROUPS, Occupation};
use crate::rng::Rng;

/// Share of workers with a week of exactly forty hours.
const FULL_WEEK: f64 = 0.48;
/// Standard deviation of other weeks around the usual hours of the occupation.
const HOURS_SPREAD: f64 = 10.0;
/// Factor on hours by age.
const HOURS_BY_AGE: [(f64, f64); 6] = [(16.0, 0.45), (20.0, 0.72), (25.0, 1.0), (60.0, 1.0), (66.0, 0.78), (80.0, 0.5)];

/// Factor on pay by age.
const PAY_BY_AGE: [(f64, f64); 6] = [(16.0, 0.42), (22.0, 0.6), (30.0, 0.9), (45.0, 1.15), (60.0, 1.12), (75.0, 0.85)];
/// Factor on pay by level of education, within one occupation.
const PAY_BY_EDUCATION: [f64; 16] =
    [0.66, 0.66, 0.68, 0.7, 0.72, 0.75, 0.77, 0.8, 0.82, 0.92, 0.98, 1.0, 1.04, 1.2, 1.36, 1.6];
/// Factor on the pay of women for the same occupation, hours and education.
const PAY_OF_WOMEN: f64 = 0.9;
/// The standard deviation of the logarithm of pay.
const PAY_SPREAD: f64 = 0.48;

/// The age from which those without work receive a pension.
const PENSION_AGE: usize = 62;
/// The median pension, in whole units of currency.
const PENSION: f64 = 23_000.0;
/// Share of younger adults without work who have an income, and its median.
const OTHER_INCOME: (f64, f64) = (0.38, 7_500.0);
/// The youngest age with an income.
const INCOME_AGE: usize = 15;
/// Standard deviation of the logarithm of income that is not pay.
const OTHER_SPREAD: f64 = 0.7;

/// Factors on hours and pay by age.
#[derive(Debug)]
pub(crate) struct Earnings {
    hours: Vec<f64>,
    pay: Vec<f64>,
}

impl Earnings {
    /// Builds the tables.
    pub fn new() -> Self {
        Self { hours: by_age(&HOURS_BY_AGE), pay: by_age(&PAY_BY_AGE) }
    }

    /// Draws the usual hours of work in a week: zero without work, from 1 to 99 with it.
    #[inline]
    pub fn hours(&self, rng: &mut Rng, age: usize, occupation: Occupation) -> i32 {
        let Some(group) = occupation.group else { return 0 };
        let factor = self.hours[age];
        if rng.chance(FULL_WEEK * factor) {
            return 40;
        }
        let hours = GROUPS[group].hours * factor + HOURS_SPREAD * rng.normal();
        hours.round().clamp(1.0, 99.0) as i32
    }

    /// Draws the yearly income, rounded to hundreds.
    #[inline]
    pub fn income(
        &self,
        rng: &mut Rng,
        age: usize,
        sex: usize,
        education: usize,
        occupation: Occupation,
        hours: i32,
    ) -> i32 {
        let (median, spread) = match occupation.group {
            Some(group) => {
                let women = if sex == FEMALE { PAY_OF_WOMEN } else { 1.0 };
                let yearly = 1000.0 * GROUPS[group].pay * f64::from(hours) / 40.0;
                (yearly * self.pay[age] * PAY_BY_EDUCATION[education] * women, PAY_SPREAD)
            }
            None if age >= PENSION_AGE => (PENSION * PAY_BY_EDUCATION[education], OTHER_SPREAD),
            None if age >= INCOME_AGE && rng.chance(OTHER_INCOME.0) => (OTHER_INCOME.1, OTHER_SPREAD),
            None => return 0,
        };
        ((median * (spread * rng.normal()).exp() / 100.0).round() * 100.0) as i32
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::demographics::MALE;

    fn median(mut values: Vec<i32>) -> i32 {
        values.sort_unstable();
        values[values.len() / 2]
    }

    #[test]
    fn no_work_means_no_hours_and_children_have_no_income() {
        let (earnings, mut rng) = (Earnings::new(), Rng::new(1, 1));
        let none = Occupation { code: 0, group: None };
        assert_eq!(earnings.hours(&mut rng, 50, none), 0);
        assert!((0..1000).all(|_| earnings.income(&mut rng, 14, MALE, 5, none, 0) == 0));
    }

    #[test]
    fn income_rises_with_education_and_hours() {
        let (earnings, mut rng) = (Earnings::new(), Rng::new(1, 2));
        let work = Occupation { code: 20, group: Some(0) };
        let mut income = |education, hours| {
            median((0..4001).map(|_| earnings.income(&mut rng, 45, MALE, education, work, hours)).collect())
        };
        let (low, high, half) = (income(9, 40), income(15, 40), income(9, 20));
        assert!(f64::from(high) > 1.5 * f64::from(low), "{high} {low}");
        assert!((1.8..2.2).contains(&(f64::from(low) / f64::from(half))), "{low} {half}");
        assert_eq!((low % 100, high % 100), (0, 0));
    }
}

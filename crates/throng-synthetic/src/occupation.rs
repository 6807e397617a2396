//! Occupations modelled on the Standard Occupational Classification, and their industries.
//!
//! A code such as `29-1041` is a major group (`29`, health care), a minor group (`1`) and a detailed occupation. Group
//! `00` is for those who do not work. It has several codes, at least three at any age, because activities such as
//! school, care or retirement are as sensitive as an occupation, and because a class of children could otherwise never
//! contain different sensitive values.

use crate::age_profile::by_age;
use crate::alias::{Alias, zipf_weights};
use crate::demographics::{ADULT_LIFE, FEMALE};
use crate::rng::Rng;

/// A major group of occupations.
pub(crate) struct OccupationGroup {
    /// First two digits of its codes.
    number: u32,
    /// Number of detailed occupations.
    details: usize,
    /// Workers by tier of education (see [`tier`]), in thousandths.
    by_tier: [f64; 4],
    /// The share of women at equal education.
    women: f64,
    /// Usual hours a week.
    pub hours: f64,
    /// Median yearly pay for 40 hours, in thousands.
    pub pay: f64,
    /// Its main industries, from the most frequent on, as indexes into [`INDUSTRIES`].
    industries: [usize; 3],
}

#[rustfmt::skip]
const fn group(
    number: u32, details: usize, by_tier: [f64; 4], women: f64, hours: f64, pay: f64, industries: [usize; 3],
) -> OccupationGroup {
    OccupationGroup { number, details, by_tier, women, hours, pay, industries }
}

/// The major groups.
#[rustfmt::skip]
pub(crate) const GROUPS: [OccupationGroup; 22] = [
    group(11, 19, [20.0,  60.0, 140.0, 170.0], 0.40, 43.0, 78.0, [10, 6, 12]),  // management
    group(13, 18, [5.0,   32.0, 105.0,  85.0], 0.54, 41.0, 62.0, [8, 10, 17]),  // business and finance
    group(15, 11, [1.0,   14.0,  62.0,  60.0], 0.26, 41.0, 84.0, [10, 7, 8]),   // computing
    group(17, 14, [1.0,   11.0,  34.0,  32.0], 0.17, 41.0, 80.0, [10, 4, 3]),   // engineering
    group(19, 12, [0.5,    3.0,  14.0,  44.0], 0.47, 41.0, 66.0, [10, 13, 14]), // science
    group(21,  8, [2.0,   10.0,  28.0,  48.0], 0.66, 39.0, 45.0, [14, 16, 17]), // social service
    group(23,  5, [0.5,    4.0,  10.0,  58.0], 0.52, 43.0, 88.0, [10, 17, 8]),  // law
    group(25, 12, [8.0,   22.0,  92.0, 190.0], 0.72, 38.0, 47.0, [13, 14, 17]), // teaching
    group(27, 14, [6.0,   15.0,  34.0,  26.0], 0.47, 36.0, 48.0, [7, 15, 10]),  // arts and media
    group(29, 24, [3.0,   32.0,  98.0, 185.0], 0.74, 38.0, 68.0, [14, 17, 13]), // health care
    group(31,  9, [40.0,  48.0,  22.0,   6.0], 0.86, 35.0, 29.0, [14, 18, 16]), // health support
    group(33, 11, [12.0,  29.0,  18.0,   8.0], 0.23, 41.0, 44.0, [17, 11, 15]), // protection
    group(35, 12, [105.0, 62.0,  17.0,   4.0], 0.54, 30.0, 24.0, [15, 13, 14]), // food
    group(37,  7, [112.0, 38.0,   9.0,   2.0], 0.40, 34.0, 27.0, [11, 15, 13]), // cleaning
    group(39, 12, [36.0,  34.0,  17.0,   6.0], 0.77, 32.0, 26.0, [16, 15, 18]), // personal care
    group(41, 16, [86.0, 108.0,  92.0,  34.0], 0.49, 37.0, 38.0, [6, 5, 8]),    // sales
    group(43, 32, [66.0, 152.0,  98.0,  28.0], 0.72, 37.0, 37.0, [8, 14, 17]),  // office
    group(45,  6, [34.0,   7.0,   2.0,   1.0], 0.23, 42.0, 28.0, [0, 5, 3]),    // farming
    group(47, 28, [146.0, 68.0,  13.0,   4.0], 0.04, 40.0, 44.0, [2, 1, 4]),    // construction
    group(49, 18, [40.0,  48.0,  17.0,   3.0], 0.04, 41.0, 46.0, [16, 4, 3]),   // maintenance
    group(51, 34, [122.0, 82.0,  22.0,   5.0], 0.29, 40.0, 37.0, [3, 4, 5]),    // production
    group(53, 18, [150.0, 100.0, 25.0,   6.0], 0.19, 39.0, 35.0, [9, 5, 6]),    // transport
];

/// Detailed occupations that share a minor group.
const DETAILS_PER_MINOR: u32 = 9;
/// Exponent of the frequency of the detailed occupations of a group (see [`zipf_weights`]).
const DETAIL_EXPONENT: f64 = 0.9;

/// Labels of the industries.
pub(crate) const INDUSTRIES: [&str; 20] = [
    "Agriculture and forestry",
    "Mining and energy",
    "Construction",
    "Manufacturing, nondurable",
    "Manufacturing, durable",
    "Wholesale trade",
    "Retail trade",
    "Information",
    "Finance and real estate",
    "Transportation and warehousing",
    "Professional and technical services",
    "Administrative and waste services",
    "Management of companies",
    "Education",
    "Health care",
    "Leisure and hospitality",
    "Other services",
    "Public administration",
    "Private households",
    NOT_APPLICABLE,
];
/// The industry of those who do not work.
const NOT_APPLICABLE: &str = "Not applicable";
const NO_INDUSTRY: usize = INDUSTRIES.len() - 1;

/// Codes of those who do not work, with their weights by age.
const NOT_WORKING: [(&str, &[(f64, f64)]); 10] = [
    // A small child at home, in day care, in preschool.
    ("00-1011", &[(0.0, 70.0), (3.0, 45.0), (5.0, 12.0), (6.0, 0.0)]),
    ("00-1012", &[(0.0, 24.0), (3.0, 26.0), (5.0, 12.0), (6.0, 0.0)]),
    ("00-1013", &[(0.0, 6.0), (3.0, 29.0), (5.0, 76.0), (6.0, 0.0)]),
    // A pupil of a public school, of a private one, taught at home.
    ("00-2011", &[(5.0, 0.0), (6.0, 80.0), (17.0, 80.0), (19.0, 0.0)]),
    ("00-2012", &[(5.0, 0.0), (6.0, 13.0), (17.0, 13.0), (19.0, 0.0)]),
    ("00-2013", &[(5.0, 0.0), (6.0, 7.0), (17.0, 5.0), (19.0, 0.0)]),
    // A student; keeping house; unable to work; retired.
    ("00-2021", &[(16.0, 0.0), (19.0, 75.0), (24.0, 40.0), (35.0, 5.0), (60.0, 0.0)]),
    ("00-3011", &[(15.0, 0.0), (20.0, 18.0), (30.0, 60.0), (60.0, 30.0), (75.0, 10.0)]),
    ("00-4011", &[(15.0, 0.0), (20.0, 8.0), (40.0, 35.0), (60.0, 35.0), (75.0, 7.0)]),
    ("00-5011", &[(45.0, 0.0), (60.0, 35.0), (66.0, 75.0), (75.0, 83.0)]),
];

/// Share of men who work, by age.
const WORKS: [(f64, f64); 12] = [
    (15.0, 0.0),
    (16.0, 0.2),
    (18.0, 0.44),
    (22.0, 0.72),
    (30.0, 0.86),
    (50.0, 0.83),
    (60.0, 0.62),
    (65.0, 0.37),
    (70.0, 0.2),
    (80.0, 0.06),
    (90.0, 0.012),
    (97.0, 0.0),
];
/// Factor on that share for women.
const WORKING_WOMEN: f64 = 0.89;

/// The occupation of one person.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Occupation {
    /// Index into [`OccupationTables::codes`].
    pub code: usize,
    /// Index into [`GROUPS`], for those who work.
    pub group: Option<usize>,
}

/// Alias tables of occupation and industry.
#[derive(Debug)]
pub(crate) struct OccupationTables {
    codes: Vec<String>,
    group_of: Vec<usize>,
    works: Vec<f64>,
    not_working: Vec<Alias>,
    /// One table per tier of education and sex.
    working: Vec<Alias>,
    industries: Vec<Alias>,
}

impl OccupationTables {
    /// Builds the tables.
    pub fn new() -> Self {
        let mut codes: Vec<String> = NOT_WORKING.iter().map(|(code, _)| (*code).to_owned()).collect();
        let mut group_of = Vec::new();
        for (index, group) in GROUPS.iter().enumerate() {
            for detail in 0..group.details as u32 {
                let (minor, number) = (detail / DETAILS_PER_MINOR + 1, detail % DETAILS_PER_MINOR + 1);
                codes.push(format!("{}-{}", group.number, minor * 1000 + number * 10 + 1));
                group_of.push(index);
            }
        }
        let not_working: Vec<Vec<f64>> = NOT_WORKING.iter().map(|(_, weights)| by_age(weights)).collect();
        let ages = not_working.first().map_or(0, Vec::len);
        Self {
            codes,
            group_of,
            works: by_age(&WORKS),
            not_working: (0..ages)
                .map(|age| Alias::new(&not_working.iter().map(|weights| weights[age]).collect::<Vec<_>>()))
                .collect(),
            working: (0..8).map(|i| Alias::new(&working_weights(i / 2, i % 2))).collect(),
            industries: GROUPS.iter().map(|group| Alias::new(&industry_weights(group))).collect(),
        }
    }

    /// Returns the codes of all occupations.
    pub fn codes(&self) -> &[String] {
        &self.codes
    }

    /// Draws an occupation.
    #[inline]
    pub fn occupation(&self, rng: &mut Rng, age: usize, sex: usize, education: usize) -> Occupation {
        let factor = if sex == FEMALE { WORKING_WOMEN } else { 1.0 };
        if age < ADULT_LIFE || !rng.chance(self.works[age] * factor) {
            return Occupation { code: self.not_working[age].pick(rng), group: None };
        }
        let detail = self.working[tier(education) * 2 + sex].pick(rng);
        Occupation { code: NOT_WORKING.len() + detail, group: Some(self.group_of[detail]) }
    }

    /// Draws the industry, as an index into [`INDUSTRIES`].
    #[inline]
    pub fn industry(&self, rng: &mut Rng, occupation: Occupation) -> usize {
        occupation.group.map_or(NO_INDUSTRY, |group| self.industries[group].pick(rng))
    }
}

/// Returns the tier of a level of education: no diploma, diploma, first degree, higher degree.
fn tier(education: usize) -> usize {
    match education {
        0..=8 => 0,
        9..=11 => 1,
        12 | 13 => 2,
        _ => 3,
    }
}

/// Returns the weights of the detailed occupations of all groups.
fn working_weights(tier: usize, sex: usize) -> Vec<f64> {
    let mut weights = Vec::new();
    for group in &GROUPS {
        let share = if sex == FEMALE { group.women } else { 1.0 - group.women };
        let details = zipf_weights(group.details, 0.5, DETAIL_EXPONENT);
        let total: f64 = details.iter().sum();
        weights.extend(details.iter().map(|detail| group.by_tier[tier] * share * detail / total));
    }
    weights
}

/// Returns the weights of the industries of a group: mostly its three main ones, a few anywhere.
fn industry_weights(group: &OccupationGroup) -> Vec<f64> {
    let mut weights = vec![1.0; INDUSTRIES.len()];
    weights[NO_INDUSTRY] = 0.0;
    for (industry, weight) in group.industries.iter().zip([50.0, 20.0, 10.0]) {
        weights[*industry] += weight;
    }
    weights
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;
    use crate::demographics::{AGES, MALE};

    #[test]
    fn there_are_some_three_hundred_distinct_codes() {
        let work = OccupationTables::new();
        assert!((300..400).contains(&work.codes.len()), "{} codes", work.codes.len());
        assert_eq!(work.codes.iter().collect::<HashSet<_>>().len(), work.codes.len());
        assert!(work.codes.iter().all(|code| code.len() == 7 && code.as_bytes()[2] == b'-'));
    }

    #[test]
    fn every_age_has_three_ways_not_to_work() {
        for age in 0..AGES {
            let ways = NOT_WORKING.iter().filter(|(_, weights)| by_age(weights)[age] > 0.0).count();
            assert!(ways >= 3, "{ways} at age {age}");
        }
    }

    #[test]
    fn education_and_sex_decide_the_group() {
        let (work, mut rng) = (OccupationTables::new(), Rng::new(8, 0));
        let mut share = |group: u32, sex, education| {
            let drawn: Vec<Occupation> = (0..20_000).map(|_| work.occupation(&mut rng, 40, sex, education)).collect();
            let working: Vec<usize> = drawn.iter().filter_map(|o| o.group).collect();
            working.iter().filter(|g| GROUPS[**g].number == group).count() as f64 / working.len() as f64
        };
        assert!(share(29, FEMALE, 15) > 2.0 * share(29, MALE, 15));
        assert!(share(53, MALE, 5) > 4.0 * share(53, MALE, 13));
        assert!(share(23, MALE, 15) > 10.0 * share(23, MALE, 5));
    }
}

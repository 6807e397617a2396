//! Draws one person: every column after the ones that it depends on.

use crate::demographics::{Demographics, FEMALE};
use crate::earnings::Earnings;
use crate::geography::Geography;
use crate::household::Household;
use crate::names::{Name, NameTables, Surname};
use crate::nationality::{Nationality, is_asian};
use crate::occupation::OccupationTables;
use crate::rng::Rng;

/// Share of people of an Asian race, or born in a Spanish-speaking place, with a last name from that list.
const SURNAME_KEPT: f64 = 0.86;
/// Share of other people with a Spanish last name.
const SPANISH_ELSEWHERE: f64 = 0.09;

/// One person; categories are indices into the labels of their column.
#[derive(Debug)]
pub(crate) struct Person {
    pub name: Name,
    pub age: usize,
    pub sex: usize,
    pub marital_status: usize,
    pub race: usize,
    pub birth_place: usize,
    pub region: usize,
    pub education: usize,
    pub occupation: usize,
    pub industry: usize,
    pub hours: i32,
    pub income: i32,
    pub household_size: i32,
    pub weight: f64,
}

/// All tables that persons are drawn from; independent of the seed.
#[derive(Debug)]
pub(crate) struct Population {
    pub geography: Geography,
    pub work: OccupationTables,
    nationality: Nationality,
    demographics: Demographics,
    earnings: Earnings,
    household: Household,
    names: NameTables,
}

impl Population {
    /// Builds the tables.
    pub fn new() -> Self {
        Self {
            geography: Geography::new(),
            work: OccupationTables::new(),
            nationality: Nationality::new(),
            demographics: Demographics::new(),
            earnings: Earnings::new(),
            household: Household::new(),
            names: NameTables::new(),
        }
    }

    /// Draws the next person.
    pub fn draw(&self, rng: &mut Rng) -> Person {
        let region = self.geography.draw(rng);
        let state = self.geography.state(region);
        let race = self.nationality.race(rng, state);
        let age = self.demographics.age(rng);
        let sex = self.demographics.sex(rng, age);
        let birth_place = self.nationality.birth_place(rng, race, age, state);
        let marital_status = self.demographics.marital_status(rng, age, sex);
        let education = self.demographics.education(rng, age);
        let occupation = self.work.occupation(rng, age, sex, education);
        let industry = self.work.industry(rng, occupation);
        let hours = self.earnings.hours(rng, age, occupation);
        let income = self.earnings.income(rng, age, sex, education, occupation, hours);
        let household_size = self.household.size(rng, age, marital_status);
        let weight = self.household.weight(rng, state, household_size);
        let surname = self.surname(rng, race, birth_place);
        let name = self.names.draw(rng, sex == FEMALE, surname);
        Person {
            name,
            age,
            sex,
            marital_status,
            race,
            birth_place,
            region,
            education,
            occupation: occupation.code,
            industry,
            hours,
            income,
            household_size,
            weight,
        }
    }

    /// Draws the list of the last name.
    fn surname(&self, rng: &mut Rng, race: usize, birth_place: usize) -> Surname {
        let luck = rng.unit();
        if self.nationality.is_spanish_speaking(birth_place) && luck < SURNAME_KEPT {
            Surname::Spanish
        } else if is_asian(race) && luck < SURNAME_KEPT {
            Surname::Asian
        } else if luck < SPANISH_ELSEWHERE {
            Surname::Spanish
        } else {
            Surname::General
        }
    }
}

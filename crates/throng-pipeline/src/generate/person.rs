//! How one person is drawn: every column after the ones that it depends on.

use super::draws::Draws;
use super::earnings::Earnings;
use super::geography::Geography;
use super::household::Household;
use super::life::{FEMALE, Life};
use super::names::{Name, Names, Surname};
use super::occupation::Work;
use super::origin::{Origin, is_asian};

/// The share of people with an Asian race, or born where Spanish is spoken, whose last name says so.
const SURNAME_KEPT: f64 = 0.86;
/// The share of other people who have a last name from Spanish.
const SPANISH_ELSEWHERE: f64 = 0.09;

/// One person; categories are indexes into the labels of their column.
#[derive(Debug)]
pub(super) struct Person {
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

/// All tables that persons are drawn from. They are the same for every seed.
#[derive(Debug)]
pub(super) struct Population {
    pub geography: Geography,
    pub work: Work,
    origin: Origin,
    life: Life,
    earnings: Earnings,
    household: Household,
    names: Names,
}

impl Population {
    /// Builds the tables.
    pub fn new() -> Self {
        Self {
            geography: Geography::new(),
            work: Work::new(),
            origin: Origin::new(),
            life: Life::new(),
            earnings: Earnings::new(),
            household: Household::new(),
            names: Names::new(),
        }
    }

    /// Draws the next person.
    pub fn draw(&self, draws: &mut Draws) -> Person {
        let region = self.geography.draw(draws);
        let state = self.geography.state(region);
        let race = self.origin.race(draws, state);
        let age = self.life.age(draws);
        let sex = self.life.sex(draws, age);
        let birth_place = self.origin.birth_place(draws, race, age, state);
        let marital_status = self.life.marital_status(draws, age, sex);
        let education = self.life.education(draws, age);
        let occupation = self.work.occupation(draws, age, sex, education);
        let industry = self.work.industry(draws, occupation);
        let hours = self.earnings.hours(draws, age, occupation);
        let income = self.earnings.income(draws, age, sex, education, occupation, hours);
        let household_size = self.household.size(draws, age, marital_status);
        let weight = self.household.weight(draws, state, household_size);
        let surname = self.surname(draws, race, birth_place);
        let name = self.names.draw(draws, sex == FEMALE, surname);
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

    /// The list of a last name.
    fn surname(&self, draws: &mut Draws, race: usize, birth_place: usize) -> Surname {
        let luck = draws.unit();
        if self.origin.is_spanish_speaking(birth_place) && luck < SURNAME_KEPT {
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

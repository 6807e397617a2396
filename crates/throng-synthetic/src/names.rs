//! Names: first names by sex and last names by origin, each list ordered by frequency.

use crate::alias::Alias;
use crate::rng::Rng;

/// First names of women.
#[rustfmt::skip]
const WOMEN: [&str; 120] = [
    "Mary", "Jennifer", "Linda", "Patricia", "Elizabeth", "Jessica", "Barbara", "Susan", "Sarah", "Karen", "Lisa",
    "Nancy", "Ashley", "Emily", "Michelle", "Amanda", "Melissa", "Kimberly", "Sandra", "Donna", "Emma", "Olivia",
    "Deborah", "Stephanie", "Carol", "Rebecca", "Sharon", "Laura", "Cynthia", "Amy", "Kathleen", "Angela", "Dorothy",
    "Shirley", "Brenda", "Nicole", "Pamela", "Anna", "Samantha", "Katherine", "Christine", "Helen", "Debra", "Rachel",
    "Carolyn", "Janet", "Maria", "Catherine", "Heather", "Diane", "Sophia", "Julie", "Victoria", "Joyce", "Lauren",
    "Kelly", "Christina", "Ruth", "Joan", "Virginia", "Judith", "Evelyn", "Hannah", "Andrea", "Megan", "Cheryl",
    "Jacqueline", "Madison", "Teresa", "Abigail", "Martha", "Sara", "Gloria", "Janice", "Ann", "Kathryn", "Isabella",
    "Grace", "Jean", "Judy", "Theresa", "Alice", "Ava", "Denise", "Amber", "Doris", "Marilyn", "Danielle", "Beverly",
    "Charlotte", "Natalie", "Mia", "Frances", "Diana", "Brittany", "Rose", "Alexis", "Kayla", "Lori", "Tiffany",
    "Chloe", "Claire", "Audrey", "Lucy", "Naomi", "Violet", "Stella", "Hazel", "Nora", "Leah", "Ellen", "June",
    "Irene", "Vera", "Paula", "Sylvia", "Monica", "Holly", "Bianca", "Ingrid",
];

/// First names of men.
#[rustfmt::skip]
const MEN: [&str; 120] = [
    "James", "Michael", "Robert", "John", "David", "William", "Richard", "Joseph", "Thomas", "Christopher", "Charles",
    "Daniel", "Matthew", "Anthony", "Mark", "Donald", "Steven", "Andrew", "Paul", "Joshua", "Kenneth", "Kevin",
    "Brian", "George", "Timothy", "Ronald", "Jason", "Edward", "Jeffrey", "Ryan", "Jacob", "Gary", "Nicholas", "Eric",
    "Jonathan", "Stephen", "Larry", "Justin", "Scott", "Brandon", "Benjamin", "Samuel", "Gregory", "Alexander",
    "Patrick", "Frank", "Raymond", "Jack", "Dennis", "Jerry", "Tyler", "Aaron", "Jose", "Adam", "Nathan", "Henry",
    "Zachary", "Douglas", "Peter", "Kyle", "Noah", "Ethan", "Jeremy", "Walter", "Christian", "Keith", "Roger",
    "Terry", "Austin", "Sean", "Gerald", "Carl", "Harold", "Dylan", "Arthur", "Lawrence", "Jordan", "Jesse", "Bryan",
    "Billy", "Bruce", "Gabriel", "Joe", "Logan", "Alan", "Juan", "Albert", "Willie", "Elijah", "Wayne", "Randy",
    "Vincent", "Mason", "Roy", "Ralph", "Bobby", "Russell", "Bradley", "Philip", "Eugene", "Liam", "Oliver", "Felix",
    "Simon", "Oscar", "Martin", "Leon", "Hugo", "Victor", "Isaac", "Owen", "Caleb", "Julian", "Dominic", "Wesley",
    "Marcus", "Theodore", "Edgar", "Ivan", "Otto",
];

/// Last names: a general list, then names from Spanish, then names from Asian languages.
#[rustfmt::skip]
const LAST: [&str; 220] = [
    "Smith", "Johnson", "Williams", "Brown", "Jones", "Miller", "Davis", "Wilson", "Anderson", "Thomas", "Taylor",
    "Moore", "Jackson", "Martin", "Thompson", "White", "Harris", "Clark", "Lewis", "Robinson", "Walker", "Young",
    "Allen", "King", "Wright", "Scott", "Hill", "Green", "Adams", "Nelson", "Baker", "Hall", "Campbell", "Mitchell",
    "Carter", "Roberts", "Phillips", "Evans", "Turner", "Parker", "Edwards", "Collins", "Stewart", "Morris", "Murphy",
    "Cook", "Rogers", "Morgan", "Peterson", "Cooper", "Reed", "Bailey", "Bell", "Kelly", "Howard", "Ward", "Cox",
    "Richardson", "Wood", "Watson", "Brooks", "Bennett", "Gray", "Hughes", "Price", "Myers", "Long", "Foster",
    "Sanders", "Ross", "Powell", "Sullivan", "Russell", "Jenkins", "Perry", "Butler", "Barnes", "Fisher", "Henderson",
    "Coleman", "Simmons", "Patterson", "Jordan", "Reynolds", "Hamilton", "Graham", "Wallace", "Cole", "West",
    "Bryant", "Hayes", "Gibson", "Ellis", "Stevens", "Ford", "Marshall", "Owens", "McDonald", "Harrison", "Wells",
    "Woods", "Kennedy", "Webb", "Washington", "Tucker", "Freeman", "Burns", "Henry", "Snyder", "Simpson", "Crawford",
    "Porter", "Mason", "Hunter", "Hicks", "Dixon", "Palmer", "Wagner", "Weber", "Schmidt", "Meyer", "Schultz",
    "Hoffman", "Becker", "Larson", "Olson", "Hansen", "Jensen", "Kowalski", "Novak", "Romano", "Russo", "Rossi",
    "Fournier", "Dubois", "O'Brien", "O'Connor", "Fitzgerald", "Byrne", "Doyle",
    "Garcia", "Rodriguez", "Martinez", "Hernandez", "Lopez", "Gonzalez", "Perez", "Sanchez", "Ramirez", "Torres",
    "Flores", "Rivera", "Gomez", "Diaz", "Cruz", "Reyes", "Morales", "Gutierrez", "Ortiz", "Ramos", "Chavez", "Ruiz",
    "Alvarez", "Castillo", "Jimenez", "Vasquez", "Mendoza", "Moreno", "Romero", "Herrera", "Medina", "Aguilar",
    "Vargas", "Guzman", "Mendez", "Munoz", "Salazar", "Soto", "Delgado", "Vega",
    "Nguyen", "Lee", "Kim", "Patel", "Tran", "Chen", "Wang", "Li", "Singh", "Wong", "Pham", "Zhang", "Liu", "Park",
    "Le", "Chang", "Huang", "Khan", "Shah", "Yang", "Wu", "Lin", "Choi", "Huynh", "Santos", "Tanaka", "Sato", "Suzuki",
    "Yamamoto", "Nakamura", "Sharma", "Gupta", "Kumar", "Bautista", "Villanueva", "Lim", "Chan", "Ho", "Cho", "Kang",
];

/// Start of the next origin in the list of last names.
const SPANISH: usize = 140;
const ASIAN: usize = 180;

/// Parameters of the frequency of names (see [`Alias::zipf`]).
const EXPONENT: f64 = 0.85;
const SHIFT: f64 = 3.0;

/// The list from which a last name comes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Surname {
    /// Mostly of English origin, with others of old immigration.
    General,
    /// Spanish.
    Spanish,
    /// Of the languages of East and South Asia.
    Asian,
}

/// A first and a last name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Name {
    first: &'static str,
    last: &'static str,
}

impl Name {
    /// Overwrites `text` with "First Last".
    #[inline]
    pub fn write_to(self, text: &mut String) {
        text.clear();
        text.push_str(self.first);
        text.push(' ');
        text.push_str(self.last);
    }
}

/// Alias tables of first and last names.
#[derive(Debug)]
pub(crate) struct NameTables {
    first: Alias,
    general: Alias,
    other: Alias,
}

impl NameTables {
    /// Builds the tables.
    pub fn new() -> Self {
        Self {
            first: Alias::zipf(WOMEN.len(), SHIFT, EXPONENT),
            general: Alias::zipf(SPANISH, SHIFT, EXPONENT),
            other: Alias::zipf(ASIAN - SPANISH, SHIFT, EXPONENT),
        }
    }

    /// Draws a first and a last name.
    #[inline]
    pub fn draw(&self, rng: &mut Rng, female: bool, surname: Surname) -> Name {
        let first = self.first.pick(rng);
        let last = match surname {
            Surname::General => self.general.pick(rng),
            Surname::Spanish => SPANISH + self.other.pick(rng),
            Surname::Asian => ASIAN + self.other.pick(rng),
        };
        Name { first: if female { WOMEN[first] } else { MEN[first] }, last: LAST[last] }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn no_list_repeats_a_name() {
        assert_eq!(WOMEN.iter().collect::<HashSet<_>>().len(), WOMEN.len());
        assert_eq!(MEN.iter().collect::<HashSet<_>>().len(), MEN.len());
        assert_eq!(LAST.iter().collect::<HashSet<_>>().len(), LAST.len());
        assert_eq!(LAST.len() - ASIAN, ASIAN - SPANISH);
        assert_eq!((LAST[SPANISH], LAST[ASIAN]), ("Garcia", "Nguyen"));
    }

    #[test]
    fn a_name_is_first_and_last() {
        let mut rng = Rng::new(1, 0);
        let name = NameTables::new().draw(&mut rng, true, Surname::Asian);
        let mut text = String::from("before");
        name.write_to(&mut text);
        let (first, last) = text.split_once(' ').unwrap();
        assert!(WOMEN.contains(&first) && LAST[ASIAN..].contains(&last));
    }
}

//! The population that an input is a sample of, person by person.

/// Source of the people of the population, and limits that a release must satisfy among them.
#[derive(Clone, Debug, PartialEq)]
pub struct PopulationSettings {
    /// Source of the people.
    pub source: PopulationSource,
    /// Minimum number of people whom the labels of a class match.
    pub k_map: Option<u64>,
    /// Minimum share of them who are in the input, from 0 to 1. Only with a table.
    pub delta_min: Option<f64>,
    /// Maximum share of them who are in the input, from 0 to 1. Only with a table.
    pub delta_max: Option<f64>,
}

/// Source of the people of a population.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PopulationSource {
    /// A table with one row per person: its locations, with environment variables expanded.
    Table(Vec<String>),
    /// A column of the input: the number of people that a row stands for.
    Weights(String),
}

impl PopulationSettings {
    /// Whether people who are in the input are compared with those of the population.
    pub fn limits_presence(&self) -> bool {
        self.delta_min.is_some() || self.delta_max.is_some()
    }
}

#[cfg(test)]
#[path = "population_tests.rs"]
mod tests;

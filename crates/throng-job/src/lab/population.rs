//! People of the population in the boxes of a release, and the limits that a policy sets on them.
//!
//! ```text
//!  release     ──► classes and their boxes                          (held in memory)
//!  population  ──► streamed once: people in each box                k-map, journalist, marketer
//!  input       ──► streamed once: people of the input in each box   presence
//! ```
//!
//! Only the released labels are used, as an outsider reads them (`throng_lab::population`).

use std::sync::Arc;

use datafusion::execution::memory_pool::{MemoryConsumer, MemoryReservation};
use datafusion::prelude::SessionContext;
use throng_core::risk::{ClassPeople, PeopleLimits, PeopleSource, ReleasePeople};
use throng_datafusion::{EngineFailure, classify};
use throng_lab::population::{BoxCounts, PeopleCounter, ReleasedBoxes};
use throng_lab::{LabSpec, Lexicon};
use throng_policy::{Policy, PopulationSettings, PopulationSource, Role};

use super::columns::LabColumns;
use super::read::{LabSource, present, read_release, read_schema};
use crate::error::{JobError, Kind};
use crate::input::JobInput;
use crate::memory::too_little;
use crate::plural::plural;

/// The people of a policy, opened before a release is made.
pub(crate) struct OpenPopulation {
    population: PopulationSettings,
    /// The table of the population, or the input.
    people: LabSource,
}

impl OpenPopulation {
    /// Opens the population of a policy, and checks that it has the columns that people are counted by. `None` if the policy has
    /// none.
    pub(crate) async fn open(
        policy: &Policy,
        session: &SessionContext,
        input: &Arc<dyn JobInput>,
    ) -> Result<Option<Self>, JobError> {
        let Some(population) = policy.privacy.population.clone() else { return Ok(None) };
        let quasi = policy.columns.by_name.iter().filter(|(_, role)| matches!(role, Role::Quasi(_)));
        let mut names: Vec<&str> = quasi.map(|(name, _)| name.as_str()).collect();
        let (people, what) = match &population.source {
            PopulationSource::Table(locations) => {
                (LabSource::at(locations, &policy.store, session).await?, "the table of the population")
            }
            PopulationSource::Weights(column) => {
                names.push(column);
                (LabSource::of_input(Arc::clone(input), session), "the input")
            }
        };
        let missing = names.into_iter().filter(|name| people.schema().field_with_name(name).is_err());
        let missing: Vec<String> = missing.map(|name| format!("`{name}`")).collect();
        if !missing.is_empty() {
            let text = format!(
                "privacy.population: {what} has no column {}; people are counted by all quasi-identifiers of the policy",
                missing.join(", ")
            );
            return Err(JobError::new(Kind::BadPolicy, text));
        }
        Ok(Some(Self { population, people }))
    }

    /// Returns the number of people that the table of the population declares, if it is one and its format does.
    pub(crate) fn declared_people(&self) -> Option<u64> {
        match self.population.source {
            PopulationSource::Table(_) => self.people.expected_rows(),
            PopulationSource::Weights(_) => None,
        }
    }

    /// Returns why no release can satisfy the limits, from the number of people alone.
    pub(crate) fn shortfall(&self) -> Option<String> {
        let (k_map, people) = (self.population.k_map?, self.declared_people()?);
        (people < k_map).then(|| {
            format!(
                "the population has {}, and `k_map = {k_map}` asks for more people in every class",
                plural(people, "row")
            )
        })
    }

    /// Counts people in the boxes of a release. Returns an error if the release breaks a limit.
    pub(super) async fn examine(
        &self,
        policy: &Policy,
        session: &SessionContext,
        input: &LabSource,
        release: &LabSource,
    ) -> Result<ReleasePeople, JobError> {
        let spec = LabColumns::Policy(Box::new(policy.clone())).spec(input, release).await?;
        let weight = match &self.population.source {
            PopulationSource::Table(_) => None,
            PopulationSource::Weights(column) => Some(column.as_str()),
        };
        let mut boxes = CountedBoxes::read(spec, Some(input), release, session).await?;
        let people = boxes.count(&self.people, weight).await?;
        let has_units = !policy.privacy.unit.is_empty();
        let (source, members) = match weight {
            Some(_) => (PeopleSource::Weights, people.rows.clone()),
            None => (PeopleSource::Table, boxes.count(input, None).await?.rows),
        };
        let rows = boxes.boxes.class_rows();
        // The people behind a class are in its box.
        if rows.iter().zip(&members).any(|(rows, members)| members < rows) {
            return Err(JobError::internal("labels of the release do not cover the rows of the input"));
        }
        let class = |((rows, people), members): ((&u64, &f64), &u64)| ClassPeople {
            rows: *rows,
            // Rows of one person hide nobody, and the release is verified to have k people in every class.
            hidden: if has_units { policy.privacy.k } else { *rows },
            people: *people,
            members: (weight.is_none() && !has_units).then_some(*members),
        };
        let classes = rows.iter().zip(&people.people).zip(&members).map(class).collect();
        let PopulationSettings { k_map, delta_min, delta_max, .. } = self.population;
        let limits = PeopleLimits { k_map, delta_min, delta_max };
        let found = ReleasePeople { source, classes, people: people.total, outside: people.outside, limits };
        self.check(&found)?;
        tracing::info!(fewest = found.fewest(), "people of the population counted in every class");
        Ok(found)
    }

    fn check(&self, found: &ReleasePeople) -> Result<(), JobError> {
        let mut broken = Vec::new();
        if let Some(k_map) = self.population.k_map
            && found.fewest() < k_map
        {
            let classes = found.classes.iter().filter(|class| class.people < k_map as f64).count() as u64;
            let have = if classes == 1 { "matches" } else { "match" };
            broken.push(format!("{} {have} fewer than the {k_map} people of `k_map`", plural(classes, "class")));
        }
        if let Some(presence) = found.presence() {
            if let Some(limit) = self.population.delta_max.filter(|limit| presence.most > *limit) {
                broken.push(format!(
                    "of the people whom a class matches {:.1} % are in the input, and `delta_max = {limit}` allows less",
                    100.0 * presence.most
                ));
            }
            if let Some(limit) = self.population.delta_min.filter(|limit| presence.least < *limit) {
                broken.push(match found.outside > 0.0 {
                    true => format!("people of the population match no class, and `delta_min = {limit}` allows no one to be absent"),
                    false => format!(
                        "of the people whom a class matches {:.1} % are in the input, and `delta_min = {limit}` asks for more",
                        100.0 * presence.least
                    ),
                });
            }
        }
        if broken.is_empty() {
            return Ok(());
        }
        let text = format!(
            "the release does not hide people in the population: {}; nothing is published; raise k, coarsen a column, or change \
             the limits under [privacy.population]",
            broken.join("; ")
        );
        Err(JobError::new(Kind::Infeasible, text))
    }
}

/// The boxes of a release, in which tables are counted.
pub(crate) struct CountedBoxes {
    lexicon: Lexicon,
    boxes: ReleasedBoxes,
    memory: MemoryReservation,
}

/// Name of the resource in the out-of-memory error.
const CLASSES: &str = "the classes of the release and the values of the population";

impl CountedBoxes {
    /// Reads the labels of a release, with the values of its original where they are needed.
    pub(crate) async fn read(
        spec: LabSpec,
        original: Option<&LabSource>,
        release: &LabSource,
        session: &SessionContext,
    ) -> Result<Self, JobError> {
        let spec = LabSpec { sensitive: Vec::new(), insensitive: Vec::new(), unit: Vec::new(), ..spec };
        let mut lexicon = Lexicon::new(spec)?;
        let memory = MemoryConsumer::new("throng population").register(&session.runtime_env().memory_pool);
        let reader = read_release(&mut lexicon, release, None).await?;
        // The tree and the spans of boxes are about as large as the classes.
        resize(&memory, 4 * reader.size() + lexicon.size())?;
        if let Some(original) = original {
            let names = reader.columns_without_names(&lexicon);
            if !names.is_empty() {
                original.visit(&names, |batch| Ok(lexicon.learn_names(batch).map(|()| true)?)).await?;
            }
        }
        let boxes = ReleasedBoxes::new(reader, &mut lexicon, original.is_some())?;
        resize(&memory, boxes.size() + lexicon.size())?;
        Ok(Self { lexicon, boxes, memory })
    }

    /// Returns the rows of each class.
    pub(crate) fn class_rows(&self) -> &[u64] {
        self.boxes.class_rows()
    }

    /// Counts the people of a table in one pass.
    pub(crate) async fn count(&mut self, people: &LabSource, weight: Option<&str>) -> Result<BoxCounts, JobError> {
        let Self { lexicon, boxes, memory } = self;
        let mut columns = lexicon.original_columns();
        columns.extend(weight.map(str::to_owned));
        let columns = present(people, columns);
        let mut counter = PeopleCounter::new(boxes, lexicon, &read_schema(people, &columns), weight)?;
        let visited = people.visit(&columns, |batch| {
            counter.push(lexicon, batch)?;
            resize(memory, boxes.size() + counter.size() + lexicon.size())?;
            Ok(true)
        });
        visited.await?;
        people.check_unchanged().await?;
        let counts = counter.finish(lexicon);
        people.check_rows(counts.total_rows)?;
        if counts.total_rows == 0 {
            return Err(JobError::new(
                Kind::BadData,
                "the table of the population has no rows, so no one can hide among them",
            ));
        }
        Ok(counts)
    }
}

fn resize(memory: &MemoryReservation, bytes: usize) -> Result<(), JobError> {
    memory.try_resize(bytes).map_err(|error| match classify(&error) {
        EngineFailure::Memory(least) => too_little(CLASSES, least),
        _ => JobError::internal("memory could not be reserved"),
    })
}

//! A policy that a host writes in Rust.
//!
//! ```text
//!  PolicyBuilder ──> the document that a policy file is read into ──> raw ──> Policy
//! ```
//!
//! The builder only writes fields. It checks none of them, so the same validation rules apply wherever a policy comes from, and a
//! problem names the field of the policy file that it concerns.

mod columns;

use std::path::PathBuf;

use throng_core::anonymize::PartitionChoice;

use crate::budget::Budget;
use crate::field_path::FieldPath;
use crate::load::{UNNAMED, environment_variable, read_document};
use crate::policy::Policy;
use crate::population::{PopulationSettings, PopulationSource};
use crate::preset::Preset;
use crate::problem::{PolicyError, Problem};
use crate::raw::{Borrow, VERSION};
use crate::secret::Secret;
use crate::settings::{ClusterSetting, Goal, OutputFormat, Pseudonyms};
use crate::spanned_toml::{SpannedNode, SpannedToml, SpannedValue, ValueOrigin};
use crate::table_at_hand::locations_if_missing;
use crate::validate::ValidationContext;

use columns::ColumnFields;
pub use columns::{QuasiBuilder, SensitiveBuilder};

impl Policy {
    /// Starts a policy in Rust, for hosts that have no policy file.
    ///
    /// ```
    /// # use throng_policy::{Policy, Secret};
    /// let policy = Policy::builder()
    ///     .with_k(10)
    ///     .with_p(3)
    ///     .identifier("name")
    ///     .quasi("age", |age| age.with_weight(2.0))
    ///     .quasi("zip", |zip| zip.with_hierarchy_lines("10115;10***;*\n20095;20***;*\n"))
    ///     .sensitive("illness", |illness| illness)
    ///     .insensitive("hours")
    ///     .with_secret(Secret::new("an example, and no secret at all")?)
    ///     .build()?;
    /// assert_eq!((policy.privacy.k, policy.columns.by_name.len()), (10, 5));
    ///
    /// let error = Policy::builder().with_k(5).with_p(9).quasi("age", |age| age).build().unwrap_err();
    /// assert_eq!(error.problems()[0].path, "privacy.p");
    /// # Ok::<(), throng_policy::PolicyError>(())
    /// ```
    pub fn builder() -> PolicyBuilder {
        PolicyBuilder::default()
    }
}

/// Writes the fields of a policy; made by [`Policy::builder`]. A field that is set twice has the last value.
#[derive(Clone, Debug, Default)]
#[must_use]
pub struct PolicyBuilder {
    /// The values of `[table] field`, in the order in which they were set.
    settings: Vec<(&'static str, &'static str, SpannedValue)>,
    columns: Vec<(String, ColumnFields)>,
    drop_unlisted: bool,
    folder: PathBuf,
    secret: Option<Secret>,
}

impl PolicyBuilder {
    /// Sets `privacy.k`: the least number of rows in a class.
    pub fn with_k(self, k: u64) -> Self {
        self.with("privacy", "k", SpannedValue::Integer(k.into()))
    }

    /// Sets `privacy.p`: the least number of distinct values of each sensitive column in a class. 1 by default.
    pub fn with_p(self, p: u64) -> Self {
        self.with("privacy", "p", SpannedValue::Integer(p.into()))
    }

    /// Sets `privacy.preset`: a k with a rationale, instead of [`PolicyBuilder::with_k`]. It needs an explicit p.
    pub fn with_preset(self, preset: Preset) -> Self {
        self.with("privacy", "preset", text(preset.as_str()))
    }

    /// Sets `privacy.alpha`: the least weight of the categories of a class.
    pub fn with_alpha(self, alpha: f64) -> Self {
        self.with("privacy", "alpha", SpannedValue::Float(alpha))
    }

    /// Sets `privacy.unit`: the columns that together identify the person, or another unit, that k and p count.
    pub fn with_unit<T: Into<String>>(self, columns: impl IntoIterator<Item = T>) -> Self {
        self.with("privacy", "unit", texts(columns))
    }

    /// Sets `privacy.borrow`: whether classes may borrow rows of combinations that other classes have too.
    pub fn with_borrow(self, borrow: Borrow) -> Self {
        self.with("privacy", "borrow", text(borrow.as_str()))
    }

    /// Sets `privacy.suppression_limit`: the largest share of the rows that may be suppressed, from 0 to 1.
    pub fn with_suppression_limit(self, share: f64) -> Self {
        self.with("privacy", "suppression_limit", SpannedValue::Float(share))
    }

    /// Sets `privacy.population.fraction`: the share of the population that is in the input, above 0 and at most 1.
    pub fn with_sampling_fraction(self, fraction: f64) -> Self {
        let field = [("fraction".to_owned(), SpannedNode::unplaced(SpannedValue::Float(fraction)))];
        self.with("privacy", "population", SpannedValue::Table(field.into()))
    }

    /// Sets `privacy.population`: how people of the population are counted, and which limits a release must satisfy among
    /// them.
    pub fn with_population(self, population: PopulationSettings) -> Self {
        let PopulationSettings { source, k_map, delta_min, delta_max } = population;
        let source = match source {
            PopulationSource::Table(locations) => ("table", texts(locations)),
            PopulationSource::Weights(column) => ("weight_of_unit", text(column)),
        };
        let k_map = k_map.map(|k_map| ("k_map", SpannedValue::Integer(k_map.into())));
        let share = |name, share: Option<f64>| share.map(|share| (name, SpannedValue::Float(share)));
        let limits = [k_map, share("delta_min", delta_min), share("delta_max", delta_max)];
        let fields = std::iter::once(source).chain(limits.into_iter().flatten());
        let fields = fields.map(|(name, value)| (name.to_owned(), SpannedNode::unplaced(value)));
        self.with("privacy", "population", SpannedValue::Table(fields.collect()))
    }

    /// Sets `privacy.attacks.max_gain`: the largest gain of an attack on the release, at least 1.
    pub fn with_max_gain(self, gain: f64) -> Self {
        let field = [("max_gain".to_owned(), SpannedNode::unplaced(SpannedValue::Float(gain)))];
        self.with("privacy", "attacks", SpannedValue::Table(field.into()))
    }

    /// Sets `privacy.min_rows`: the minimum number of rows of an input.
    pub fn with_min_rows(self, rows: u64) -> Self {
        self.with("privacy", "min_rows", SpannedValue::Integer(rows.into()))
    }

    /// Sets `privacy.max_rows_change`: the largest relative change of the number of rows compared with the release at
    /// the output.
    pub fn with_max_rows_change(self, share: f64) -> Self {
        self.with("privacy", "max_rows_change", SpannedValue::Float(share))
    }

    /// Sets `privacy.loss_limit`: the largest NCP of a release, from 0 to 1.
    pub fn with_loss_limit(self, limit: f64) -> Self {
        self.with("privacy", "loss_limit", SpannedValue::Float(limit))
    }

    /// Sets `privacy.insensitive_uniqueness`: the largest share of rows that insensitive columns may single out.
    pub fn with_insensitive_uniqueness(self, share: f64) -> Self {
        self.with("privacy", "insensitive_uniqueness", SpannedValue::Float(share))
    }

    /// Sets `algorithm.partition`.
    pub fn with_partition(self, partition: PartitionChoice) -> Self {
        self.with("algorithm", "partition", text(partition.as_str()))
    }

    /// Sets `algorithm.cluster`.
    pub fn with_cluster(self, cluster: ClusterSetting) -> Self {
        self.with("algorithm", "cluster", text(cluster.as_str()))
    }

    /// Sets `algorithm.goal`: the criterion by which `auto` chooses the cluster method.
    pub fn with_goal(self, goal: Goal) -> Self {
        self.with("algorithm", "goal", text(goal.as_str()))
    }

    /// Sets `algorithm.budget`: how long the search for better classes may take, with millisecond precision.
    pub fn with_budget(self, budget: Budget) -> Self {
        self.with("algorithm", "budget", text(budget.text()))
    }

    /// Sets `algorithm.bound`: whether to prove a lower bound of the loss of any release.
    pub fn with_bound(self, is_bounded: bool) -> Self {
        self.with("algorithm", "bound", SpannedValue::Boolean(is_bounded))
    }

    /// Sets `algorithm.seed`, which drives every random choice together with the secret.
    pub fn with_seed(self, seed: u64) -> Self {
        self.with("algorithm", "seed", SpannedValue::Integer(seed.into()))
    }

    /// Sets `workload.queries`: the columns of each question that the release should answer well.
    pub fn with_workload<T: Into<String>, Q: IntoIterator<Item = T>>(
        self,
        queries: impl IntoIterator<Item = Q>,
    ) -> Self {
        self.with("workload", "queries", list(queries.into_iter().map(texts)))
    }

    /// Sets `series.max_delay` of a stream: the number of rows that may arrive until a row is released.
    pub fn with_max_delay_rows(self, rows: u64) -> Self {
        let rows = ("rows".to_owned(), SpannedNode::unplaced(SpannedValue::Integer(rows.into())));
        self.with("series", "max_delay", SpannedValue::Table(vec![rows]))
    }

    /// Sets `input.location`, for a job that reads files. A policy for a table in memory needs none.
    pub fn with_input<T: Into<String>>(self, locations: impl IntoIterator<Item = T>) -> Self {
        self.with("input", "location", texts(locations))
    }

    /// Sets `input.version`: the version of a Delta table that is read.
    pub fn with_input_version(self, version: u64) -> Self {
        self.with("input", "version", SpannedValue::Integer(version.into()))
    }

    /// Sets `input.as_of`: the date or time of RFC 3339 whose latest version of a Delta table is read.
    pub fn with_input_as_of(self, time: impl Into<String>) -> Self {
        self.with("input", "as_of", text(time))
    }

    /// Sets `output.format`.
    pub fn with_output_format(self, format: OutputFormat) -> Self {
        self.with("output", "format", text(format.as_str()))
    }

    /// Sets `output.data_folder`: a folder of the release that holds only its data files.
    pub fn with_data_folder(self, name: impl Into<String>) -> Self {
        self.with("output", "data_folder", text(name))
    }

    /// Sets `output.location`, for a job that writes files. A policy for a table in memory needs none.
    pub fn with_output(self, location: impl Into<String>) -> Self {
        self.with("output", "location", text(location))
    }

    /// Uses this secret instead of that of the environment or of the state folder, as [`Policy::with_secret`] does.
    pub fn with_secret(self, secret: Secret) -> Self {
        Self { secret: Some(secret), ..self }
    }

    /// Sets the folder that paths of hierarchy files are relative to: by default the working folder of the process.
    pub fn with_folder(self, folder: impl Into<PathBuf>) -> Self {
        Self { folder: folder.into(), ..self }
    }

    /// Adds a quasi-identifier, which is generalized.
    pub fn quasi(self, name: impl Into<String>, options: impl FnOnce(QuasiBuilder) -> QuasiBuilder) -> Self {
        let column = options(QuasiBuilder::new());
        self.column(name, column.fields)
    }

    /// Adds a sensitive column, which p counts.
    pub fn sensitive(
        self,
        name: impl Into<String>,
        options: impl FnOnce(SensitiveBuilder) -> SensitiveBuilder,
    ) -> Self {
        let column = options(SensitiveBuilder::new());
        self.column(name, column.fields)
    }

    /// Adds a column that needs no protection and is released as it is.
    pub fn insensitive(self, name: impl Into<String>) -> Self {
        self.column(name, ColumnFields::of_role("insensitive"))
    }

    /// Adds a column that names the person and is left out of the release.
    pub fn identifier(self, name: impl Into<String>) -> Self {
        self.column(name, ColumnFields::of_role("identifier"))
    }

    /// Adds the column that identifies the unit of privacy, which is replaced by a pseudonym. For jobs only.
    pub fn pseudonym(self, name: impl Into<String>) -> Self {
        self.column(name, ColumnFields::of_role("identifier").with("release", text("pseudonym")))
    }

    /// Sets `privacy.pseudonyms`: the scope in which pseudonyms are the same.
    pub fn with_pseudonyms(self, pseudonyms: Pseudonyms) -> Self {
        self.with("privacy", "pseudonyms", text(pseudonyms.as_str()))
    }

    /// Leaves columns that the policy does not name out of the release. Without it they are an error.
    pub fn default_drop(self) -> Self {
        Self { drop_unlisted: true, ..self }
    }

    /// Validates the policy. Returns all problems at once, each with the field that it concerns.
    pub fn build(self) -> Result<Policy, PolicyError> {
        let problems = self.repeated_columns();
        if !problems.is_empty() {
            return Err(PolicyError::new(UNNAMED, problems));
        }
        let surroundings = ValidationContext { folder: Some(&self.folder), environment: &environment_variable };
        let document = self.document();
        let policy = read_document(document.clone(), &locations_if_missing(&document), &surroundings)?;
        Ok(match self.secret {
            Some(secret) => policy.with_secret(secret),
            None => policy,
        })
    }

    fn with(mut self, table: &'static str, field: &'static str, value: SpannedValue) -> Self {
        self.settings.push((table, field, value));
        self
    }

    fn column(mut self, name: impl Into<String>, fields: ColumnFields) -> Self {
        self.columns.push((name.into(), fields));
        self
    }

    /// Returns problems for repeated columns. A document can't hold two fields of one name, so validation would see
    /// only the last one.
    fn repeated_columns(&self) -> Vec<Problem> {
        let mut seen = std::collections::HashSet::new();
        let problem = |name: &str, message: &str| {
            let path = FieldPath::of(&["columns", name]).to_string();
            Problem { path, place: None, message: message.to_owned() }
        };
        let names = self.columns.iter().map(|(name, _)| name.as_str());
        names
            .filter_map(|name| match (seen.insert(name), name) {
                (false, name) => Some(problem(name, "the column is named twice; give it one role")),
                (true, "default") if self.drop_unlisted => Some(problem(
                    name,
                    "a column of this name can't have a role where columns without one are dropped; name all columns, or \
                     rename this one",
                )),
                (true, _) => None,
            })
            .collect()
    }

    /// Returns the document that parsing a policy file with these fields would give.
    fn document(&self) -> SpannedToml {
        let mut root = SpannedNode::unplaced(SpannedValue::Table(Vec::new()));
        put(&mut root, "version", SpannedValue::Integer(VERSION.into()));
        // The table is required, so that a missing `k` is reported under its own name.
        put(&mut root, "privacy", SpannedValue::Table(Vec::new()));
        for (table, field, value) in &self.settings {
            if let Some(table) = root.entry(table, ValueOrigin::Unplaced, || SpannedValue::Table(Vec::new())) {
                put(table, field, value.clone());
            }
        }
        let default = self.drop_unlisted.then(|| ("default".to_owned(), text("drop")));
        let named = self.columns.iter().map(|(name, fields)| (name.clone(), fields.clone().into_table()));
        let columns = default.into_iter().chain(named);
        let columns = columns.map(|(name, value)| (name, SpannedNode::unplaced(value))).collect();
        put(&mut root, "columns", SpannedValue::Table(columns));
        SpannedToml::of_root(UNNAMED, root)
    }
}

/// Sets a field of a table.
fn put(table: &mut SpannedNode, field: &str, value: SpannedValue) {
    if let Some(node) = table.entry(field, ValueOrigin::Unplaced, || SpannedValue::Boolean(false)) {
        *node = SpannedNode::unplaced(value);
    }
}

fn text(string: impl Into<String>) -> SpannedValue {
    SpannedValue::String(string.into())
}

/// Returns the name of a choice in the policy file.
fn choice(choice: impl serde::Serialize) -> SpannedValue {
    text(serde_json::to_value(choice).ok().and_then(|name| name.as_str().map(str::to_owned)).unwrap_or_default())
}

fn texts<T: Into<String>>(strings: impl IntoIterator<Item = T>) -> SpannedValue {
    list(strings.into_iter().map(text))
}

fn list(values: impl IntoIterator<Item = SpannedValue>) -> SpannedValue {
    SpannedValue::List(values.into_iter().map(SpannedNode::unplaced).collect())
}

#[cfg(test)]
#[path = "../builder_tests.rs"]
mod tests;

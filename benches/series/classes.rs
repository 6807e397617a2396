//! Forms classes and computes the loss of a release, with Throng's own algorithms.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use anyhow::Result;
use arrow::array::{Array, ArrayRef, AsArray};
use arrow::compute::cast;
use arrow::datatypes::{DataType, Float64Type};
use rustc_hash::{FxHashMap, FxHashSet};
use throng_core::anonymize::{ClusterChoice, Method, PartitionChoice};
use throng_core::bound::{BoundEffort, lower_bound};
use throng_core::cluster::{Class, Portion};
use throng_core::cluster::{DEFAULT_CYCLES, IgnoreProgress};
use throng_core::columns::ColumnRecoding;
use throng_core::metrics::Utility;
use throng_core::model::Privacy;
use throng_core::partition::FeasibleRegions;
use throng_core::recode::{Recoder, Recoding};
use throng_core::row_hash::RowHasher;
use throng_core::series::PoolClass;
use throng_core::stream::{BoxLabels, Emission, PublishedBoxes};
use throng_core::survey::{Survey, SurveySpec};
use throng_core::table::Table;
use throng_policy::{Overrides, Policy};

use crate::world::{Resident, World};

/// Length of the local search.
#[derive(Clone, Copy, Debug)]
pub struct Effort {
    /// Number of cycles.
    pub cycles: u32,
    /// Maximum number of proposals per cell in a cycle.
    pub most_proposals: u32,
}

impl Effort {
    /// The search of a table under `balanced`.
    pub const BALANCED: Self = Self { cycles: DEFAULT_CYCLES, most_proposals: u32::MAX };

    fn method(self) -> Method {
        let method = Method::new(PartitionChoice::Mondrian, ClusterChoice::Search).with_cycles(self.cycles);
        method.with_most_proposals(self.most_proposals)
    }
}

/// Forms classes under a policy.
#[derive(Debug)]
pub struct Former {
    spec: Arc<SurveySpec>,
    k: u64,
    p: u64,
}

struct Surveyed {
    table: Table,
    groups: Vec<u32>,
}

impl Former {
    /// Binds the policy of the census extract.
    pub fn new(world: &World, k: u64, p: u64) -> Result<Self> {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../configs");
        let text = std::fs::read_to_string(folder.join("census.toml"))?;
        let binding = Policy::parse(&text, &folder, &Overrides::default())?.bind(&world.schema())?;
        let spec = SurveySpec {
            quasi: binding.quasi.iter().map(|q| (q.spec.clone(), q.column.data_type.clone())).collect(),
            sensitive: binding.sensitive.iter().map(|s| (s.spec.clone(), s.column.data_type.clone())).collect(),
        };
        Ok(Self { spec: Arc::new(spec), k, p })
    }

    fn survey(&self, world: &World, rows: &[Resident]) -> Result<Surveyed> {
        self.survey_as(Arc::clone(&self.spec), world, rows)
    }

    fn survey_as(&self, spec: Arc<SurveySpec>, world: &World, rows: &[Resident]) -> Result<Surveyed> {
        let quasi = self.spec.quasi.iter().map(|(quasi, _)| world.column(&quasi.name, rows.iter().map(|r| r.person)));
        let secret =
            self.spec.sensitive.iter().map(|(secret, _)| world.column(&secret.name, rows.iter().map(|r| r.secret_of)));
        let columns = quasi.chain(secret).collect::<Result<Vec<ArrayRef>>>()?;
        let mut survey = Survey::new(spec)?;
        let numbers = survey.push(&columns)?;
        let merged = Survey::merge(vec![survey])?;
        let groups = numbers.iter().map(|number| merged.groups[0][*number as usize]).collect();
        Ok(Surveyed { table: merged.table, groups })
    }

    /// Returns a hash of the quasi-identifiers of each row.
    pub fn quasi_hashes(&self, world: &World, rows: &[Resident]) -> Result<Vec<u128>> {
        let columns = self.spec.quasi.iter();
        let columns = columns.map(|(quasi, _)| world.column(&quasi.name, rows.iter().map(|row| row.person)));
        let columns = columns.collect::<Result<Vec<ArrayRef>>>()?;
        let types: Vec<DataType> = columns.iter().map(|column| column.data_type().clone()).collect();
        Ok(RowHasher::new(&types, 0)?.hash(&columns, rows.len())?)
    }

    /// Decides about the rows of a stream, of which the oldest `due` must not wait. Rows join classes that were published before, if
    /// `boxes` are known.
    pub fn emission(
        &self,
        world: &World,
        rows: &[Resident],
        due: usize,
        boxes: Option<&PublishedBoxes>,
        effort: Effort,
    ) -> Result<Emission> {
        let Surveyed { table, groups } = self.survey(world, rows)?;
        let privacy = Privacy::p_sensitive_k_anonymity(self.k, self.p, 1);
        Ok(match boxes.filter(|boxes| !boxes.is_empty()) {
            Some(boxes) => Emission::joining(&table, &groups, &privacy, due, boxes, effort.method())?,
            None => Emission::of(&table, &groups, &privacy, due),
        })
    }

    /// Returns a lower bound of the mean loss (NCP) of these rows in classes among themselves: each is at least in the nearest box. Loss is
    /// counted as in [`Former::loss`]: every column alike, and intervals relative to the range of `all` rows.
    pub fn nearest_box(&self, world: &World, rows: &[Resident], all: &[Resident]) -> Result<f64> {
        let mut spec = SurveySpec { quasi: self.spec.quasi.clone(), sensitive: self.spec.sensitive.clone() };
        let mut total = 0.0;
        for (quasi, _) in &mut spec.quasi {
            // A table counts intervals relative to the range of its own rows.
            quasi.weight = match quasi.release {
                ColumnRecoding::Interval => {
                    self.range(world, &quasi.name, rows)? / self.range(world, &quasi.name, all)?
                }
                _ => 1.0,
            };
            total += quasi.weight;
        }
        let columns = spec.quasi.len() as f64;
        let Surveyed { table, .. } = self.survey_as(Arc::new(spec), world, rows)?;
        let effort = BoundEffort { epochs: 0, work: u64::MAX, may_continue: &|| true };
        let mean = lower_bound(&table, &Privacy::p_sensitive_k_anonymity(self.k, self.p, 1), effort).value;
        Ok(mean * total / columns)
    }

    /// Returns the difference of the largest and the smallest value of a column.
    fn range(&self, world: &World, column: &str, rows: &[Resident]) -> Result<f64> {
        let numbers = cast(&world.column(column, rows.iter().map(|row| row.person))?, &DataType::Float64)?;
        let numbers = numbers.as_primitive::<Float64Type>();
        let (lowest, highest) = numbers
            .iter()
            .flatten()
            .fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), value| (low.min(value), high.max(value)));
        anyhow::ensure!(lowest < highest, "{column} has fewer than two values");
        Ok(highest - lowest)
    }

    /// Forms classes of rows. Returns them with their loss, and the loss of all of them; no classes if the rows can't satisfy the
    /// models.
    pub fn form(&self, world: &World, rows: &[Resident], k: u64, effort: Effort) -> Result<(Vec<PoolClass>, f64)> {
        self.form_and_publish(world, rows, k, effort, None)
    }

    /// Forms classes like [`Former::form`], and adds them to the published `boxes`.
    pub fn form_and_publish(
        &self,
        world: &World,
        rows: &[Resident],
        k: u64,
        effort: Effort,
        boxes: Option<&mut PublishedBoxes>,
    ) -> Result<(Vec<PoolClass>, f64)> {
        if (rows.len() as u64) < k {
            return Ok((Vec::new(), 0.0));
        }
        let Surveyed { table, groups } = self.survey(world, rows)?;
        let privacy = Privacy::p_sensitive_k_anonymity(k, self.p, 1);
        let allowed = FeasibleRegions::of(&table, &privacy);
        if !privacy.is_satisfied_by(&table, 0..table.cell_count() as u32) {
            return Ok((Vec::new(), 0.0));
        }
        let method = effort.method();
        let leaves = method.leaves(&allowed, &table)?;
        let formed = method.classes(&leaves, &table, &privacy, &IgnoreProgress).classes;
        let recoding = Recoding::without(&table, &formed, &allowed.suppressed_cells)?;
        if let Some(boxes) = boxes {
            boxes.add(table.quasi(), &recoding)?;
        }
        let loss = Utility::of(&table, &recoding, k).ncp;
        let mut quotas: Vec<Vec<(u32, u32)>> = (0..table.group_count() as u32)
            .map(|group| recoding.shares(group).iter().map(|share| (share.class, share.rows)).collect())
            .collect();
        let mut members: Vec<Vec<u32>> = vec![Vec::new(); recoding.class_rows().len()];
        for (row, group) in (0..).zip(&groups) {
            let quota = &mut quotas[*group as usize];
            if let Some(last) = quota.last_mut() {
                members[last.0 as usize].push(row);
                last.1 -= 1;
                if last.1 == 0 {
                    quota.pop();
                }
            }
        }
        let width = self.spec.quasi.len();
        let class = |(class, rows): (u32, Vec<u32>)| PoolClass {
            rows,
            class: fingerprint(&recoding, class),
            loss: (0..width).map(|column| recoding.ncp(class, column)).sum::<f64>() / width as f64,
        };
        Ok(((0..).zip(members).map(class).collect(), loss))
    }

    /// Returns the loss of a release, given the class of each row, and the loss of those rows that the input still has.
    pub fn loss(&self, world: &World, rows: &[(Resident, u64)], input: &[Resident]) -> Result<(f64, f64)> {
        let residents: Vec<Resident> = rows.iter().map(|(resident, _)| *resident).collect();
        let Surveyed { table, groups } = self.survey(world, &residents)?;
        let mut members: BTreeMap<u64, Vec<Portion>> = BTreeMap::new();
        for (group, (_, class)) in groups.iter().zip(rows) {
            members.entry(*class).or_default().push(Portion { group: *group, rows: 1 });
        }
        let numbers: FxHashMap<u64, usize> = members.keys().copied().zip(0..).collect();
        let classes: Vec<Class> = members.into_values().map(Class::of_portions).collect();
        let mut recoder = Recoder::new(&table);
        recoder.add(&table, &classes, &[])?;
        let (recoding, class_of) = recoder.finish_with_classes()?;
        let present: FxHashSet<u64> = input.iter().map(|resident| resident.row()).collect();
        let width = self.spec.quasi.len();
        let loss = |class: u64| {
            let class = class_of[numbers[&class]];
            (0..width).map(|column| recoding.ncp(class, column)).sum::<f64>() / width as f64
        };
        let live = rows.iter().filter(|(resident, _)| present.contains(&resident.row()));
        let (sum, count) = live.fold((0.0, 0_u32), |(sum, count), (_, class)| (sum + loss(*class), count + 1));
        Ok((Utility::of(&table, &recoding, self.k).ncp, sum / f64::from(count.max(1))))
    }
}

/// Hashes the released values of a class.
fn fingerprint(recoding: &Recoding, class: u32) -> u64 {
    let labels = recoding.columns().iter().enumerate().flat_map(|(column, labels)| {
        let label = recoding.label(class, column) as usize;
        labels.columns.iter().map(move |(_, values)| (values, label))
    });
    hash_of_labels(labels)
}

/// Hashes the released values of a published box, like those of its class.
pub fn fingerprint_of_box(boxes: &PublishedBoxes, number: u32) -> u64 {
    let BoxLabels { columns, label_of } = boxes.labels(&[number]);
    let labels = columns.iter().zip(&label_of);
    hash_of_labels(labels.flat_map(|(columns, label)| columns.iter().map(|values| (values, *label as usize))))
}

fn hash_of_labels<'a>(labels: impl Iterator<Item = (&'a ArrayRef, usize)>) -> u64 {
    use std::hash::{Hash, Hasher};
    let mut hasher = rustc_hash::FxHasher::default();
    for (values, label) in labels {
        match values.as_string_opt::<i32>() {
            Some(texts) => (texts.is_valid(label), texts.value(label)).hash(&mut hasher),
            None => label.hash(&mut hasher),
        }
    }
    hasher.finish().max(1)
}

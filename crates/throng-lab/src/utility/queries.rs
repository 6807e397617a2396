//! Random counts: how far is the answer of the release from the true one?
//!
//! A question has one to three conditions on different columns, at most one of them on a sensitive column. Each condition is
//! a run of values that 10 to 50 % of the people have. The error is relative to the true count, or to a thousandth of the
//! table if that is larger, as in [Xiao 2006]. Questions whose true answer is zero count too.

use rayon::prelude::*;
use serde::Serialize;

use super::UtilityOptions;
use crate::extent::{Code, Condition, NULL, code_number};
use crate::lexicon::{CodeDomain, Lexicon};
use crate::random::LabRandom;
use crate::statistics::{quantile, rounded};
use crate::table::{OriginalTable, ReleasedTable};

/// Smallest and largest share of the people that satisfy one condition.
const SELECTIVITY: [f64; 2] = [0.1, 0.5];

/// Least count that an error is relative to, as a share of the table.
const SANITY: f64 = 0.001;

/// Errors of random questions.
#[derive(Clone, Debug, Serialize)]
pub struct QueryReport {
    /// Number of questions.
    pub queries: u64,
    /// Median relative error of all questions.
    pub median_error: f64,
    /// 95th percentile of the relative error of all questions.
    pub p95_error: f64,
    /// Questions with one condition.
    pub one: QueryErrors,
    /// Questions with two conditions.
    pub two: QueryErrors,
    /// Questions with three conditions.
    pub three: QueryErrors,
    /// Questions about the columns of the workload, if there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub workload: Option<QueryErrors>,
}

/// Errors of questions with the same number of conditions.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub struct QueryErrors {
    /// Number of questions.
    pub queries: u64,
    /// Median relative error.
    pub median_error: f64,
    /// 95th percentile of the relative error.
    pub p95_error: f64,
}

/// A count with conditions.
#[derive(Debug)]
struct CountQuery {
    quasi: Vec<(usize, Condition)>,
    /// Column and, by code, the included values.
    sensitive: Option<(usize, Vec<bool>)>,
}

/// Random counts and their true answers, which can be put to any number of releases of one original.
#[derive(Debug)]
pub struct CountQueries {
    /// The questions with one, two and three conditions, with their answers.
    by_conditions: [Vec<(CountQuery, f64)>; 3],
    /// Those of the workload.
    workload: Vec<(CountQuery, f64)>,
    /// Least count that an error is relative to.
    least: f64,
}

impl CountQueries {
    /// Draws questions about an original by the seed of the options.
    pub fn draw(lexicon: &Lexicon, original: &OriginalTable, options: &UtilityOptions) -> Self {
        Self::of(lexicon, &ReleasedTable::of_original(original, lexicon), options)
    }

    pub(super) fn of(lexicon: &Lexicon, exact: &ReleasedTable, options: &UtilityOptions) -> Self {
        let columns = QueryColumns::of(lexicon, exact);
        let mut random = LabRandom::new(options.seed, "count queries");
        let answered = |queries: Vec<CountQuery>| {
            let answered = |query: CountQuery| {
                let truth = query.count(exact);
                (query, truth)
            };
            queries.into_par_iter().map(answered).collect::<Vec<_>>()
        };
        let by_conditions = [1, 2, 3].map(|conditions| match columns.len() < conditions {
            true => Vec::new(),
            false => answered((0..options.queries).map(|_| columns.draw(conditions, &mut random)).collect()),
        });
        let mut random = LabRandom::new(options.seed, "workload");
        let mut workload = Vec::new();
        for names in &options.workload {
            let asked = columns.named(lexicon, names);
            if !asked.is_empty() {
                workload.extend((0..options.queries).map(|_| columns.draw_on(&asked, &mut random)));
            }
        }
        Self { by_conditions, workload: answered(workload), least: SANITY * exact.rows as f64 }
    }

    /// Returns the errors of the answers that a release gives.
    pub fn errors(&self, release: &ReleasedTable) -> QueryReport {
        let mut all = Vec::new();
        let error = |(query, truth): &(CountQuery, f64)| (query.count(release) - truth).abs() / truth.max(self.least);
        let [one, two, three] = self.by_conditions.each_ref().map(|queries| {
            let errors: Vec<f64> = queries.par_iter().map(error).collect();
            all.extend_from_slice(&errors);
            QueryErrors::of(errors)
        });
        let QueryErrors { queries, median_error, p95_error } = QueryErrors::of(all);
        let workload = QueryErrors::of(self.workload.par_iter().map(error).collect());
        let workload = (workload.queries > 0).then_some(workload);
        QueryReport { queries, median_error, p95_error, one, two, three, workload }
    }
}

impl QueryErrors {
    fn of(mut errors: Vec<f64>) -> Self {
        errors.sort_unstable_by(f64::total_cmp);
        Self {
            queries: errors.len() as u64,
            median_error: rounded(quantile(&errors, 0.5)),
            p95_error: rounded(quantile(&errors, 0.95)),
        }
    }
}

/// A column that a condition is on.
#[derive(Clone, Copy, Debug)]
enum AskedColumn {
    Quasi(usize),
    Sensitive(usize),
}

/// The values of all columns with their rows, from which conditions are drawn.
struct QueryColumns {
    quasi: Vec<(bool, Vec<(Code, u64)>)>,
    sensitive: Vec<Vec<(Code, u64)>>,
    names: Vec<usize>,
    rows: u64,
}

impl QueryColumns {
    fn of(lexicon: &Lexicon, exact: &ReleasedTable) -> Self {
        let mut quasi: Vec<(bool, Vec<(Code, u64)>)> = Vec::new();
        for (column, domain) in lexicon.quasi.iter().enumerate() {
            let mut rows = vec![0_u64; exact.columns[column].extents.len()];
            for class in 0..exact.classes() as u32 {
                rows[exact.labels(class)[column] as usize] += exact.class_rows[class as usize];
            }
            let extents = exact.columns[column].extents.iter();
            let codes = extents.map(|extent| extent.only().unwrap_or(NULL));
            let mut values: Vec<(Code, u64)> = codes.zip(rows).filter(|(code, _)| *code != NULL).collect();
            if domain.is_ordered() {
                values.sort_unstable_by(|a, b| f64::from_bits(a.0).total_cmp(&f64::from_bits(b.0)));
            } else if let CodeDomain::Names(names) = domain {
                // The order of a hierarchy, or that of the names: neighbours have something in common.
                let name = |code: Code| (!names.has_groups()).then(|| &names.names()[code as usize]);
                values.sort_unstable_by(|a, b| name(a.0).cmp(&name(b.0)).then(a.0.cmp(&b.0)));
            }
            quasi.push((domain.is_ordered(), values));
        }
        let sensitive = exact.tallies.iter().zip(&lexicon.sensitive).map(|(tallies, domain)| {
            let totals = tallies.totals(domain.len());
            (0..).zip(totals).filter(|(_, rows)| *rows > 0).collect()
        });
        let names = lexicon.sensitive.iter().map(|domain| domain.len()).collect();
        Self { quasi, sensitive: sensitive.collect(), names, rows: exact.rows }
    }

    /// Returns the number of columns that one question can use.
    fn len(&self) -> usize {
        self.quasi.len() + usize::from(!self.sensitive.is_empty())
    }

    /// Draws a question with conditions on this many columns.
    fn draw(&self, conditions: usize, random: &mut LabRandom) -> CountQuery {
        let mut query = CountQuery { quasi: Vec::new(), sensitive: None };
        for column in random.sample(self.len(), conditions) {
            let asked = match column < self.quasi.len() {
                true => AskedColumn::Quasi(column),
                false => AskedColumn::Sensitive(random.below(self.sensitive.len())),
            };
            self.add_condition(&mut query, asked, random);
        }
        query
    }

    /// Draws a question with a condition on each of these columns.
    fn draw_on(&self, asked: &[AskedColumn], random: &mut LabRandom) -> CountQuery {
        let mut query = CountQuery { quasi: Vec::new(), sensitive: None };
        asked.iter().for_each(|column| self.add_condition(&mut query, *column, random));
        query
    }

    fn add_condition(&self, query: &mut CountQuery, column: AskedColumn, random: &mut LabRandom) {
        match column {
            AskedColumn::Quasi(column) => {
                let (is_ordered, values) = &self.quasi[column];
                let run = self.run(values, random);
                let condition = match is_ordered {
                    true => {
                        let end =
                            |value: Option<&(Code, u64)>| value.and_then(|(code, _)| code_number(*code)).unwrap_or(0.0);
                        Condition::Range { low: end(run.first()), high: end(run.last()) }
                    }
                    false => {
                        let names = values.iter().map(|(code, _)| *code as usize + 1).max().unwrap_or(0);
                        Condition::Leaves(included(run, names))
                    }
                };
                query.quasi.push((column, condition));
            }
            AskedColumn::Sensitive(column) => {
                let run = self.run(&self.sensitive[column], random);
                query.sensitive = Some((column, included(run, self.names[column])));
            }
        }
    }

    /// Returns the columns of a question by their names: quasi-identifiers, and the first sensitive column. Others say nothing
    /// about classes.
    fn named(&self, lexicon: &Lexicon, names: &[String]) -> Vec<AskedColumn> {
        let quasi = |name: &String| lexicon.spec.quasi.iter().position(|column| column.name == *name);
        let sensitive = |name: &String| lexicon.spec.sensitive.iter().position(|column| column.name == *name);
        let asked = names.iter().filter_map(quasi).map(AskedColumn::Quasi);
        asked.chain(names.iter().find_map(sensitive).map(AskedColumn::Sensitive)).collect()
    }

    /// Draws a run of values that a drawn share of the people have.
    fn run<'a>(&self, values: &'a [(Code, u64)], random: &mut LabRandom) -> &'a [(Code, u64)] {
        let share = SELECTIVITY[0] + (SELECTIVITY[1] - SELECTIVITY[0]) * random.unit();
        let wanted = share * self.rows as f64;
        let mut first = random.below(values.len().max(1));
        let mut rows = 0;
        let mut end = first;
        while end < values.len() && (end == first || (rows as f64) < wanted) {
            rows += values[end].1;
            end += 1;
        }
        // A run that meets the end goes on before its beginning.
        while first > 0 && first <= values.len() && (rows as f64) < wanted {
            first -= 1;
            rows += values[first].1;
        }
        &values[first.min(values.len())..end]
    }
}

fn included(run: &[(Code, u64)], names: usize) -> Vec<bool> {
    let mut included = vec![false; names];
    run.iter().for_each(|(code, _)| included[*code as usize] = true);
    included
}

impl CountQuery {
    /// Counts the rows that satisfy all conditions, with hidden values spread evenly.
    fn count(&self, table: &ReleasedTable) -> f64 {
        let shares: Vec<(usize, Vec<f64>)> = self
            .quasi
            .iter()
            .map(|(column, condition)| {
                let known = &table.columns[*column];
                (*column, known.extents.iter().map(|extent| extent.share(condition, &known.range)).collect())
            })
            .collect();
        let mut count = 0.0;
        for class in 0..table.classes() as u32 {
            let labels = table.labels(class);
            let share: f64 = shares.iter().map(|(column, shares)| shares[labels[*column] as usize]).product();
            if share == 0.0 {
                continue;
            }
            let rows = match &self.sensitive {
                None => table.class_rows[class as usize],
                Some((column, included)) => {
                    let values = table.tallies[*column].of(class).iter();
                    values
                        .filter(|(value, _)| included.get(*value as usize).is_some_and(|is_included| *is_included))
                        .map(|(_, rows)| u64::from(*rows))
                        .sum()
                }
            };
            count += share * rows as f64;
        }
        count
    }
}

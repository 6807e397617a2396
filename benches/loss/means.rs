//! Time of each stage for a table of nearly unique numbers that are released as means, from the survey to the classes.
//!
//! ```text
//! cargo bench -p throng-loss --bench means -- [--rows 1000000] [--columns 6] [--k 10] [--p 3] [--cycles 1] [--rounds 5]
//! ```
//!
//! Times are the lowest of all rounds, as wall time and CPU time. The digest is that of the classes: two builds with the
//! same digest form the same release.

#![allow(missing_docs)]

use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;
use std::time::Instant;

use anyhow::{Context, Result};
use arrow::array::{ArrayRef, Int64Array, StringArray};
use throng_core::anonymize::{ClusterChoice, Method, PartitionChoice};
use throng_core::cluster::{Class, IgnoreProgress};
use throng_core::columns::SensitiveSpec;
use throng_core::metrics::Utility;
use throng_core::model::Privacy;
use throng_core::partition::FeasibleRegions;
use throng_core::recode::Recoder;
use throng_core::survey::{Domains, SortGrouping, Survey, SurveySpec};
use throng_loss::cpu_seconds;
use throng_papers::{SampleRng, markdown, mean};

#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

const BATCH_ROWS: usize = 8192;
const SEED: u64 = 1;

/// Arguments of the command line.
struct Arguments {
    rows: usize,
    columns: usize,
    k: u64,
    p: u64,
    cycles: u32,
    rounds: usize,
}

impl Arguments {
    fn read() -> Result<Self> {
        let mut read = Self { rows: 1_000_000, columns: 6, k: 10, p: 3, cycles: 1, rounds: 5 };
        // `--bench` is passed by Cargo.
        let mut words = std::env::args().skip(1).filter(|word| word != "--bench");
        while let Some(word) = words.next() {
            let value = words.next().with_context(|| format!("{word} needs a number"))?;
            match word.as_str() {
                "--rows" => read.rows = value.parse()?,
                "--columns" => read.columns = value.parse()?,
                "--k" => read.k = value.parse()?,
                "--p" => read.p = value.parse()?,
                "--cycles" => read.cycles = value.parse()?,
                "--rounds" => read.rounds = value.parse()?,
                _ => anyhow::bail!("unknown argument `{word}`"),
            }
        }
        Ok(read)
    }
}

/// Measures consecutive stages.
struct Stopwatch {
    wall: Instant,
    cpu: f64,
    stages: Vec<(&'static str, f64, f64)>,
}

impl Stopwatch {
    fn start() -> Self {
        Self { wall: Instant::now(), cpu: cpu_seconds(), stages: Vec::new() }
    }

    /// Ends a stage and starts the next.
    fn lap(&mut self, stage: &'static str) {
        let (wall, cpu) = (Instant::now(), cpu_seconds());
        self.stages.push((stage, (wall - self.wall).as_secs_f64(), cpu - self.cpu));
        (self.wall, self.cpu) = (Instant::now(), cpu_seconds());
    }
}

fn main() -> Result<()> {
    let arguments = Arguments::read()?;
    let batches = batches(&arguments);
    let mut least: Vec<(&'static str, f64, f64)> = Vec::new();
    for round in 0..arguments.rounds {
        let Measured { stages, classes, loss } = measured(&arguments, &batches)?;
        let mut digest = DefaultHasher::new();
        for class in &classes {
            class.portions.iter().for_each(|portion| (portion.group, portion.rows).hash(&mut digest));
            u64::MAX.hash(&mut digest);
        }
        let wall: f64 = stages.iter().map(|stage| stage.1).sum();
        let digest = digest.finish();
        println!("round {round}: {wall:.3} s, SSE / SST {:.4} %, digest {digest:016x}", 100.0 * loss);
        if least.is_empty() {
            least = stages;
            continue;
        }
        for (least, stage) in least.iter_mut().zip(stages) {
            *least = (least.0, least.1.min(stage.1), least.2.min(stage.2));
        }
    }
    least.push(("all", least.iter().map(|stage| stage.1).sum(), least.iter().map(|stage| stage.2).sum()));
    let ms = |seconds: f64| format!("{:.1}", 1000.0 * seconds);
    let rows: Vec<Vec<String>> =
        least.iter().map(|(stage, wall, cpu)| vec![(*stage).to_owned(), ms(*wall), ms(*cpu)]).collect();
    println!("\n{}", markdown(&["stage", "wall, ms", "CPU, ms"], &rows));
    Ok(())
}

/// Outcome of all stages.
struct Measured {
    /// Name, wall time and CPU time of each stage, in seconds.
    stages: Vec<(&'static str, f64, f64)>,
    classes: Vec<Class>,
    /// SSE / SST.
    loss: f64,
}

/// Runs all stages once.
fn measured(arguments: &Arguments, batches: &[Vec<ArrayRef>]) -> Result<Measured> {
    let types = batches[0].iter().map(|column| column.data_type().clone());
    let quasi = (0..arguments.columns).zip(types.clone());
    let spec = SurveySpec {
        quasi: quasi.map(|(at, data_type)| (mean(&format!("measure_{at}")), data_type)).collect(),
        sensitive: types
            .skip(arguments.columns)
            .map(|data_type| (SensitiveSpec::plain("diagnosis"), data_type))
            .collect(),
    };
    let mut watch = Stopwatch::start();
    let mut survey = Survey::new(Arc::new(spec))?;
    for batch in batches {
        survey.push(batch)?;
    }
    watch.lap("survey: number values");
    let mut numbers = Vec::new();
    for (tuple, rows) in survey.take_groups().iter() {
        numbers.extend_from_slice(tuple);
        numbers.push(rows);
    }
    watch.lap("survey: take groups");
    let domains = Domains::of(vec![survey.finish()?])?;
    watch.lap("survey: rank values");
    let mut grouping = SortGrouping::with_room_for(arguments.rows, &domains);
    grouping.add(&domains, 0, domains.width(), &numbers);
    drop(numbers);
    watch.lap("survey: place groups");
    let table = grouping.table(&domains, usize::MAX)?.table;
    drop(domains);
    watch.lap("survey: sort groups");
    let privacy = Privacy::p_sensitive_k_anonymity(arguments.k, arguments.p, 1);
    let allowed = FeasibleRegions::of(&table, &privacy);
    let method = Method::new(PartitionChoice::Mondrian, ClusterChoice::Centroid).with_cycles(arguments.cycles);
    let leaves = method.leaves(&allowed, &table)?;
    watch.lap("partition");
    let classes = method.classes(&leaves, &table, &allowed.privacy, &IgnoreProgress).classes;
    watch.lap("cluster: form classes");
    let mut recoder = Recoder::new(&table);
    recoder.add(&table, &classes, &allowed.suppressed_cells)?;
    watch.lap("cluster: add classes");
    let recoding = recoder.finish()?;
    watch.lap("recode");
    let loss = Utility::of(&table, &recoding, arguments.k).sse_sst.unwrap_or_default();
    Ok(Measured { stages: watch.stages, classes, loss })
}

/// Returns a table in batches. Half of each measure is a common value per person, so that measures correlate.
fn batches(arguments: &Arguments) -> Vec<Vec<ArrayRef>> {
    let mut draws = SampleRng::new(SEED);
    let mut batch = |rows: usize| {
        let (mut measures, mut diagnoses) = (vec![Vec::with_capacity(rows); arguments.columns], Vec::new());
        for _ in 0..rows {
            let common = draws.share();
            for measure in &mut measures {
                measure.push(((common + draws.share()) * 5e8) as i64);
            }
            diagnoses.push(format!("diagnosis {}", (40.0 * draws.share() * draws.share()) as u32));
        }
        let measures = measures.into_iter().map(|numbers| Arc::new(Int64Array::from(numbers)) as ArrayRef);
        measures.chain([Arc::new(StringArray::from(diagnoses)) as ArrayRef]).collect()
    };
    let starts = (0..arguments.rows).step_by(BATCH_ROWS);
    starts.map(|start| batch(BATCH_ROWS.min(arguments.rows - start))).collect()
}

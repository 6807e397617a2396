//! Reports measurements as Markdown and JSON.

use anyhow::Result;
use serde_json::{Value, json};
use throng_papers::markdown;

use crate::measure::{BUDGETS, Round, Run, STAGES};
use crate::tables::DataSet;

/// All measurements.
pub(crate) struct Report<'a> {
    pub(crate) threads: usize,
    pub(crate) data_sets: &'a [DataSet],
    /// Number of files of a release, by data set.
    pub(crate) files: &'a [usize],
    /// Rounds, by data set.
    pub(crate) rounds: &'a [Vec<Round>],
}

/// Median and range of several measurements.
#[derive(Clone, Copy)]
struct Spread {
    median: f64,
    least: f64,
    most: f64,
}

impl Spread {
    fn of(values: impl Iterator<Item = f64>) -> Self {
        let mut values: Vec<f64> = values.collect();
        values.sort_by(f64::total_cmp);
        let at = |index: usize| values.get(index).copied().unwrap_or(f64::NAN);
        Self { median: at(values.len() / 2), least: at(0), most: at(values.len().saturating_sub(1)) }
    }

    fn text(self) -> String {
        format!("{:.2} ({:.2} to {:.2})", self.median, self.least, self.most)
    }

    fn json(self) -> Value {
        json!({ "median": self.median, "least": self.least, "most": self.most })
    }
}

/// Summary of one data set with one budget.
struct Line<'a> {
    data_set: &'a DataSet,
    files: usize,
    budget: usize,
    copy: Spread,
    run: Spread,
    ratio: Spread,
    /// Relative to the copy of the released columns.
    released_ratio: Spread,
    /// Milliseconds of each stage.
    stages: Vec<f64>,
    rows_per_core: f64,
    peak_mib: f64,
    /// The last run; figures of the release are equal in all runs.
    last: Option<&'a Run>,
}

impl Report<'_> {
    fn lines(&self) -> Vec<Line<'_>> {
        let sets = self.data_sets.iter().zip(self.files).zip(self.rounds);
        sets.flat_map(|((data_set, files), rounds)| {
            (0..BUDGETS.len()).map(|budget| {
                let runs = || rounds.iter().map(move |round| &round.runs[budget]);
                let run = Spread::of(runs().map(|run| run.seconds));
                let stage = |name: &&str| {
                    Spread::of(runs().map(|run| run.stages.get(*name).map_or(0.0, |ms| *ms as f64))).median
                };
                Line {
                    data_set,
                    files: *files,
                    budget,
                    copy: Spread::of(rounds.iter().map(|round| round.copied)),
                    run,
                    ratio: Spread::of(rounds.iter().map(|round| round.runs[budget].seconds / round.copied)),
                    released_ratio: Spread::of(
                        rounds.iter().map(|round| round.runs[budget].seconds / round.copied_released),
                    ),
                    stages: STAGES.iter().map(stage).collect(),
                    rows_per_core: data_set.rows as f64 / run.median / self.threads as f64,
                    peak_mib: runs().map(|run| run.peak_memory).max().unwrap_or(0) as f64 / f64::from(1 << 20),
                    last: runs().next_back(),
                }
            })
        })
        .collect()
    }

    /// Returns the time ratio of the table with many quasi-identifiers to a census with as many rows, within each
    /// round.
    fn rich_over_census(&self) -> Vec<(&DataSet, usize, Spread)> {
        let mut found = Vec::new();
        for (at, rich) in self.data_sets.iter().enumerate().filter(|(_, set)| set.name == "rich") {
            let census = self.data_sets.iter().position(|set| set.name == "census" && set.rows == rich.rows);
            let Some(census) = census else { continue };
            for budget in 0..BUDGETS.len() {
                let pairs = self.rounds[at].iter().zip(&self.rounds[census]);
                let ratios = pairs.map(|(rich, census)| rich.runs[budget].seconds / census.runs[budget].seconds);
                found.push((rich, budget, Spread::of(ratios)));
            }
        }
        found
    }

    /// Returns the report as Markdown.
    pub(crate) fn markdown(&self) -> String {
        let lines = self.lines();
        let rounds = self.rounds.iter().map(Vec::len).max().unwrap_or(0);
        let mut text = format!(
            "{} threads, {rounds} rounds. Median, with the least and the most in brackets; ratios are taken within a \
             round. Peak memory is that of the whole process while it runs, or so far where the system does not let it \
             be counted again.\n\n",
            self.threads
        );
        let ratio_row = |line: &Line<'_>| {
            vec![
                line.data_set.title.clone(),
                BUDGETS[line.budget].to_owned(),
                line.files.to_string(),
                line.copy.text(),
                line.run.text(),
                line.ratio.text(),
                format!("{:.2}", line.released_ratio.median),
                format!("{:.0}", line.rows_per_core),
                format!("{:.0}", line.peak_mib),
                line.last.map_or("-", |run| &*run.cluster).to_owned(),
                line.last.map_or("-".to_owned(), |run| format!("{:.4}", run.ncp)),
                line.last.and_then(|run| run.sse_sst).map_or("-".to_owned(), |ratio| format!("{ratio:.5}")),
            ]
        };
        let headings = [
            "data set",
            "budget",
            "files",
            "copy, s",
            "run, s",
            "run / copy",
            "run / copy of the released columns",
            "rows / s / core",
            "peak, MiB",
            "clustering",
            "NCP",
            "SSE / SST",
        ];
        text.push_str(&markdown(&headings, &lines.iter().map(ratio_row).collect::<Vec<_>>()));
        text.push_str("\nStages in milliseconds (median):\n\n");
        let stage_row = |line: &Line<'_>| {
            let name = [line.data_set.title.clone(), BUDGETS[line.budget].to_owned()];
            name.into_iter().chain(line.stages.iter().map(|ms| format!("{ms:.0}"))).collect()
        };
        let headings: Vec<&str> = ["data set", "budget"].into_iter().chain(STAGES).collect();
        text.push_str(&markdown(&headings, &lines.iter().map(stage_row).collect::<Vec<_>>()));
        for (rich, budget, ratio) in self.rich_over_census() {
            let (title, budget, ratio) = (&rich.title, BUDGETS[budget], ratio.text());
            text.push_str(&format!("\n{title} over the census of as many rows, {budget}: {ratio}\n"));
        }
        text
    }

    /// Returns the report as JSON.
    pub(crate) fn json(&self) -> Result<String> {
        let line = |line: &Line<'_>| {
            let stages = STAGES.iter().zip(&line.stages).map(|(name, ms)| ((*name).to_owned(), json!(ms)));
            json!({
                "data_set": line.data_set.title,
                "rows": line.data_set.rows,
                "files": line.files,
                "budget": BUDGETS[line.budget],
                "clustering": line.last.map(|run| &*run.cluster),
                "ncp": line.last.map(|run| run.ncp),
                "sse_sst": line.last.and_then(|run| run.sse_sst),
                "copy_s": line.copy.json(),
                "run_s": line.run.json(),
                "run_over_copy": line.ratio.json(),
                "run_over_copy_of_released_columns": line.released_ratio.json(),
                "rows_per_s_per_core": line.rows_per_core,
                "peak_mib": line.peak_mib,
                "stages_ms": stages.collect::<serde_json::Map<_, _>>(),
            })
        };
        let rich = |(rich, budget, ratio): &(&DataSet, usize, Spread)| json!({ "data_set": rich.title, "budget": BUDGETS[*budget], "run_over_census": ratio.json() });
        let report = json!({
            "threads": self.threads,
            "rounds": self.rounds.iter().map(Vec::len).max().unwrap_or(0),
            "runs": self.lines().iter().map(line).collect::<Vec<_>>(),
            "rich": self.rich_over_census().iter().map(rich).collect::<Vec<_>>(),
        });
        Ok(serde_json::to_string_pretty(&report)? + "\n")
    }
}

//! Metrics of a run in the Prometheus text format, for the textfile collector of node_exporter.
//!
//! Every sample is labelled with the name of the job, so that the files of several jobs can share a folder. Samples
//! have no timestamps, which the collector would reject; the times of the run are metrics.

use std::fmt::Write;
use std::io;
use std::path::Path;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use throng_report::document::{Quantity, Requirement};

use super::file::replace;
use super::recorder::Record;

/// Time of the last successful run of the job. It survives failed runs, because a new file copies it from the old one.
const LAST_SUCCESS: &str = "throng_run_last_success_timestamp_seconds";

impl Record<'_> {
    /// Writes the metrics of the run to a file, atomically.
    pub fn write_metrics(&self, path: &Path) -> io::Result<()> {
        let earlier = std::fs::read_to_string(path).unwrap_or_default();
        replace(path, &self.run_id, &self.metrics(&earlier))
    }

    /// Returns the metrics of the run; `earlier` is the text of the previous run.
    fn metrics(&self, earlier: &str) -> String {
        let mut text = Exposition::new(&self.job);
        text.gauge(
            "throng_run_success",
            "Whether the last run published a release.",
            [(vec![], u8::from(self.succeeded()).to_string())],
        );
        text.number(
            "throng_run_exit_code",
            "The exit code of the last run; 75 means that it should be tried again.",
            self.ending.exit_code,
        );
        text.number("throng_run_start_timestamp_seconds", "When the last run began.", seconds_of(self.start));
        text.number("throng_run_end_timestamp_seconds", "When the last run was over.", seconds_of(self.end()));
        let last = match self.succeeded() {
            true => Some(seconds_of(self.end())),
            false => text.sample_in(earlier, LAST_SUCCESS),
        };
        if let Some(last) = last {
            text.number(LAST_SUCCESS, "When a run last published a release.", last);
        }
        text.number("throng_run_duration_seconds", "How long the last run took.", seconds(self.time));
        let stages = self.stages.iter().map(|(stage, time)| (vec![("stage", stage.as_str())], seconds(*time)));
        text.gauge("throng_run_stage_duration_seconds", "How long each stage of the last run took.", stages);
        if let Some(peak) = self.peak_memory_bytes {
            text.number("throng_run_peak_memory_bytes", "The most memory that the last run held.", peak);
        }
        if let Some(policy) = &self.policy {
            let labels = vec![("policy_digest", policy.digest.as_str()), ("version", env!("CARGO_PKG_VERSION"))];
            text.gauge("throng_run_info", "What the last run was.", [(labels, "1".to_owned())]);
        }
        self.release_metrics(&mut text);
        text.text
    }

    /// Adds the figures of the sidecar, if there is a release.
    fn release_metrics(&self, text: &mut Exposition) {
        let Some(released) = &self.released else { return };
        let sidecar = &released.sidecar;
        text.number("throng_run_input_rows", "Rows that were read.", sidecar.input.rows);
        text.number("throng_run_input_files", "Files that were read.", sidecar.input.files);
        text.number("throng_run_input_bytes", "The size of the files that were read.", sidecar.input.bytes);
        text.number("throng_run_output_rows", "Rows that were released.", sidecar.output.rows);
        text.number("throng_run_output_files", "Files that were released.", sidecar.output.files);
        text.number("throng_run_output_bytes", "The size of the files that were released.", sidecar.output.bytes);
        let suppressed = sidecar.output.suppressed_rows;
        text.number("throng_run_suppressed_rows", "Rows of the input that were left out of the release.", suppressed);
        text.number("throng_run_classes", "Classes of the release.", sidecar.utility.classes);
        text.number("throng_run_ncp", "The mean NCP over rows and quasi-identifiers, 0 to 1.", sidecar.utility.ncp);
        let columns = sidecar.utility.columns.iter();
        let columns = columns.map(|(name, facts)| (vec![("column", name.as_str())], facts.ncp.to_string()));
        text.gauge("throng_run_column_ncp", "The mean NCP over rows of a quasi-identifier, 0 to 1.", columns);
        let amounts = |amount: fn(&Requirement) -> Quantity| {
            sidecar.privacy.requirements.iter().map(move |requirement| {
                let column = requirement.column.as_deref().unwrap_or_default();
                (vec![("model", &*requirement.model), ("column", column)], amount(requirement).to_string())
            })
        };
        text.gauge(
            "throng_run_requirement_required",
            "What every class must have; for a limit, how many rows may lie beyond it.",
            amounts(|requirement| requirement.required),
        );
        text.gauge(
            "throng_run_requirement_achieved",
            "What every class has, counted in the released files; for a limit, how many rows lie beyond it.",
            amounts(|requirement| requirement.achieved),
        );
    }
}

/// Text in the exposition format, with samples of one job.
struct Exposition {
    /// The label of the job.
    policy: String,
    text: String,
}

impl Exposition {
    fn new(job: &str) -> Self {
        Self { policy: format!("policy=\"{}\"", escaped(job)), text: String::new() }
    }

    /// Adds a metric with one sample.
    fn number(&mut self, name: &str, help: &str, value: impl ToString) {
        self.gauge(name, help, [(vec![], value.to_string())]);
    }

    /// Adds a metric with its samples, or nothing if there are none.
    fn gauge<'a>(
        &mut self,
        name: &str,
        help: &str,
        samples: impl IntoIterator<Item = (Vec<(&'static str, &'a str)>, String)>,
    ) {
        let mut samples = samples.into_iter().peekable();
        if samples.peek().is_none() {
            return;
        }
        // Writing to a string can't fail.
        let _ = write!(self.text, "# HELP {name} {help}\n# TYPE {name} gauge\n");
        for (labels, value) in samples {
            let more: String = labels.iter().map(|(name, value)| format!(",{name}=\"{}\"", escaped(value))).collect();
            let _ = writeln!(self.text, "{name}{{{}{more}}} {value}", self.policy);
        }
    }

    /// Returns the value of a metric with one sample in an earlier text of the same job.
    fn sample_in(&self, earlier: &str, name: &str) -> Option<String> {
        let sample = format!("{name}{{{}}} ", self.policy);
        let value = earlier.lines().find_map(|line| line.strip_prefix(&sample))?;
        value.parse::<f64>().is_ok_and(f64::is_finite).then(|| value.to_owned())
    }
}

/// Escapes a label value.
fn escaped(value: &str) -> String {
    value.replace('\\', r"\\").replace('"', "\\\"").replace('\n', r"\n")
}

fn seconds(time: Duration) -> String {
    format!("{:.3}", time.as_secs_f64())
}

fn seconds_of(moment: SystemTime) -> String {
    seconds(moment.duration_since(UNIX_EPOCH).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::telemetry::{Ending, Recorder};

    fn metrics(job: &str, exit_code: u8, earlier: &str) -> String {
        Recorder::new(job).record(Ending { exit_code, error: None, stopped: false }).metrics(earlier)
    }

    fn sample<'a>(text: &'a str, start: &str) -> Option<&'a str> {
        text.lines().find_map(|line| line.strip_prefix(start)?.strip_prefix(' '))
    }

    #[test]
    fn names_are_escaped_in_labels() {
        let text = metrics("a\"b\\c\nd", 78, "");
        assert!(text.contains("throng_run_success{policy=\"a\\\"b\\\\c\\nd\"} 0\n"), "{text}");
    }

    #[test]
    fn the_last_success_outlives_failures_of_the_same_job_only() {
        let success = metrics("census", 0, "");
        let name = format!("{LAST_SUCCESS}{{policy=\"census\"}}");
        let last = sample(&success, &name).unwrap();
        let failure = metrics("census", 75, &success);
        assert_eq!(sample(&failure, &name), Some(last));
        assert_eq!(sample(&metrics("census", 75, &failure), &name), Some(last));
        assert!(!metrics("other", 75, &success).contains(LAST_SUCCESS));
        assert!(!metrics("census", 75, &success.replace(last, "soon")).contains(LAST_SUCCESS));
    }
}

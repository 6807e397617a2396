//! Network faults drawn from a seed.

use std::collections::{BTreeMap, HashMap};
use std::sync::Mutex;
use std::time::Duration;

use super::proxy::{FaultPolicy, Request, WireFault};
use crate::TestRng;

/// Requests that are subject to faults.
#[derive(Clone, Copy, Debug, PartialEq)]
enum FaultFocus {
    All,
    Reads,
    Writes,
    /// Requests that publish a release or roll it back.
    Commit,
}

/// Injects faults by a seed. The fault of a request depends on its method and target and on how often it was seen
/// before, not on the order of arrival: the same seed injects the same faults into the same run.
#[derive(Debug)]
pub struct FaultSchedule {
    seed: u64,
    /// Percentage of requests with a fault.
    percent: u64,
    focus: FaultFocus,
    /// Outage, as (first request, number of requests): all of these are lost.
    outage: Option<(usize, usize)>,
    /// Faults to choose from.
    kinds: Vec<WireFault>,
    asked: Mutex<HashMap<String, u64>>,
    counts: Mutex<BTreeMap<&'static str, usize>>,
}

impl FaultSchedule {
    /// Creates the schedule of a seed, for a client with a request timeout of `patience`.
    pub fn new(seed: u64, patience: Duration) -> Self {
        let mut draws = TestRng::new(seed);
        let long = patience * 3;
        let all = [
            WireFault::Pass(Duration::from_millis(150)),
            WireFault::Refuse(500),
            WireFault::Refuse(503),
            WireFault::Lose,
            WireFault::Cut,
            WireFault::Deny(500),
            WireFault::Deny(503),
            WireFault::Forget,
            WireFault::Truncate(95),
            WireFault::Truncate(40),
            WireFault::Stall(long),
            WireFault::StallAfter(long),
            WireFault::Late(Duration::from_millis(100)),
            WireFault::Late(patience * 2),
        ];
        // One kind of fault, a few kinds, or all.
        let kinds = match draws.below(3) {
            0 => vec![*draws.pick(&all)],
            1 => (0..4).map(|_| *draws.pick(&all)).collect(),
            _ => all.to_vec(),
        };
        let focus = *draws.pick(&[
            FaultFocus::All,
            FaultFocus::All,
            FaultFocus::Reads,
            FaultFocus::Writes,
            FaultFocus::Commit,
            FaultFocus::Commit,
        ]);
        let percent = match focus {
            FaultFocus::All => *draws.pick(&[3, 10, 30]),
            FaultFocus::Reads | FaultFocus::Writes => *draws.pick(&[10, 30, 50]),
            FaultFocus::Commit => *draws.pick(&[20, 50, 90]),
        };
        let outage = draws.percent(15).then(|| (draws.below(60) as usize, 1 + draws.below(40) as usize));
        Self { seed, percent, focus, outage, kinds, asked: Mutex::default(), counts: Mutex::default() }
    }

    /// Returns the number of requests by fault.
    pub fn counts(&self) -> BTreeMap<&'static str, usize> {
        self.counts.lock().unwrap().clone()
    }

    fn treatment(&self, request: &Request) -> WireFault {
        if self.outage.is_some_and(|(first, count)| (first..first + count).contains(&request.number)) {
            return WireFault::Lose;
        }
        let asked = format!("{} {}", request.method, without_run(&request.target));
        let times = {
            let mut known = self.asked.lock().unwrap();
            let times = known.entry(asked.clone()).or_default();
            *times += 1;
            *times
        };
        let mut draws = TestRng::of(self.seed ^ times, &asked);
        // Small delays reorder requests.
        let jitter = WireFault::Pass(Duration::from_millis(draws.below(8)));
        match self.is_in_danger(request) && draws.percent(self.percent) {
            true => *draws.pick(&self.kinds),
            false => jitter,
        }
    }

    fn is_in_danger(&self, request: &Request) -> bool {
        let is_read = matches!(request.method.as_str(), "GET" | "HEAD");
        match self.focus {
            FaultFocus::All => true,
            FaultFocus::Reads => is_read,
            FaultFocus::Writes => !is_read,
            FaultFocus::Commit => {
                let is_document =
                    ["manifest.json", "metrics.json", "_SUCCESS"].iter().any(|name| request.target.contains(name));
                is_document || request.is_copy || matches!(request.method.as_str(), "POST" | "DELETE")
            }
        }
    }
}

impl FaultPolicy for FaultSchedule {
    fn before(&self, request: &Request) -> WireFault {
        let treatment = self.treatment(request);
        *self.counts.lock().unwrap().entry(treatment.name()).or_default() += 1;
        treatment
    }
}

/// Returns the target without run ids (32 hexadecimal digits), which differ between runs.
fn without_run(target: &str) -> String {
    let mut kept = String::new();
    let mut digits = String::new();
    for character in target.chars().chain(['/']) {
        if character.is_ascii_hexdigit() {
            digits.push(character);
            continue;
        }
        if digits.len() != 32 {
            kept.push_str(&digits);
        }
        digits.clear();
        kept.push(character);
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(number: usize, target: &str) -> Request {
        Request { number, method: "PUT".to_owned(), target: target.to_owned(), is_copy: false }
    }

    #[test]
    fn the_same_seed_treats_the_same_requests_alike_in_any_order_and_run() {
        let targets: Vec<String> =
            (0..50).map(|part| format!("/people/_throng/staging/RUN/part-{part:05}.parquet")).collect();
        let treat = |seed: u64, run: &str, backwards: bool| {
            let weather = FaultSchedule { outage: None, ..FaultSchedule::new(seed, Duration::from_secs(1)) };
            let mut order: Vec<&String> = targets.iter().collect();
            if backwards {
                order.reverse();
            }
            let treat = |(number, target): (usize, &String)| {
                (target.clone(), weather.treatment(&request(number, &target.replace("RUN", run))))
            };
            let mut treated: Vec<_> = order.into_iter().enumerate().map(treat).collect();
            treated.sort_by(|a, b| a.0.cmp(&b.0));
            treated
        };
        let (one, other) = ("0123456789abcdef".repeat(2), "f".repeat(32));
        for seed in 0..20 {
            assert_eq!(treat(seed, &one, false), treat(seed, &other, true), "seed {seed}");
        }
        assert_ne!(treat(1, &one, false), treat(2, &one, false));
    }
}

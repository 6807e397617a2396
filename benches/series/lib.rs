//! A simulated series of nightly releases, and an intruder who keeps all of them.

#![cfg_attr(test, allow(clippy::unwrap_used, clippy::expect_used, clippy::panic))]

mod classes;
mod intruder;
mod plot;
mod simulation;
mod stream;
mod world;

pub use classes::{Effort, Former};
pub use intruder::{Exposed, Intruder, SeenRow};
pub use plot::svg;
pub use simulation::{NightFigures, Simulation};
pub use stream::{StreamFigures, StreamTrial};
pub use world::{Churn, Dice, Resident, World};

#[cfg(test)]
mod tests {
    use throng_core::series::Leavers;
    use throng_core::stream::EMISSION_PROPOSALS;

    use super::*;

    fn simulation(rate: f64, remember: Option<usize>) -> Simulation {
        Simulation {
            people: 10_000,
            nights: 8,
            churn: Churn { leave: rate / 3.0, come: rate / 3.0, change: rate / 3.0 },
            k: 10,
            p: 3,
            remember,
            max_delay: 3,
            max_waiting: 0.005,
            reserve: 0,
            leavers: Leavers::ShowOn,
            measure_every: usize::MAX,
        }
    }

    #[test]
    fn an_intruder_who_keeps_all_nights_singles_out_no_one() {
        for rate in [0.001, 0.01, 0.05] {
            let intruder = simulation(rate, Some(8)).run(|_| ()).unwrap();
            assert_eq!(intruder.pairs(10, 3, usize::MAX), Exposed::default(), "{rate}");
            assert_eq!(intruder.prefixes(10, 3, usize::MAX), Exposed::default(), "{rate}");
            assert_eq!(intruder.all(10, 3), Exposed::default(), "{rate}");
        }
    }

    #[test]
    fn a_stream_loses_more_than_one_release_and_holds_no_more_rows_than_allowed() {
        let number = |name: &str, default: usize| std::env::var(name).map_or(default, |text| text.parse().unwrap());
        let (rows, max_delay) = (number("THRONG_STREAM_ROWS", 6_000), number("THRONG_STREAM_DELAY", 1_000));
        let most_proposals = number("THRONG_STREAM_PROPOSALS", EMISSION_PROPOSALS as usize) as u32;
        let trial = StreamTrial { rows, max_delay, k: 10, p: 3, cycles: 1, most_proposals };
        let world = trial.world().unwrap();
        for order in [None, Some("age"), Some("region")] {
            let stream = trial.stream(&world, order).unwrap();
            let batch = trial.batch(&world).unwrap();
            println!("{order:?}: {stream:?}, and at once {batch:?}");
            assert_eq!((stream.emissions, stream.held), (rows.div_ceil(max_delay), max_delay), "{order:?}");
            assert_eq!(stream.released as u64 + stream.suppressed, rows as u64, "{order:?}");
            assert!(stream.ncp > batch.ncp && stream.ncp < 1.0, "{order:?}: {} and {}", stream.ncp, batch.ncp);
        }
    }

    #[test]
    fn releases_that_know_nothing_of_each_other_single_out_thousands() {
        let exposed = simulation(0.01, None).run(|_| ()).unwrap().all(10, 3);
        assert!(exposed.below_k > 5_000 && exposed.below_p > 2_000, "{exposed:?}");
    }

    #[test]
    fn rows_that_leave_at_once_take_their_class_along() {
        let simulation = Simulation { leavers: Leavers::DropBlock, ..simulation(0.01, Some(8)) };
        let mut last = None;
        let intruder = simulation.run(|night| last = Some(*night)).unwrap();
        assert_eq!(intruder.all(10, 3), Exposed::default());
        let counts = last.unwrap().counts;
        assert!(counts.shown_on == 0 && counts.suppressed > 1_000, "{counts:?}");
    }
}

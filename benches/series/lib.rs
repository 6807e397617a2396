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
    use arrow::array::AsArray;
    use arrow::compute::cast;
    use arrow::datatypes::{DataType, Int64Type};
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
        let trial = StreamTrial { rows, max_delay, k: 10, p: 3, cycles: 1, most_proposals, joins: false };
        let world = trial.world().unwrap();
        for order in [None, Some("age"), Some("region")] {
            let stream = trial.stream(&world, order).unwrap();
            let batch = trial.batch(&world).unwrap();
            println!("{order:?}: {stream:?}, and at once {batch:?}");
            assert_eq!((stream.emissions, stream.held), (rows.div_ceil(max_delay), max_delay), "{order:?}");
            assert_eq!(stream.released as u64 + stream.suppressed, rows as u64, "{order:?}");
            assert!(stream.ncp > batch.ncp && stream.ncp < 1.0, "{order:?}: {} and {}", stream.ncp, batch.ncp);
            let joining = StreamTrial { joins: true, ..trial }.stream(&world, order).unwrap();
            println!("{order:?}, where rows join: {joining:?}");
            assert_eq!(joining.released as u64 + joining.suppressed, rows as u64, "{order:?}");
            assert!(joining.joined > 0 && joining.ncp < stream.ncp, "{order:?}: {joining:?} and {stream:?}");
        }
    }

    /// Ages are counted relative to the range of all rows, and every column alike.
    #[test]
    fn a_bound_counts_losses_as_a_release_does() {
        let trial = StreamTrial {
            rows: 6_000,
            max_delay: 1_000,
            k: 10,
            p: 3,
            cycles: 1,
            most_proposals: u32::MAX,
            joins: false,
        };
        let world = trial.world().unwrap();
        let former = Former::new(&world, 10, 3).unwrap();
        let ages = world.column("age", world.present().iter().map(|resident| resident.person)).unwrap();
        let ages = cast(&ages, &DataType::Int64).unwrap();
        let is_young = |(_, age): &(&Resident, &i64)| **age < 40;
        let young = world.present().iter().zip(ages.as_primitive::<Int64Type>().values()).filter(is_young);
        let young: Vec<Resident> = young.map(|(resident, _)| *resident).take(2_000).collect();
        let among_themselves = former.nearest_box(&world, &young, &young).unwrap();
        let among_all = former.nearest_box(&world, &young, world.present()).unwrap();
        assert!(among_all < 0.95 * among_themselves, "{among_all} and {among_themselves}");
        // No classes of the same rows lose less, in the same unit.
        let (classes, loss) = former.form(&world, &young, 10, Effort::BALANCED).unwrap();
        let released = (0..).zip(&classes).flat_map(|(class, rows)| rows.rows.iter().map(move |row| (*row, class)));
        let mut released: Vec<(Resident, u64)> = released.map(|(row, class)| (young[row as usize], class)).collect();
        assert!(among_themselves <= loss, "{among_themselves} and {loss}");
        let others = world.present().iter().filter(|resident| !young.contains(resident));
        released.extend(others.map(|resident| (*resident, u64::MAX)));
        let of_young = former.loss(&world, &released, &young).unwrap().1;
        assert!(among_all <= of_young && of_young < loss, "{among_all}, {of_young} and {loss}");
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

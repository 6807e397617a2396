use proptest::prelude::*;

use super::*;
use crate::model::{FrequencyRequirement, Model, frequency_model};
use crate::test_tables::{cases, interval, ints, survey};

/// Returns one class per cell.
fn cells(table: &Table) -> Vec<Class> {
    (0..table.cell_count() as u32).map(|cell| Class::of_cells(table, &[cell])).collect()
}

proptest! {
    #![proptest_config(cases(60))]

    #[test]
    fn every_class_satisfies_the_models_if_all_rows_do(
        rows in prop::collection::vec((0_i64..12, 0_i64..5), 2..40),
        share in 0.3_f64..1.0,
    ) {
        let (ages, illness): (Vec<i64>, Vec<i64>) = rows.iter().copied().unzip();
        let table = survey(&[(interval("age"), ints(&ages))], &[ints(&illness)]).table;
        let models: Vec<std::sync::Arc<dyn Model>> = vec![frequency_model(FrequencyRequirement::MaxShare(share), 0)];
        let privacy = Privacy::new(models);
        let is_feasible = privacy.is_satisfied_by(&table, 0..table.cell_count() as u32);
        let merged = merge_unsatisfied(&table, &privacy, cells(&table));
        let rows_after: u64 = merged.iter().map(|class| class.tally(&table).rows()).sum();
        prop_assert_eq!(rows_after, rows.len() as u64);
        if is_feasible {
            prop_assert!(merged.iter().all(|class| privacy.is_satisfied(&class.tally(&table))));
        } else {
            prop_assert_eq!(merged.len(), 1);
        }
    }
}

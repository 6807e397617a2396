use super::*;
use crate::published::literal_reference::sound_classes;
use crate::test_tables::{Surveyed, interval, ints, survey, texts};

/// Twelve ages, of which every third has the rare value, or every other one.
fn rows(every: usize) -> Surveyed {
    let values: Vec<&str> = (0..12).map(|row| if row % every == 0 { "rare" } else { "common" }).collect();
    survey(&[(interval("age"), ints(&[1, 2, 4, 7, 11, 16, 22, 29, 37, 46, 56, 67]))], &[texts(&values)])
}

#[test]
fn the_clustering_follows_what_limits_the_number_of_classes() {
    // Of twelve rows with k = 2, six classes are possible. Three rare values allow three classes with p = 2, six of them six.
    for (every, k, binds) in [(4, 2, true), (2, 2, true), (2, 4, false), (4, 6, false)] {
        let rows = rows(every);
        let privacy = Privacy::p_sensitive_k_anonymity(k, 2, 1);
        let all = Tally::of_cells(&rows.table, 0..rows.table.cell_count() as u32);
        assert_eq!(p_binds(&all, &privacy), binds, "{every} {k}");
        let found = sound_classes(&MostClasses, &rows.table, &privacy);
        let expected = match binds {
            true => sound_classes(&EnhancedPk, &rows.table, &privacy),
            false => sound_classes(&GreedyPk, &rows.table, &privacy),
        };
        assert_eq!(found, expected, "{every} {k}");
    }
    let plain = Privacy::p_sensitive_k_anonymity(3, 1, 1);
    let rows = rows(2);
    assert_eq!(sound_classes(&MostClasses, &rows.table, &plain), sound_classes(&GreedyPk, &rows.table, &plain));
}

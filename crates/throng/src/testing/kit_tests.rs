use throng_core::cluster::{Centroid, Class, ClusterMethod, Greedy, OneClass, Portion};
use throng_core::feasibility::Shortfall;
use throng_core::local_search::LocalSearch;
use throng_core::model::{
    CategoryWeight, ClosedUnder, CodeMeaning, CountingModel, KAnonymity, Model, PSensitive, Privacy, Tally,
};
use throng_core::published::{EnhancedPk, GreedyPk, Mdav, MostClasses, RandomSeed, Switching};
use throng_core::table::Table;

use super::*;

#[test]
fn there_is_a_table_of_every_shape() {
    let rows: Vec<u64> = tables().iter().map(Table::rows).collect();
    assert_eq!(rows, [1, 5, 12, 40, 80, 150, 300, 500]);
}

#[test]
fn the_models_of_throng_keep_the_contract() {
    let rows = rows_of_codes(2, 3, 60);
    check_model(&KAnonymity::new(5), &rows).unwrap();
    for column in 0..2 {
        check_model(&PSensitive::new(3, column, CodeMeaning::Values), &rows).unwrap();
        check_model(&CategoryWeight::new(1.5, column, 3), &rows).unwrap();
    }
}

#[test]
fn the_clusterings_of_throng_keep_the_contract() {
    let methods: [&dyn ClusterMethod; 10] = [
        &Greedy { seed: 1 },
        &LocalSearch { start: Greedy { seed: 1 }, seed: 2 },
        &OneClass,
        &Centroid::default(),
        &GreedyPk,
        &EnhancedPk,
        &MostClasses,
        &Switching,
        &Mdav,
        &RandomSeed { seed: 1 },
    ];
    methods.into_iter().for_each(|method| check_clustering(method).unwrap());
}

/// Asks for one unit per row, and says something false.
#[derive(Debug)]
struct Wrong {
    gain: u64,
    can_lose: bool,
}

impl Model for Wrong {
    fn name(&self) -> &'static str {
        "wrong"
    }

    fn column(&self) -> Option<usize> {
        None
    }

    fn closed_under(&self) -> ClosedUnder {
        ClosedUnder::AddingRows
    }

    fn deficit(&self, class: &Tally) -> u64 {
        4_u64.saturating_sub(class.rows())
    }

    fn helps(&self, class: &Tally, _: &[u32]) -> bool {
        class.rows() < 4
    }

    fn can_lose(&self, _: &Tally, _: &[u32]) -> bool {
        self.can_lose
    }

    fn max_classes(&self, class: &Tally) -> u64 {
        class.rows() / 4
    }

    fn shortfall(&self, _: &str, whole: &Tally) -> Shortfall {
        Shortfall::Rows { rows: whole.rows(), k: 4 }
    }

    fn counting(&self) -> Option<&dyn CountingModel> {
        Some(self)
    }
}

impl CountingModel for Wrong {
    fn required(&self) -> u64 {
        4
    }

    fn achieved(&self, class: &Tally) -> u64 {
        class.rows()
    }

    fn gain(&self, _: &Tally, _: &[u32]) -> u64 {
        self.gain
    }
}

#[test]
fn a_model_that_says_something_false_is_found() {
    let rows = rows_of_codes(1, 3, 10);
    let broken = |gain, can_lose| check_model(&Wrong { gain, can_lose }, &rows).unwrap_err();
    assert_eq!(broken(0, true).rule, "a row brings as many units as the model says");
    assert_eq!(broken(1, true).rule, "a row can leave where the class can do without it");
    let never = broken(1, false);
    assert_eq!(never.to_string(), format!("{} (model wrong, order 0, after 4 rows)", never.rule));
}

struct Forms(fn(&[u32], &Table) -> Vec<Class>);

impl ClusterMethod for Forms {
    fn cluster(&self, leaf: &[u32], table: &Table, _: &Privacy) -> Vec<Class> {
        self.0(leaf, table)
    }
}

#[test]
fn a_clustering_that_breaks_a_rule_is_found() {
    check_clustering(&Forms(|leaf, table| vec![Class::of_cells(table, leaf)])).unwrap();
    let cells = Forms(|leaf, table| leaf.iter().map(|cell| Class::of_cells(table, &[*cell])).collect());
    assert_eq!(check_clustering(&cells).unwrap_err().rule, "every class satisfies the models");
    let lost = Forms(|leaf, table| vec![Class::of_cells(table, &leaf[..leaf.len() - 1])]);
    assert_eq!(check_clustering(&lost).unwrap_err().rule, "the classes of a table can be released");
    let doubled = Forms(|leaf, table| {
        let mut class = Class::of_cells(table, leaf);
        class.portions[0] = Portion { rows: class.portions[0].rows + 1, ..class.portions[0] };
        vec![class]
    });
    assert_eq!(check_clustering(&doubled).unwrap_err().rule, "the classes of a table can be released");
}

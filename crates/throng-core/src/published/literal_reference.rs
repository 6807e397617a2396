//! For tests: a literal, slow implementation of [Truta 2007] on single rows, and random leaves to compare with.

use std::sync::Arc;

use arrow::array::{ArrayRef, StringArray};
use proptest::prelude::*;

use crate::cluster::{Class, ClusterMethod, Portion};
use crate::model::{CategoryWeight, CodeMeaning, KAnonymity, Model, PSensitive, Privacy, Tally};
use crate::table::Table;
use crate::test_tables::{Surveyed, ancestor, countries, interval, ints, survey, texts};

/// Rows of a table, in the order of their groups.
pub(crate) struct LiteralRows<'a> {
    pub(crate) table: &'a Table,
    pub(crate) privacy: &'a Privacy,
    /// Group of each row.
    groups: Vec<u32>,
    /// Cell of each group.
    cells: Vec<u32>,
}

impl<'a> LiteralRows<'a> {
    pub(crate) fn new(table: &'a Table, privacy: &'a Privacy) -> Self {
        let cells = (0..table.cell_count() as u32).flat_map(|cell| table.groups(cell).map(move |_| cell)).collect();
        let repeated = |group: u32| std::iter::repeat_n(group, table.group_rows(group) as usize);
        Self { table, privacy, groups: (0..table.group_count() as u32).flat_map(repeated).collect(), cells }
    }

    pub(crate) fn len(&self) -> usize {
        self.groups.len()
    }

    pub(crate) fn codes(&self, row: usize) -> &[u32] {
        self.table.codes(self.groups[row])
    }

    pub(crate) fn tally(&self, cluster: &[usize]) -> Tally {
        let mut tally = Tally::empty(self.table.tally_shape());
        cluster.iter().for_each(|row| tally.add(self.codes(*row), 1));
        tally
    }

    pub(crate) fn is_satisfied(&self, cluster: &[usize]) -> bool {
        self.privacy.is_satisfied(&self.tally(cluster))
    }

    /// Hom [Truta 2007, Def. 12].
    pub(crate) fn hom(&self, cluster: &[usize]) -> f64 {
        self.privacy.homogeneity(&self.tally(cluster))
    }

    /// Information loss [Truta 2007, Def. 9].
    pub(crate) fn il(&self, cluster: &[usize]) -> f64 {
        let column = |(at, quasi): (usize, &crate::table::QuasiColumn)| {
            let position = |row: &usize| self.table.positions(self.cells[self.groups[*row] as usize])[at];
            let positions = cluster.iter().map(position);
            let (lo, hi) = (positions.clone().min(), positions.max());
            lo.zip(hi).map_or(0.0, |(lo, hi)| quasi.domain.information_loss(lo, hi))
        };
        cluster.len() as f64 * self.table.quasi().iter().enumerate().map(column).sum::<f64>()
    }

    pub(crate) fn il_increase(&self, cluster: &[usize], row: usize) -> f64 {
        self.il(&[cluster, &[row]].concat()) - self.il(cluster)
    }

    /// `BestMatch` of [Truta 2007] over all pairs; the first cluster and then the first row win ties.
    pub(crate) fn best_match(&self, rows: &[usize], clusters: &[(usize, &Vec<usize>)]) -> (f64, usize, usize) {
        let mut best: Option<(f64, f64, usize, usize)> = None;
        for (at, cluster) in clusters {
            let tally = self.tally(cluster);
            for row in rows {
                let div = self.privacy.diversity(&tally, self.codes(*row));
                let il = self.il_increase(cluster, *row);
                if best.is_none_or(|(most, least, _, _)| div > most || (div == most && il < least)) {
                    best = Some((div, il, *row, *at));
                }
            }
        }
        let (div, _, row, at) = best.unwrap();
        (div, row, at)
    }

    /// Returns the row with the least increase of information loss.
    pub(crate) fn nearest(&self, rows: &[usize], cluster: &[usize]) -> usize {
        let increase = |row: &usize| self.il_increase(cluster, *row);
        let first = *rows.iter().min_by(|a, b| increase(a).total_cmp(&increase(b))).unwrap();
        self.commonest(rows, first)
    }

    /// Returns the first of the rows of the same cell with the most frequent sensitive values.
    pub(crate) fn commonest(&self, rows: &[usize], row: usize) -> usize {
        let cell = |row: usize| self.cells[self.groups[row] as usize];
        let alike = |row: usize| rows.iter().filter(|other| self.codes(**other) == self.codes(row)).count();
        let same_cell = rows.iter().copied().filter(|other| cell(*other) == cell(row));
        same_cell.max_by_key(|other| (alike(*other), std::cmp::Reverse(*other))).unwrap()
    }

    /// "For every t in T": adds each row to the cluster with the least increase of information loss.
    pub(crate) fn spread(&self, rows: Vec<usize>, clusters: &mut [Vec<usize>]) {
        for row in rows {
            let increase = |cluster: &Vec<usize>| self.il_increase(cluster, row);
            let (home, _) = clusters.iter().enumerate().min_by(|a, b| increase(a.1).total_cmp(&increase(b.1))).unwrap();
            clusters[home].push(row);
        }
    }

    /// Converts clusters to classes; one with all rows if there is none.
    pub(crate) fn classes(&self, clusters: &[Vec<usize>]) -> Vec<Class> {
        let portion = |row: usize| Portion { group: self.groups[row], rows: 1 };
        let class = |cluster: &Vec<usize>| Class::of_portions(cluster.iter().map(|row| portion(*row)).collect());
        match clusters {
            [] => vec![Class::of_portions((0..self.len()).map(portion).collect())],
            _ => clusters.iter().map(class).collect(),
        }
    }
}

/// Removes a row from a list.
pub(crate) fn without(rows: &mut Vec<usize>, row: usize) -> usize {
    rows.retain(|other| *other != row);
    row
}

/// A random leaf, and the models that its classes must satisfy.
#[derive(Debug)]
pub(crate) struct RandomLeaf {
    pub(crate) rows: Surveyed,
    /// The same rows in another order of arrival.
    reversed: Surveyed,
    pub(crate) privacy: Privacy,
}

type LiteralRecord = (i64, usize, Option<u8>, Option<u8>);

/// Leaves that satisfy a mixture of all models, with a p for each column. Ages span 8 years and the hierarchy has
/// height 2, so that losses are multiples of 1/8 and compare exactly however they are computed.
pub(crate) fn leaves(most_rows: usize) -> impl Strategy<Value = RandomLeaf> {
    let null = |values| prop::option::weighted(0.9, values);
    let person = (0_i64..=8, 0_usize..5, null(0_u8..5), null(0_u8..4));
    let alpha = prop::option::weighted(0.3, (1_u32..8).prop_map(|thirds| f64::from(thirds) / 3.0));
    let people = prop::collection::vec(person, 1..most_rows);
    (people, 1_u64..6, 0_u64..5, 0_u64..4, alpha).prop_filter_map("infeasible", |(mut people, k, p, q, alpha)| {
        people.extend([(0, 0, Some(0), Some(0)), (8, 4, Some(1), Some(1))]);
        let mut models: Vec<Arc<dyn Model>> = vec![Arc::new(KAnonymity::new(k))];
        let counted = [(p, CodeMeaning::Values), (q, CodeMeaning::Categories)].into_iter().enumerate();
        let counted = counted.filter(|(_, (p, _))| *p > 0);
        models.extend(counted.map(|(column, (p, of))| Arc::new(PSensitive::new(p, column, of)) as Arc<dyn Model>));
        models.extend(alpha.map(|alpha| Arc::new(CategoryWeight::new(alpha, 1, 4)) as Arc<dyn Model>));
        let rows = surveyed(&people);
        people.reverse();
        let leaf = RandomLeaf { rows, reversed: surveyed(&people), privacy: Privacy::new(models) };
        let cells = 0..leaf.rows.table.cell_count() as u32;
        leaf.privacy.is_satisfied_by(&leaf.rows.table, cells).then_some(leaf)
    })
}

fn surveyed(people: &[LiteralRecord]) -> Surveyed {
    let names = ["France", "Spain", "Italy", "Japan", "China"];
    let column = |value: &dyn Fn(&LiteralRecord) -> Option<u8>| -> ArrayRef {
        Arc::new(people.iter().map(|person| value(person).map(|value| value.to_string())).collect::<StringArray>())
    };
    survey(
        &[
            (interval("age"), ints(&people.iter().map(|person| person.0).collect::<Vec<_>>())),
            (ancestor("c", &countries()), texts(&people.iter().map(|person| names[person.1]).collect::<Vec<_>>())),
        ],
        &[column(&|person| person.2), column(&|person| person.3)],
    )
}

/// Returns the classes of a whole table after checking that they are valid.
pub(crate) fn sound_classes(cluster: &dyn ClusterMethod, table: &Table, privacy: &Privacy) -> Vec<Class> {
    let cells: Vec<u32> = (0..table.cell_count() as u32).collect();
    let classes = cluster.cluster(&cells, table, privacy);
    let mut placed = vec![0; table.group_count()];
    for class in &classes {
        assert!(privacy.is_satisfied(&class.tally(table)), "{class:?}");
        assert!(class.portions.is_sorted_by(|a, b| a.group < b.group), "{class:?}");
        assert!(class.portions.iter().all(|portion| portion.rows > 0), "{class:?}");
        class.portions.iter().for_each(|portion| placed[portion.group as usize] += portion.rows);
    }
    assert!((0..table.group_count() as u32).all(|group| placed[group as usize] == table.group_rows(group)));
    classes
}

impl RandomLeaf {
    /// Returns the valid classes of this leaf after checking that they do not depend on the order of arrival.
    pub(crate) fn classes(&self, cluster: &dyn ClusterMethod) -> Vec<Class> {
        let classes = sound_classes(cluster, &self.rows.table, &self.privacy);
        assert_eq!(classes, sound_classes(cluster, &self.reversed.table, &self.privacy));
        classes
    }
}

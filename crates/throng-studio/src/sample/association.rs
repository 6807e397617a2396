//! Association between pairs of columns, before and after.
//!
//! Every column is divided into a few bins of about equal numbers of rows. In a release the rows of a class are spread evenly over
//! the positions that its label covers, as a reader would.

use throng::throng_core::domain::NULL;
use throng::throng_core::recode::Recoding;
use throng::throng_core::table::Table;

use crate::answer::AssociatedPair;

/// Number of bins of a column.
const BINS: usize = 8;

/// Number of quasi-identifiers and of sensitive columns that are compared.
const MAX_COLUMNS: (usize, usize) = (6, 2);

/// Counts of rows by the bins of two columns.
type Contingency = [[f64; BINS]; BINS];

/// Share of the rows in each bin of one column.
type BinShares = [f64; BINS];

/// Returns the association of all pairs of columns among the rows of a recoding, strongest first.
pub(super) fn pairs(table: &Table, recoding: &Recoding) -> Vec<AssociatedPair> {
    let is_ranged = |column: &usize| {
        (0..recoding.columns()[*column].len() as u32).all(|label| !recoding.stands_for(*column, label).is_empty())
    };
    let quasi: Vec<usize> = (0..table.quasi().len()).filter(is_ranged).take(MAX_COLUMNS.0).collect();
    let sensitive: Vec<usize> = (0..table.sensitive().len().min(MAX_COLUMNS.1)).collect();
    let columns = quasi.len() + sensitive.len();
    let released: Vec<u64> = (0..table.group_count() as u32)
        .map(|group| recoding.shares(group).iter().map(|share| u64::from(share.rows)).sum())
        .collect();
    let bins = Bins::of(table, &quasi, &sensitive, &released);

    let pair_count = columns * columns.saturating_sub(1) / 2;
    let mut before: Vec<Contingency> = vec![[[0.0; BINS]; BINS]; pair_count];
    let mut of_class: Vec<Vec<BinShares>> = vec![vec![[0.0; BINS]; columns]; recoding.class_rows().len()];
    for cell in 0..table.cell_count() as u32 {
        for group in table.groups(cell) {
            let rows = released[group as usize] as f64;
            if rows == 0.0 {
                continue;
            }
            let in_bins = bins.of_group(table, cell, group);
            for (pair, (a, b)) in all_pairs(columns).enumerate() {
                before[pair][in_bins[a]][in_bins[b]] += rows;
            }
            for share in recoding.shares(group) {
                for at in quasi.len()..columns {
                    of_class[share.class as usize][at][in_bins[at]] += f64::from(share.rows);
                }
            }
        }
    }
    let mut after: Vec<Contingency> = vec![[[0.0; BINS]; BINS]; pair_count];
    for (class, rows) in recoding.class_rows().iter().enumerate() {
        let shares = &mut of_class[class];
        for (at, column) in quasi.iter().enumerate() {
            shares[at] = bins.spread(at, recoding.stands_for(*column, recoding.label(class as u32, *column)));
        }
        for shares in &mut shares[quasi.len()..] {
            shares.iter_mut().for_each(|share| *share /= (*rows).max(1) as f64);
        }
        for (pair, (a, b)) in all_pairs(columns).enumerate() {
            for (i, of_a) in shares[a].iter().enumerate().filter(|(_, share)| **share > 0.0) {
                for (j, of_b) in shares[b].iter().enumerate() {
                    after[pair][i][j] += *rows as f64 * of_a * of_b;
                }
            }
        }
    }
    let name = |at: usize| match quasi.get(at) {
        Some(column) => table.quasi()[*column].spec.name.clone(),
        None => table.sensitive()[sensitive[at - quasi.len()]].name.clone(),
    };
    let found = all_pairs(columns).enumerate().filter(|(_, (a, b))| name(*a) != name(*b));
    let mut found: Vec<AssociatedPair> = found
        .map(|(pair, (a, b))| AssociatedPair {
            columns: (name(a), name(b)),
            before: cramers_v(&before[pair]),
            after: cramers_v(&after[pair]),
        })
        .collect();
    found.sort_by(|a, b| b.before.total_cmp(&a.before));
    found
}

fn all_pairs(columns: usize) -> impl Iterator<Item = (usize, usize)> {
    (0..columns).flat_map(move |a| (a + 1..columns).map(move |b| (a, b)))
}

/// The bin of every position and code.
struct Bins {
    quasi: Vec<usize>,
    sensitive: Vec<usize>,
    /// By column: the bin of each position or code. Null is in the last bin.
    of_position: Vec<Vec<u8>>,
}

impl Bins {
    fn of(table: &Table, quasi: &[usize], sensitive: &[usize], released: &[u64]) -> Self {
        let mut of_position = Vec::new();
        for column in quasi {
            let mut rows = vec![0_u64; table.quasi()[*column].domain.len()];
            for cell in 0..table.cell_count() as u32 {
                let position = table.positions(cell)[*column] as usize;
                rows[position] += table.groups(cell).map(|group| released[group as usize]).sum::<u64>();
            }
            of_position.push(in_order(&rows));
        }
        for column in sensitive {
            let mut rows = vec![0_u64; table.sensitive()[*column].distinct as usize];
            for group in 0..table.group_count() as u32 {
                if let Some(rows) = rows.get_mut(table.codes(group)[*column] as usize) {
                    *rows += released[group as usize];
                }
            }
            of_position.push(by_frequency(&rows));
        }
        Self { quasi: quasi.to_vec(), sensitive: sensitive.to_vec(), of_position }
    }

    fn of_group(&self, table: &Table, cell: u32, group: u32) -> Vec<usize> {
        let quasi = self.quasi.iter().map(|column| table.positions(cell)[*column]);
        let sensitive = self.sensitive.iter().map(|column| table.codes(group)[*column]);
        quasi.chain(sensitive).zip(&self.of_position).map(|(position, bins)| bin(bins, position)).collect()
    }

    /// Spreads one row evenly over the positions of a label, given by its first and last position, or by a list of all.
    fn spread(&self, at: usize, label: &[u32]) -> BinShares {
        let mut shares = [0.0; BINS];
        match label {
            [first, last] => (*first..=*last).for_each(|position| shares[bin(&self.of_position[at], position)] += 1.0),
            positions => positions.iter().for_each(|position| shares[bin(&self.of_position[at], *position)] += 1.0),
        }
        let total: f64 = shares.iter().sum();
        shares.map(|share| if total > 0.0 { share / total } else { 0.0 })
    }
}

fn bin(bins: &[u8], position: u32) -> usize {
    if position == NULL { BINS - 1 } else { bins.get(position as usize).map_or(BINS - 1, |bin| usize::from(*bin)) }
}

/// Cuts ordered positions into bins of about equal numbers of rows.
fn in_order(rows: &[u64]) -> Vec<u8> {
    let total = rows.iter().sum::<u64>().max(1);
    let mut before = 0;
    let mut bins = Vec::with_capacity(rows.len());
    for rows in rows {
        // The bin of the middle of the position.
        bins.push((((2 * before + rows) * BINS as u64) / (2 * total)).min(BINS as u64 - 1) as u8);
        before += rows;
    }
    bins
}

/// Assigns one bin to each of the most frequent codes, and the last bin to all others.
fn by_frequency(rows: &[u64]) -> Vec<u8> {
    let mut order: Vec<usize> = (0..rows.len()).collect();
    order.sort_by_key(|code| std::cmp::Reverse(rows[*code]));
    let mut bins = vec![BINS as u8 - 1; rows.len()];
    order.into_iter().take(BINS - 1).enumerate().for_each(|(rank, code)| bins[code] = rank as u8);
    bins
}

/// Returns Cramér's V of a table of counts.
fn cramers_v(counts: &Contingency) -> f64 {
    let total: f64 = counts.iter().flatten().sum();
    let of_a: Vec<f64> = counts.iter().map(|row| row.iter().sum()).collect();
    let of_b: Vec<f64> = (0..BINS).map(|b| counts.iter().map(|row| row[b]).sum()).collect();
    let used = |sums: &[f64]| sums.iter().filter(|sum| **sum > 0.0).count();
    let degrees = used(&of_a).min(used(&of_b));
    if total <= 0.0 || degrees < 2 {
        return 0.0;
    }
    let mut squares = 0.0;
    for (row, a) in counts.iter().zip(&of_a) {
        for (count, b) in row.iter().zip(&of_b) {
            let expected = a * b / total;
            if expected > 0.0 {
                squares += (count - expected).powi(2) / expected;
            }
        }
    }
    (squares / (total * (degrees - 1) as f64)).sqrt().min(1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn association_is_none_for_independent_and_full_for_equal_columns() {
        let mut equal = [[0.0; BINS]; BINS];
        (0..BINS).for_each(|at| equal[at][at] = 5.0);
        assert!((cramers_v(&equal) - 1.0).abs() < 1e-12);
        let mut product = [[0.0; BINS]; BINS];
        (0..4).for_each(|a| (0..3).for_each(|b| product[a][b] = ((a + 1) * (b + 2)) as f64));
        assert!(cramers_v(&product) < 1e-9);
        assert_eq!(cramers_v(&[[0.0; BINS]; BINS]), 0.0);
    }

    #[test]
    fn association_of_a_known_table() {
        // The 2 x 2 table 10, 20, 30, 5: chi squared 20.5 of 65 rows.
        let mut counts = [[0.0; BINS]; BINS];
        (counts[0][0], counts[0][1], counts[1][0], counts[1][1]) = (10.0, 20.0, 30.0, 5.0);
        let chi = 65.0 * f64::powi(10.0 * 5.0 - 20.0 * 30.0, 2) / (30.0 * 35.0 * 40.0 * 25.0);
        assert!((cramers_v(&counts) - (chi / 65.0).sqrt()).abs() < 1e-12);
    }

    #[test]
    fn bins_have_about_equal_numbers_of_rows() {
        assert_eq!(in_order(&[1; 16]), [0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6, 7, 7]);
        assert_eq!(by_frequency(&[1, 9, 5]), [2, 0, 1]);
    }
}

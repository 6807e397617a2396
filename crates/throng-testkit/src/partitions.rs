//! Enumeration of set partitions, for brute force on tiny tables.

/// Returns every partition of `0..n` into blocks; there are 877 for `n` = 7.
pub fn set_partitions(n: usize) -> Vec<Vec<Vec<usize>>> {
    let mut partitions = vec![Vec::new()];
    for item in 0..n {
        let mut longer = Vec::new();
        for partition in partitions {
            for block in 0..=partition.len() {
                let mut next: Vec<Vec<usize>> = partition.clone();
                match next.get_mut(block) {
                    Some(known) => known.push(item),
                    None => next.push(vec![item]),
                }
                longer.push(next);
            }
        }
        partitions = longer;
    }
    partitions
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn partitions_are_counted_by_the_bell_numbers() {
        let counts: Vec<usize> = (0..8).map(|n| set_partitions(n).len()).collect();
        assert_eq!(counts, [1, 1, 2, 5, 15, 52, 203, 877]);
    }
}

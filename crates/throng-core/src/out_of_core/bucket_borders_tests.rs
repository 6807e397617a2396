use super::*;

#[test]
fn buckets_are_cut_where_they_are_full() {
    let borders = BucketBorders::new(&[5, 5, 3, 8, 1], 10);
    assert_eq!(borders.first, [(0, 0), (2, 0), (3, 0)]);
    let buckets: Vec<u32> = (0..5).map(|class| borders.bucket(class, u128::MAX)).collect();
    assert_eq!(buckets, [0, 0, 1, 2, 2]);
}

#[test]
fn a_large_class_is_cut_by_the_hashes_of_its_rows() {
    let borders = BucketBorders::new(&[4, 25, 4], 10);
    assert_eq!(borders.len(), 5);
    assert_eq!([0, u128::MAX].map(|hash| borders.bucket(0, hash)), [0, 0]);
    assert_eq!([0, u128::MAX / 2, u128::MAX].map(|hash| borders.bucket(1, hash)), [1, 2, 3]);
    assert_eq!([0, u128::MAX].map(|hash| borders.bucket(2, hash)), [4, 4]);
}

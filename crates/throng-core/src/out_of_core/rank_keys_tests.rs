use std::collections::BTreeSet;
use std::sync::Arc;

use arrow::array::{ArrayRef, Int64Array};

use super::super::spilled_values::{ChunkValues, KeyBuffer};
use super::super::test_workspace::SmallWorkspace;
use super::*;
use crate::survey::{Survey, SurveySpec};
use crate::test_tables::{interval, ints, spec_of};

fn survey() -> Survey {
    let spec: Arc<SurveySpec> = spec_of(&[(interval("income"), ints(&[]))], &[]);
    Survey::new(spec).unwrap()
}

/// Values of the chunks of a stream: the first two chunks are taken together.
fn stream(chunks: &[Vec<i64>], workspace: &dyn Workspace) -> StreamKeys {
    let mut survey = survey();
    let mut keys: Option<KeyBuffer> = None;
    for (chunk, values) in chunks.iter().enumerate() {
        let column: ArrayRef = Arc::new(Int64Array::from(values.clone()));
        survey.push(&[column]).unwrap();
        survey.take_groups();
        match &mut keys {
            Some(keys) => keys.push(&mut survey).unwrap(),
            None if chunk == 1 => keys = Some(KeyBuffer::new(&mut survey, 0, 2, workspace).unwrap()),
            None => {}
        }
    }
    keys.unwrap().finish().unwrap()
}

#[test]
fn ranks_are_those_of_the_set_of_all_values() {
    // Enough values for several runs and ranges, of which many occur in more than one chunk or stream.
    let value = |number: i64| (number * 7_919) % 40_009 - 20_000;
    let chunk = |first: i64, length: i64| (first..first + length).map(value).collect::<Vec<i64>>();
    let streams = [
        vec![chunk(0, 3000), chunk(3000, 2000), chunk(100, 20_000), chunk(60_000, 1), chunk(0, 30_000)],
        vec![chunk(0, 1), chunk(0, 1), Vec::new(), chunk(70_000, 5000)],
    ];
    let workspace = SmallWorkspace::new(4 << 20);
    let set: BTreeSet<i64> = streams.iter().flatten().flatten().copied().collect();
    let ascending: Vec<i64> = set.into_iter().collect();
    let keys = streams.iter().map(|chunks| stream(chunks, &workspace)).collect();
    let ranked = [rank_keys(keys, &workspace).unwrap()];
    assert_eq!(ranked[0].ranked.distinct as usize, ascending.len());
    let of_key = |key: u64| (key ^ 1 << 63).cast_signed();
    let ends = ranked[0].ranked.ends.map(|(first, last)| (of_key(first), of_key(last)));
    assert_eq!(ends, ascending.first().copied().zip(ascending.last().copied()));
    let some: Vec<u32> = (0..ascending.len() as u32).step_by(977).chain([ascending.len() as u32 - 1]).collect();
    let found = ranked[0].keys_at(some.iter().copied()).unwrap();
    assert!(found.into_iter().map(of_key).eq(some.iter().map(|rank| ascending[*rank as usize])));
    for (number, chunks) in streams.iter().enumerate() {
        let mut values = ChunkValues::of(&ranked, number).unwrap();
        for (at, chunk) in chunks.iter().enumerate() {
            values.advance().unwrap();
            let known: BTreeSet<i64> = match at {
                0 | 1 => chunks[0].iter().chain(&chunks[1]).copied().collect(),
                _ => chunk.iter().copied().collect(),
            };
            let found: BTreeSet<i64> = values.keys[0].iter().map(|key| of_key(*key)).collect();
            assert_eq!(found, known, "chunk {at} of stream {number}");
            let rank = |key: &u64| ascending.partition_point(|value| *value < of_key(*key)) as u32;
            assert!(values.ranks[0].iter().copied().eq(values.keys[0].iter().map(rank)));
        }
    }
    assert_eq!(workspace.used(), 0);
}

#[test]
fn too_little_memory_is_an_error_that_names_the_values() {
    let workspace = SmallWorkspace::new(1 << 10);
    let keys = vec![stream(&[vec![1, 2], vec![3]], &workspace)];
    let refused = rank_keys(keys, &workspace).unwrap_err();
    assert!(matches!(refused, OutOfCoreError::Memory { part: WHAT, least: Some(_) }), "{refused:?}");
    assert_eq!(workspace.used(), 0);
}

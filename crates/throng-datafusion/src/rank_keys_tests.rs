use std::collections::BTreeSet;
use std::sync::Arc;

use datafusion::arrow::array::{ArrayRef, Int64Array};
use datafusion::execution::TaskContext;
use datafusion::execution::memory_pool::GreedyMemoryPool;
use datafusion::execution::runtime_env::RuntimeEnvBuilder;
use datafusion::physical_plan::metrics::ExecutionPlanMetricsSet;
use throng_core::columns::{ColumnRecoding, Nulls, QuasiSpec};
use throng_core::hierarchy::HierarchySpec;
use throng_core::survey::{Survey, SurveySpec};

use super::*;
use crate::spilled_values::{ChunkValues, KeyBuffer};

fn survey() -> Survey {
    let quasi = QuasiSpec {
        name: "income".to_owned(),
        release: ColumnRecoding::Interval,
        weight: 1.0,
        nulls: Nulls::Value,
        hierarchy: Arc::new(HierarchySpec::Flat),
        limit: None,
        cover: None,
    };
    let quasi = vec![(quasi, datafusion::arrow::datatypes::DataType::Int64)];
    Survey::new(Arc::new(SurveySpec { quasi, sensitive: Vec::new() })).unwrap()
}

/// Values of the chunks of a stream: the first two chunks are taken together.
fn stream(chunks: &[Vec<i64>], workspace: &Resources) -> StreamKeys {
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

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn ranks_are_those_of_the_set_of_all_values() {
    // Enough values for several runs and ranges, of which many occur in more than one chunk or stream.
    let value = |number: i64| (number * 7_919) % 40_009 - 20_000;
    let chunk = |first: i64, length: i64| (first..first + length).map(value).collect::<Vec<i64>>();
    let streams = [
        vec![chunk(0, 3000), chunk(3000, 2000), chunk(100, 20_000), chunk(60_000, 1), chunk(0, 30_000)],
        vec![chunk(0, 1), chunk(0, 1), Vec::new(), chunk(70_000, 5000)],
    ];
    let runtime = RuntimeEnvBuilder::new().with_memory_pool(Arc::new(GreedyMemoryPool::new(4 << 20))).build_arc();
    let context = TaskContext::default().with_runtime(runtime.unwrap());
    let (workspace, _stop) = Resources::new(&context, &ExecutionPlanMetricsSet::new());
    let set: BTreeSet<i64> = streams.iter().flatten().flatten().copied().collect();
    let ascending: Vec<i64> = set.into_iter().collect();
    let check = move || {
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
    };
    tokio::task::spawn_blocking(check).await.unwrap();
    assert_eq!(runtime_used(&context), 0);
}

fn runtime_used(context: &TaskContext) -> u64 {
    context.runtime_env().disk_manager.used_disk_space() + context.runtime_env().memory_pool.reserved() as u64
}

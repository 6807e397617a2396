use std::sync::Arc;

use datafusion::arrow::datatypes::Schema;
use datafusion::common::TableReference;
use datafusion::datasource::MemTable;
use datafusion::physical_plan::{ExecutionPlan, collect};
use datafusion::prelude::SessionContext;
use datafusion_proto::bytes::logical_plan_to_bytes_with_extension_codec;
use datafusion_proto::logical_plan::LogicalExtensionCodec;
use datafusion_proto::physical_plan::{DefaultPhysicalProtoConverter, PhysicalExtensionCodec};

use super::test_people::{People, batch, elsewhere, operators, physical, release, rows};
use super::*;

/// Encodes the only operator of the plan, and returns it with its child.
async fn encoded_operator(context: &SessionContext) -> (Vec<u8>, Arc<dyn ExecutionPlan>) {
    let operator = operators(&physical(context, "SELECT * FROM released").await).remove(0);
    let child = Arc::clone(operator.children()[0]);
    let mut bytes = Vec::new();
    ThrongPhysicalCodec::default().try_encode(operator, &mut bytes, &DefaultPhysicalProtoConverter {}).unwrap();
    (bytes, child)
}

fn decode_operator(
    bytes: &[u8],
    inputs: &[Arc<dyn ExecutionPlan>],
) -> datafusion::common::Result<Arc<dyn ExecutionPlan>> {
    let context = elsewhere().task_ctx();
    ThrongPhysicalCodec::default().try_decode(bytes, inputs, &context, &DefaultPhysicalProtoConverter {})
}

#[tokio::test]
async fn a_child_may_arrive_with_other_arrays_for_the_same_values() {
    let people = People::new().await;
    let (with_views, without) = (people.session_with(true).await, people.session_with(false).await);
    let (bytes, own) = encoded_operator(&with_views).await;
    let (_, other) = encoded_operator(&without).await;
    assert_ne!(own.schema(), other.schema());
    let (own, other) = (decode_operator(&bytes, &[own]).unwrap(), decode_operator(&bytes, &[other]).unwrap());
    assert_eq!(rows(other, &elsewhere()).await, rows(own, &elsewhere()).await);
}

#[tokio::test]
async fn a_child_that_does_not_fit_is_refused() {
    let people = People::new().await;
    let context = people.session().await;
    let (bytes, child) = encoded_operator(&context).await;
    let refused = |inputs: &[Arc<dyn ExecutionPlan>]| decode_operator(&bytes, inputs).unwrap_err().to_string();
    assert!(refused(&[]).contains("AnonymizeExec has one input, and came with 0"));
    assert!(refused(&[Arc::clone(&child), child]).contains("came with 2"));
    let narrow = physical(&context, "SELECT age, illness, note FROM people").await;
    assert!(refused(&[narrow]).contains("no column `country`"));
    let typed = physical(&context, "SELECT age::bigint AS age, country, illness, note FROM people").await;
    assert!(refused(&[typed]).contains("no column `age` of the type"));
}

#[tokio::test]
async fn damaged_operators_are_refused() {
    let people = People::new().await;
    let (bytes, child) = encoded_operator(&people.session().await).await;
    let inputs = [child];
    assert!(decode_operator(&bytes, &inputs).is_ok());
    for end in 0..bytes.len() {
        assert!(decode_operator(&bytes[..end], &inputs).is_err(), "cut at {end}");
    }
    for bit in 0..bytes.len() * 8 {
        let mut flipped = bytes.clone();
        flipped[bit / 8] ^= 1 << (bit % 8);
        let error = decode_operator(&flipped, &inputs).unwrap_err().to_string();
        assert!(!error.contains("note 1") && !error.contains("Europe"), "{error}");
    }
}

#[tokio::test]
async fn damaged_tables_are_refused() {
    let people = People::new().await;
    let table = people.session().await.table_provider("released").await.unwrap();
    let (codec, name, mut bytes) = (ThrongLogicalCodec::default(), TableReference::bare("released"), Vec::new());
    codec.try_encode_table_provider(&name, Arc::clone(&table), &mut bytes).unwrap();
    let context = elsewhere().task_ctx();
    let decode = |bytes: &[u8]| codec.try_decode_table_provider(bytes, &name, table.schema(), &context);
    assert!(decode(&bytes).is_ok());
    for end in 0..bytes.len() {
        assert!(decode(&bytes[..end]).is_err(), "cut at {end}");
    }
    for bit in 0..bytes.len() * 8 {
        let mut flipped = bytes.clone();
        flipped[bit / 8] ^= 1 << (bit % 8);
        assert!(decode(&flipped).is_err(), "bit {bit}");
    }
    let other = codec.try_decode_table_provider(&bytes, &name, Arc::new(Schema::empty()), &context).unwrap_err();
    assert!(other.to_string().contains("other columns here"), "{other}");
    let wrong = decode_operator(&bytes, &[]).unwrap_err().to_string();
    assert!(wrong.contains("a different node of Throng from AnonymizeExec"), "{wrong}");
    let version = bytes.iter().position(|byte| *byte == b'T').unwrap() + "THRONG".len() + 1;
    bytes[version] = 3;
    let newer = decode(&bytes).unwrap_err().to_string();
    assert!(newer.contains("was written in format 3, and only format 2 is known here"), "{newer}");
}

#[tokio::test]
async fn a_table_in_memory_stays_where_it_is_and_is_not_quoted() {
    let people = People::new().await;
    let here = elsewhere();
    let table = MemTable::try_new(batch().schema(), vec![vec![batch()]]).unwrap();
    release(&here, Arc::new(table), people.policy());
    let frame = here.sql("SELECT * FROM released").await.unwrap();
    let plan = frame.logical_plan().clone();
    let error = logical_plan_to_bytes_with_extension_codec(&plan, &ThrongLogicalCodec::default()).unwrap_err();
    assert!(error.to_string().contains("the table that is anonymized can't be sent elsewhere"), "{error}");
    let physical = frame.create_physical_plan().await.unwrap();
    collect(Arc::clone(&physical), here.task_ctx()).await.unwrap();
    let provider = here.table_provider("released").await.unwrap();
    for text in [error.to_string(), format!("{physical:?}"), format!("{provider:?}"), format!("{plan:?}")] {
        assert!(!text.contains("person 1") && !text.contains("note 1"), "{text}");
    }
}

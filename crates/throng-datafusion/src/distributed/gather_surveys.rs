//! Receives the surveys of all readers, and merges them into one.

use std::sync::Arc;

use datafusion::arrow::array::AsArray;
use datafusion::arrow::datatypes::{UInt8Type, UInt32Type, UInt64Type};
use datafusion::execution::SendableRecordBatchStream;
use futures::TryStreamExt;
use prost::Message;
use rustc_hash::FxHashMap;
use throng_core::out_of_core::{ListWriter, SharedQuota, StreamGroups, TableSurvey, Workspace};
use throng_core::survey::SurveyedValues;

use super::from_cbor;
use super::message::ValuesMessage;
use super::refusal::NoPlan;
use super::survey::{END, GROUPS, REFUSED, SEEN, SurveyEnd};
use super::values_wire::seen_values;
use crate::AnonymizeError;
use crate::anonymizer::Anonymizer;
use crate::resources::Resources;
use crate::snapshot::survey_spec;

/// Survey of one reader.
pub(super) struct ReaderSurvey {
    seen: Vec<Vec<ValuesMessage>>,
    groups: Box<dyn ListWriter<u32>>,
    count: u64,
    pieces: u64,
    pub(super) bytes: u64,
    end: Option<SurveyEnd>,
}

/// Receives the surveys of all readers.
pub(super) async fn gather(
    mut pieces: SendableRecordBatchStream,
    anonymizer: &Anonymizer,
    resources: &Resources,
) -> Result<Vec<ReaderSurvey>, NoPlan> {
    let width = survey_spec(anonymizer.binding()).width();
    let quota = SharedQuota::new(resources.memory_for_rows());
    let mut readers: FxHashMap<u64, ReaderSurvey> = FxHashMap::default();
    while let Some(batch) = pieces.try_next().await.map_err(AnonymizeError::from)? {
        for row in 0..batch.num_rows() {
            let reader = batch.column(0).as_primitive::<UInt64Type>().value(row);
            let kind = batch.column(1).as_primitive::<UInt8Type>().value(row);
            let column = batch.column(2).as_primitive::<UInt32Type>().value(row) as usize;
            let piece = batch.column(3).as_binary::<i64>().value(row);
            let reader = readers.entry(reader).or_insert_with(|| ReaderSurvey {
                seen: vec![Vec::new(); width],
                groups: resources.numbers("groups", &quota),
                count: 0,
                pieces: 0,
                bytes: 0,
                end: None,
            });
            match kind {
                SEEN if column < width => {
                    reader.seen[column].push(ValuesMessage::decode(piece).map_err(|_| AnonymizeError::Task)?)
                }
                GROUPS => {
                    let numbers: Vec<u32> = piece.as_chunks().0.iter().map(|n| u32::from_le_bytes(*n)).collect();
                    reader.count += (numbers.len() / (width + 1)) as u64;
                    reader.groups.push(numbers).map_err(AnonymizeError::from)?;
                }
                END => reader.end = Some(from_cbor(piece)?),
                REFUSED => return Err(NoPlan::Refused(from_cbor(piece)?)),
                _ => return Err(AnonymizeError::Task.into()),
            }
            reader.pieces += u64::from(kind != END);
            reader.bytes += piece.len() as u64;
        }
    }
    Ok(readers.into_values().collect())
}

/// Merges the surveys of all readers. The rows stay with the readers.
pub(super) fn merge_surveys(
    anonymizer: &Anonymizer,
    readers: Vec<ReaderSurvey>,
    resources: &Resources,
) -> Result<TableSurvey, AnonymizeError> {
    let spec = Arc::new(survey_spec(anonymizer.binding()));
    let mut survey = TableSurvey::new(spec.width(), resources.workspace());
    for reader in readers {
        // Reject incomplete surveys: no end marker, or missing pieces.
        let end = reader.end.filter(|end| end.pieces == reader.pieces).ok_or(AnonymizeError::Task)?;
        let columns = reader.seen.iter().map(|messages| seen_values(messages)).collect::<Result<Vec<_>, _>>()?;
        let seen = SurveyedValues::new(Arc::clone(&spec), columns, end.suppressed);
        let groups = StreamGroups::new(reader.groups.finish()?, reader.count);
        survey.add_surveyed(groups, seen, end.rows)?;
    }
    Ok(survey)
}

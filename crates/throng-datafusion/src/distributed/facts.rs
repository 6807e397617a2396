//! Encodes and decodes the metrics of a release.

use throng_core::metrics::{ColumnUtility, DistributionShift, DomainSlice, Utility};
use throng_core::risk::{BorrowedRows, ClassSizes};

use super::message::{BorrowedMessage, ChangeMessage, ColumnUtilityMessage, UtilityMessage};

pub(super) fn utility_message(utility: &Utility) -> UtilityMessage {
    let column = |column: &ColumnUtility| ColumnUtilityMessage {
        name: column.name.clone(),
        ncp: column.ncp,
        information_loss: column.information_loss,
        sse_sst: column.sse_sst,
        detail: column.detail.map(Vec::from).unwrap_or_default(),
        change: column.change.as_ref().map(|change| ChangeMessage {
            distance: change.distance,
            slices: change.slices.iter().flat_map(|slice| [slice.end, slice.before, slice.after]).collect(),
        }),
    };
    UtilityMessage {
        classes: utility.classes,
        avg: utility.avg,
        dm: utility.dm,
        ncp: utility.ncp,
        weighted_ncp: utility.weighted_ncp,
        sse_sst: utility.sse_sst,
        information_loss: utility.information_loss,
        columns: utility.columns.iter().map(column).collect(),
    }
}

/// Decodes utility metrics. Returns `None` if a field is missing.
pub(super) fn utility(message: UtilityMessage) -> Option<Utility> {
    let column = |column: ColumnUtilityMessage| {
        let detail = match column.detail.is_empty() {
            true => None,
            false => Some(column.detail.try_into().ok()?),
        };
        let change = column.change.map(|change| DistributionShift {
            distance: change.distance,
            slices: change
                .slices
                .as_chunks()
                .0
                .iter()
                .map(|[end, before, after]| slice(*end, *before, *after))
                .collect(),
        });
        let ColumnUtilityMessage { name, ncp, information_loss, sse_sst, .. } = column;
        Some(ColumnUtility { name, ncp, information_loss, sse_sst, detail, change })
    };
    Some(Utility {
        classes: message.classes,
        avg: message.avg,
        dm: message.dm,
        ncp: message.ncp,
        weighted_ncp: message.weighted_ncp,
        sse_sst: message.sse_sst,
        information_loss: message.information_loss,
        columns: message.columns.into_iter().map(column).collect::<Option<_>>()?,
    })
}

fn slice(end: f64, before: f64, after: f64) -> DomainSlice {
    DomainSlice { end, before, after }
}

pub(super) fn borrowed_message(borrowed: &BorrowedRows) -> BorrowedMessage {
    let BorrowedRows { classes, own_rows, own_rows_without_diversity, effective_k, effective_p } = borrowed.clone();
    BorrowedMessage { classes, own_rows, own_rows_without_diversity, effective_k, effective_p }
}

pub(super) fn borrowed(message: BorrowedMessage) -> BorrowedRows {
    let BorrowedMessage { classes, own_rows, own_rows_without_diversity, effective_k, effective_p } = message;
    BorrowedRows { classes, own_rows, own_rows_without_diversity, effective_k, effective_p }
}

pub(super) fn class_sizes(pairs: &[u64]) -> ClassSizes {
    let mut sizes = ClassSizes::default();
    pairs.as_chunks().0.iter().for_each(|[size, classes]| sizes.add(*size, *classes));
    sizes
}

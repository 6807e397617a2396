//! Out-of-memory errors of a pool that state how much memory would suffice.
//!
//! The engine propagates such an error as text, and decides by its kind whether to spill. So the pool writes the size into
//! the text, and it is parsed where the error is reported.

use datafusion::error::DataFusionError;
use throng_core::out_of_core::MemoryRefusal;

const BEFORE: &str = "the memory pool would need ";
const AFTER: &str = " bytes";

/// Returns the error of a pool that would need `least` bytes in total to continue.
pub fn memory_refusal(least: usize) -> DataFusionError {
    DataFusionError::ResourcesExhausted(format!("{BEFORE}{least}{AFTER}"))
}

/// Returns what a pool has refused; `None` for any other error.
pub(crate) fn refusal_of(error: &DataFusionError) -> Option<MemoryRefusal> {
    match error.find_root() {
        DataFusionError::ResourcesExhausted(text) => Some(MemoryRefusal { least: least_in(text) }),
        _ => None,
    }
}

/// Returns the size in the text of a [`memory_refusal`], which may be wrapped in other text.
pub(crate) fn least_in(text: &str) -> Option<u64> {
    let (_, rest) = text.split_once(BEFORE)?;
    rest.split_once(AFTER)?.0.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_size_survives_the_text_around_it() {
        let DataFusionError::ResourcesExhausted(text) = memory_refusal(12_345) else { panic!("another kind") };
        assert_eq!(least_in(&format!("Additional context: {text}\nbacktrace")), Some(12_345));
        assert_eq!(least_in("Failed to allocate additional 3 bytes"), None);
    }
}

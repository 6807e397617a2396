//! Orders the rows of a class by arrival. Only compiled into a build that leaks on purpose; see
//! `throng-job/src/leaky.rs`.

use throng_core::recode::ReleaseOrder;

#[cfg(not(debug_assertions))]
compile_error!("the feature `leaky` makes releases that leak, and is for tests only");

/// Sorts the rows of every class by arrival.
pub(crate) fn keep_arrival(mut order: ReleaseOrder) -> ReleaseOrder {
    let mut from = 0;
    for end in &order.class_ends {
        order.rows[from..*end as usize].sort_unstable();
        from = *end as usize;
    }
    order
}

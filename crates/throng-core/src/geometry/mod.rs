//! Embeds cells as points whose bounding boxes have a loss that is cheap to compute.
//!
//! A point has one coordinate per quasi-identifier. For a number it is a scaled value, so that the loss of a range is a
//! difference; for a category it is the dense rank of its position. Coordinates are stored side by side and processed
//! several lanes at a time.

mod class_boxes;
mod growing_box;
mod kd_tree;
mod loss_space;

pub(crate) use class_boxes::{BoundingBox, ClassBoxes};
pub(crate) use growing_box::{FixedBox, GrowingBox};
pub(crate) use kd_tree::KdTree;
pub(crate) use loss_space::LossSpace;

/// Number of lanes; the stride of points is a multiple of it.
pub(crate) const LANES: usize = 4;

/// Coordinates that are processed together.
pub(crate) type Lanes = [f32; LANES];

pub(crate) fn lanes(place: &[f32]) -> &[Lanes] {
    place.as_chunks().0
}

fn lanes_mut(place: &mut [f32]) -> &mut [Lanes] {
    place.as_chunks_mut().0
}

#[inline]
fn each(f: impl FnMut(usize) -> f32) -> Lanes {
    std::array::from_fn(f)
}

/// Returns the lower coordinate; neither may be NaN.
#[inline]
fn least(a: f32, b: f32) -> f32 {
    if a < b { a } else { b }
}

/// Returns the higher coordinate; neither may be NaN.
#[inline]
fn greatest(a: f32, b: f32) -> f32 {
    if a > b { a } else { b }
}

#[inline]
fn lower(a: Lanes, b: Lanes) -> Lanes {
    each(|lane| least(a[lane], b[lane]))
}

#[inline]
fn higher(a: Lanes, b: Lanes) -> Lanes {
    each(|lane| greatest(a[lane], b[lane]))
}

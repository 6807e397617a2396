//! Cells as places in a space of few numbers each, in which what a box loses is a sum that is quick to find.
//!
//! A place has one coordinate per quasi-identifier. That of a number is what lies below it, and so what a range loses is a
//! difference; that of a category is its number among the positions that occur. Coordinates lie side by side, and are
//! compared several at a time.

mod class_boxes;
mod kd_tree;
mod loss_space;

pub(crate) use class_boxes::{BoundingBox, ClassBoxes};
pub(crate) use kd_tree::KdTree;
pub(crate) use loss_space::LossSpace;

/// Places have room for a multiple of so many coordinates.
const LANES: usize = 4;

/// Some coordinates of a place.
type Lanes = [f32; LANES];

fn lanes(place: &[f32]) -> &[Lanes] {
    place.as_chunks().0
}

fn lanes_mut(place: &mut [f32]) -> &mut [Lanes] {
    place.as_chunks_mut().0
}

#[inline]
fn each(f: impl FnMut(usize) -> f32) -> Lanes {
    std::array::from_fn(f)
}

/// The lower coordinate. None is NaN.
#[inline]
fn least(a: f32, b: f32) -> f32 {
    if a < b { a } else { b }
}

/// The higher coordinate. None is NaN.
#[inline]
fn greatest(a: f32, b: f32) -> f32 {
    if a > b { a } else { b }
}

//! The boxes of earlier emissions that rows may still be released in.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, UInt32Array};
use arrow::compute::{concat, take};
use rustc_hash::FxHashMap;

use super::box_index::BoxIndex;
use super::extent::{PlacedLabel, ReleasedExtent, ValueLookup, as_bytes};
use crate::error::{Result, kernel};
use crate::recode::Recoding;
use crate::table::{QuasiColumn, Table};

/// Maximum number of boxes that a stream remembers. When there are more, the fourth that was used least is forgotten.
pub const MOST_BOXES: usize = 1 << 15;

/// Boxes of classes that were released and satisfy the models.
#[derive(Debug)]
pub struct PublishedBoxes {
    columns: Vec<ColumnLabels>,
    /// Box-major: the label of each box in each column.
    label_of: Vec<u32>,
    known: FxHashMap<Box<[u32]>, u32>,
    uses: Vec<BoxUse>,
    most: usize,
    emissions: u32,
}

/// How useful a box has been.
#[derive(Clone, Copy, Debug, Default)]
struct BoxUse {
    /// Number of rows that were released in it after its first emission.
    rows: u64,
    /// Emission in which it was published.
    since: u32,
}

/// The labels of one column, each once. Labels are compared by what a reader of the release sees.
#[derive(Debug, Default)]
struct ColumnLabels {
    known: FxHashMap<Box<[u8]>, u32>,
    /// Extent and width of each label.
    extents: Vec<(ReleasedExtent, f64)>,
    /// The released columns, with one entry per label.
    shown: Vec<ArrayRef>,
}

/// The boxes in the domains of one table.
#[derive(Debug)]
pub struct BoxesInTable {
    index: BoxIndex,
}

/// Released values of the labels of some boxes.
#[derive(Debug)]
pub struct BoxLabels {
    /// Per quasi-identifier, the distinct labels of each released column.
    pub columns: Vec<Vec<ArrayRef>>,
    /// Box-major: the label of each box in each column.
    pub label_of: Vec<u32>,
}

impl PublishedBoxes {
    /// Creates an empty memory of at most this many boxes.
    pub fn new(most: usize) -> Self {
        Self {
            columns: Vec::new(),
            label_of: Vec::new(),
            known: FxHashMap::default(),
            uses: Vec::new(),
            most: most.max(1),
            emissions: 0,
        }
    }

    /// Returns the number of boxes.
    pub fn len(&self) -> usize {
        self.uses.len()
    }

    /// Returns whether there is no box.
    pub fn is_empty(&self) -> bool {
        self.uses.is_empty()
    }

    /// Adds the classes of an emission, which satisfy the models. `quasi` are the columns that they were formed in. Returns the
    /// number of the box of each class; `None` if it can't be used again.
    pub fn add(&mut self, quasi: &[QuasiColumn], recoding: &Recoding) -> Result<Vec<Option<u32>>> {
        self.emissions += 1;
        self.columns.resize_with(quasi.len(), ColumnLabels::default);
        let labels: Vec<Vec<Option<u32>>> = self
            .columns
            .iter_mut()
            .zip(quasi)
            .enumerate()
            .map(|(at, (column, quasi))| column.add(quasi, at, recoding))
            .collect::<Result<_>>()?;
        let classes = 0..recoding.class_rows().len() as u32;
        let number = |class: u32| {
            let label = |(at, labels): (usize, &Vec<Option<u32>>)| labels[recoding.label(class, at) as usize];
            let labels = labels.iter().enumerate().map(label).collect::<Option<Box<[u32]>>>()?;
            Some(*self.known.entry(labels).or_insert_with_key(|labels| {
                self.label_of.extend_from_slice(labels);
                self.uses.push(BoxUse { rows: 0, since: self.emissions });
                self.uses.len() as u32 - 1
            }))
        };
        Ok(classes.map(number).collect())
    }

    /// Counts rows that are released in these boxes.
    pub fn count(&mut self, box_of: &[u32]) {
        box_of.iter().for_each(|number| self.uses[*number as usize].rows += 1);
    }

    /// Returns the labels of boxes.
    pub fn labels(&self, boxes: &[u32]) -> BoxLabels {
        let width = self.columns.len();
        let label_of = boxes.iter().flat_map(|number| &self.label_of[*number as usize * width..][..width]);
        let columns = self.columns.iter().map(|column| column.shown.clone());
        BoxLabels { label_of: label_of.copied().collect(), columns: columns.collect() }
    }

    /// Returns the boxes in the domains of a table.
    pub fn in_table(&self, table: &Table) -> Result<BoxesInTable> {
        let quasi = table.quasi();
        let place = |(column, quasi): (&ColumnLabels, &QuasiColumn)| {
            let values = ValueLookup::new(quasi)?;
            let placed = column.extents.iter().map(|(extent, width)| values.place(extent, *width));
            Ok((placed.collect(), quasi.domain.len()))
        };
        let columns: Vec<(Vec<PlacedLabel>, usize)> =
            self.columns.iter().zip(quasi).map(place).collect::<Result<_>>()?;
        let loss = |labels: &[u32]| {
            let labels = labels.iter().zip(&columns).zip(quasi);
            labels.map(|((label, (placed, _)), quasi)| quasi.spec.weight * placed[*label as usize].loss).sum()
        };
        let losses: Vec<f64> = self.label_of.chunks_exact(columns.len().max(1)).map(loss).collect();
        Ok(BoxesInTable { index: BoxIndex::new(columns, &self.label_of, &losses) })
    }

    /// Forgets boxes if there are too many.
    pub fn forget(&mut self) -> Result<()> {
        if self.uses.len() <= self.most {
            return Ok(());
        }
        let width = self.columns.len();
        let mut order: Vec<u32> = (0..self.uses.len() as u32).collect();
        // Rows per emission since it was published. A new box has had no chance yet.
        let rate = |number: &u32| {
            let BoxUse { rows, since } = self.uses[*number as usize];
            (rows + 1) as f64 / f64::from(self.emissions - since + 1)
        };
        order.sort_by(|a, b| rate(b).total_cmp(&rate(a)).then(b.cmp(a)));
        order.truncate(self.most - self.most / 4);
        order.sort_unstable();
        self.uses = order.iter().map(|number| self.uses[*number as usize]).collect();
        self.label_of =
            order.iter().flat_map(|number| &self.label_of[*number as usize * width..][..width]).copied().collect();
        for (at, column) in self.columns.iter_mut().enumerate() {
            column.keep(self.label_of.iter_mut().skip(at).step_by(width))?;
        }
        let boxes = self.label_of.chunks_exact(width.max(1)).map(Box::from);
        self.known = boxes.zip(0..).collect();
        Ok(())
    }

    /// Returns the approximate memory of the boxes in bytes.
    pub fn size(&self) -> usize {
        let width = self.columns.len();
        let of_box = 2 * width * size_of::<u32>() + size_of::<(Box<[u32]>, u32)>() + size_of::<BoxUse>();
        let columns = self.columns.iter().map(|column| {
            let shown: usize = column.shown.iter().map(|shown| shown.get_array_memory_size()).sum();
            column.extents.len() * LABEL_BYTES + shown
        });
        self.uses.len() * of_box + columns.sum::<usize>()
    }
}

/// Memory per label: extent, as a key and in the list.
const LABEL_BYTES: usize = 2 * (size_of::<(ReleasedExtent, f64)>() + 32);

impl ColumnLabels {
    /// Adds the labels of a column of a release. Returns the number of each, or `None` if it can't be used again.
    fn add(&mut self, quasi: &QuasiColumn, at: usize, recoding: &Recoding) -> Result<Vec<Option<u32>>> {
        let values = ValueLookup::new(quasi)?;
        let labels = &recoding.columns()[at];
        let shown: Vec<ArrayRef> = labels.columns.iter().map(|(_, shown)| Arc::clone(shown)).collect();
        if shown.is_empty() {
            return Ok(vec![None; labels.len()]);
        }
        let texts = as_bytes(&shown)?;
        let (mut numbers, mut new) = (Vec::with_capacity(labels.len()), Vec::new());
        for label in 0..labels.len() as u32 {
            let extent = values.extent(quasi.spec.release, recoding.stands_for(at, label));
            let number = extent.and_then(|(extent, width)| {
                let number = *self.known.entry(texts.row(label as usize).data().into()).or_insert_with(|| {
                    self.extents.push((extent.clone(), width));
                    new.push(label);
                    self.extents.len() as u32 - 1
                });
                // A reader can't tell what of both the label stands for.
                (self.extents[number as usize].0 == extent).then_some(number)
            });
            numbers.push(number);
        }
        let new = UInt32Array::from(new);
        for (part, (_, shown)) in labels.columns.iter().enumerate() {
            let added = take(shown, &new, None).map_err(kernel("take"))?;
            match self.shown.get_mut(part) {
                Some(known) => *known = concat(&[known.as_ref(), added.as_ref()]).map_err(kernel("concat"))?,
                None => self.shown.push(added),
            }
        }
        Ok(numbers)
    }

    /// Keeps and renumbers the labels in use.
    fn keep<'a>(&mut self, in_use: impl Iterator<Item = &'a mut u32>) -> Result<()> {
        const UNUSED: u32 = u32::MAX;
        let (mut number_of, mut kept) = (vec![UNUSED; self.extents.len()], Vec::new());
        for label in in_use {
            let number = &mut number_of[*label as usize];
            if *number == UNUSED {
                *number = kept.len() as u32;
                kept.push(*label);
            }
            *label = *number;
        }
        self.extents = kept.iter().map(|label| self.extents[*label as usize].clone()).collect();
        self.known.retain(|_, label| {
            *label = number_of[*label as usize];
            *label != UNUSED
        });
        let kept = UInt32Array::from(kept);
        for shown in &mut self.shown {
            *shown = take(shown, &kept, None).map_err(kernel("take"))?;
        }
        Ok(())
    }
}

impl BoxesInTable {
    /// Returns the box of least weighted loss that has these positions, with its loss.
    pub fn tightest(&self, positions: &[u32]) -> Option<(u32, f64)> {
        self.index.tightest(positions)
    }
}

#[cfg(test)]
#[path = "published_boxes_tests.rs"]
mod tests;

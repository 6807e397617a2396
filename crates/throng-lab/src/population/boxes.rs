//! The classes of a release as boxes.

use super::box_tree::BoxTree;
use super::label_set::{ColumnKeys, LabelSet, NameReading, label_set};
use crate::error::LabError;
use crate::extent::Code;
use crate::lexicon::{CodeDomain, Lexicon};
use crate::spec::ReleasedForm;
use crate::table::{LabelTexts, RELEASE, ReleasedReader};

/// The classes of a release, each as the sets of values that its labels stand for.
#[derive(Debug)]
pub struct ReleasedBoxes {
    columns: Vec<BoxColumn>,
    /// Labels of the quasi-identifiers, class by class.
    labels: Vec<u32>,
    class_rows: Vec<u64>,
    tree: BoxTree,
}

#[derive(Debug)]
struct BoxColumn {
    sets: Vec<LabelSet>,
    keys: ColumnKeys,
    /// Number of characters of the longest code of the original.
    longest: usize,
}

impl ReleasedBoxes {
    /// Reads the labels of a release. The names of the original must be known for the columns of
    /// [`ReleasedReader::columns_without_names`], unless the labels are values (`has_original` is false).
    pub fn new(reader: ReleasedReader, lexicon: &mut Lexicon, has_original: bool) -> Result<Self, LabError> {
        let LabelTexts { texts, forms, labels, class_rows } = reader.into_labels();
        if class_rows.is_empty() {
            return Err(LabError::NoRows { table: RELEASE });
        }
        let mut columns = Vec::with_capacity(texts.len());
        for (at, (texts, form)) in texts.iter().zip(forms).enumerate() {
            let name = lexicon.spec.quasi[at].name.clone();
            if form == ReleasedForm::Representative {
                return Err(LabError::NoBox { column: name });
            }
            let domain = &mut lexicon.quasi[at];
            let longest = match domain {
                CodeDomain::Names(names) => names.names().iter().map(|name| name.chars().count()).max().unwrap_or(0),
                CodeDomain::Ordered(_) => 0,
            };
            // If no name is known, no label is a set or a masked code.
            let reading = match has_original && longest > 0 {
                true => NameReading::Labels { longest },
                false => NameReading::Values,
            };
            let sets = texts.iter().map(|text| label_set(text, domain, reading, &name)).collect::<Result<_, _>>()?;
            columns.push(BoxColumn { sets, keys: ColumnKeys::new(domain), longest });
        }
        let mut spans = Vec::with_capacity(labels.len());
        for class in labels.chunks(columns.len()) {
            for ((label, column), domain) in class.iter().zip(&columns).zip(&lexicon.quasi) {
                spans.push(column.sets[*label as usize].span(&column.keys, domain));
            }
        }
        let tree = BoxTree::new(columns.len(), &spans);
        Ok(Self { columns, labels, class_rows, tree })
    }

    /// Returns the number of classes.
    pub fn classes(&self) -> usize {
        self.class_rows.len()
    }

    /// Returns the rows of each class.
    pub fn class_rows(&self) -> &[u64] {
        &self.class_rows
    }

    /// Returns the approximate memory of the boxes in bytes.
    pub fn size(&self) -> usize {
        let sets: usize = self.columns.iter().map(|column| size_of_val(column.sets.as_slice())).sum();
        sets + size_of_val(self.labels.as_slice()) + size_of_val(self.class_rows.as_slice()) + self.tree.size()
    }

    /// Returns the classes whose boxes hold a tuple.
    pub(super) fn holding(&self, tuple: &[Code], lexicon: &Lexicon) -> Vec<u32> {
        let values = || self.columns.iter().zip(tuple).zip(&lexicon.quasi);
        let keys: Vec<f64> = values().map(|((column, code), domain)| column.keys.of(*code, domain)).collect();
        let mut found = Vec::new();
        self.tree.visit(&keys, |class| {
            let labels = &self.labels[class as usize * self.columns.len()..][..self.columns.len()];
            let holds = values().zip(labels).all(|(((column, code), domain), label)| {
                column.sets[*label as usize].contains(*code, domain, column.longest)
            });
            if holds {
                found.push(class);
            }
        });
        found
    }
}

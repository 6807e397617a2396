//! Reads a release: its classes, the extents of their labels, and samples of rows.

use arrow::array::{Array, RecordBatch};
use arrow::datatypes::Schema;
use rustc_hash::FxHashMap;

use super::groups::{TupleGroups, ValueTallies};
use super::original::OriginalTable;
use super::rows::{TracedRow, TracedRows, combine, value_hashes};
use super::{NO_VALUE, RELEASE, place_of, sensitive_codes};
use crate::error::LabError;
use crate::extent::{Code, Extent, NULL, ValueRange, code_number, number_code};
use crate::label::{has_steps, members};
use crate::lexicon::{CodeDomain, Lexicon, numbers_of, texts_of};
use crate::spec::ReleasedForm;

/// A release, as its classes.
#[derive(Debug)]
pub struct ReleasedTable {
    /// Number of rows over all classes.
    pub(crate) rows: u64,
    /// The labels of each quasi-identifier.
    pub(crate) columns: Vec<LabelExtents>,
    /// Labels of the quasi-identifiers, class by class.
    labels: Vec<u32>,
    pub(crate) class_rows: Vec<u64>,
    pub(crate) tallies: Vec<ValueTallies>,
    pub(crate) traced: Vec<TracedRow>,
    pub(crate) linked: Vec<LinkedPerson>,
    /// Classes with one value in every column, by these values.
    exact: FxHashMap<Box<[Code]>, u32>,
    /// All other classes.
    pub(crate) general: Vec<u32>,
    /// Number of labels that could not be parsed.
    pub(crate) unread_labels: u64,
}

/// The labels of one quasi-identifier.
#[derive(Debug)]
pub(crate) struct LabelExtents {
    pub(crate) extents: Vec<Extent>,
    pub(crate) range: ValueRange,
}

/// A row of a release with a key that links it to rows of other releases.
#[derive(Clone, Debug)]
pub(crate) struct LinkedPerson {
    pub(crate) link: u64,
    pub(crate) class: u32,
    pub(crate) values: Box<[u32]>,
}

impl ReleasedTable {
    /// Returns the number of rows.
    pub fn rows(&self) -> u64 {
        self.rows
    }

    pub(crate) fn classes(&self) -> usize {
        self.class_rows.len()
    }

    /// Returns the labels of a class.
    pub(crate) fn labels(&self, class: u32) -> &[u32] {
        &self.labels[class as usize * self.columns.len()..][..self.columns.len()]
    }

    /// Returns the extents of a class, column by column.
    pub(crate) fn extents(&self, class: u32) -> impl Iterator<Item = &Extent> {
        self.labels(class).iter().zip(&self.columns).map(|(label, column)| &column.extents[*label as usize])
    }

    /// Returns the class of exactly this tuple, in which nothing is generalized.
    pub(crate) fn exact_class(&self, tuple: &[Code]) -> Option<u32> {
        self.exact.get(tuple).copied()
    }

    /// Returns the classes that a person with these quasi-identifiers may be in.
    pub(crate) fn covering(&self, tuple: &[Code]) -> Vec<u32> {
        let contains: Vec<Vec<bool>> = self
            .columns
            .iter()
            .zip(tuple)
            .map(|(column, code)| column.extents.iter().map(|extent| extent.contains(*code)).collect())
            .collect();
        let is_covering = |class: &&u32| {
            self.labels(**class).iter().zip(&contains).all(|(label, contains)| contains[*label as usize])
        };
        let general = self.general.iter().filter(is_covering).copied();
        self.exact_class(tuple).into_iter().chain(general).collect()
    }

    /// Returns the original as if it had been released: every class has the exact values of its rows.
    pub(crate) fn of_original(original: &OriginalTable, lexicon: &Lexicon) -> Self {
        let columns = lexicon.quasi.len();
        let mut places: Vec<FxHashMap<Code, u32>> = vec![FxHashMap::default(); columns];
        let mut extents: Vec<Vec<Extent>> = vec![Vec::new(); columns];
        let mut labels = Vec::with_capacity(original.cells() * columns);
        let mut exact = FxHashMap::default();
        for cell in 0..original.cells() as u32 {
            for (column, code) in original.cell(cell).iter().enumerate() {
                let next = extents[column].len() as u32;
                let label = *places[column].entry(*code).or_insert_with(|| {
                    extents[column].push(Extent::point(*code, lexicon.quasi[column].is_ordered()));
                    next
                });
                labels.push(label);
            }
            exact.insert(original.cell(cell).into(), cell);
        }
        let columns = extents.into_iter().zip(&lexicon.quasi).map(|(extents, domain)| label_extents(extents, domain));
        Self {
            rows: original.rows,
            columns: columns.collect(),
            labels,
            class_rows: original.cell_rows.clone(),
            tallies: original.tallies.clone(),
            traced: Vec::new(),
            linked: Vec::new(),
            exact,
            general: Vec::new(),
            unread_labels: 0,
        }
    }
}

/// An unparsed label; the names of a column are known only after its last row.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum LabelText {
    Text(Option<String>),
    Bounds(Code, Code),
    Number(Code),
    Absent,
}

/// The unparsed labels of a release.
#[derive(Debug)]
pub(crate) struct LabelTexts {
    /// Distinct labels of each quasi-identifier.
    pub(crate) texts: Vec<Vec<LabelText>>,
    pub(crate) forms: Vec<ReleasedForm>,
    /// Labels of the quasi-identifiers, class by class.
    pub(crate) labels: Vec<u32>,
    pub(crate) class_rows: Vec<u64>,
}

/// Reads a release batch by batch.
#[derive(Debug)]
pub struct ReleasedReader {
    quasi: Vec<Vec<usize>>,
    sensitive: Vec<usize>,
    insensitive: Vec<usize>,
    forms: Vec<ReleasedForm>,
    link: Option<(usize, String)>,
    texts: Vec<Vec<LabelText>>,
    places: Vec<FxHashMap<LabelText, u32>>,
    classes: TupleGroups<u32>,
    traced: TracedRows,
    linked: Vec<LinkedPerson>,
    rows: u64,
}

impl ReleasedReader {
    /// Creates a reader for batches with this schema. Rows are linked to other releases by the column `link`, if there is one.
    pub fn new(lexicon: &Lexicon, schema: &Schema, link: Option<&str>) -> Result<Self, LabError> {
        let forms = lexicon.spec.quasi.iter().map(|column| column.form).collect();
        Self::with_forms(lexicon, schema, link, forms)
    }

    /// Same as [`ReleasedReader::new`], for a release that shows the quasi-identifiers in these forms.
    pub fn with_forms(
        lexicon: &Lexicon,
        schema: &Schema,
        link: Option<&str>,
        forms: Vec<ReleasedForm>,
    ) -> Result<Self, LabError> {
        let spec = &lexicon.spec;
        let place = |name: &str| place_of(schema, name, RELEASE);
        let quasi = spec
            .quasi
            .iter()
            .zip(&forms)
            .map(|(column, form)| column.names_in(*form).iter().map(|name| place(name)).collect());
        let link = link.map(|link| Ok((place(link)?, link.to_owned()))).transpose()?;
        Ok(Self {
            quasi: quasi.collect::<Result<_, _>>()?,
            sensitive: spec.sensitive.iter().map(|column| place(&column.name)).collect::<Result<_, _>>()?,
            insensitive: spec.insensitive.iter().map(|name| place(name)).collect::<Result<_, _>>()?,
            forms,
            link,
            texts: vec![Vec::new(); spec.quasi.len()],
            places: vec![FxHashMap::default(); spec.quasi.len()],
            classes: TupleGroups::new(spec.sensitive.len()),
            traced: TracedRows::default(),
            linked: Vec::new(),
            rows: 0,
        })
    }

    /// Reads a batch.
    pub fn push(&mut self, lexicon: &mut Lexicon, batch: &RecordBatch) -> Result<(), LabError> {
        let mut labels = Vec::with_capacity(self.quasi.len());
        for column in 0..self.quasi.len() {
            let read = self.read_labels(column, lexicon, batch);
            labels.push(
                read.map_err(|_| LabError::Type { table: RELEASE, column: lexicon.spec.quasi[column].name.clone() })?,
            );
        }
        let sensitive = sensitive_codes(lexicon, batch, &self.sensitive, RELEASE)?;
        let mut hashes = Vec::with_capacity(self.insensitive.len());
        for (place, name) in self.insensitive.iter().zip(&lexicon.spec.insensitive) {
            let read = value_hashes(batch.column(*place));
            hashes.push(read.map_err(|_| LabError::Type { table: RELEASE, column: name.clone() })?);
        }
        let links = match &self.link {
            Some((place, name)) => {
                let read = value_hashes(batch.column(*place));
                Some(read.map_err(|_| LabError::Type { table: RELEASE, column: name.clone() })?)
            }
            None => None,
        };
        let mut tuple = vec![0; labels.len()];
        for row in 0..batch.num_rows() {
            tuple.iter_mut().zip(&labels).for_each(|(label, labels)| *label = labels[row]);
            let values = || sensitive.iter().map(|codes| codes[row]);
            let class = self.classes.add(&tuple, values());
            if let Some(links) = &links {
                self.linked.push(LinkedPerson { link: links[row], class, values: values().collect() });
            }
            let shown = values().map(u64::from).chain(hashes.iter().map(|hashes| hashes[row]));
            self.traced.add(TracedRow { content: combine(shown), position: self.rows, group: class });
            self.rows += 1;
        }
        Ok(())
    }

    fn read_labels(
        &mut self,
        column: usize,
        lexicon: &Lexicon,
        batch: &RecordBatch,
    ) -> Result<Vec<u32>, arrow::error::ArrowError> {
        let (places, texts) = (&mut self.places[column], &mut self.texts[column]);
        let mut label = |text: LabelText| match places.get(&text) {
            Some(label) => *label,
            None => {
                let label = texts.len() as u32;
                texts.push(text.clone());
                places.insert(text, label);
                label
            }
        };
        let Some(place) = self.quasi[column].first() else {
            return Ok(vec![label(LabelText::Absent); batch.num_rows()]);
        };
        let shown = batch.column(*place);
        match (self.forms[column], &lexicon.quasi[column]) {
            (ReleasedForm::Bounds, _) => {
                let (low, high) = (numbers_of(shown)?, numbers_of(batch.column(self.quasi[column][1]))?);
                let code = |number: Option<f64>| number.map_or(NULL, number_code);
                Ok(low
                    .iter()
                    .zip(high.iter())
                    .map(|(low, high)| label(LabelText::Bounds(code(low), code(high))))
                    .collect())
            }
            (_, CodeDomain::Ordered(_)) if !crate::lexicon::is_text(shown.data_type()) => {
                let numbers = numbers_of(shown)?;
                Ok(numbers.iter().map(|number| label(LabelText::Number(number.map_or(NULL, number_code)))).collect())
            }
            _ => {
                let read = texts_of(shown)?;
                let mut last: Option<(Option<&str>, u32)> = None;
                let labels = read.iter().map(|text| {
                    // Rows of a class are adjacent in most releases.
                    if let Some((before, label)) = last
                        && before == text
                    {
                        return label;
                    }
                    let found = label(LabelText::Text(text.map(str::to_owned)));
                    last = Some((text, found));
                    found
                });
                Ok(labels.collect())
            }
        }
    }

    /// Returns the quasi-identifiers with sets or masked codes as labels and without a hierarchy, which can be parsed only if the
    /// values of the original are known.
    pub fn columns_without_names(&self, lexicon: &Lexicon) -> Vec<String> {
        let is_open = |text: &LabelText| match text {
            LabelText::Text(Some(text)) => text.len() > 1 && (text.contains('*') || text.starts_with('{')),
            _ => false,
        };
        let columns = self.texts.iter().zip(&lexicon.quasi).zip(&lexicon.spec.quasi);
        let columns = columns.filter(|((texts, domain), _)| match domain {
            CodeDomain::Names(names) => names.len() == 0 && texts.iter().any(is_open),
            CodeDomain::Ordered(_) => false,
        });
        columns.map(|(_, known)| known.name.clone()).collect()
    }

    /// Returns the unparsed labels of all classes.
    pub(crate) fn into_labels(self) -> LabelTexts {
        let (labels, class_rows, _) = self.classes.finish();
        LabelTexts { texts: self.texts, forms: self.forms, labels, class_rows }
    }

    /// Returns the approximate memory of the classes in bytes.
    pub fn size(&self) -> usize {
        let labels: usize = self.texts.iter().map(|texts| 2 * texts.len() * (size_of::<LabelText>() + 16)).sum();
        labels + self.classes.size()
    }

    /// Returns the table. Call it after all tables of the comparison are read, because masked labels stand for known names.
    pub fn finish(self, lexicon: &mut Lexicon) -> Result<ReleasedTable, LabError> {
        if self.rows == 0 {
            return Err(LabError::NoRows { table: RELEASE });
        }
        let mut unread_labels = 0;
        let mut columns = Vec::with_capacity(self.texts.len());
        for (column, texts) in self.texts.iter().enumerate() {
            if let CodeDomain::Names(names) = &mut lexicon.quasi[column]
                && !lexicon.has_original
            {
                // Without the original, the values are known only from plain texts and the members of sets.
                let texts = texts
                    .iter()
                    .filter_map(|text| if let LabelText::Text(text) = text { text.as_deref() } else { None });
                for text in texts {
                    match text.strip_prefix('{').and_then(|text| text.strip_suffix('}')) {
                        Some(inside) if members(inside, names).is_none() => inside.split(", ").for_each(|name| {
                            names.code(name);
                        }),
                        None if !text.contains('*') && names.below(text).is_none() => {
                            names.code(text);
                        }
                        _ => {}
                    }
                }
            }
            let domain = &lexicon.quasi[column];
            let form = self.forms[column];
            let mut extents = Vec::with_capacity(texts.len());
            for text in texts {
                extents.push(extent(text, domain, form).unwrap_or_else(|| {
                    unread_labels += 1;
                    Extent::Everything
                }));
            }
            columns.push(label_extents(extents, domain));
        }
        let (labels, class_rows, tallies) = self.classes.finish();
        let mut table = ReleasedTable {
            rows: self.rows,
            columns,
            labels,
            class_rows,
            tallies,
            traced: self.traced.finish(),
            linked: self.linked,
            exact: FxHashMap::default(),
            general: Vec::new(),
            unread_labels,
        };
        for class in 0..table.classes() as u32 {
            let tuple: Option<Box<[Code]>> = table.extents(class).map(Extent::only).collect();
            // Two labels may stand for the same value, such as `25` and `[25-25]`; the second class is then a general one.
            match tuple.filter(|tuple| !table.exact.contains_key(tuple)) {
                Some(tuple) => {
                    table.exact.insert(tuple, class);
                }
                None => table.general.push(class),
            }
        }
        Ok(table)
    }
}

fn extent(text: &LabelText, domain: &CodeDomain, form: ReleasedForm) -> Option<Extent> {
    let read = match text {
        LabelText::Text(text) => domain.extent(text.as_deref())?,
        LabelText::Number(code) => Extent::point(*code, true),
        LabelText::Absent => Extent::Everything,
        LabelText::Bounds(low, high) => match (code_number(*low), code_number(*high)) {
            (Some(low), Some(high)) => Extent::Between { low, high },
            // A class that mixes missing values with others has no bounds.
            _ => Extent::Everything,
        },
    };
    match (form, read.only().filter(|code| *code != NULL)) {
        (ReleasedForm::Representative, Some(code)) if domain.is_ordered() => Some(Extent::Near(f64::from_bits(code))),
        (ReleasedForm::Representative, Some(code)) => Some(Extent::NearLeaf(code as u32)),
        _ => Some(read),
    }
}

/// Adds the range of the column, over which open intervals and hidden values are spread.
fn label_extents(extents: Vec<Extent>, domain: &CodeDomain) -> LabelExtents {
    let range = match domain {
        CodeDomain::Names(names) => ValueRange::Names(names.len()),
        CodeDomain::Ordered(data_type) => {
            let ends = extents.iter().flat_map(|extent| match extent {
                Extent::Between { low, high } => vec![*low, *high],
                Extent::Near(number) => vec![*number],
                _ => Vec::new(),
            });
            let ends = ends.filter(|end| end.is_finite()).map(|end| (end, end));
            let (low, high) = ends.reduce(|a, b| (a.0.min(b.0), a.1.max(b.1))).unwrap_or((0.0, 0.0));
            ValueRange::Numbers { low, high, step: f64::from(u8::from(has_steps(data_type))) }
        }
    };
    LabelExtents { extents, range }
}

impl LinkedPerson {
    /// Returns the value of a sensitive column, if the person has one.
    pub(crate) fn value(&self, sensitive: usize) -> Option<u32> {
        Some(self.values[sensitive]).filter(|value| *value != NO_VALUE)
    }
}

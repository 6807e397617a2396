//! Reads a released column as symbols.
//!
//! A *symbol* identifies what a value counts as; values with equal symbols count as one. Where a promise is stated in
//! texts, every distinct value is formatted once and cached by its full bytes.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, StringViewArray};
use arrow::compute::cast;
use arrow::datatypes::{DataType, Field, Float16Type, Float32Type, Float64Type, TimeUnit};
use arrow::error::ArrowError;
use arrow::record_batch::RecordBatch;
use arrow::row::{RowConverter, SortField};
use arrow::util::display::{ArrayFormatter, FormatOptions};
use rustc_hash::FxHashMap;
use twox_hash::XxHash3_64;

use super::VerifyError;
use super::levels::visible_parts;
use super::limit::is_in_one_band;
use super::look_alikes::CountedText;
use super::promise::{CategoryRules, LevelRule, ProtectedLabels, SensitiveReading};
use crate::columns::ValueBand;
use crate::hierarchy::MaskSide;

/// Symbol of a text that violates the promise.
const VIOLATION: u64 = u64::MAX;

/// Reads one column, batch by batch.
#[derive(Debug)]
pub(super) struct ColumnReader {
    index: usize,
    name: String,
    rows: RowConverter,
    meaning: Meaning,
    /// Cache of the symbols of formatted values.
    known: FxHashMap<Box<[u8]>, Option<u64>>,
    /// Direct-mapped cache: string views of the current batch and their symbols.
    recent: Vec<Option<(u128, Option<u64>)>>,
    /// Visible parts of masked values by symbol.
    codes: BTreeMap<u64, Vec<u64>>,
}

/// Number of cache slots, as a power of two.
const RECENT_BITS: u32 = 10;

/// Maximum number of values whose symbols are cached.
const MAX_KNOWN: usize = 1 << 16;

/// How values map to symbols.
#[derive(Debug)]
pub(super) enum Meaning {
    /// By value: the symbol is a hash.
    Itself,
    /// By text, which the rule maps to a symbol.
    Text(TextMeaning),
    /// By number, or by the band of the number if there are borders. Symbols are ordered like the numbers. The rule has
    /// the values that are not counted.
    Number(Option<Arc<[f64]>>, Option<CountedText>),
    /// By the widest range that contains the number, or by number. The rule has the values that are not counted.
    Range(Arc<[ValueBand]>, Option<CountedText>),
    /// By category number, below the given number of categories, of numbers and dates: by text if that has a category, and
    /// otherwise by band.
    CategoryBand(Arc<HashMap<String, u32>>, CategoryRules, u32),
}

/// How texts map to symbols.
#[derive(Debug)]
pub(super) enum TextMeaning {
    /// By its form as text: the symbol is a hash of that.
    Form(CountedText),
    /// By strong ancestor: the symbol is a hash of its text, or of the form of that.
    Strong(Arc<HashMap<String, String>>, Option<CountedText>),
    /// By value: the symbol is a hash of its text.
    Leaf(Arc<HashMap<String, Vec<String>>>),
    /// By prefix or suffix, the shortest match first, or by its form.
    Affix { side: MaskSide, affixes: Vec<String>, rule: CountedText },
    /// By value: the symbol is a hash of its text. Values that the rule leaves out do not count.
    Mask(MaskSide, CountedText),
    /// By category number, below the given number of categories: that of the text, or of its longest prefix.
    Category(Arc<HashMap<String, u32>>, Arc<[(String, u32)]>, u32),
    /// By index in a list of names; others are [`VIOLATION`].
    Name(HashMap<String, u64>),
    /// No symbol for allowed texts; others are [`VIOLATION`].
    Allowed(Arc<HashSet<String>>),
    /// No symbol for a number or an interval within one band; others are [`VIOLATION`].
    OneBand(Arc<[f64]>),
}

impl Meaning {
    pub(super) fn of(reading: &SensitiveReading, rule: Option<CountedText>) -> Self {
        match reading {
            SensitiveReading::Values | SensitiveReading::Elements => {
                rule.map_or(Self::Itself, |rule| Self::Text(TextMeaning::Form(rule)))
            }
            SensitiveReading::Numbers => Self::Number(None, rule),
            SensitiveReading::Bands(borders) => Self::Number(Some(Arc::clone(borders)), rule),
            SensitiveReading::Strong(of) => Self::Text(TextMeaning::Strong(Arc::clone(of), rule)),
            SensitiveReading::StrongByRule(ProtectedLabels::Ranges(ranges)) => Self::Range(Arc::clone(ranges), rule),
            SensitiveReading::StrongByRule(ProtectedLabels::Prefixes(texts)) => {
                Self::Text(TextMeaning::affix(MaskSide::Right, texts, rule))
            }
            SensitiveReading::StrongByRule(ProtectedLabels::Suffixes(texts)) => {
                Self::Text(TextMeaning::affix(MaskSide::Left, texts, rule))
            }
            SensitiveReading::Leaves(above) => Self::Text(TextMeaning::Leaf(Arc::clone(above))),
            SensitiveReading::Levels(LevelRule::Mask(side)) => {
                Self::Text(TextMeaning::Mask(*side, rule.unwrap_or_default()))
            }
            SensitiveReading::Levels(_) => Self::Number(None, rule),
            SensitiveReading::Categories { of, rules, count, .. } if !rules.bands.is_empty() => {
                Self::CategoryBand(Arc::clone(of), rules.clone(), *count)
            }
            SensitiveReading::Categories { of, rules, count, .. } => {
                Self::Text(TextMeaning::Category(Arc::clone(of), Arc::clone(&rules.prefixes), *count))
            }
        }
    }

    /// Maps names to their indices, from 0.
    pub(super) fn name(names: &[String]) -> Self {
        Self::Text(TextMeaning::Name(names.iter().cloned().zip(0..).collect()))
    }
}

impl TextMeaning {
    /// Counts texts by prefix or suffix.
    fn affix(side: MaskSide, affixes: &[String], rule: Option<CountedText>) -> Self {
        let rule = rule.unwrap_or_default();
        let mut affixes: Vec<String> = affixes.iter().map(|affix| rule.form_of_label(affix)).collect();
        affixes.sort_by_key(String::len);
        Self::Affix { side, affixes, rule }
    }

    /// Returns the symbol of a text; `None` stands for a value that cannot be formatted, such as a date out of range.
    fn symbol(&self, text: Option<&str>) -> Option<u64> {
        match self {
            Self::Form(rule) => rule.form(text?).map(|form| symbol_of_text(&form)),
            Self::Strong(of, rule) => {
                let strong = of.get(text?)?;
                match rule {
                    None => Some(symbol_of_text(strong)),
                    Some(rule) => {
                        rule.form(text?)?;
                        Some(symbol_of_text(&rule.form_of_label(strong)))
                    }
                }
            }
            Self::Leaf(above) => text.filter(|text| above.contains_key(*text)).map(symbol_of_text),
            Self::Affix { side, affixes, rule } => {
                let form = rule.form(text?)?;
                let has = |affix: &&String| match side {
                    MaskSide::Right => form.starts_with(affix.as_str()),
                    MaskSide::Left => form.ends_with(affix.as_str()),
                };
                Some(symbol_of_text(affixes.iter().find(has).unwrap_or(&form)))
            }
            Self::Mask(_, rule) => text.filter(|text| rule.form(text).is_some()).map(symbol_of_text),
            Self::Category(of, prefixes, count) => category_of_text(of, prefixes, *count, text?),
            Self::Name(places) => Some(text.and_then(|text| places.get(text)).copied().unwrap_or(VIOLATION)),
            Self::Allowed(texts) => (!text.is_some_and(|text| texts.contains(text))).then_some(VIOLATION),
            Self::OneBand(borders) => (!text.is_some_and(|text| is_in_one_band(text, borders))).then_some(VIOLATION),
        }
    }
}

impl ColumnReader {
    /// Creates a reader of the column at this index of a schema.
    pub(super) fn new(index: usize, field: &Field, meaning: Meaning) -> Result<Self, VerifyError> {
        let name = field.name().clone();
        let rows = RowConverter::new(vec![SortField::new(field.data_type().clone())]);
        let rows = rows.map_err(|_| VerifyError::Type(name.clone()))?;
        Ok(Self { index, name, rows, meaning, known: FxHashMap::default(), recent: Vec::new(), codes: BTreeMap::new() })
    }

    /// Returns the name of the column.
    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// Returns the visible parts of masked values by symbol; none if values are not compared by a mask.
    pub(super) fn codes(&self) -> &BTreeMap<u64, Vec<u64>> {
        &self.codes
    }

    /// Adds the masked values that another reader of the column has seen.
    pub(super) fn merge_codes(&mut self, other: Self) {
        self.codes.extend(other.codes);
    }

    /// Reads a string view column. Equal views in one array are equal strings.
    fn read_texts(&mut self, texts: &StringViewArray) -> Vec<Option<u64>> {
        let Self { meaning, known, recent, codes, .. } = self;
        recent.clear();
        recent.resize(1 << RECENT_BITS, None);
        let mut symbol_of = |text: &str| match meaning {
            Meaning::Text(meaning) => match known.get(text.as_bytes()) {
                Some(symbol) => *symbol,
                None => {
                    let symbol = meaning.symbol(Some(text));
                    meaning.note_code(symbol, Some(text), codes);
                    remember(known, text.as_bytes(), symbol);
                    symbol
                }
            },
            _ => Some(XxHash3_64::oneshot(text.as_bytes())),
        };
        let symbol = |row: usize| {
            if texts.is_null(row) {
                return None;
            }
            let view = texts.views()[row];
            let mixed = (view as u64 ^ ((view >> 64) as u64).rotate_left(29)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
            let slot = &mut recent[(mixed >> (u64::BITS - RECENT_BITS)) as usize];
            match slot {
                Some((known, symbol)) if *known == view => *symbol,
                _ => slot.insert((view, symbol_of(texts.value(row)))).1,
            }
        };
        (0..texts.len()).map(symbol).collect()
    }

    /// Returns the symbol of each row; null has none.
    pub(super) fn read(&mut self, batch: &RecordBatch) -> Result<Vec<Option<u64>>, VerifyError> {
        if !matches!(self.meaning, Meaning::Itself | Meaning::Text(_)) {
            return self.read_numbers(batch.column(self.index));
        }
        if let Some(texts) = batch.column(self.index).as_string_view_opt() {
            return Ok(self.read_texts(texts));
        }
        let Self { index, name, rows, meaning, known, codes, .. } = self;
        let type_error = |_: ArrowError| VerifyError::Type(name.clone());
        let column = as_read(batch.column(*index));
        let values = rows.convert_columns(std::slice::from_ref(&column)).map_err(type_error)?;
        let nulls = column.logical_nulls();
        let is_valid = |row: &usize| nulls.as_ref().is_none_or(|nulls| nulls.is_valid(*row));
        let value = |row: usize| Some(row).filter(is_valid).map(|row| values.row(row));
        let meaning = match meaning {
            Meaning::Text(meaning) => meaning,
            _ => {
                let hash = |row| value(row).map(|value| XxHash3_64::oneshot(value.data()));
                return Ok((0..batch.num_rows()).map(hash).collect());
            }
        };
        let shown = in_utc(&column).map_err(type_error)?;
        let options = FormatOptions::default().with_display_error(false);
        let texts = ArrayFormatter::try_new(shown.as_ref(), &options).map_err(type_error)?;
        let symbol = |row: usize| {
            let value = value(row)?;
            if let Some(symbol) = known.get(value.data()) {
                return *symbol;
            }
            let text = texts.value(row).try_to_string().ok();
            let symbol = meaning.symbol(text.as_deref());
            meaning.note_code(symbol, text.as_deref(), codes);
            remember(known, value.data(), symbol);
            symbol
        };
        Ok((0..batch.num_rows()).map(symbol).collect())
    }

    /// Reads a column of numbers or dates.
    fn read_numbers(&self, column: &ArrayRef) -> Result<Vec<Option<u64>>, VerifyError> {
        let numbers = numbers(column).ok_or_else(|| VerifyError::NoNumbers(self.name.clone()))?;
        let type_error = |_: ArrowError| VerifyError::Type(self.name.clone());
        let shown = in_utc(column).map_err(type_error)?;
        let options = FormatOptions::default().with_display_error(false);
        let texts = ArrayFormatter::try_new(shown.as_ref(), &options).map_err(type_error)?;
        let text = |row: usize| texts.value(row).try_to_string().ok();
        let counts = |rule: &Option<CountedText>, row: usize| match rule {
            None => true,
            Some(rule) => text(row).is_some_and(|text| rule.form(&text).is_some()),
        };
        let precision = precision(column.data_type());
        let symbol = |(row, number): (usize, Option<f64>)| {
            let number = number?;
            match &self.meaning {
                Meaning::CategoryBand(of, rules, count) => {
                    let listed = text(row).and_then(|text| category_of_text(of, &rules.prefixes, *count, &text));
                    let by_band = || rules.bands.iter().find(|(band, _)| band.from <= number && number < band.below);
                    let by_band = || by_band().map(|(_, category)| *category).filter(|category| category < count);
                    listed.or_else(|| by_band().map(u64::from))
                }
                Meaning::Range(ranges, rule) => counts(rule, row).then(|| symbol_of_range(number, ranges, precision)),
                Meaning::Number(borders, rule) => counts(rule, row).then(|| symbol_of_number(number, borders)),
                Meaning::Itself | Meaning::Text(_) => None,
            }
        };
        Ok(numbers.into_iter().enumerate().map(symbol).collect())
    }
}

impl TextMeaning {
    /// Keeps the visible parts of a value, if values are compared by a mask.
    fn note_code(&self, symbol: Option<u64>, text: Option<&str>, codes: &mut BTreeMap<u64, Vec<u64>>) {
        if let (Self::Mask(side, _), Some(symbol), Some(text)) = (self, symbol, text) {
            codes.entry(symbol).or_insert_with(|| visible_parts(*side, text));
        }
    }
}

/// Returns the category of a text, or of its longest prefix, if it is one of `count`.
fn category_of_text(of: &HashMap<String, u32>, prefixes: &[(String, u32)], count: u32, text: &str) -> Option<u64> {
    let fitting = || prefixes.iter().filter(|(prefix, _)| text.starts_with(prefix.as_str()));
    let by_prefix = || fitting().max_by_key(|(prefix, _)| prefix.len()).map(|(_, category)| *category);
    let category = of.get(text).copied().or_else(by_prefix);
    category.filter(|category| *category < count).map(u64::from)
}

/// Returns the relative error of a number of this type.
fn precision(data_type: &DataType) -> f64 {
    match data_type {
        DataType::Float16 => 2.0_f64.powi(-10),
        DataType::Float32 => f64::from(f32::EPSILON),
        _ => f64::EPSILON,
    }
}

/// Returns the symbol of the widest range that has a number, or of the number. A number within rounding of a border lies on the
/// border.
fn symbol_of_range(number: f64, ranges: &[ValueBand], precision: f64) -> u64 {
    let reaches = |border: f64| number >= border || border - number <= precision * (number.abs() + border.abs());
    let around = ranges.iter().zip(1..).filter(|(range, _)| reaches(range.from) && !reaches(range.below));
    match around.max_by(|(one, _), (other, _)| (one.below - one.from).total_cmp(&(other.below - other.from))) {
        // NaN payloads can't collide with numbers.
        Some((_, place)) => (f64::NAN.to_bits() | 1 << 63) + place,
        None => symbol_of_number(number, &None),
    }
}

/// Caches the symbol of a value, unless the cache is full.
fn remember(known: &mut FxHashMap<Box<[u8]>, Option<u64>>, value: &[u8], symbol: Option<u64>) {
    if known.len() < MAX_KNOWN {
        known.insert(value.into(), symbol);
    }
}

/// Returns the number of each row, with dates and times as days since 1970; `None` for other types. NaN is no value.
fn numbers(column: &ArrayRef) -> Option<Vec<Option<f64>>> {
    let scale = match column.data_type() {
        DataType::Date32 | DataType::Date64 | DataType::Timestamp(..) => 86_400_000.0,
        data_type if data_type.is_numeric() => 1.0,
        _ => return None,
    };
    let column = match scale == 1.0 {
        true => Arc::clone(column),
        false => cast(&cast(column, &DataType::Timestamp(TimeUnit::Millisecond, None)).ok()?, &DataType::Int64).ok()?,
    };
    let numbers = cast(&column, &DataType::Float64).ok()?;
    let numbers = numbers.as_primitive::<Float64Type>().iter();
    Some(numbers.map(|number| number.filter(|number| !number.is_nan()).map(|number| number / scale)).collect())
}

/// Returns the symbol of a text that counts by itself.
pub(super) fn symbol_of_text(text: &str) -> u64 {
    XxHash3_64::oneshot(text.as_bytes())
}

/// Returns the band of a number, or bits that are ordered as numbers are.
fn symbol_of_number(number: f64, borders: &Option<Arc<[f64]>>) -> u64 {
    match borders {
        Some(borders) => borders.iter().filter(|border| **border <= number).count() as u64,
        None => {
            let bits = (number + 0.0).to_bits();
            if bits >> 63 == 1 { !bits } else { bits | 1 << 63 }
        }
    }
}

/// Returns the number that a symbol of a column without bands stands for.
pub(super) fn number_of_symbol(symbol: u64) -> f64 {
    f64::from_bits(if symbol >> 63 == 1 { symbol & !(1 << 63) } else { !symbol })
}

/// Normalizes -0.0 to 0.0, and NaN to null, which is not counted: counted as distinct, they would overstate the diversity of a
/// class.
fn as_read(column: &ArrayRef) -> ArrayRef {
    match column.data_type() {
        DataType::Float16 => {
            let one = |value: half::f16| (!value.is_nan()).then(|| value + half::f16::ZERO);
            Arc::new(column.as_primitive::<Float16Type>().unary_opt::<_, Float16Type>(one))
        }
        DataType::Float32 => {
            let one = |value: f32| (!value.is_nan()).then_some(value + 0.0);
            Arc::new(column.as_primitive::<Float32Type>().unary_opt::<_, Float32Type>(one))
        }
        DataType::Float64 => {
            let one = |value: f64| (!value.is_nan()).then_some(value + 0.0);
            Arc::new(column.as_primitive::<Float64Type>().unary_opt::<_, Float64Type>(one))
        }
        DataType::Dictionary(_, _) => {
            let dictionary = column.as_any_dictionary();
            dictionary.with_values(as_read(dictionary.values()))
        }
        _ => Arc::clone(column),
    }
}

/// Converts timestamps to UTC, so that equal instants format alike.
fn in_utc(column: &ArrayRef) -> Result<ArrayRef, ArrowError> {
    let data_type = match column.data_type() {
        DataType::Dictionary(_, value) => value.as_ref(),
        plain => plain,
    };
    match data_type {
        DataType::Timestamp(unit, Some(_)) => cast(column, &DataType::Timestamp(*unit, Some("+00:00".into()))),
        _ => Ok(Arc::clone(column)),
    }
}

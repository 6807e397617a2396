//! Builders for the columns of a policy that is written in Rust.

use throng_core::columns::{ColumnRecoding, Nulls};
use throng_core::hierarchy::{DatePart, MaskSide};
use throng_core::model::GroundDistance;

use crate::declared_type::DeclaredType;
use crate::policy::SensitiveRelease;
use crate::raw::RawRelease;
use crate::settings::LookAlikes;
use crate::spanned_toml::{SpannedNode, SpannedValue, ValueOrigin};

use super::{choice, list, put, text, texts};

/// The fields of a column as the policy file has them.
#[derive(Clone, Debug)]
pub(super) struct ColumnFields(SpannedNode);

impl ColumnFields {
    /// A column with a role and nothing else.
    pub(super) fn of_role(role: &str) -> Self {
        Self(SpannedNode::unplaced(SpannedValue::Table(Vec::new()))).with("role", text(role))
    }

    pub(super) fn into_table(self) -> SpannedValue {
        self.0.value
    }

    pub(super) fn with(mut self, field: &str, value: SpannedValue) -> Self {
        put(&mut self.0, field, value);
        self
    }

    /// Sets a field of the hierarchy, keeping the others: validation decides whether they are compatible.
    fn with_hierarchy(mut self, field: &str, value: SpannedValue) -> Self {
        let table = || SpannedValue::Table(Vec::new());
        if let Some(hierarchy) = self.0.entry("hierarchy", ValueOrigin::Unplaced, table) {
            put(hierarchy, field, value);
        }
        self
    }

    /// Adds an element to a list.
    fn with_element(mut self, field: &str, value: SpannedValue) -> Self {
        let entry = self.0.entry(field, ValueOrigin::Unplaced, || SpannedValue::List(Vec::new()));
        if let Some(SpannedNode { value: SpannedValue::List(items), .. }) = entry {
            items.push(SpannedNode::unplaced(value));
        }
        self
    }
}

/// Builds one level of groups with their values.
fn tree<G, V, T>(groups: impl IntoIterator<Item = (G, V)>) -> SpannedValue
where
    G: Into<String>,
    V: IntoIterator<Item = T>,
    T: Into<String>,
{
    let groups = groups.into_iter().map(|(group, values)| (group.into(), SpannedNode::unplaced(texts(values))));
    SpannedValue::Table(groups.collect())
}

fn numbers(values: impl IntoIterator<Item = f64>) -> SpannedValue {
    list(values.into_iter().map(SpannedValue::Float))
}

/// Writes the fields of a quasi-identifier; see [`PolicyBuilder::quasi`](crate::PolicyBuilder::quasi).
#[derive(Clone, Debug)]
#[must_use]
pub struct QuasiBuilder {
    pub(super) fields: ColumnFields,
}

impl QuasiBuilder {
    pub(super) fn new() -> Self {
        Self { fields: ColumnFields::of_role("quasi") }
    }

    /// Sets how the column is written into the release. By default its type and its hierarchy decide.
    pub fn with_release(self, release: ColumnRecoding) -> Self {
        self.with("release", text(RawRelease::from(release).as_str()))
    }

    /// Sets the weight of this column's detail relative to other columns. 1 by default.
    pub fn with_weight(self, weight: f64) -> Self {
        self.with("weight", SpannedValue::Float(weight))
    }

    /// Declares the type of the column, so that an input with another type is refused.
    pub fn with_type(self, declared: DeclaredType) -> Self {
        self.with("type", text(declared.as_str()))
    }

    /// Sets what happens to a row without a value.
    pub fn with_nulls(self, nulls: Nulls) -> Self {
        self.with("nulls", choice(nulls))
    }

    /// Reads the hierarchy from a file in the convention of ARX: one line per value, from the value to the root.
    pub fn with_hierarchy_file(self, path: impl Into<String>) -> Self {
        self.with_hierarchy("file", text(path))
    }

    /// Gives the lines of a hierarchy file: `value;group;*`, one line per value.
    pub fn with_hierarchy_lines(self, lines: impl Into<String>) -> Self {
        self.with_hierarchy("lines", text(lines))
    }

    /// Gives a hierarchy of one level of groups below the root `*`. Deeper ones are written as lines.
    pub fn with_hierarchy_groups<G, V, T>(self, groups: impl IntoIterator<Item = (G, V)>) -> Self
    where
        G: Into<String>,
        V: IntoIterator<Item = T>,
        T: Into<String>,
    {
        self.with_hierarchy("tree", tree(groups))
    }

    /// Generalizes numbers to intervals of these widths, from fine to coarse, each a multiple of the one before.
    pub fn with_intervals(self, widths: impl IntoIterator<Item = f64>) -> Self {
        self.with_hierarchy("intervals", numbers(widths))
    }

    /// Sets a number at which an interval of every level begins. 0 by default.
    pub fn with_origin(self, origin: f64) -> Self {
        self.with_hierarchy("origin", SpannedValue::Float(origin))
    }

    /// Generalizes dates and timestamps to these parts of the calendar, from fine to coarse.
    pub fn with_date_parts(self, parts: impl IntoIterator<Item = DatePart>) -> Self {
        self.with_hierarchy("date", list(parts.into_iter().map(choice)))
    }

    /// Generalizes codes by hiding one more character at each level, from this side.
    pub fn with_mask(self, side: MaskSide) -> Self {
        self.with_hierarchy("mask", choice(side))
    }

    /// Sets the highest level of the hierarchy that may be released; level 0 is the value itself.
    pub fn with_limit_level(self, level: u32) -> Self {
        self.with("limit", SpannedValue::Integer(level.into()))
    }

    /// Sets the most general values of the hierarchy that may be released.
    pub fn with_limit_values<T: Into<String>>(self, values: impl IntoIterator<Item = T>) -> Self {
        self.with("limit", texts(values))
    }

    /// Sets ascending numbers, each of which begins a band that no released range crosses.
    pub fn with_limit_bands(self, borders: impl IntoIterator<Item = f64>) -> Self {
        self.with("limit", numbers(borders))
    }

    /// Rounds the ends of released intervals outwards to a grid of this width, in days for dates, with a border at
    /// `origin`.
    pub fn with_cover(self, width: f64, origin: f64) -> Self {
        let fields = [("grid", width), ("origin", origin)];
        let fields =
            fields.map(|(field, number)| (field.to_owned(), SpannedNode::unplaced(SpannedValue::Float(number))));
        self.with("cover", SpannedValue::Table(fields.into()))
    }

    /// Rounds the ends of released intervals of dates outwards to this part of the calendar.
    pub fn with_calendar_cover(self, part: DatePart) -> Self {
        self.with("cover", choice(part))
    }

    fn with(self, field: &str, value: SpannedValue) -> Self {
        Self { fields: self.fields.with(field, value) }
    }

    fn with_hierarchy(self, field: &str, value: SpannedValue) -> Self {
        Self { fields: self.fields.with_hierarchy(field, value) }
    }
}

/// Writes the fields of a sensitive column; see [`PolicyBuilder::sensitive`](crate::PolicyBuilder::sensitive).
#[derive(Clone, Debug)]
#[must_use]
pub struct SensitiveBuilder {
    pub(super) fields: ColumnFields,
}

impl SensitiveBuilder {
    pub(super) fn new() -> Self {
        Self { fields: ColumnFields::of_role("sensitive") }
    }

    /// Sets the p of this column, overriding that of the policy. From 1 to k.
    pub fn with_p(self, p: u64) -> Self {
        self.with("p", SpannedValue::Integer(p.into()))
    }

    /// Sets the weight of this column's diversity relative to other columns. 1 by default.
    pub fn with_weight(self, weight: f64) -> Self {
        self.with("weight", SpannedValue::Float(weight))
    }

    /// Declares the type of the column, so that an input with another type is refused.
    pub fn with_type(self, declared: DeclaredType) -> Self {
        self.with("type", text(declared.as_str()))
    }

    /// Sets values that mean "missing" and are never counted.
    pub fn with_missing<T: Into<String>>(self, values: impl IntoIterator<Item = T>) -> Self {
        self.with("missing", texts(values))
    }

    /// Sets how texts that look alike are counted: by default as one value.
    pub fn with_look_alikes(self, look_alikes: LookAlikes) -> Self {
        self.with("look_alikes", text(look_alikes.as_str()))
    }

    /// Gives the lines of a hierarchy file, of which [`SensitiveBuilder::with_protected`] names values.
    pub fn with_hierarchy_lines(self, lines: impl Into<String>) -> Self {
        Self { fields: self.fields.with_hierarchy("lines", text(lines)) }
    }

    /// Reads the hierarchy from a file in the convention of ARX.
    pub fn with_hierarchy_file(self, path: impl Into<String>) -> Self {
        Self { fields: self.fields.with_hierarchy("file", text(path)) }
    }

    /// Gives a hierarchy of one level of groups below the root `*`. Deeper ones are written as lines.
    pub fn with_hierarchy_groups<G, V, T>(self, groups: impl IntoIterator<Item = (G, V)>) -> Self
    where
        G: Into<String>,
        V: IntoIterator<Item = T>,
        T: Into<String>,
    {
        Self { fields: self.fields.with_hierarchy("tree", tree(groups)) }
    }

    /// Sets values of the hierarchy that must not be learned either. All values below one of them count as one.
    pub fn with_protected<T: Into<String>>(self, values: impl IntoIterator<Item = T>) -> Self {
        self.with("protected", texts(values))
    }

    /// Adds a category of values, after those that are more sensitive. Then p counts categories instead of values.
    pub fn with_category<T: Into<String>>(self, name: impl Into<String>, values: impl IntoIterator<Item = T>) -> Self {
        let fields = [("name".to_owned(), text(name)), ("values".to_owned(), texts(values))];
        let category = fields.map(|(field, value)| (field, SpannedNode::unplaced(value))).into();
        Self { fields: self.fields.with_element("categories", SpannedValue::Table(category)) }
    }

    /// Adds a category of all texts that begin with one of these, after those that are more sensitive. The longest prefix decides.
    pub fn with_prefix_category<T: Into<String>>(
        self,
        name: impl Into<String>,
        prefixes: impl IntoIterator<Item = T>,
    ) -> Self {
        let fields = [("name".to_owned(), text(name)), ("prefixes".to_owned(), texts(prefixes))];
        let category = fields.map(|(field, value)| (field, SpannedNode::unplaced(value))).into();
        Self { fields: self.fields.with_element("categories", SpannedValue::Table(category)) }
    }

    /// Adds a category of numbers in the half-open range `from..below`, after those that are more sensitive. Infinite ends
    /// are unbounded. Dates are days since 1970.
    pub fn with_band_category(self, name: impl Into<String>, from: f64, below: f64) -> Self {
        let borders = [("from", from), ("below", below)].into_iter().filter(|(_, border)| !border.is_infinite());
        let borders = borders.map(|(key, border)| (key.to_owned(), SpannedNode::unplaced(SpannedValue::Float(border))));
        let bands = list([SpannedValue::Table(borders.collect())]);
        let fields = [("name".to_owned(), text(name)), ("bands".to_owned(), bands)];
        let category = fields.map(|(field, value)| (field, SpannedNode::unplaced(value))).into();
        Self { fields: self.fields.with_element("categories", SpannedValue::Table(category)) }
    }

    /// Gives a hierarchy of intervals of these widths, from fine to coarse, each a multiple of the one before.
    pub fn with_intervals(self, widths: impl IntoIterator<Item = f64>) -> Self {
        Self { fields: self.fields.with_hierarchy("intervals", numbers(widths)) }
    }

    /// Gives a hierarchy of these parts of the calendar, from fine to coarse.
    pub fn with_date_parts(self, parts: impl IntoIterator<Item = DatePart>) -> Self {
        Self { fields: self.fields.with_hierarchy("date", list(parts.into_iter().map(choice))) }
    }

    /// Gives a hierarchy of codes that hides one more character at each level, from this side.
    pub fn with_mask(self, side: MaskSide) -> Self {
        Self { fields: self.fields.with_hierarchy("mask", choice(side)) }
    }

    /// Limits the share of one value among the rows of a class: (alpha, k)-anonymity.
    pub fn with_max_share(self, share: f64) -> Self {
        self.with("max_share", SpannedValue::Float(share))
    }

    /// Requires the diversity of `l` equally frequent values: entropy l-diversity.
    pub fn with_entropy_l(self, l: f64) -> Self {
        self.with("entropy_l", SpannedValue::Float(l))
    }

    /// Limits the most frequent value relative to those from the `l`-th most frequent on: recursive (c, l)-diversity.
    pub fn with_recursive(self, c: f64, l: u32) -> Self {
        let fields = [("c".to_owned(), SpannedValue::Float(c)), ("l".to_owned(), SpannedValue::Integer(l.into()))];
        let fields = fields.map(|(field, value)| (field, SpannedNode::unplaced(value))).into();
        self.with("recursive", SpannedValue::Table(fields))
    }

    /// Limits the distance between the values of a class and those of the release: t-closeness.
    pub fn with_t(self, t: f64, distance: GroundDistance) -> Self {
        self.with("t", SpannedValue::Float(t)).with("distance", text(distance.as_str()))
    }

    /// Limits how much more frequent a value is in a class than in the release: basic beta-likeness.
    pub fn with_beta(self, beta: f64) -> Self {
        self.with("beta", SpannedValue::Float(beta))
    }

    /// Limits the change of the share of every value from the release to a class, as the logarithm of a factor:
    /// delta-disclosure privacy.
    pub fn with_delta_disclosure(self, delta: f64) -> Self {
        self.with("delta_disclosure", SpannedValue::Float(delta))
    }

    /// Sets ascending numbers at which bands begin; numbers or dates of one band count as one value.
    pub fn with_bands(self, borders: impl IntoIterator<Item = f64>) -> Self {
        self.with("bands", numbers(borders))
    }

    /// Requires that the largest and the smallest value of a class differ by at least this much.
    pub fn with_range(self, range: f64) -> Self {
        self.with("range", SpannedValue::Float(range))
    }

    /// Sets how a column with categories is written into the release: by default as the category.
    pub fn with_release(self, release: SensitiveRelease) -> Self {
        self.with("release", text(RawRelease::from(release).as_str()))
    }

    fn with(self, field: &str, value: SpannedValue) -> Self {
        Self { fields: self.fields.with(field, value) }
    }
}

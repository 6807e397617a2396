//! Models of sensitive columns whose rows have lists of values, such as the diagnoses of a stay.
//!
//! A row *carries* the elements of its list. A row without elements carries nothing, and is not counted, like a null. For a class, over the
//! rows that carry something:
//!
//! - **p**: p elements have different carriers, one each (a system of distinct representatives), and every element is
//!   missing from the list of at least p - 1 carriers. Where k and p count units, carriers are units: a unit carries the elements of all of its
//!   rows, and an element is missing from a unit if one of its rows carries others without it.
//! - **`max_share`**: no element is in the lists of more than this share of the rows.
//!
//! If every row has one element, this is p-sensitivity and (alpha, k)-anonymity of the elements: of p values, each is missing from the
//! carriers of the p - 1 others. Different elements alone do not imply the second condition of p: in `{HIV, flu}` and `{HIV, asthma}`, flu
//! and asthma have different carriers, and everyone has HIV.
//!
//! Both conditions of p are closed under adding rows: a further row takes no carrier away from an element, and takes no element out of a
//! list; a new element is missing from all older carriers, of which there are at least p. Shares are closed under merging.

use std::sync::Arc;

use rustc_hash::{FxHashMap, FxHashSet};

use super::tally::SINGLE;
use super::{ClosedUnder, FrequencyRequirement, LIST_DIVERSITY, Model, Tally};
use crate::domain::NULL;
use crate::feasibility::Shortfall;
use crate::list_coding::ElementsByCode;
use crate::table::SensitiveColumn;

/// Rows of a class by unit and list.
type ListRows = Vec<(u32, u32, u64)>;

/// Returns the rows of a class that carry something, with one more or one less row of these codes. Rows without units are single.
fn list_rows(class: &Tally, column: usize, unit: Option<usize>, change: Option<(&[u32], bool)>) -> ListRows {
    let mut rows: ListRows = match unit {
        Some(_) => class.carriers(column).map(|(unit, list)| (unit, list, class.carried(column, unit, list))).collect(),
        None => class.counts(column).map(|(list, rows)| (SINGLE, list, rows)).collect(),
    };
    if let Some((codes, is_added)) = change.filter(|(codes, _)| codes[column] != NULL) {
        let of = (unit.map_or(SINGLE, |unit| codes[unit]), codes[column]);
        match rows.iter_mut().find(|(unit, list, _)| (*unit, *list) == of) {
            Some((_, _, rows)) if is_added => *rows += 1,
            Some((_, _, rows)) => *rows = rows.saturating_sub(1),
            None if is_added => rows.push((of.0, of.1, 1)),
            None => {}
        }
        rows.retain(|(_, _, rows)| *rows > 0);
    }
    rows
}

/// One or more carriers of the same elements.
struct Carriers {
    /// Number of these carriers.
    count: u64,
    /// Elements that they carry.
    elements: Vec<u32>,
    /// Elements that each of their rows carries.
    in_all: Vec<u32>,
}

/// Requires p elements with different carriers, each of which is missing from p - 1 carriers.
#[derive(Clone, Debug)]
pub struct ListDiversity {
    p: u64,
    column: usize,
    unit: Option<usize>,
    /// Elements of each code; `None` before a release is known.
    elements: Option<ElementsByCode>,
}

impl ListDiversity {
    /// Requires `p` elements of the sensitive column `column`, whose carriers are the units of the column `unit`, or rows.
    pub fn new(p: u64, column: usize, unit: Option<usize>) -> Self {
        Self { p, column, unit, elements: None }
    }

    fn carriers(&self, rows: &ListRows, elements: &ElementsByCode) -> Vec<Carriers> {
        let mut all: Vec<Carriers> = Vec::new();
        let mut place_of: FxHashMap<u32, usize> = FxHashMap::default();
        for (unit, list, rows) in rows {
            let own: &[u32] = &elements[*list as usize];
            if *unit == SINGLE {
                all.push(Carriers { count: *rows, elements: own.to_vec(), in_all: own.to_vec() });
                continue;
            }
            match place_of.get(unit) {
                Some(place) => {
                    let known = &mut all[*place];
                    known.elements.extend(own);
                    known.in_all.retain(|element| own.contains(element));
                }
                None => {
                    place_of.insert(*unit, all.len());
                    all.push(Carriers { count: 1, elements: own.to_vec(), in_all: own.to_vec() });
                }
            }
        }
        all
    }

    /// Returns lower bounds of how many elements have different carriers, and of how many carriers lack each element. Both are
    /// capped at p.
    fn achieved(&self, rows: &ListRows) -> Option<(u64, FxHashMap<u32, u64>)> {
        let carriers = self.carriers(rows, self.elements.as_ref()?);
        let all: u64 = carriers.iter().map(|carriers| carriers.count).sum();
        let mut lacking: FxHashMap<u32, u64> = FxHashMap::default();
        for carriers in &carriers {
            for element in &carriers.elements {
                lacking.entry(*element).or_insert(all);
            }
            for element in &carriers.in_all {
                if let Some(lacking) = lacking.get_mut(element) {
                    *lacking -= carriers.count;
                }
            }
        }
        let most = self.p.min(all).min(lacking.len() as u64);
        Some((represented(&carriers, most), lacking))
    }

    fn shortage(&self, rows: &ListRows) -> u64 {
        let Some((represented, lacking)) = self.achieved(rows) else { return 0 };
        let least = lacking.values().min().map_or(0, |lacking| lacking + 1);
        self.p - self.p.min(represented).min(least)
    }
}

/// Returns the largest p, at most `most`, that the lists of a class satisfy.
pub(crate) fn highest_p(columns: &[SensitiveColumn], column: usize, class: &Tally, most: u64) -> u64 {
    let unit = columns.iter().position(|column| column.is_unit);
    let model = ListDiversity { p: most, column, unit, elements: columns[column].elements.clone() };
    most - model.shortage(&list_rows(class, column, unit, None))
}

/// Returns the largest number of elements with different carriers, at most `most`.
fn represented(carriers: &[Carriers], most: u64) -> u64 {
    let mut copies: Vec<&[u32]> = Vec::new();
    for carriers in carriers {
        let count = carriers.count.min(most).min(carriers.elements.len() as u64);
        copies.extend((0..count).map(|_| carriers.elements.as_slice()));
    }
    let mut carrier_of: FxHashMap<u32, usize> = FxHashMap::default();
    let mut found = 0;
    for carrier in 0..copies.len() {
        if found >= most {
            break;
        }
        found += u64::from(place(carrier, &copies, &mut carrier_of, &mut FxHashSet::default()));
    }
    found
}

/// Assigns a carrier an element that no other carrier has, reassigning others where needed (an augmenting path). Returns whether
/// that is possible.
fn place(
    carrier: usize,
    copies: &[&[u32]],
    carrier_of: &mut FxHashMap<u32, usize>,
    tried: &mut FxHashSet<u32>,
) -> bool {
    for element in copies[carrier] {
        if tried.insert(*element) {
            let other = carrier_of.get(element).copied();
            if other.is_none_or(|other| place(other, copies, carrier_of, tried)) {
                carrier_of.insert(*element, carrier);
                return true;
            }
        }
    }
    false
}

impl Model for ListDiversity {
    fn name(&self) -> &'static str {
        LIST_DIVERSITY
    }

    fn column(&self) -> Option<usize> {
        Some(self.column)
    }

    fn closed_under(&self) -> ClosedUnder {
        ClosedUnder::AddingRows
    }

    fn deficit(&self, class: &Tally) -> u64 {
        self.shortage(&list_rows(class, self.column, self.unit, None))
    }

    fn helps(&self, class: &Tally, codes: &[u32]) -> bool {
        let without = list_rows(class, self.column, self.unit, None);
        let with = list_rows(class, self.column, self.unit, Some((codes, true)));
        if codes[self.column] == NULL || self.shortage(&without) == 0 {
            return false;
        }
        let (Some((before, lacking)), Some((after, lacking_after))) = (self.achieved(&without), self.achieved(&with))
        else {
            return false;
        };
        let is_short = |element: &u32, lacking: u64| lacking + 1 < self.p && lacking_after[element] > lacking;
        after > before || lacking.iter().any(|(element, lacking)| is_short(element, *lacking))
    }

    fn can_lose(&self, class: &Tally, codes: &[u32]) -> bool {
        self.shortage(&list_rows(class, self.column, self.unit, Some((codes, false)))) == 0
    }

    fn max_classes(&self, class: &Tally) -> u64 {
        class.counts(self.column).map(|(_, rows)| rows).sum::<u64>() / self.p.max(1)
    }

    fn shortfall(&self, column: &str, _whole: &Tally) -> Shortfall {
        Shortfall::Frequency { column: column.to_owned(), model: self.name() }
    }

    fn needs_release(&self) -> bool {
        true
    }

    fn for_release(&self, columns: &[SensitiveColumn], _released: &Tally) -> Option<Arc<dyn Model>> {
        let elements = columns[self.column].elements.clone()?;
        Some(Arc::new(Self { elements: Some(elements), ..self.clone() }))
    }
}

/// Limits the share of the rows whose lists have one element.
#[derive(Clone, Debug)]
pub struct ListShare {
    share: f64,
    column: usize,
    /// Elements of each code; `None` before a release is known.
    elements: Option<ElementsByCode>,
}

impl ListShare {
    /// Limits the share of every element of the sensitive column `column`.
    pub fn new(share: f64, column: usize) -> Self {
        Self { share, column, elements: None }
    }

    /// Returns by how many rows the most frequent element exceeds the share; at most zero if the share holds.
    fn excess(&self, rows: &ListRows) -> f64 {
        let Some(elements) = &self.elements else { return 0.0 };
        let (mut of_element, mut all): (FxHashMap<u32, u64>, u64) = (FxHashMap::default(), 0);
        for (_, list, rows) in rows {
            all += rows;
            elements[*list as usize].iter().for_each(|element| *of_element.entry(*element).or_default() += rows);
        }
        let most = of_element.values().copied().max().unwrap_or(0);
        let excess = most as f64 - self.share * all as f64;
        // The share may be a rounded fraction.
        if excess <= ROUNDING * all as f64 { 0.0 } else { excess }
    }
}

/// Tolerance for shares that are rounded fractions.
const ROUNDING: f64 = 1e-9;

impl Model for ListShare {
    fn name(&self) -> &'static str {
        FrequencyRequirement::MaxShare(self.share).name()
    }

    fn column(&self) -> Option<usize> {
        Some(self.column)
    }

    fn closed_under(&self) -> ClosedUnder {
        ClosedUnder::Merging
    }

    fn deficit(&self, class: &Tally) -> u64 {
        // Every further row without the element raises the allowed number by the share.
        (self.excess(&list_rows(class, self.column, None, None)) / self.share).ceil() as u64
    }

    fn helps(&self, class: &Tally, codes: &[u32]) -> bool {
        let before = self.excess(&list_rows(class, self.column, None, None));
        before > 0.0 && self.excess(&list_rows(class, self.column, None, Some((codes, true)))) < before
    }

    fn can_lose(&self, class: &Tally, codes: &[u32]) -> bool {
        self.excess(&list_rows(class, self.column, None, Some((codes, false)))) <= 0.0
    }

    fn max_classes(&self, class: &Tally) -> u64 {
        class.rows()
    }

    fn shortfall(&self, column: &str, _whole: &Tally) -> Shortfall {
        Shortfall::Frequency { column: column.to_owned(), model: self.name() }
    }

    fn needs_release(&self) -> bool {
        true
    }

    fn for_release(&self, columns: &[SensitiveColumn], _released: &Tally) -> Option<Arc<dyn Model>> {
        let elements = columns[self.column].elements.clone()?;
        Some(Arc::new(Self { elements: Some(elements), ..self.clone() }))
    }
}

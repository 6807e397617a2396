//! A tree of boxes: finds those that may hold a point.
//!
//! Boxes are halved at the median of their midpoints, along the column with the largest spread of midpoints. A node has the
//! smallest range per column that includes its boxes.

/// Maximum number of boxes per leaf.
const LEAF: usize = 8;

/// A range of keys, both ends included. A missing value has the key -∞.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Span {
    pub(super) low: f64,
    pub(super) high: f64,
}

impl Span {
    pub(super) fn everything() -> Self {
        Self { low: f64::NEG_INFINITY, high: f64::INFINITY }
    }

    pub(super) fn of_null() -> Self {
        Self::point(f64::NEG_INFINITY)
    }

    pub(super) fn point(key: f64) -> Self {
        Self { low: key, high: key }
    }

    pub(super) fn join(self, other: Self) -> Self {
        Self { low: self.low.min(other.low), high: self.high.max(other.high) }
    }

    fn holds(self, key: f64) -> bool {
        self.low <= key && key <= self.high
    }
}

/// Boxes, ordered such that those of a node lie together.
#[derive(Debug)]
pub(super) struct BoxTree {
    columns: usize,
    /// Numbers of the boxes, in the order of the leaves.
    order: Vec<u32>,
    /// Spans of the boxes, in this order.
    spans: Vec<Span>,
    nodes: Vec<BoxNode>,
    /// Spans of the nodes.
    bounds: Vec<Span>,
}

#[derive(Clone, Copy, Debug)]
struct BoxNode {
    start: u32,
    end: u32,
    /// The second child, which follows the whole first one; 0 for a leaf.
    second: u32,
}

impl BoxTree {
    /// Creates a tree of boxes with these spans, column by column and box by box.
    pub(super) fn new(columns: usize, spans: &[Span]) -> Self {
        let boxes = spans.len() / columns.max(1);
        let order: Vec<u32> = (0..boxes as u32).collect();
        let mut tree = Self { columns, order, spans: Vec::new(), nodes: Vec::new(), bounds: Vec::new() };
        let ranges = finite_ranges(columns, spans);
        tree.grow(spans, &ranges, 0, boxes);
        tree.spans = tree.order.iter().flat_map(|number| of(spans, columns, *number)).copied().collect();
        tree
    }

    /// Returns the memory of the tree in bytes.
    pub(super) fn size(&self) -> usize {
        size_of_val(self.order.as_slice())
            + size_of_val(self.spans.as_slice())
            + size_of_val(self.nodes.as_slice())
            + size_of_val(self.bounds.as_slice())
    }

    /// Adds the node of some boxes and all nodes below. Halving bounds the depth.
    fn grow(&mut self, spans: &[Span], ranges: &[Span], start: usize, end: usize) {
        let (columns, node) = (self.columns, self.nodes.len());
        let members = &mut self.order[start..end];
        let mut bounds: Option<Vec<Span>> = None;
        for number in members.iter() {
            let spans = of(spans, columns, *number);
            match &mut bounds {
                Some(bounds) => bounds.iter_mut().zip(spans).for_each(|(bound, span)| *bound = bound.join(*span)),
                None => bounds = Some(spans.to_vec()),
            }
        }
        self.bounds.extend(bounds.unwrap_or_else(|| vec![Span::of_null(); columns]));
        self.nodes.push(BoxNode { start: start as u32, end: end as u32, second: 0 });
        if end - start <= LEAF {
            return;
        }
        let middle = |number: u32, column: usize| {
            let (Span { low, high }, range) = (of(spans, columns, number)[column], ranges[column]);
            let within = |end: f64| end.clamp(range.low, range.high);
            within(low) / 2.0 + within(high) / 2.0
        };
        let spread = |column: usize| {
            let width = ranges[column].high - ranges[column].low;
            let middles = members.iter().map(|number| Span::point(middle(*number, column)));
            let spread = middles.reduce(Span::join).map_or(0.0, |all| all.high - all.low);
            if width > 0.0 { spread / width } else { 0.0 }
        };
        let widest = (0..columns).map(|column| (spread(column), column));
        let widest = widest.max_by(|a, b| a.0.total_cmp(&b.0)).map_or(0, |(_, column)| column);
        let half = members.len() / 2;
        members.select_nth_unstable_by(half, |a, b| middle(*a, widest).total_cmp(&middle(*b, widest)).then(a.cmp(b)));
        self.grow(spans, ranges, start, start + half);
        self.nodes[node].second = self.nodes.len() as u32;
        self.grow(spans, ranges, start + half, end);
    }

    /// Calls `visit` with every box whose spans hold the keys.
    pub(super) fn visit(&self, keys: &[f64], mut visit: impl FnMut(u32)) {
        let holds = |spans: &[Span]| spans.iter().zip(keys).all(|(span, key)| span.holds(*key));
        let mut open = vec![0_u32];
        while let Some(at) = open.pop() {
            let node = self.nodes[at as usize];
            if !holds(of(&self.bounds, self.columns, at)) {
                continue;
            }
            if node.second > 0 {
                open.extend([node.second, at + 1]);
                continue;
            }
            for place in node.start..node.end {
                if holds(of(&self.spans, self.columns, place)) {
                    visit(self.order[place as usize]);
                }
            }
        }
    }
}

/// Returns the spans of one box or node.
fn of(spans: &[Span], columns: usize, number: u32) -> &[Span] {
    &spans[number as usize * columns..][..columns]
}

/// Returns the range of the finite ends of each column.
fn finite_ranges(columns: usize, spans: &[Span]) -> Vec<Span> {
    let mut ranges: Vec<Option<Span>> = vec![None; columns];
    for (span, column) in spans.iter().zip((0..columns).cycle()) {
        for end in [span.low, span.high].into_iter().filter(|end| end.is_finite()) {
            let joined = ranges[column].map_or(Span::point(end), |range| range.join(Span::point(end)));
            ranges[column] = Some(joined);
        }
    }
    ranges.into_iter().map(|range| range.unwrap_or(Span::point(0.0))).collect()
}

//! A line of numbers, cut into pieces that bear labels: what a question says of each address or port.

use std::collections::{BTreeSet, HashMap};
use std::rc::Rc;

/// An inclusive range of numbers: addresses, or ports.
pub(crate) type Span = (u128, u128);

/// The answers of a question for all numbers: where it changes, and what it is from there on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Line(Vec<(u128, u32)>);

impl Line {
    /// Cuts the numbers at both ends of a span: 1 inside, 0 outside.
    pub(crate) fn inside((low, high): Span) -> Line {
        let mut cuts = vec![(low, 1)];
        if low > 0 {
            cuts.insert(0, (0, 0));
        }
        if let Some(after) = high.checked_add(1) {
            cuts.push((after, 0));
        }
        Line(cuts)
    }

    /// Cuts the numbers at the ends of spans, and labels the pieces by what `label` says of their
    /// first number. The caller vouches that it says the same of all others.
    pub(crate) fn labelled<L: std::hash::Hash + Eq>(
        spans: impl IntoIterator<Item = Span>,
        mut label: impl FnMut(u128) -> L,
    ) -> Line {
        let mut starts = BTreeSet::from([0]);
        for (low, high) in spans {
            starts.insert(low);
            starts.extend(high.checked_add(1));
        }
        let mut labels = Labels::default();
        let mut cuts: Vec<(u128, u32)> = Vec::new();
        for start in starts {
            let label = labels.of(label(start));
            if cuts.last().is_none_or(|(_, last)| *last != label) {
                cuts.push((start, label));
            }
        }
        Line(cuts)
    }

    /// Returns the label of a number.
    pub(crate) fn label(&self, number: u128) -> u32 {
        let at = self.0.partition_point(|(start, _)| *start <= number);
        at.checked_sub(1).and_then(|at| self.0.get(at)).map_or(0, |(_, label)| *label)
    }

    /// Returns the pieces from the one that holds `number` on: the last number and the label of each.
    pub(crate) fn pieces_from(&self, number: u128) -> impl Iterator<Item = (u128, u32)> + '_ {
        let at = self.0.partition_point(|(start, _)| *start <= number).saturating_sub(1);
        let ends = self.0.iter().skip(at + 1).map(|(start, _)| start - 1).chain([u128::MAX]);
        ends.zip(self.0.iter().skip(at).map(|(_, label)| *label))
    }

    /// Returns the number of pieces.
    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }
}

/// Rows that have a span each, and the line that says which rows a number fits.
#[derive(Debug)]
pub(crate) struct Shelf {
    pub line: Rc<Line>,
    /// The rows that numbers of a label fit, rising.
    rows: Vec<Vec<u32>>,
}

impl Shelf {
    /// Sorts rows by their spans. Of rows that `alike` gives the same number, a place holds that one.
    pub(crate) fn new(
        spans: impl IntoIterator<Item = (u32, Span)>,
        alike: impl Fn(u32) -> u32,
    ) -> Shelf {
        let mut events: Vec<(u128, bool, u32)> = Vec::new();
        for (row, (low, high)) in spans {
            events.push((low, true, row));
            events.extend(high.checked_add(1).map(|after| (after, false, row)));
        }
        events.sort_unstable();
        let mut labels = Labels::default();
        let mut fitting = BTreeSet::new();
        let mut cuts = Vec::new();
        if events.first().is_none_or(|(start, _, _)| *start > 0) {
            cuts.push((0, labels.of(Vec::new())));
        }
        for same in events.chunk_by(|one, other| one.0 == other.0) {
            for &(_, begins, row) in same {
                let _changed = if begins { fitting.insert(row) } else { fitting.remove(&row) };
            }
            let start = same.first().map_or(0, |(start, _, _)| *start);
            let mut rows: Vec<u32> = fitting.iter().map(|row| alike(*row)).collect();
            rows.sort_unstable();
            rows.dedup();
            cuts.push((start, labels.of(rows)));
        }
        Shelf { line: Rc::new(Line(cuts)), rows: labels.into_values() }
    }

    /// Returns the rows that a number fits.
    pub(crate) fn rows(&self, number: u128) -> &[u32] {
        let label = usize::try_from(self.line.label(number)).unwrap_or(usize::MAX);
        self.rows.get(label).map_or(&[], Vec::as_slice)
    }
}

/// Numbers for values, in the order in which they come up.
#[derive(Debug)]
struct Labels<L>(HashMap<L, u32>);

impl<L> Default for Labels<L> {
    fn default() -> Labels<L> {
        Labels(HashMap::new())
    }
}

impl<L: std::hash::Hash + Eq> Labels<L> {
    fn of(&mut self, value: L) -> u32 {
        let next = u32::try_from(self.0.len()).unwrap_or(u32::MAX);
        *self.0.entry(value).or_insert(next)
    }

    /// Returns the values in the order of their numbers.
    fn into_values(self) -> Vec<L> {
        let mut all: Vec<(L, u32)> = self.0.into_iter().collect();
        all.sort_unstable_by_key(|(_, number)| *number);
        all.into_iter().map(|(value, _)| value).collect()
    }
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_shelf_gives_the_rows_whose_spans_hold_a_number(
            spans in vec((0_u128..30, 0_u128..9), 0..8),
            number in 0_u128..45,
        ) {
            let spans: Vec<Span> = spans.into_iter().map(|(low, more)| (low, low + more)).collect();
            let shelf = Shelf::new((0..).zip(spans.iter().copied()), |row| row);
            let holds = |(low, high): &Span| (*low..=*high).contains(&number);
            let fitting: Vec<u32> =
                (0..).zip(&spans).filter(|(_, span)| holds(span)).map(|(row, _)| row).collect();
            prop_assert_eq!(shelf.rows(number), fitting);
        }

        #[test]
        fn labels_are_those_of_each_number(number in 0_u128..40, span in (0_u128..20, 0_u128..9)) {
            let span = (span.0, span.0 + span.1);
            let inside = (span.0..=span.1).contains(&number);
            prop_assert_eq!(Line::inside(span).label(number), u32::from(inside));
            let line = Line::labelled([span], |n| (span.0..=span.1).contains(&n));
            prop_assert_eq!(line.label(number) == line.label(span.0), inside);
        }
    }

    #[test]
    fn the_last_number_has_a_piece() {
        let all = Shelf::new([(7, (0, u128::MAX))], |row| row);
        assert_eq!(all.rows(u128::MAX), [7]);
        assert_eq!(all.line.pieces_from(5).collect::<Vec<_>>(), [(u128::MAX, 0)]);
    }
}

//! Sets of addresses or ports. They are shared, not copied: thousands of classes have the same.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::line::{Line, Span};

/// A set of numbers that is not empty: ranges in ascending order, with gaps between them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Set(Arc<[Span]>);

impl Set {
    /// Makes a set of one range.
    pub(crate) fn of(span: Span) -> Set {
        Set(Arc::new([span]))
    }

    /// Makes a set of numbers; `None` of none.
    pub(crate) fn of_numbers(numbers: impl IntoIterator<Item = u128>) -> Option<Set> {
        let mut numbers: Vec<u128> = numbers.into_iter().collect();
        numbers.sort_unstable();
        numbers.dedup();
        let mut spans = Vec::new();
        for number in numbers {
            push(&mut spans, (number, number));
        }
        (!spans.is_empty()).then(|| Set(spans.into()))
    }

    /// Returns the ranges.
    pub(crate) fn spans(&self) -> &[Span] {
        &self.0
    }

    /// Tells whether there is one number only.
    pub(crate) fn is_single(&self) -> bool {
        matches!(*self.0, [(low, high)] if low == high)
    }

    /// Tells whether a number is in it.
    pub(crate) fn contains(&self, number: u128) -> bool {
        let at = self.0.partition_point(|(_, high)| *high < number);
        self.0.get(at).is_some_and(|(low, _)| *low <= number)
    }

    /// Returns the first number.
    pub(crate) fn first(&self) -> u128 {
        self.0.first().map_or(0, |(low, _)| *low)
    }

    /// Returns one of the numbers, rather a wanted one, and none of the last few of `unwanted` that
    /// leave a choice.
    pub(crate) fn pick(&self, wanted: &[u128], unwanted: &[u128]) -> u128 {
        let ends = self.0.iter().flat_map(|(low, high)| [*low, *high, low.saturating_add(1)]);
        let all = || wanted.iter().copied().chain(ends.clone()).filter(|n| self.contains(*n));
        let mut avoided = (0..=unwanted.len()).filter_map(|at| unwanted.get(at..));
        let found = avoided.find_map(|unwanted| all().find(|n| !unwanted.contains(n)));
        found.unwrap_or(self.first())
    }

    /// Returns where it is in memory: two with the same are one.
    pub(crate) fn address(&self) -> usize {
        self.0.as_ptr().addr()
    }

    /// Splits the set by the labels of a line.
    pub(crate) fn split(&self, line: &Line) -> Vec<(u32, Set)> {
        let mut parts: BTreeMap<u32, Vec<Span>> = BTreeMap::new();
        for &(low, high) in self.0.iter() {
            let mut low = low;
            for (end, label) in line.pieces_from(low) {
                push(parts.entry(label).or_default(), (low, high.min(end)));
                if high <= end {
                    break;
                }
                low = end + 1;
            }
        }
        if parts.len() == 1 {
            return parts.into_keys().map(|label| (label, self.clone())).collect();
        }
        parts.into_iter().map(|(label, spans)| (label, Set(spans.into()))).collect()
    }
}

/// Adds a span behind the others, joined to the last if nothing is between.
fn push(spans: &mut Vec<Span>, span: Span) {
    match spans.last_mut() {
        Some(last) if last.1.checked_add(1) == Some(span.0) => last.1 = span.1,
        _ => spans.push(span),
    }
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn parts_hold_each_number_once_under_its_label(
            numbers in vec(0_u128..60, 1..30),
            spans in vec((0_u128..50, 0_u128..9), 0..5),
        ) {
            let set = Set::of_numbers(numbers.iter().copied()).unwrap();
            let spans: Vec<Span> = spans.into_iter().map(|(low, more)| (low, low + more)).collect();
            let fits = |n: u128| spans.iter().filter(|s| (s.0..=s.1).contains(&n)).count();
            let line = Line::labelled(spans.iter().copied(), fits);
            let parts = set.split(&line);
            for number in 0..70 {
                prop_assert_eq!(set.contains(number), numbers.contains(&number));
                let label = line.label(number);
                for (other, part) in &parts {
                    let belongs = *other == label && set.contains(number);
                    prop_assert_eq!(part.contains(number), belongs);
                }
            }
        }
    }
}

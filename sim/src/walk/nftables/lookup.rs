//! Sets and maps, indexed: exact keys by hash, single ranges by binary search, concatenations with
//! ranges by one of their exact fields.

use std::collections::HashMap;

use kps_ruleset::Name;
use smallvec::SmallVec;

use super::program::Verdict;
use crate::walk::datum::{Datum, Pattern};

/// The parts of a value: one, or several for a concatenation.
pub(crate) type Parts = SmallVec<[Datum; 4]>;

/// A set or map.
#[derive(Debug, Default)]
pub(crate) struct Lookup {
    /// Its name; `None` if it is anonymous.
    pub name: Option<Name>,
    /// Whether rules add to it: what it holds then is state, not configuration.
    pub dynamic: bool,
    /// The most elements that it may hold.
    pub size: Option<usize>,
    entries: Vec<Entry>,
    /// Whether element i has the key i, as in a map for random numbers: no index is needed then.
    dense: bool,
    exact: HashMap<Parts, usize>,
    /// Single ranges in ascending order of their ends.
    ranges: Vec<(u128, u128, usize)>,
    boxes: Boxes,
    /// The element `*`.
    otherwise: Option<usize>,
}

/// An element.
#[derive(Debug)]
pub(crate) struct Entry {
    /// Its key, a pattern for each part.
    pub key: SmallVec<[Pattern; 2]>,
    /// Its data.
    pub data: Option<EntryData>,
}

/// The data of an element.
#[derive(Debug, Clone)]
pub(crate) enum EntryData {
    /// A verdict.
    Verdict(Verdict),
    /// Values.
    Values(Parts),
}

/// What a look-up gives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Hit {
    /// This element has the key.
    Element(usize),
    /// None has.
    Nothing,
    /// The key is not known well enough to tell.
    Unknown,
}

/// Keys with ranges in several fields. They are grouped by a field that is exact in all of them, so
/// that a look-up meets only those that share its value.
#[derive(Debug, Default)]
struct Boxes {
    field: Option<usize>,
    groups: HashMap<Datum, Vec<usize>>,
    all: Vec<usize>,
}

impl Lookup {
    /// Makes a set or map of elements.
    pub(crate) fn new(name: Option<Name>, entries: Vec<Entry>) -> Lookup {
        let numbered = |(entry, i): (&Entry, u128)| entry.key.as_slice() == [Pattern::exactly(i)];
        let dense = entries.iter().zip(0..).all(numbered);
        let mut lookup = Lookup { name, entries, dense, ..Lookup::default() };
        if dense {
            return lookup;
        }
        lookup.exact.reserve(lookup.entries.len());
        for at in 0..lookup.entries.len() {
            lookup.index(at);
        }
        lookup.ranges.sort_unstable_by_key(|&(_, high, _)| high);
        lookup.boxes.group(&lookup.entries);
        lookup
    }

    fn index(&mut self, at: usize) {
        let key = &self.entries[at].key;
        match key.as_slice() {
            [Pattern::Any] => self.otherwise = Some(at),
            [Pattern::Range(low, high)] if low != high => self.ranges.push((*low, *high, at)),
            parts => {
                match parts.iter().map(|pattern| pattern.single()).collect::<Option<Parts>>() {
                    Some(exact) => {
                        self.exact.entry(exact).or_insert(at);
                    }
                    None => self.boxes.all.push(at),
                }
            }
        }
    }

    /// Returns an element.
    pub(crate) fn entry(&self, at: usize) -> Option<&Entry> {
        self.entries.get(at)
    }

    /// Returns all elements.
    pub(crate) fn entries(&self) -> impl Iterator<Item = &Entry> {
        self.entries.iter()
    }

    /// Returns the number of elements.
    pub(crate) fn len(&self) -> usize {
        self.entries.len()
    }

    /// Looks up a key.
    pub(crate) fn find(&self, key: &[Datum]) -> Hit {
        if !key.iter().all(|part| part.is_known()) {
            return self.find_unsure(key);
        }
        if self.dense {
            return self.numbered(key);
        }
        let exact = self.exact.get(key).copied();
        let boxed = self.boxes.candidates(key).iter().copied().find(|&at| self.fits(at, key));
        let found = match (exact, boxed) {
            // Where concatenations overlap, the kernel takes the one that was added first.
            (Some(exact), Some(boxed)) => Some(exact.min(boxed)),
            (exact, boxed) => exact.or(boxed).or_else(|| self.find_range(key)),
        };
        found.or(self.otherwise).map_or(Hit::Nothing, Hit::Element)
    }

    fn numbered(&self, key: &[Datum]) -> Hit {
        let &[Datum::Number(number)] = key else { return Hit::Nothing };
        match usize::try_from(number) {
            Ok(at) if at < self.entries.len() => Hit::Element(at),
            _ => Hit::Nothing,
        }
    }

    fn find_range(&self, key: &[Datum]) -> Option<usize> {
        let [Datum::Number(n)] = key else { return None };
        let first = self.ranges.partition_point(|&(_, high, _)| high < *n);
        let &(low, _, at) = self.ranges.get(first)?;
        (low <= *n).then_some(at)
    }

    fn fits(&self, at: usize, key: &[Datum]) -> bool {
        fits(&self.entries[at].key, key) == Some(true)
    }

    /// A key with unknown parts: it has no element if none fits what is known.
    fn find_unsure(&self, key: &[Datum]) -> Hit {
        let mut wanted = self.entries.iter().map(|entry| fits(&entry.key, key));
        if self.otherwise.is_none() && wanted.all(|fits| fits == Some(false)) {
            return Hit::Nothing;
        }
        Hit::Unknown
    }
}

impl Boxes {
    fn group(&mut self, entries: &[Entry]) {
        let fields = self.all.first().map_or(0, |&at| entries[at].key.len());
        let value = |at: usize, field: usize| entries[at].key.get(field).and_then(|p| p.single());
        self.field = (0..fields).find(|&f| self.all.iter().all(|&at| value(at, f).is_some()));
        let Some(field) = self.field else { return };
        for &at in &self.all {
            if let Some(value) = value(at, field) {
                self.groups.entry(value).or_default().push(at);
            }
        }
    }

    fn candidates(&self, key: &[Datum]) -> &[usize] {
        match self.field.and_then(|field| key.get(field)) {
            Some(value) => self.groups.get(value).map_or(&[], Vec::as_slice),
            None => &self.all,
        }
    }
}

/// Tells whether a key fits a pattern for each part; a sure "no" of one part decides.
pub(crate) fn fits(patterns: &[Pattern], key: &[Datum]) -> Option<bool> {
    if patterns.len() != key.len() && patterns != [Pattern::Any] {
        return Some(false);
    }
    let mut answer = Some(true);
    for (pattern, part) in patterns.iter().zip(key) {
        match pattern.fits(*part) {
            Some(true) => {}
            Some(false) => return Some(false),
            None => answer = None,
        }
    }
    answer
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;
    use crate::mark::Mark;

    /// What a look-up gives if every element is tried in turn: the first that fits, else `*`.
    fn scan(lookup: &Lookup, key: &[Datum]) -> Hit {
        let answers: Vec<_> = lookup.entries.iter().map(|entry| fits(&entry.key, key)).collect();
        let is_any = |at: &usize| lookup.entries[*at].key.as_slice() == [Pattern::Any];
        if answers.contains(&None) {
            return Hit::Unknown;
        }
        let fitting = || answers.iter().enumerate().filter(|(_, a)| **a == Some(true)).map(|x| x.0);
        let found = fitting().find(|at| !is_any(at)).or_else(|| fitting().next());
        found.map_or(Hit::Nothing, Hit::Element)
    }

    /// Disjoint ranges, as the kernel requires of a set of one field: within slots of ten.
    fn disjoint() -> impl Strategy<Value = Vec<Entry>> {
        vec(proptest::option::of((0_u128..5, 0_u128..5)), 1..8).prop_map(|slots| {
            let ranges = (0_u128..).step_by(10).zip(slots).filter_map(|(start, slot)| {
                slot.map(|(low, more)| Pattern::Range(start + low, start + low + more))
            });
            ranges.map(|range| entry(&[range])).collect()
        })
    }

    /// Concatenations, which may overlap.
    fn concatenated() -> impl Strategy<Value = Vec<Entry>> {
        let field = (0_u128..6, 0_u128..3).prop_map(|(low, more)| Pattern::Range(low, low + more));
        let exact = (0_u128..3).prop_map(Pattern::exactly);
        vec((exact, field), 0..12)
            .prop_map(|keys| keys.into_iter().map(|(a, b)| entry(&[a, b])).collect())
    }

    fn entry(key: &[Pattern]) -> Entry {
        Entry { key: key.iter().copied().collect(), data: None }
    }

    fn datum(most: u128) -> impl Strategy<Value = Datum> {
        prop_oneof![
            9 => (0..most).prop_map(Datum::Number),
            1 => Just(Datum::Unknown(Name::new("x"))),
            1 => Just(Datum::Mark(Mark::UNKNOWN.or(Mark::new(8)))),
        ]
    }

    proptest! {
        #[test]
        fn an_indexed_set_answers_like_a_scan(entries in disjoint(), any in any::<bool>(), key in datum(90)) {
            let mut entries = entries;
            if any {
                entries.insert(0, entry(&[Pattern::Any]));
            }
            let lookup = Lookup::new(None, entries);
            let found = lookup.find(&[key]);
            prop_assert!(found == scan(&lookup, &[key]) || (found == Hit::Unknown && !key.is_known()));
        }

        #[test]
        fn numbered_elements_answer_like_a_scan(most in 0_u128..9, key in datum(9)) {
            let entries = (0..most).map(|n| entry(&[Pattern::exactly(n)])).collect();
            let lookup = Lookup::new(None, entries);
            let found = lookup.find(&[key]);
            prop_assert!(found == scan(&lookup, &[key]) || (found == Hit::Unknown && !key.is_known()));
        }

        #[test]
        fn an_indexed_concatenation_answers_like_a_scan(
            entries in concatenated(),
            key in (datum(4), datum(9)),
        ) {
            let lookup = Lookup::new(None, entries);
            let key = [key.0, key.1];
            let found = lookup.find(&key);
            let known = key.iter().all(|part| part.is_known());
            // The same key twice is one element to the kernel.
            let same = match (found, scan(&lookup, &key)) {
                (Hit::Element(a), Hit::Element(b)) => lookup.entries[a].key == lookup.entries[b].key,
                (a, b) => a == b || (a == Hit::Unknown && !known),
            };
            prop_assert!(same);
        }
    }
}

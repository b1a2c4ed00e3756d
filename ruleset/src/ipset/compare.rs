//! Are two nodes' sets the same?
//!
//! The order of sets and elements never matters. Sizes of tables, seeds, counters and the time that is
//! left do not either; types, families, ranges, limits and elements with their comments do.

use std::fmt;

use indexmap::IndexMap;

use super::ast::{Element, Entry, Options, Set, Sets};
use super::transaction::DEFAULT_MAX_ELEMENTS;
use crate::Name;

/// A difference between what is expected and what is there.
#[derive(Debug, Clone, PartialEq)]
pub enum Difference {
    /// A set is missing.
    MissingSet(Name),
    /// A set is there that is not expected.
    ExtraSet(Name),
    /// A set is of another type or has other options.
    ChangedSet {
        /// The set.
        set: Name,
        /// Its type and options as expected.
        expected: String,
        /// As they are.
        found: String,
    },
    /// An element is missing.
    MissingElement {
        /// The set.
        set: Name,
        /// The element.
        element: Element,
    },
    /// An element is there that is not expected.
    ExtraElement {
        /// The set.
        set: Name,
        /// The element.
        element: Element,
    },
    /// An element has another comment, or is an exception or not.
    ChangedElement {
        /// The set.
        set: Name,
        /// The element.
        element: Element,
    },
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Difference::MissingSet(set) => write!(f, "missing set {set}"),
            Difference::ExtraSet(set) => write!(f, "extra set {set}"),
            Difference::ChangedSet { set, expected, found } => {
                write!(f, "set {set}: expected {expected}, found {found}")
            }
            Difference::MissingElement { set, element } => {
                write!(f, "set {set}: missing element {element}")
            }
            Difference::ExtraElement { set, element } => {
                write!(f, "set {set}: extra element {element}")
            }
            Difference::ChangedElement { set, element } => {
                write!(f, "set {set}: element {element} has other options")
            }
        }
    }
}

/// Returns all differences, sets by name and elements in order.
#[must_use]
pub fn compare(expected: &Sets, found: &Sets) -> Vec<Difference> {
    let mut differences = Vec::new();
    for name in union(&expected.sets, &found.sets) {
        match (expected.sets.get(&name), found.sets.get(&name)) {
            (Some(expected), Some(found)) => {
                differences.extend(compare_set(name, expected, found));
            }
            (Some(_), None) => differences.push(Difference::MissingSet(name)),
            (None, _) => differences.push(Difference::ExtraSet(name)),
        }
    }
    differences
}

fn compare_set(name: Name, expected: &Set, found: &Set) -> Vec<Difference> {
    let describe = |set: &Set| format!("{}{}", set.kind, essential(&set.options));
    let (before, after) = (describe(expected), describe(found));
    if before != after {
        return vec![Difference::ChangedSet { set: name, expected: before, found: after }];
    }
    let mut differences = Vec::new();
    for element in union(&expected.entries, &found.entries) {
        match (expected.entries.get(&element), found.entries.get(&element)) {
            (Some(a), Some(b)) if same_entry(a, b) => {}
            (Some(_), Some(_)) => {
                differences.push(Difference::ChangedElement { set: name, element });
            }
            (Some(_), None) => differences.push(Difference::MissingElement { set: name, element }),
            (None, _) => differences.push(Difference::ExtraElement { set: name, element }),
        }
    }
    differences
}

/// Returns the options that decide what a set holds.
fn essential(options: &Options) -> Options {
    Options {
        hash_size: None,
        bucket_size: None,
        initial_value: None,
        max_elements: options.max_elements.filter(|most| *most != DEFAULT_MAX_ELEMENTS),
        ..options.clone()
    }
}

fn same_entry(a: &Entry, b: &Entry) -> bool {
    (a.nomatch, a.comment, a.other) == (b.nomatch, b.comment, b.other)
        && a.timeout.is_some() == b.timeout.is_some()
}

/// Returns the keys of both maps, sorted.
fn union<K: Ord + Copy, V>(a: &IndexMap<K, V>, b: &IndexMap<K, V>) -> Vec<K> {
    let mut keys: Vec<K> = a.keys().chain(b.keys()).copied().collect();
    keys.sort_unstable();
    keys.dedup();
    keys
}

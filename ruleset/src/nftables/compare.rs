//! Are two rule sets the same, up to what cannot matter?
//!
//! What cannot matter: the order of tables, chains, sets and elements; handles, counts and times
//! left; the elements of sets that rules fill (`flags dynamic`); the braces of a set of one. The
//! order of rules inside a chain can matter, and so can comments, by which people find their way.

use std::collections::HashMap;
use std::fmt;

use indexmap::IndexMap;

use super::ast::{Chain, Counter, Element, Rule, Ruleset, Set, Statement, Table};
use super::normalise::normalise_rule;
use super::transaction::TableId;
use crate::Name;

/// One difference between an expected and a found rule set.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Difference {
    /// The table in which it is.
    pub table: TableId,
    /// What differs.
    pub object: Object,
    /// How.
    pub change: Change,
}

/// What differs.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Object {
    /// The table itself, or its comment.
    Table,
    /// A named counter.
    Counter(Name),
    /// A set or map: its definition.
    Set {
        /// Its name.
        name: Name,
        /// Whether it is a map.
        map: bool,
    },
    /// An element.
    Element {
        /// The set or map that it is in.
        set: Name,
        /// Its key as nft prints it.
        key: String,
    },
    /// A chain: its hook or comment.
    Chain(Name),
    /// A rule.
    Rule {
        /// The chain that it is in.
        chain: Name,
        /// Its place in the chain that has it, counted from 0.
        index: usize,
    },
    /// The order of a chain's rules, which are otherwise the same.
    Order(Name),
    /// An object that the tree does not model.
    Other,
}

/// How it differs; the texts are those of `nft list ruleset`.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Change {
    /// It is expected and not there.
    Missing(String),
    /// It is there and not expected.
    Extra(String),
    /// It is there and looks otherwise.
    Changed {
        /// What is expected.
        expected: String,
        /// What is there.
        found: String,
    },
}

/// Returns all differences, in the order of the expected rule set and then of the found one.
#[must_use]
pub fn compare(expected: &Ruleset, found: &Ruleset) -> Vec<Difference> {
    let mut differences = Vec::new();
    for table in &expected.tables {
        let mut comparison = Comparison { table: table.id(), differences: &mut differences };
        match found.table(table.family, &table.name) {
            Some(other) => comparison.tables(table, other),
            None => comparison.push(Object::Table, Change::Missing(String::new())),
        }
    }
    for table in &found.tables {
        if expected.table(table.family, &table.name).is_none() {
            let (table, change) = (table.id(), Change::Extra(String::new()));
            differences.push(Difference { table, object: Object::Table, change });
        }
    }
    differences
}

/// The comparison of one table.
struct Comparison<'a> {
    table: TableId,
    differences: &'a mut Vec<Difference>,
}

impl Comparison<'_> {
    fn push(&mut self, object: Object, change: Change) {
        self.differences.push(Difference { table: self.table, object, change });
    }

    fn changed(&mut self, object: Object, expected: String, found: String) {
        if expected != found {
            self.push(object, Change::Changed { expected, found });
        }
    }

    fn tables(&mut self, expected: &Table, found: &Table) {
        if expected.comment != found.comment || expected.flags != found.flags {
            self.changed(Object::Table, table_head(expected), table_head(found));
        }
        self.objects(&expected.counters, &found.counters, Self::counter);
        self.objects(&expected.sets, &found.sets, Self::set);
        self.objects(&expected.chains, &found.chains, Self::chain);
        self.others(expected, found);
    }

    /// Compares named objects: those expected first, then those that are only found.
    fn objects<T>(
        &mut self,
        expected: &IndexMap<Name, T>,
        found: &IndexMap<Name, T>,
        compare: impl Fn(&mut Self, Name, Option<&T>, Option<&T>),
    ) {
        for (name, object) in expected {
            compare(self, *name, Some(object), found.get(name));
        }
        for (name, object) in found.iter().filter(|(name, _)| !expected.contains_key(*name)) {
            compare(self, *name, None, Some(object));
        }
    }

    fn counter(&mut self, name: Name, expected: Option<&Counter>, found: Option<&Counter>) {
        let text = |counter: &Counter| comment_text(counter.comment);
        self.definition(Object::Counter(name), expected.map(text), found.map(text));
    }

    /// Compares what is said of an object; `None` is that there is none.
    fn definition(&mut self, object: Object, expected: Option<String>, found: Option<String>) {
        match (expected, found) {
            (Some(expected), Some(found)) => self.changed(object, expected, found),
            (Some(expected), None) => self.push(object, Change::Missing(expected)),
            (None, Some(found)) => self.push(object, Change::Extra(found)),
            (None, None) => {}
        }
    }

    fn set(&mut self, name: Name, expected: Option<&Set>, found: Option<&Set>) {
        let map = expected.or(found).is_some_and(Set::is_map);
        if let (Some(expected), Some(found)) = (expected, found) {
            if !expected.flags.dynamic && !found.flags.dynamic {
                self.elements(name, expected, found);
            }
            if same_definition(expected, found) {
                return;
            }
        }
        let object = Object::Set { name, map };
        self.definition(object, expected.map(Set::definition), found.map(Set::definition));
    }

    fn elements(&mut self, set: Name, expected: &Set, found: &Set) {
        for (key, element) in &expected.elements {
            match found.elements.get(key) {
                None => {
                    let text = expected.display_element(element);
                    self.push(element_object(set, expected, element), Change::Missing(text));
                }
                Some(other) if same_element(element, other) => {}
                Some(other) => {
                    let (text, other) = (expected.static_text(element), found.static_text(other));
                    self.changed(element_object(set, expected, element), text, other);
                }
            }
        }
        let extra = found.elements.iter().filter(|(key, _)| !expected.elements.contains_key(*key));
        for (_, element) in extra {
            let text = found.display_element(element);
            self.push(element_object(set, found, element), Change::Extra(text));
        }
    }

    fn chain(&mut self, name: Name, expected: Option<&Chain>, found: Option<&Chain>) {
        let (Some(expected), Some(found)) = (expected, found) else {
            let head = |chain: &Chain| chain_head(chain, self.table);
            let (expected, found) = (expected.map(head), found.map(head));
            return self.definition(Object::Chain(name), expected, found);
        };
        if expected.base != found.base || expected.comment != found.comment {
            let (head, other) = (chain_head(expected, self.table), chain_head(found, self.table));
            self.changed(Object::Chain(name), head, other);
        }
        self.rules(name, &expected.rules, &found.rules);
    }

    fn rules(&mut self, chain: Name, expected: &[Rule], found: &[Rule]) {
        let start = expected.iter().zip(found).take_while(|(a, b)| same_rule(a, b)).count();
        let (expected, found) = (&expected[start..], &found[start..]);
        let end = expected.iter().rev().zip(found.iter().rev());
        let end = end.take_while(|(a, b)| same_rule(a, b)).count();
        let (expected, found) = (&expected[..expected.len() - end], &found[..found.len() - end]);
        if expected.is_empty() && found.is_empty() {
            return;
        }
        self.differing_rules(chain, start, &canonical(expected), &canonical(found));
    }

    /// Reports rules of which at least the first and the last are not in the same place.
    fn differing_rules(
        &mut self,
        chain: Name,
        start: usize,
        expected: &[String],
        found: &[String],
    ) {
        let before = self.differences.len();
        for (at, rule) in only_in(expected, found) {
            let index = start + at;
            self.push(Object::Rule { chain, index }, Change::Missing(rule.clone()));
        }
        for (at, rule) in only_in(found, expected) {
            let index = start + at;
            self.push(Object::Rule { chain, index }, Change::Extra(rule.clone()));
        }
        if self.differences.len() == before {
            let (expected, found) = (expected.join("; "), found.join("; "));
            self.push(Object::Order(chain), Change::Changed { expected, found });
        }
    }

    fn others(&mut self, expected: &Table, found: &Table) {
        for other in expected.other.iter().filter(|other| !found.other.contains(other)) {
            self.push(Object::Other, Change::Missing(other.text.to_string()));
        }
        for other in found.other.iter().filter(|other| !expected.other.contains(other)) {
            self.push(Object::Other, Change::Extra(other.text.to_string()));
        }
    }
}

/// Returns those of the rules that the others do not have, as often as they lack them.
fn only_in<'r>(rules: &'r [String], others: &[String]) -> Vec<(usize, &'r String)> {
    let mut left: HashMap<&str, usize> = HashMap::new();
    for other in others {
        *left.entry(other).or_default() += 1;
    }
    let mut only = Vec::new();
    for (at, rule) in rules.iter().enumerate() {
        match left.get_mut(rule.as_str()) {
            Some(count) if *count > 0 => *count -= 1,
            _ => only.push((at, rule)),
        }
    }
    only
}

fn same_rule(a: &Rule, b: &Rule) -> bool {
    (a.statements == b.statements && a.comment == b.comment)
        || canonical_rule(a) == canonical_rule(b)
}

fn canonical(rules: &[Rule]) -> Vec<String> {
    rules.iter().map(canonical_rule).collect()
}

/// Returns a rule's text without what cannot matter.
fn canonical_rule(rule: &Rule) -> String {
    let mut rule = rule.clone();
    for statement in &mut rule.statements {
        if let Statement::Counter { packets, bytes } = statement {
            (*packets, *bytes) = (0, 0);
        }
    }
    // The second time drops the braces of a set that merging left with one interval.
    normalise_rule(&mut rule);
    normalise_rule(&mut rule);
    rule.to_string()
}

fn same_definition(a: &Set, b: &Set) -> bool {
    a.key == b.key
        && a.data == b.data
        && a.flags == b.flags
        && (a.timeout, a.gc_interval, a.size) == (b.timeout, b.gc_interval, b.size)
        && (a.auto_merge, a.counter, a.comment) == (b.auto_merge, b.counter, b.comment)
        && a.other == b.other
}

fn same_element(a: &Element, b: &Element) -> bool {
    let timeout = |e: &Element| e.state.as_ref().and_then(|state| state.timeout);
    a.data == b.data && a.comment == b.comment && timeout(a) == timeout(b)
}

fn element_object(name: Name, set: &Set, element: &Element) -> Object {
    let key = set.display_element(&Element::new(element.key.clone()));
    Object::Element { set: name, key }
}

fn comment_text(comment: Option<Name>) -> String {
    comment.map(|comment| format!("comment \"{comment}\"")).unwrap_or_default()
}

fn table_head(table: &Table) -> String {
    let flags: Vec<&str> = table.flags.iter().map(Name::as_str).collect();
    let flags =
        if flags.is_empty() { String::new() } else { format!("flags {}; ", flags.join(",")) };
    flags + &comment_text(table.comment)
}

fn chain_head(chain: &Chain, table: TableId) -> String {
    let base = chain.base.as_ref().map(|base| base.text(table.family));
    let comment = chain.comment.map(|comment| comment_text(Some(comment)));
    base.into_iter().chain(comment).collect::<Vec<_>>().join(" ")
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let verb = match self.change {
            Change::Missing(_) => "missing",
            Change::Extra(_) => "extra",
            Change::Changed { .. } => "changed",
        };
        write!(f, "{verb} ")?;
        self.object_text(f)?;
        match &self.change {
            Change::Missing(text) | Change::Extra(text) if text.is_empty() => Ok(()),
            Change::Missing(text) | Change::Extra(text) => write!(f, ": {text}"),
            Change::Changed { expected, found } => {
                write!(f, ": expected `{expected}`, found `{found}`")
            }
        }
    }
}

impl Difference {
    fn object_text(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let table = self.table;
        match &self.object {
            Object::Table => write!(f, "table {table}"),
            Object::Counter(name) => write!(f, "counter {table} {name}"),
            Object::Set { name, map } => {
                write!(f, "{} {table} {name}", if *map { "map" } else { "set" })
            }
            Object::Element { set, key } => write!(f, "element {table} {set} {{ {key} }}"),
            Object::Chain(name) => write!(f, "chain {table} {name}"),
            Object::Rule { chain, index } => write!(f, "rule {table} {chain} index {index}"),
            Object::Order(chain) => write!(f, "order of rules in {table} {chain}"),
            Object::Other => write!(f, "object in table {table}"),
        }
    }
}

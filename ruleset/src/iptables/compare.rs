//! Are two iptables rule sets the same?
//!
//! The order of tables and of chains does not matter, and counters do not either. The order of rules
//! in a chain does, and that of matches in a rule, since some have effects; only comments and the
//! bare loading of a protocol's match say nothing about packets' fate and are compared apart from
//! their place. A program that fills a chain in no particular order is allowed for by naming the
//! chain in [`FreeOrder`].

use std::collections::HashMap;
use std::fmt;

use super::ast::{Chain, Family, Match, PortTest, Rule, Ruleset, SctpTest, Table, TcpTest};
use super::print::print_rule;
use crate::Name;

/// A chain whose rules may stand in any order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FreeOrder {
    /// The table; `None` is any.
    pub table: Option<Name>,
    /// The chain.
    pub chain: Name,
    /// So many rules at the end must be the last ones all the same, in any order among themselves.
    pub tail: usize,
}

/// A difference between what is expected and what is there.
#[derive(Debug, Clone, PartialEq)]
pub enum Difference {
    /// A table is missing.
    MissingTable(Name),
    /// A table is there that is not expected.
    ExtraTable(Name),
    /// A chain is missing.
    MissingChain(Place),
    /// A chain is there that is not expected.
    ExtraChain(Place),
    /// A built-in chain has another policy.
    Policy(Place),
    /// A rule is missing.
    MissingRule(Place, String),
    /// A rule is there that is not expected.
    ExtraRule(Place, String),
    /// The rules are the same but stand in another order; this one is the first out of place.
    Order(Place, String),
}

/// A chain of a table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Place {
    /// The table.
    pub table: Name,
    /// The chain.
    pub chain: Name,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.table, self.chain)
    }
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Difference::MissingTable(table) => write!(f, "missing table {table}"),
            Difference::ExtraTable(table) => write!(f, "extra table {table}"),
            Difference::MissingChain(place) => write!(f, "missing chain {place}"),
            Difference::ExtraChain(place) => write!(f, "extra chain {place}"),
            Difference::Policy(place) => write!(f, "{place}: other policy"),
            Difference::MissingRule(place, rule) => write!(f, "{place}: missing rule {rule}"),
            Difference::ExtraRule(place, rule) => write!(f, "{place}: extra rule {rule}"),
            Difference::Order(place, rule) => write!(f, "{place}: out of order from {rule} on"),
        }
    }
}

/// Returns all differences, tables and chains by name. A table without rules and user chains is the
/// same as none.
#[must_use]
pub fn compare(expected: &Ruleset, found: &Ruleset, free: &[FreeOrder]) -> Vec<Difference> {
    let comparison = Comparison { family: expected.family, free };
    let mut differences = Vec::new();
    for name in union(expected.tables.keys(), found.tables.keys()) {
        match (expected.tables.get(&name), found.tables.get(&name)) {
            (Some(a), Some(b)) => differences.extend(comparison.table(name, a, b)),
            (Some(a), None) if !is_bare(a) => differences.push(Difference::MissingTable(name)),
            (None, Some(b)) if !is_bare(b) => differences.push(Difference::ExtraTable(name)),
            _ => {}
        }
    }
    differences
}

fn is_bare(table: &Table) -> bool {
    table.chains.values().all(|chain| chain.rules.is_empty() && chain.policy.is_some())
}

/// Returns the names of both, sorted.
fn union<'a>(a: impl Iterator<Item = &'a Name>, b: impl Iterator<Item = &'a Name>) -> Vec<Name> {
    let mut names: Vec<Name> = a.chain(b).copied().collect();
    names.sort_unstable();
    names.dedup();
    names
}

struct Comparison<'a> {
    family: Family,
    free: &'a [FreeOrder],
}

impl Comparison<'_> {
    fn table(&self, name: Name, expected: &Table, found: &Table) -> Vec<Difference> {
        let mut differences = Vec::new();
        for chain in union(expected.chains.keys(), found.chains.keys()) {
            let place = Place { table: name, chain };
            match (expected.chains.get(&chain), found.chains.get(&chain)) {
                (Some(a), Some(b)) => differences.extend(self.chain(place, a, b)),
                (Some(_), None) => differences.push(Difference::MissingChain(place)),
                (None, _) => differences.push(Difference::ExtraChain(place)),
            }
        }
        differences
    }

    fn chain(&self, place: Place, expected: &Chain, found: &Chain) -> Vec<Difference> {
        let mut differences = Vec::new();
        if expected.policy != found.policy {
            differences.push(Difference::Policy(place));
        }
        if same_in_order(&expected.rules, &found.rules) {
            return differences;
        }
        let (a, b) = (self.texts(&expected.rules), self.texts(&found.rules));
        differences.extend(changes(place, &a, &b));
        if differences.is_empty() {
            let moved = self.first_moved(place, &a, &b);
            differences.extend(moved.map(|rule| Difference::Order(place, rule)));
        }
        differences
    }

    /// Returns the canonical texts of rules.
    fn texts(&self, rules: &[Rule]) -> Vec<String> {
        rules.iter().map(|rule| print_rule(&canonical(rule), self.family)).collect()
    }

    /// Returns the first rule that is found where it must not stand, of lists of the same rules.
    fn first_moved(&self, place: Place, expected: &[String], found: &[String]) -> Option<String> {
        let is_here = |free: &&FreeOrder| {
            free.chain == place.chain && free.table.is_none_or(|table| table == place.table)
        };
        let Some(free) = self.free.iter().find(is_here) else {
            return expected.iter().zip(found).find(|(a, b)| a != b).map(|(_, b)| b.clone());
        };
        let tail = expected.len().saturating_sub(free.tail);
        let last = expected.get(tail..).unwrap_or_default();
        found.iter().skip(tail).find(|rule| !last.contains(rule)).cloned()
    }
}

/// Returns whether rules are the same, one by one, as quick as can be.
fn same_in_order(a: &[Rule], b: &[Rule]) -> bool {
    let same = |(a, b): (&Rule, &Rule)| {
        a.header == b.header && a.matches == b.matches && a.target == b.target
    };
    a.len() == b.len() && a.iter().zip(b).all(same)
}

/// Returns the rule without what says nothing: counters, loads of matches without options; with its
/// comments first.
fn canonical(rule: &Rule) -> Rule {
    let mut matches: Vec<Match> = rule.matches.iter().filter(|m| !is_load(m)).cloned().collect();
    matches.sort_by_key(|m| !matches!(m, Match::Comment(_)));
    Rule { matches: matches.into(), counters: None, ..rule.clone() }
}

/// Returns whether a match only names its module.
fn is_load(m: &Match) -> bool {
    let (tcp, udp, sctp) = (TcpTest::default(), PortTest::default(), SctpTest::default());
    match m {
        Match::Tcp(test) => *test == tcp,
        Match::Udp(test) => *test == udp,
        Match::Sctp(test) => *test == sctp,
        _ => false,
    }
}

/// Returns the rules that are in one list only, however often.
fn changes(place: Place, expected: &[String], found: &[String]) -> Vec<Difference> {
    let mut counts: HashMap<&str, i64> = HashMap::new();
    for rule in expected {
        *counts.entry(rule).or_default() += 1;
    }
    for rule in found {
        *counts.entry(rule).or_default() -= 1;
    }
    let mut differences = Vec::new();
    // Each list is walked in its own order, so that the result does not depend on the map.
    for rule in expected {
        if let Some(count) = counts.get_mut(rule.as_str()).filter(|count| **count > 0) {
            *count -= 1;
            differences.push(Difference::MissingRule(place, rule.clone()));
        }
    }
    for rule in found {
        if let Some(count) = counts.get_mut(rule.as_str()).filter(|count| **count < 0) {
            *count += 1;
            differences.push(Difference::ExtraRule(place, rule.clone()));
        }
    }
    differences
}

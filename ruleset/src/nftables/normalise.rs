//! What nft and the kernel make of a rule or element on the way in.
//!
//! nft drops the braces of a set of one, drops `/32`, and turns a set that holds prefixes or ranges
//! into sorted intervals, of which overlapping and adjacent ones become one. Other anonymous sets
//! are sorted. Numbers of an element take on the type of the set they go to.
//!
//! Whether a set holds prefixes is decided before `/32` is dropped, and whether the braces go is
//! decided before intervals are merged: `{ 10.0.0.1, 10.0.0.2/32 }` becomes
//! `{ 10.0.0.1-10.0.0.2 }`, with braces.

use std::net::{Ipv4Addr, Ipv6Addr};

use super::ast::{
    Data, DataType, Element, Expr, Key, MapSource, Match, Relation, Rule, Set, Statement, Value,
};
use super::datatype::{Kind, kind_of_type};

/// Turns a rule into what the kernel holds of it.
pub fn normalise_rule(rule: &mut Rule) {
    rule.statements.iter_mut().for_each(normalise_statement);
}

fn normalise_statement(statement: &mut Statement) {
    match statement {
        Statement::Match(m) => normalise_match(m),
        Statement::VerdictMap(map) => {
            if let MapSource::Anonymous(elements) = &mut map.map {
                sort_if_needed(elements);
            }
        }
        _ => {}
    }
}

fn normalise_match(m: &mut Match) {
    if let Some(value) = lone_value(m) {
        m.right = Expr::Value(value);
    }
    match &mut m.right {
        Expr::Set(elements) => normalise_set(elements),
        Expr::Value(value) => *value = without_full_prefix(*value),
        _ => {}
    }
}

/// Returns the only value of a set, which then needs no set.
fn lone_value(m: &Match) -> Option<Value> {
    let Expr::Set(elements) = &m.right else { return None };
    let [Element { key: Key::One(value), data: None, .. }] = &**elements else { return None };
    let plain = matches!(m.op, Relation::Equal | Relation::NotEqual);
    plain.then_some(*value)
}

fn normalise_set(elements: &mut Box<[Element]>) {
    let merged = as_intervals(elements).map(merge);
    match merged {
        Some(intervals) => *elements = intervals.into_iter().map(Interval::element).collect(),
        None => sort_if_needed(elements),
    }
}

fn sort_if_needed(elements: &mut Box<[Element]>) {
    if elements.is_sorted_by(|a, b| key_order(a, b).is_lt()) {
        return;
    }
    let mut sorted = elements.to_vec();
    sorted.sort_by(key_order);
    sorted.dedup_by(|a, b| a.key == b.key && a.data == b.data);
    *elements = sorted.into();
}

/// nft orders concatenations by their last part first.
fn key_order(a: &Element, b: &Element) -> std::cmp::Ordering {
    a.key.iter().rev().cmp(b.key.iter().rev())
}

/// Numbers of one type from the first to the last.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Interval {
    space: Space,
    from: u128,
    to: u128,
}

/// The type of an interval's ends.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Space {
    Ipv4,
    Ipv6,
    Port,
    Number,
}

/// Returns the elements as intervals, if one of them is more than a value and all are alike.
fn as_intervals(elements: &[Element]) -> Option<Vec<Interval>> {
    let value = |element: &Element| match element {
        Element { key: Key::One(value), data: None, comment: None, .. } => Some(*value),
        _ => None,
    };
    let values: Vec<Value> = elements.iter().map(value).collect::<Option<_>>()?;
    let intervals: Vec<Interval> = values.iter().map(interval).collect::<Option<_>>()?;
    let alike = intervals.windows(2).all(|pair| pair[0].space == pair[1].space);
    (alike && values.iter().any(is_interval)).then_some(intervals)
}

fn is_interval(value: &Value) -> bool {
    !matches!(value, Value::Ipv4(_) | Value::Ipv6(_) | Value::Port(_) | Value::Number(_))
}

fn interval(value: &Value) -> Option<Interval> {
    let (space, from, to) = match *value {
        Value::Ipv4(a) => (Space::Ipv4, bits4(a), bits4(a)),
        Value::Ipv4Range(a, b) => (Space::Ipv4, bits4(a), bits4(b)),
        Value::Ipv4Prefix(a, len) => {
            let net = ipnet::Ipv4Net::new(a, len).ok()?;
            (Space::Ipv4, bits4(net.network()), bits4(net.broadcast()))
        }
        Value::Ipv6(a) => (Space::Ipv6, a.to_bits(), a.to_bits()),
        Value::Ipv6Range(a, b) => (Space::Ipv6, a.to_bits(), b.to_bits()),
        Value::Ipv6Prefix(a, len) => {
            let net = ipnet::Ipv6Net::new(a, len).ok()?;
            (Space::Ipv6, net.network().to_bits(), net.broadcast().to_bits())
        }
        Value::Port(a) => (Space::Port, a.into(), a.into()),
        Value::PortRange(a, b) => (Space::Port, a.into(), b.into()),
        Value::Number(a) => (Space::Number, a.into(), a.into()),
        Value::NumberRange(a, b) => (Space::Number, a.into(), b.into()),
        _ => return None,
    };
    Some(Interval { space, from, to })
}

fn bits4(address: Ipv4Addr) -> u128 {
    u128::from(address.to_bits())
}

/// Sorts intervals and joins those that overlap or touch.
fn merge(mut intervals: Vec<Interval>) -> Vec<Interval> {
    intervals.sort_unstable();
    let mut merged: Vec<Interval> = Vec::with_capacity(intervals.len());
    for next in intervals {
        match merged.last_mut() {
            Some(last) if next.from <= last.to.saturating_add(1) => last.to = last.to.max(next.to),
            _ => merged.push(next),
        }
    }
    merged
}

impl Interval {
    fn element(self) -> Element {
        Element::new(self.value())
    }

    fn value(self) -> Value {
        match self.space {
            Space::Ipv4 => self.ipv4(),
            Space::Ipv6 => self.ipv6(),
            Space::Port => {
                let end = |number| u16::try_from(number).unwrap_or(u16::MAX);
                match (end(self.from), end(self.to)) {
                    (from, to) if from == to => Value::Port(from),
                    (from, to) => Value::PortRange(from, to),
                }
            }
            Space::Number => {
                let end = |number| u64::try_from(number).unwrap_or(u64::MAX);
                match (end(self.from), end(self.to)) {
                    (from, to) if from == to => Value::Number(from),
                    (from, to) => Value::NumberRange(from, to),
                }
            }
        }
    }

    fn ipv4(self) -> Value {
        let end = |bits| Ipv4Addr::from_bits(u32::try_from(bits).unwrap_or(u32::MAX));
        match self.prefix_len(32) {
            Some(32) => Value::Ipv4(end(self.from)),
            Some(len) => Value::Ipv4Prefix(end(self.from), len),
            None => Value::Ipv4Range(end(self.from), end(self.to)),
        }
    }

    fn ipv6(self) -> Value {
        let end = Ipv6Addr::from_bits;
        match self.prefix_len(128) {
            Some(128) => Value::Ipv6(end(self.from)),
            Some(len) => Value::Ipv6Prefix(end(self.from), len),
            None => Value::Ipv6Range(end(self.from), end(self.to)),
        }
    }

    /// Returns the length of the prefix that is just this interval.
    fn prefix_len(self, width: u8) -> Option<u8> {
        let varying = self.from ^ self.to;
        let host_bits = u8::try_from(128 - varying.leading_zeros()).ok()?;
        let aligned = self.from & varying == 0 && varying.count_ones() == u32::from(host_bits);
        aligned.then(|| width.checked_sub(host_bits)).flatten()
    }
}

/// Returns a prefix of full length as the address it is.
fn without_full_prefix(value: Value) -> Value {
    match value {
        Value::Ipv4Prefix(address, 32) => Value::Ipv4(address),
        Value::Ipv6Prefix(address, 128) => Value::Ipv6(address),
        other => other,
    }
}

/// Turns an element into what a set of these types holds of it.
pub fn normalise_element(element: &mut Element, set: &Set) {
    coerce_key(&mut element.key, &set.key);
    if let (Some(Data::Values(values)), Some(types)) = (&mut element.data, &set.data) {
        coerce_key(values, types);
    }
}

fn coerce_key(key: &mut Key, types: &[DataType]) {
    let wanted = |(value, t): (&Value, &DataType)| coerced(*value, kind_of_type(*t));
    if key.iter().zip(types).all(|pair| wanted(pair) == *pair.0) {
        return;
    }
    *key = key.iter().zip(types).map(wanted).collect::<Vec<_>>().into();
}

/// Gives the only part of a key a kind.
pub(super) fn coerce_to_kind(key: &mut Key, kind: Kind) {
    if let Key::One(value) = key {
        *value = coerced(*value, kind);
    }
}

/// Returns a value that was read without its type as a value of that type.
fn coerced(value: Value, kind: Kind) -> Value {
    match (without_full_prefix(value), kind) {
        (Value::Number(number), Kind::Service) => u16::try_from(number).map_or(value, Value::Port),
        (Value::Number(number), Kind::Mark) => u32::try_from(number).map_or(value, Value::Mark),
        (Value::Number(number), Kind::Protocol) => {
            u8::try_from(number).map_or(value, Value::Protocol)
        }
        (Value::NumberRange(from, to), Kind::Service) => {
            match (u16::try_from(from), u16::try_from(to)) {
                (Ok(from), Ok(to)) => Value::PortRange(from, to),
                _ => value,
            }
        }
        (Value::Word(word), _) => {
            super::parse::typed(word.trim_matches('"'), kind).unwrap_or(value)
        }
        (other, _) => other,
    }
}

//! Look-ups with several parts: sets, maps and chains ask for addresses, protocols and ports at once.
//!
//! A look-up answers by which rows a key fits. So a class is narrowed to keys that fit the same rows:
//! first by the part that tells most rows apart, then, among the few that are left, by each other part.

use std::cell::OnceCell;
use std::collections::HashMap;

use smallvec::SmallVec;

use super::line::{Shelf, Span};
use super::region::Asked;
use super::watch::Watch;

/// Rows of spans.
#[derive(Debug)]
pub(crate) struct Table {
    rows: Vec<Row>,
    parts: Vec<Part>,
}

/// What a key must be to fit, and what it then gets.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Row {
    /// A span for each part of the key.
    pub spans: SmallVec<[Span; 3]>,
    /// What the look-up gives; the same number is the same answer.
    pub gives: u32,
}

#[derive(Debug)]
struct Part {
    /// How many different spans its column has.
    variety: usize,
    shelf: OnceCell<Shelf>,
}

/// One part of a key.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Key {
    /// A value that a field of the first packet may hold.
    Asked(Asked),
    /// A number that no such field holds.
    Known(u128),
    /// Anything: every row may fit.
    Any,
}

impl Key {
    fn number(self) -> Option<u128> {
        match self {
            Key::Asked(asked) => Some(asked.number()),
            Key::Known(number) => Some(number),
            Key::Any => None,
        }
    }
}

impl Table {
    /// Makes a table. All rows have as many spans as the first.
    pub(crate) fn new(rows: Vec<Row>) -> Table {
        let width = rows.first().map_or(0, |row| row.spans.len());
        let part = |at: usize| {
            let mut column: Vec<Span> =
                rows.iter().filter_map(|row| row.spans.get(at)).copied().collect();
            column.sort_unstable();
            column.dedup();
            Part { variety: column.len(), shelf: OnceCell::new() }
        };
        Table { parts: (0..width).map(part).collect(), rows }
    }

    /// Narrows the class to keys that fit the same rows as this one.
    pub(crate) fn narrow(&self, watch: &Watch, key: &[Key]) {
        if !key.iter().any(|key| is_open(*key, watch)) {
            return;
        }
        let Some((first, number)) = self.first_part(watch, key) else { return };
        let rows = self.shelf(first);
        if let Some(Key::Asked(asked)) = key.get(first) {
            watch.ask_shared(*asked, &rows.line);
        }
        let mut left: Vec<u32> = rows.rows(number).to_vec();
        let others = || key.iter().enumerate().filter(|(at, _)| *at != first);
        for (at, key) in others().filter(|(_, key)| !is_open(**key, watch)) {
            self.keep_fitting(&mut left, at, *key);
        }
        for (at, key) in others().filter(|(_, key)| is_open(**key, watch)) {
            if let (Key::Asked(asked), false) = (key, left.is_empty()) {
                let spans = left.iter().filter_map(|row| Some((*row, self.span(*row, at)?)));
                watch.ask(*asked, &Shelf::new(spans, |row| row).line);
                self.keep_fitting(&mut left, at, *key);
            }
        }
    }

    /// Returns the part to begin with: one that tells most rows apart, rather one that is settled.
    fn first_part(&self, watch: &Watch, key: &[Key]) -> Option<(usize, u128)> {
        let parts = self.parts.iter().zip(key).enumerate();
        let numbers = parts.filter_map(|(at, (part, key))| {
            let number = key.number()?;
            let settled = !is_open(*key, watch);
            Some((part.variety, settled, at, number))
        });
        let numbers: SmallVec<[_; 4]> = numbers.collect();
        let most = numbers.iter().map(|(variety, ..)| *variety).max()?;
        let settled = numbers.iter().find(|(variety, settled, ..)| *settled && variety * 2 >= most);
        let best = settled.or_else(|| numbers.iter().find(|(variety, ..)| *variety == most));
        best.map(|(_, _, at, number)| (*at, *number))
    }

    fn shelf(&self, at: usize) -> &Shelf {
        self.parts[at].shelf.get_or_init(|| {
            let column =
                (0..).zip(&self.rows).filter_map(|(n, row)| Some((n, *row.spans.get(at)?)));
            let alike = self.alike_without(at);
            let first_alike =
                |row| usize::try_from(row).ok().and_then(|row| alike.get(row).copied());
            Shelf::new(column, |row| first_alike(row).unwrap_or(row))
        })
    }

    /// Returns for each row the first that differs from it in one part only: where a key fits them
    /// in that part, they are the same.
    fn alike_without(&self, at: usize) -> Vec<u32> {
        let mut first: HashMap<Row, u32> = HashMap::new();
        let numbered = (0..).zip(&self.rows).map(|(n, row)| {
            let mut rest = row.clone();
            if let Some(span) = rest.spans.get_mut(at) {
                *span = (0, 0);
            }
            *first.entry(rest).or_insert(n)
        });
        numbered.collect()
    }

    fn keep_fitting(&self, rows: &mut Vec<u32>, at: usize, key: Key) {
        let Some(number) = key.number() else { return };
        rows.retain(|row| {
            self.span(*row, at).is_some_and(|(low, high)| (low..=high).contains(&number))
        });
    }

    fn span(&self, row: u32, at: usize) -> Option<Span> {
        self.rows.get(usize::try_from(row).ok()?)?.spans.get(at).copied()
    }
}

fn is_open(key: Key, watch: &Watch) -> bool {
    matches!(key, Key::Asked(asked) if watch.is_open(asked))
}

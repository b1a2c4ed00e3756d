//! How a transaction that fails is taken back.

use crate::Name;
use crate::nftables::ast::{Chain, Counter, Element, Key, Ruleset, Set, Table};

use super::TableId;

/// What a step replaced. `None` means that there was nothing.
pub(super) enum Undo {
    Ruleset(Ruleset),
    Table(TableId, Option<(usize, Box<Table>)>),
    Chain(TableId, Name, Option<(usize, Box<Chain>)>),
    /// A rule was put at this place of a chain.
    Rule(TableId, Name, usize),
    Set(TableId, Name, Option<(usize, Box<Set>)>),
    SetSize(TableId, Name),
    Element(TableId, Name, Key, Option<Box<Element>>),
    Counter(TableId, Name, Option<(usize, Box<Counter>)>),
}

impl Undo {
    /// Takes one step back.
    pub(super) fn run(self, ruleset: &mut Ruleset) {
        let table = match self {
            Undo::Ruleset(before) => {
                *ruleset = before;
                return;
            }
            Undo::Table(id, before) => return restore_table(ruleset, id, before),
            Undo::Chain(id, ..)
            | Undo::Rule(id, ..)
            | Undo::Set(id, ..)
            | Undo::SetSize(id, _)
            | Undo::Element(id, ..)
            | Undo::Counter(id, ..) => id,
        };
        if let Some(table) = ruleset.table_mut(table) {
            self.run_in(table);
        }
    }

    fn run_in(self, table: &mut Table) {
        match self {
            Undo::Chain(_, name, before) => restore(&mut table.chains, name, before),
            Undo::Rule(_, chain, at) => {
                if let Some(chain) = table.chains.get_mut(&chain).filter(|c| at < c.rules.len()) {
                    chain.rules.remove(at);
                }
            }
            Undo::Set(_, name, before) => restore(&mut table.sets, name, before),
            Undo::SetSize(_, name) => {
                if let Some(set) = table.sets.get_mut(&name) {
                    set.size = None;
                }
            }
            Undo::Element(_, set, key, before) => {
                if let Some(set) = table.sets.get_mut(&set) {
                    match before {
                        Some(element) => drop(set.elements.insert(key, *element)),
                        None => drop(set.elements.swap_remove(&key)),
                    }
                }
            }
            Undo::Counter(_, name, before) => restore(&mut table.counters, name, before),
            Undo::Ruleset(_) | Undo::Table(..) => {}
        }
    }
}

fn restore<T>(map: &mut indexmap::IndexMap<Name, T>, name: Name, before: Option<(usize, Box<T>)>) {
    match before {
        None => drop(map.shift_remove(&name)),
        Some((at, before)) if map.contains_key(&name) => {
            let _ = at;
            map.insert(name, *before);
        }
        Some((at, before)) => drop(map.shift_insert(at.min(map.len()), name, *before)),
    }
}

fn restore_table(ruleset: &mut Ruleset, id: TableId, before: Option<(usize, Box<Table>)>) {
    ruleset.tables.retain(|table| table.id() != id);
    if let Some((at, table)) = before {
        ruleset.tables.insert(at.min(ruleset.tables.len()), *table);
    }
}

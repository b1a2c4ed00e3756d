//! The command form of nftables, as `nft -f` reads it, and its effect on a
//! [`Ruleset`](super::Ruleset).

mod apply;
mod error;
mod references;
mod undo;
mod validate;

pub use error::{ApplyError, ApplyErrorKind};

use super::ast::{Chain, Counter, Element, Rule, Set, Table, TableFamily, Unsupported};
use crate::Name;

/// The family and name of a table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TableId {
    /// Its family.
    pub family: TableFamily,
    /// Its name.
    pub name: Name,
}

/// One command. `Add` of a thing that exists is no error in nft, and `Delete` of one that does not
/// exist is; [`Create`](Command::Create) and [`Destroy`](Command::Destroy) turn that round.
#[derive(Debug, Clone, PartialEq)]
pub enum Command {
    /// `add table`, with its comment.
    AddTable {
        /// Which table.
        table: TableId,
        /// Its comment.
        comment: Option<Name>,
    },
    /// `delete table`.
    DeleteTable(TableId),
    /// `flush ruleset`.
    FlushRuleset,
    /// `add chain`; the chain's rules are empty.
    AddChain {
        /// In which table.
        table: TableId,
        /// Its name.
        name: Name,
        /// Its comment and hook.
        chain: Chain,
    },
    /// `flush chain`.
    FlushChain {
        /// In which table.
        table: TableId,
        /// Its name.
        name: Name,
    },
    /// `delete chain`.
    DeleteChain {
        /// In which table.
        table: TableId,
        /// Its name.
        name: Name,
    },
    /// `add rule`: at the end of the chain.
    AddRule {
        /// In which table.
        table: TableId,
        /// In which chain.
        chain: Name,
        /// The rule.
        rule: Rule,
    },
    /// `insert rule`: at the start of the chain.
    InsertRule {
        /// In which table.
        table: TableId,
        /// In which chain.
        chain: Name,
        /// The rule.
        rule: Rule,
    },
    /// `add set` or `add map`; elements may come with it.
    AddSet {
        /// In which table.
        table: TableId,
        /// Its name.
        name: Name,
        /// The set.
        set: Box<Set>,
    },
    /// `flush set` or `flush map`.
    FlushSet {
        /// In which table.
        table: TableId,
        /// Its name.
        name: Name,
        /// Whether the command says `map`.
        map: bool,
    },
    /// `delete set` or `delete map`.
    DeleteSet {
        /// In which table.
        table: TableId,
        /// Its name.
        name: Name,
        /// Whether the command says `map`.
        map: bool,
    },
    /// `add element`.
    AddElement {
        /// In which table.
        table: TableId,
        /// In which set.
        set: Name,
        /// The elements.
        elements: Vec<Element>,
    },
    /// `delete element`.
    DeleteElement {
        /// In which table.
        table: TableId,
        /// In which set.
        set: Name,
        /// The elements; only their keys count.
        elements: Vec<Element>,
    },
    /// `add counter`.
    AddCounter {
        /// In which table.
        table: TableId,
        /// Its name.
        name: Name,
        /// The counter.
        counter: Counter,
    },
    /// `delete counter`.
    DeleteCounter {
        /// In which table.
        table: TableId,
        /// Its name.
        name: Name,
    },
    /// `flush table`: removes the rules of all its chains.
    FlushTable(TableId),
    /// `delete rule`, by its handle.
    DeleteRule {
        /// In which table.
        table: TableId,
        /// In which chain.
        chain: Name,
        /// The rule's handle.
        handle: u64,
    },
    /// `create …` instead of `add …`: an error if the thing exists.
    Create(Box<Command>),
    /// `destroy …` instead of `delete …`: no error if the thing does not exist.
    Destroy(Box<Command>),
    /// A command that is not modelled.
    Unsupported(Unsupported),
}

impl Table {
    /// Returns the commands that create the table and all that is in it: objects before the rules
    /// and elements that refer to them.
    #[must_use]
    pub fn into_commands(self) -> Vec<Command> {
        let table = self.id();
        let mut commands = vec![Command::AddTable { table, comment: self.comment }];
        let counters = self.counters.into_iter();
        commands.extend(counters.map(|(name, counter)| Command::AddCounter {
            table,
            name,
            counter,
        }));
        let mut rules = Vec::new();
        for (name, mut chain) in self.chains {
            let of_chain = std::mem::take(&mut chain.rules).into_iter();
            rules.extend(of_chain.map(|rule| Command::AddRule { table, chain: name, rule }));
            commands.push(Command::AddChain { table, name, chain });
        }
        let sets = self.sets.into_iter();
        commands.extend(sets.map(|(name, set)| {
            let set = Box::new(set);
            Command::AddSet { table, name, set }
        }));
        commands.extend(self.other.into_iter().map(Command::Unsupported));
        commands.extend(rules);
        commands
    }
}

impl std::fmt::Display for TableId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} {}", self.family.as_str(), self.name)
    }
}

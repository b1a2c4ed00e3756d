//! Text into the tree: what `iptables-save` and `iptables -S` print and `iptables-restore` takes.
//!
//! The reader takes text as people paste it: of either tool and family, with or without counters,
//! one table or several, with comment lines between. It never gives up: a match or target that the
//! tree does not model, or whose options make no sense, stays as [`Unknown`](super::Unknown) in its
//! place, and a line that breaks the structure is reported while the reader goes on.
//!
//! `rule` reads a rule, [`matches`], `stateful` and `targets` the options of extensions, and
//! `args` their values.

mod args;
mod command;
mod matches;
mod rule;
mod stateful;
mod targets;

use super::ast::{Chain, Counters, Family, Policy, Rule, Ruleset, Table};
use super::transaction::{Command, Flush, Transaction, apply};
use crate::Name;
use crate::parsed::{ParseError, Parsed, lines};
use command::{Line, LineReader};

/// Reads what `iptables-save` or `ip6tables-save` prints.
///
/// Only rules at the end of declared chains are rule sets in this form; commands other than `-A` are
/// applied as `iptables-restore` would.
#[must_use]
pub fn parse_ruleset(text: &str, family: Family) -> Parsed<Ruleset> {
    Loader::new(Ruleset::new(family), None).read(text)
}

/// Reads a text for `iptables-restore`: a transaction for each table.
#[must_use]
pub fn parse_restore(text: &str, family: Family) -> Parsed<Vec<Transaction>> {
    let mut reader = LineReader::new(family);
    let mut parsed = Parsed { value: Vec::new(), errors: Vec::new() };
    let mut open: Option<Transaction> = None;
    for (number, line) in lines(text) {
        match reader.line(number, line) {
            Ok(Line::Nothing) => {}
            Ok(Line::Table(table)) => {
                parsed.value.extend(open.replace(Transaction { table, commands: Vec::new() }));
            }
            Ok(Line::Commit) => parsed.value.extend(open.take()),
            Ok(Line::Command(command)) => match &mut open {
                Some(transaction) => transaction.commands.push(command),
                None => parsed.errors.push(ParseError::new(number, "a table", line)),
            },
            Err(error) => parsed.errors.push(error),
        }
    }
    parsed.value.extend(open);
    parsed
}

/// Reads what `iptables -S` prints of one table, with or without `-v`.
#[must_use]
pub fn parse_listing(text: &str, family: Family, table: &str) -> Parsed<Ruleset> {
    let mut ruleset = Ruleset::new(family);
    ruleset.tables.insert(Name::new(table), Table::default());
    Loader::new(ruleset, Some(0)).read(text)
}

/// Reads the words of one rule, without chain and counters.
#[must_use]
pub fn parse_rule(text: &str, family: Family) -> Rule {
    rule::RuleReader::new(family).read(0, text)
}

/// Fills a rule set from lines.
///
/// Rules of a chain stand together in what the tools print, and chains in the order in which they
/// were declared. So the rules of one chain are gathered and moved at once, and the next chain is
/// looked for behind the last one first.
struct Loader {
    ruleset: Ruleset,
    /// The index of the table that is open.
    table: Option<usize>,
    /// The index of the chain whose rules are gathered.
    chain: usize,
    /// These rules.
    rules: Vec<Rule>,
    errors: Vec<ParseError>,
}

impl Loader {
    fn new(ruleset: Ruleset, table: Option<usize>) -> Loader {
        Loader { ruleset, table, chain: 0, rules: Vec::new(), errors: Vec::new() }
    }

    fn read(mut self, text: &str) -> Parsed<Ruleset> {
        let mut reader = LineReader::new(self.ruleset.family);
        for (number, line) in lines(text) {
            let result = reader.line(number, line).and_then(|read| {
                self.take(read).map_err(|expected| ParseError::new(number, expected, line))
            });
            self.errors.extend(result.err());
        }
        self.settle();
        Parsed { value: self.ruleset, errors: self.errors }
    }

    fn take(&mut self, line: Line) -> Result<(), &'static str> {
        match line {
            Line::Nothing => {}
            Line::Command(Command::Append { chain, rule }) => return self.append(chain, rule),
            Line::Command(command) => {
                self.settle();
                return self.command(command);
            }
            Line::Commit => {
                self.settle();
                self.table = None;
            }
            Line::Table(name) => {
                self.settle();
                self.table = Some(self.ruleset.tables.insert_full(name, Table::default()).0);
                self.chain = 0;
            }
        }
        Ok(())
    }

    fn append(&mut self, chain: Name, rule: Rule) -> Result<(), &'static str> {
        let last = self.chain;
        let table = self.open_table().ok_or("a table")?;
        let is_at = |index| table.chains.get_index(index).is_some_and(|(name, _)| *name == chain);
        let near = [last, last + 1].into_iter().find(|index| is_at(*index));
        let index = near.or_else(|| table.chains.get_index_of(&chain)).ok_or("a declared chain")?;
        if index != last {
            self.settle();
            self.chain = index;
        }
        self.rules.push(rule);
        Ok(())
    }

    /// Moves the rules that were gathered into their chain.
    fn settle(&mut self) {
        if self.rules.is_empty() {
            return;
        }
        let mut rules = std::mem::take(&mut self.rules);
        let chain = self.chain;
        let chain = self.open_table().and_then(|table| table.chains.get_index_mut(chain));
        if let Some((_, chain)) = chain {
            chain.rules.reserve_exact(rules.len());
            chain.rules.append(&mut rules);
        }
        self.rules = rules;
    }

    fn open_table(&mut self) -> Option<&mut Table> {
        self.ruleset.tables.get_index_mut(self.table?).map(|(_, table)| table)
    }

    fn command(&mut self, command: Command) -> Result<(), &'static str> {
        let table = self.table.and_then(|i| self.ruleset.tables.get_index_mut(i));
        let (name, table) = table.ok_or("a table")?;
        match command {
            Command::Declare { chain, policy, counters } => declare(table, chain, policy, counters),
            Command::Policy { chain, policy, counters } => {
                declare(table, chain, Some(policy), counters);
            }
            Command::New(chain) => declare(table, chain, None, None),
            other => {
                let transaction = Transaction { table: *name, commands: vec![other] };
                return apply(&mut self.ruleset, &[transaction], Flush::No)
                    .map_err(|_| "a command that can be done");
            }
        }
        Ok(())
    }
}

fn declare(table: &mut Table, chain: Name, policy: Option<Policy>, counters: Option<Counters>) {
    table.chains.insert(chain, Chain { policy, counters, rules: Vec::new() });
}

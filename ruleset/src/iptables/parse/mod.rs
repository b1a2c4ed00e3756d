//! Text into the tree: what `iptables-save` and `iptables -S` print and `iptables-restore` takes.
//!
//! The reader takes text as people paste it: of either tool and family, with or without counters,
//! one table or several, with comment lines between. It never gives up: a match or target that the
//! tree does not model, or whose options make no sense, stays as [`Unknown`](super::Unknown) in its
//! place, and a line that breaks the structure is reported while the reader goes on.
//!
//! [`rule`] reads a rule, [`matches`], [`stateful`] and [`targets`] the options of extensions, and
//! [`args`] their values.

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
    let mut loader = Loader { ruleset: Ruleset::new(family), table: None, errors: Vec::new() };
    let mut reader = LineReader::new(family);
    for (number, line) in lines(text) {
        match reader.line(number, line) {
            Ok(line) => loader.take(number, line),
            Err(error) => loader.errors.push(error),
        }
    }
    loader.finish()
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
    let mut loader = Loader { ruleset, table: Some(0), errors: Vec::new() };
    let mut reader = LineReader::new(family);
    for (number, line) in lines(text) {
        match reader.line(number, line) {
            Ok(line) => loader.take(number, line),
            Err(error) => loader.errors.push(error),
        }
    }
    loader.finish()
}

/// Reads the words of one rule, without chain and counters.
#[must_use]
pub fn parse_rule(text: &str, family: Family) -> Rule {
    rule::RuleReader::new(family).read(0, text)
}

/// Fills a rule set from lines.
struct Loader {
    ruleset: Ruleset,
    /// The index of the table that is open.
    table: Option<usize>,
    errors: Vec<ParseError>,
}

impl Loader {
    fn take(&mut self, number: u32, line: Line) {
        match line {
            Line::Nothing => {}
            Line::Commit => self.table = None,
            Line::Table(name) => {
                self.table = Some(self.ruleset.tables.insert_full(name, Table::default()).0);
            }
            Line::Command(command) => self.command(number, command),
        }
    }

    fn command(&mut self, number: u32, command: Command) {
        let table = self.table.and_then(|i| self.ruleset.tables.get_index_mut(i));
        let Some((name, table)) = table else {
            return self.error(number, "a table");
        };
        match command {
            Command::Declare { chain, policy, counters } => declare(table, chain, policy, counters),
            Command::Policy { chain, policy, counters } => {
                declare(table, chain, Some(policy), counters);
            }
            Command::New(chain) => declare(table, chain, None, None),
            Command::Append { chain, rule } => match table.chains.get_mut(&chain) {
                Some(chain) => chain.rules.push(rule),
                None => self.error(number, "a declared chain"),
            },
            other => {
                let transaction = Transaction { table: *name, commands: vec![other] };
                if apply(&mut self.ruleset, &[transaction], Flush::No).is_err() {
                    self.error(number, "a command that can be done");
                }
            }
        }
    }

    fn error(&mut self, line: u32, expected: &'static str) {
        self.errors.push(ParseError::new(line, expected, ""));
    }

    fn finish(mut self) -> Parsed<Ruleset> {
        for (_, table) in &mut self.ruleset.tables {
            table.chains.values_mut().for_each(|chain| chain.rules.shrink_to_fit());
        }
        Parsed { value: self.ruleset, errors: self.errors }
    }
}

fn declare(table: &mut Table, chain: Name, policy: Option<Policy>, counters: Option<Counters>) {
    table.chains.insert(chain, Chain { policy, counters, rules: Vec::new() });
}

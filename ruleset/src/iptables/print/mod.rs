//! The tree as text.
//!
//! Three forms: what `iptables-save` prints, what `iptables -S` prints, and the text for
//! `iptables-restore` as kube-proxy writes it: options in the order that the rule's
//! [`Layout`](super::Layout) remembers, defaults left out, marks in ten characters. Rules are alike
//! in the first two. The comment lines with dates that the tools put around tables are left out.

mod matches;
mod rule;
mod targets;

use super::ast::{Chain, Counters, Family, Match, Rule, Ruleset, Table, Target};
use super::transaction::{Command, Transaction};
use crate::Name;

/// Returns what `iptables-save` prints, with the counters of rules (`-c`) or without.
///
/// User chains are sorted by name, as the tools do.
#[must_use]
pub fn print_ruleset(ruleset: &Ruleset, counters: bool) -> String {
    let mut out = String::new();
    let mut writer = Writer::new(&mut out, ruleset.family, Form::Saved);
    for (name, table) in &ruleset.tables {
        writer.table(*name, table, counters);
    }
    out
}

/// Returns what `iptables -S` prints of a table, with counters (`-v`) or without.
#[must_use]
pub fn print_listing(table: &Table, family: Family, counters: bool) -> String {
    let mut out = String::new();
    Writer::new(&mut out, family, Form::Saved).listing(table, counters);
    out
}

/// Returns the text for `iptables-restore`, as kube-proxy writes it.
#[must_use]
pub fn print_restore(transactions: &[Transaction], family: Family) -> String {
    let mut out = String::new();
    let mut writer = Writer::new(&mut out, family, Form::Written);
    for transaction in transactions {
        writer.transaction(transaction);
    }
    out
}

/// Returns a rule as `iptables-save` prints it after the chain.
#[must_use]
pub fn print_rule(rule: &Rule, family: Family) -> String {
    in_form(family, Form::Saved, |writer| writer.rule(rule))
}

/// Returns a rule as kube-proxy writes it after the chain.
#[must_use]
pub fn print_written(rule: &Rule, family: Family) -> String {
    in_form(family, Form::Written, |writer| writer.rule(rule))
}

/// Returns a match as `iptables-save` prints it, with its `-m`.
#[must_use]
pub fn print_match(m: &Match, family: Family) -> String {
    in_form(family, Form::Saved, |writer| writer.whole_match(m))
}

/// Returns the options of a match as `iptables-save` prints them.
#[must_use]
pub fn match_options(m: &Match, family: Family) -> String {
    in_form(family, Form::Saved, |writer| writer.match_options(m))
}

/// Returns the options of a target as `iptables-save` prints them.
#[must_use]
pub fn target_options(target: &Target, family: Family) -> String {
    in_form(family, Form::Saved, |writer| writer.target_options(target))
}

fn in_form(family: Family, form: Form, write: impl FnOnce(&mut Writer<'_>)) -> String {
    let mut out = String::new();
    write(&mut Writer::new(&mut out, family, form));
    out.trim_ascii().to_owned()
}

/// How values are spelled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Form {
    /// As `iptables-save` prints what the kernel has.
    Saved,
    /// As kube-proxy writes what the kernel shall have.
    Written,
}

/// Writes rules into a text.
struct Writer<'a> {
    out: &'a mut String,
    family: Family,
    form: Form,
}

impl<'a> Writer<'a> {
    fn new(out: &'a mut String, family: Family, form: Form) -> Writer<'a> {
        Writer { out, family, form }
    }

    fn table(&mut self, name: Name, table: &Table, counters: bool) {
        self.line(&["*", &name]);
        let chains = in_tool_order(table);
        for (name, chain) in &chains {
            let policy = chain.policy.map_or("-", |policy| policy.as_str());
            self.text(&[":", name, " ", policy, " "]);
            self.counters(chain.counters.unwrap_or_default());
            self.line(&[]);
        }
        for (name, chain) in &chains {
            for rule in &chain.rules {
                if counters {
                    self.counters(rule.counters.unwrap_or_default());
                    self.text(&[" "]);
                }
                self.append(name, rule);
            }
        }
        self.line(&["COMMIT"]);
    }

    fn listing(&mut self, table: &Table, counters: bool) {
        let chains = in_tool_order(table);
        for (name, chain) in &chains {
            match chain.policy {
                Some(policy) => self.text(&["-P ", name, " ", policy.as_str()]),
                None => self.text(&["-N ", name]),
            }
            if counters && chain.policy.is_some() {
                self.counter_option(chain.counters.unwrap_or_default());
            }
            self.line(&[]);
        }
        for (name, chain) in &chains {
            for rule in &chain.rules {
                self.text(&["-A ", name]);
                self.conditions(rule);
                if counters {
                    self.counter_option(rule.counters.unwrap_or_default());
                }
                self.target(rule);
                self.line(&[]);
            }
        }
    }

    fn transaction(&mut self, transaction: &Transaction) {
        self.line(&["*", &transaction.table]);
        for command in &transaction.commands {
            self.command(command);
        }
        self.line(&["COMMIT"]);
    }

    fn command(&mut self, command: &Command) {
        match command {
            Command::Declare { chain, policy, counters } => {
                self.text(&[":", chain, " ", policy.map_or("-", |p| p.as_str()), " "]);
                self.counters(counters.unwrap_or_default());
            }
            Command::Append { chain, rule } => return self.append(chain, rule),
            Command::Insert { chain, number: 1, rule } => self.with_rule("-I ", chain, None, rule),
            Command::Insert { chain, number, rule } => {
                self.with_rule("-I ", chain, Some(*number), rule);
            }
            Command::Replace { chain, number, rule } => {
                self.with_rule("-R ", chain, Some(*number), rule);
            }
            Command::Delete { chain, rule } => self.with_rule("-D ", chain, None, rule),
            Command::Check { chain, rule } => self.with_rule("-C ", chain, None, rule),
            Command::DeleteNumber { chain, number } => {
                self.text(&["-D ", chain, " "]);
                self.number(*number);
            }
            Command::Flush(chain) => self.optional_chain("-F", *chain),
            Command::Zero(chain) => self.optional_chain("-Z", *chain),
            Command::DeleteChain(chain) => self.optional_chain("-X", *chain),
            Command::New(chain) => self.text(&["-N ", chain]),
            Command::Rename { chain, to } => self.text(&["-E ", chain, " ", to]),
            Command::Policy { chain, policy, counters } => {
                self.text(&["-P ", chain, " ", policy.as_str()]);
                if let Some(counters) = counters {
                    self.counter_option(*counters);
                }
            }
        }
        self.line(&[]);
    }

    fn with_rule(&mut self, verb: &str, chain: &str, number: Option<u32>, rule: &Rule) {
        self.text(&[verb, chain]);
        if let Some(number) = number {
            self.text(&[" "]);
            self.number(number);
        }
        self.rule(rule);
    }

    fn optional_chain(&mut self, verb: &str, chain: Option<Name>) {
        self.text(&[verb]);
        if let Some(chain) = chain {
            self.text(&[" ", &chain]);
        }
    }

    fn append(&mut self, chain: &str, rule: &Rule) {
        self.text(&["-A ", chain]);
        self.rule(rule);
        self.line(&[]);
    }

    fn counters(&mut self, counters: Counters) {
        self.text(&["["]);
        self.number(counters.packets);
        self.text(&[":"]);
        self.number(counters.bytes);
        self.text(&["]"]);
    }

    fn counter_option(&mut self, counters: Counters) {
        self.text(&[" -c "]);
        self.number(counters.packets);
        self.text(&[" "]);
        self.number(counters.bytes);
    }

    fn text(&mut self, parts: &[&str]) {
        for part in parts {
            self.out.push_str(part);
        }
    }

    fn line(&mut self, parts: &[&str]) {
        self.text(parts);
        self.out.push('\n');
    }

    fn number(&mut self, number: impl itoa::Integer) {
        self.out.push_str(itoa::Buffer::new().format(number));
    }
}

/// Returns the chains as the tools list them: built-in ones in their order, then the others by name.
fn in_tool_order(table: &Table) -> Vec<(Name, &Chain)> {
    let mut chains: Vec<_> = table.chains.iter().map(|(name, chain)| (*name, chain)).collect();
    chains.sort_by(|(a, x), (b, y)| {
        let builtin = (x.policy.is_none()).cmp(&y.policy.is_none());
        builtin.then_with(|| if x.policy.is_some() { std::cmp::Ordering::Equal } else { a.cmp(b) })
    });
    chains
}

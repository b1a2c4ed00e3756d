//! Chains and rules in the order in which they are written.

use kps_ruleset::Name;
use kps_ruleset::iptables::transaction::{Command, Transaction};
use kps_ruleset::iptables::{Chain, Counters, Rule, Ruleset, Table};

/// A part of what is restored.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Part {
    /// Of table `filter`.
    pub filter: Lines,
    /// Of table `nat`.
    pub nat: Lines,
}

/// The lines of one table.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Lines {
    /// The chains that are made or emptied.
    pub chains: Vec<Name>,
    /// The rules that are appended.
    pub runs: Vec<Run>,
}

/// Rules that are appended to one chain, one after the other.
#[derive(Debug, Clone, PartialEq)]
pub struct Run {
    /// The chain.
    pub chain: Name,
    /// The rules.
    pub rules: Vec<Rule>,
}

impl Part {
    /// Puts the lines into the tables, as `iptables-restore` does.
    pub(crate) fn install(self, ruleset: &mut Ruleset) {
        for (name, lines) in [("filter", self.filter), ("nat", self.nat)] {
            if let Some(table) = ruleset.tables.get_mut(&Name::new(name)) {
                lines.install(table);
            }
        }
    }
}

impl Lines {
    /// Returns the lines that make chains.
    pub(crate) fn of_chains(chains: &[&str]) -> Lines {
        Lines { chains: chains.iter().map(|chain| Name::new(chain)).collect(), runs: Vec::new() }
    }

    /// Appends a rule to a chain.
    pub(crate) fn push(&mut self, chain: impl Into<Name>, rule: Rule) {
        self.extend(chain.into(), vec![rule]);
    }

    /// Appends rules to a chain.
    pub(crate) fn extend(&mut self, chain: Name, rules: Vec<Rule>) {
        self.runs.push(Run { chain, rules });
    }

    /// Returns the number of rules.
    #[must_use]
    pub fn rule_count(&self) -> usize {
        self.runs.iter().map(|run| run.rules.len()).sum()
    }

    fn install(self, table: &mut Table) {
        for chain in self.chains {
            table.chains.insert(chain, Chain::default());
        }
        for run in self.runs {
            let chain = table.chains.entry(run.chain).or_default();
            if chain.rules.is_empty() {
                chain.rules = run.rules;
            } else {
                chain.rules.extend(run.rules);
            }
        }
    }
}

/// Returns the text for `iptables-restore`, as data, in the order of the tables given.
pub(crate) fn restore(tables: [(&str, Vec<Lines>); 2]) -> Vec<Transaction> {
    tables.into_iter().map(|(table, lines)| transaction(table, lines)).collect()
}

/// Returns one transaction of lines: all chains before all rules, since a rule may name any chain.
fn transaction(table: &str, lines: Vec<Lines>) -> Transaction {
    let chains = lines.iter().flat_map(|lines| &lines.chains);
    let mut commands: Vec<Command> = chains.map(|chain| declare(*chain)).collect();
    commands.reserve_exact(lines.iter().map(Lines::rule_count).sum());
    for Run { chain, rules } in lines.into_iter().flat_map(|lines| lines.runs) {
        commands.extend(rules.into_iter().map(|rule| Command::Append { chain, rule }));
    }
    Transaction { table: table.into(), commands }
}

fn declare(chain: Name) -> Command {
    Command::Declare { chain, policy: None, counters: Some(Counters::default()) }
}

//! Applies transactions to a rule set as the kernel would.

use std::collections::HashMap;

use thiserror::Error;

use super::super::ast::{Chain, Counters, Policy, Rule, Ruleset, Table, Target, builtin_chains};
use super::{Command, Transaction};
use crate::Name;

/// Whether the tables that a text names lose their old content first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Flush {
    /// `iptables-restore`.
    Yes,
    /// `iptables-restore --noflush`.
    No,
}

/// Why a transaction was refused.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum ApplyError {
    /// There is no table of that name.
    #[error("table `{0}` does not exist")]
    UnknownTable(Name),
    /// There is no chain of that name.
    #[error("no chain of the name `{chain}` in table `{table}`")]
    UnknownChain {
        /// The table.
        table: Name,
        /// The chain.
        chain: Name,
    },
    /// A rule jumps to a chain that is not there (yet).
    #[error("chain `{target}`, to which a rule of `{chain}` jumps, does not exist")]
    UnknownTarget {
        /// The chain of the rule.
        chain: Name,
        /// Where it jumps.
        target: Name,
    },
    /// `-N` or `-E` of a name that is taken.
    #[error("chain `{0}` already exists")]
    ChainExists(Name),
    /// A policy for a chain that is not built in, or the removal of one that is.
    #[error("`{0}` is built in, or would have to be")]
    BuiltIn(Name),
    /// `-X` of a chain that has rules.
    #[error("chain `{0}` is not empty")]
    NotEmpty(Name),
    /// `-X` of a chain to which a rule jumps.
    #[error("chain `{0}` is in use")]
    InUse(Name),
    /// The number of a rule is too big.
    #[error("chain `{chain}` has no place {number}")]
    NoSuchNumber {
        /// The chain.
        chain: Name,
        /// The number.
        number: u32,
    },
    /// `-D` or `-C` of a rule that is not there.
    #[error("chain `{0}` has no such rule")]
    NoSuchRule(Name),
    /// Chains jump in a circle.
    #[error("chain `{0}` jumps to itself in a circle")]
    Loop(Name),
}

/// Applies transactions in order. On an error the failing table is as before, and so are those that
/// come later; the ones before have changed.
///
/// # Errors
///
/// The first command that the tools would refuse.
pub fn apply(
    ruleset: &mut Ruleset,
    transactions: &[Transaction],
    flush: Flush,
) -> Result<(), ApplyError> {
    transactions.iter().try_for_each(|transaction| commit(ruleset, transaction, flush))
}

fn commit(
    ruleset: &mut Ruleset,
    transaction: &Transaction,
    flush: Flush,
) -> Result<(), ApplyError> {
    let name = transaction.table;
    if builtin_chains(&name).is_empty() {
        return Err(ApplyError::UnknownTable(name));
    }
    let old = ruleset.tables.get_mut(&name).map(|table| match flush {
        Flush::Yes => std::mem::replace(table, flushed(table)),
        Flush::No => Table::default(),
    });
    let is_new = old.is_none();
    let table = ruleset.tables.entry(name).or_insert_with(|| Table::builtin(&name));
    let mut change = Change::new(name, table);
    let result = transaction.commands.iter().try_for_each(|command| change.command(command));
    let result = result.and_then(|()| change.find_loop());
    if result.is_err() {
        change.undo();
        match old {
            _ if is_new => drop(ruleset.tables.shift_remove(&name)),
            Some(old) if flush == Flush::Yes => *table = old,
            _ => {}
        }
    }
    result
}

/// Returns what flushing leaves of a table: the built-in chains with their policies.
fn flushed(table: &Table) -> Table {
    let builtin = table.chains.iter().filter(|(_, chain)| chain.policy.is_some());
    let empty = |chain: &Chain| Chain { rules: Vec::new(), ..*chain };
    Table { chains: builtin.map(|(name, chain)| (*name, empty(chain))).collect() }
}

/// A table while it is being changed.
struct Change<'t> {
    name: Name,
    table: &'t mut Table,
    /// The chains that were touched, as they were before, in the order of the first touch.
    before: HashMap<Name, Option<Chain>>,
    /// How many rules jump to a chain; counted when it is first asked for.
    references: Option<HashMap<Name, usize>>,
}

impl<'t> Change<'t> {
    fn new(name: Name, table: &'t mut Table) -> Change<'t> {
        Change { name, table, before: HashMap::new(), references: None }
    }

    fn command(&mut self, command: &Command) -> Result<(), ApplyError> {
        match command {
            Command::Declare { chain, policy, counters } => {
                self.declare(*chain, *policy, *counters)
            }
            Command::Append { chain, rule } => self.insert(*chain, None, rule),
            Command::Insert { chain, number, rule } => self.insert(*chain, Some(*number), rule),
            Command::Replace { chain, number, rule } => {
                self.remove(*chain, *number)?;
                self.insert(*chain, Some(*number), rule)
            }
            Command::Delete { chain, rule } => {
                let number = self.find(*chain, rule)?;
                self.remove(*chain, number)
            }
            Command::DeleteNumber { chain, number } => self.remove(*chain, *number),
            Command::Check { chain, rule } => self.find(*chain, rule).map(drop),
            Command::Flush(chain) => self.for_chains(*chain, Change::clear),
            Command::Zero(chain) => self.for_chains(*chain, Change::zero),
            Command::New(chain) if self.table.chains.contains_key(chain) => {
                Err(ApplyError::ChainExists(*chain))
            }
            Command::New(chain) => self.declare(*chain, None, None),
            Command::DeleteChain(Some(chain)) => self.delete_chain(*chain),
            Command::DeleteChain(None) => self.delete_unused(),
            Command::Rename { chain, to } => self.rename(*chain, *to),
            Command::Policy { chain, policy, counters } => {
                self.declare(*chain, Some(*policy), *counters)
            }
        }
    }

    /// Returns a chain to change it, after keeping a copy of it as it was.
    fn chain(&mut self, name: Name) -> Result<&mut Chain, ApplyError> {
        let unknown = ApplyError::UnknownChain { table: self.name, chain: name };
        let chain = self.table.chains.get_mut(&name).ok_or(unknown)?;
        self.before.entry(name).or_insert_with(|| Some(chain.clone()));
        Ok(chain)
    }

    fn declare(
        &mut self,
        name: Name,
        policy: Option<Policy>,
        counters: Option<Counters>,
    ) -> Result<(), ApplyError> {
        let builtin = builtin_chains(&self.name).contains(&name.as_str());
        if policy.is_some() != builtin {
            return Err(ApplyError::BuiltIn(name));
        }
        if builtin {
            let chain = self.chain(name)?;
            (chain.policy, chain.counters) = (policy, counters.or(chain.counters));
            return Ok(());
        }
        let old = self.table.chains.insert(name, Chain { counters, ..Chain::default() });
        if let Some(old) = &old {
            self.forget(&old.rules);
        }
        self.before.entry(name).or_insert(old);
        Ok(())
    }

    fn insert(&mut self, name: Name, at: Option<u32>, rule: &Rule) -> Result<(), ApplyError> {
        if let Some(target) = rule.target.as_ref().and_then(Target::chain) {
            let known = self.table.chains.get(&target).is_some_and(|chain| chain.policy.is_none());
            if !known {
                return Err(ApplyError::UnknownTarget { chain: name, target });
            }
        }
        let chain = self.chain(name)?;
        let index = at.map_or(chain.rules.len(), place);
        if index > chain.rules.len() {
            let number = at.unwrap_or_default();
            return Err(ApplyError::NoSuchNumber { chain: name, number });
        }
        chain.rules.insert(index, rule.clone());
        self.count(rule, 1);
        Ok(())
    }

    fn remove(&mut self, name: Name, number: u32) -> Result<(), ApplyError> {
        let chain = self.chain(name)?;
        if place(number) >= chain.rules.len() {
            return Err(ApplyError::NoSuchNumber { chain: name, number });
        }
        let rule = chain.rules.remove(place(number));
        self.forget(&[rule]);
        Ok(())
    }

    /// Returns the number of the first rule that is the same, up to counters.
    fn find(&mut self, name: Name, rule: &Rule) -> Result<u32, ApplyError> {
        let same = |other: &Rule| {
            other.header == rule.header
                && other.matches == rule.matches
                && other.target == rule.target
        };
        let index = self.chain(name)?.rules.iter().position(same);
        let number = index.and_then(|index| u32::try_from(index + 1).ok());
        number.ok_or(ApplyError::NoSuchRule(name))
    }

    fn for_chains(
        &mut self,
        chain: Option<Name>,
        mut act: impl FnMut(&mut Self, Name) -> Result<(), ApplyError>,
    ) -> Result<(), ApplyError> {
        let names = match chain {
            Some(name) => vec![name],
            None => self.table.chains.keys().copied().collect(),
        };
        names.into_iter().try_for_each(|name| act(self, name))
    }

    fn clear(&mut self, name: Name) -> Result<(), ApplyError> {
        let rules = std::mem::take(&mut self.chain(name)?.rules);
        self.forget(&rules);
        Ok(())
    }

    fn zero(&mut self, name: Name) -> Result<(), ApplyError> {
        let chain = self.chain(name)?;
        chain.counters = chain.counters.map(|_| Counters::default());
        for rule in &mut chain.rules {
            rule.counters = rule.counters.map(|_| Counters::default());
        }
        Ok(())
    }

    fn delete_chain(&mut self, name: Name) -> Result<(), ApplyError> {
        let chain = self.chain(name)?;
        if chain.policy.is_some() {
            return Err(ApplyError::BuiltIn(name));
        }
        if !chain.rules.is_empty() {
            return Err(ApplyError::NotEmpty(name));
        }
        if self.references().get(&name).is_some_and(|count| *count > 0) {
            return Err(ApplyError::InUse(name));
        }
        self.table.chains.swap_remove(&name);
        Ok(())
    }

    /// `-X` without a name: removes the user chains if all of them can be.
    fn delete_unused(&mut self) -> Result<(), ApplyError> {
        let user = self.table.chains.iter().filter(|(_, chain)| chain.policy.is_none());
        let names: Vec<Name> = user.map(|(name, _)| *name).collect();
        names.into_iter().try_for_each(|name| self.delete_chain(name))
    }

    fn rename(&mut self, name: Name, to: Name) -> Result<(), ApplyError> {
        if self.table.chains.contains_key(&to) {
            return Err(ApplyError::ChainExists(to));
        }
        if self.chain(name)?.policy.is_some() {
            return Err(ApplyError::BuiltIn(name));
        }
        let chain = self.table.chains.swap_remove(&name).unwrap_or_default();
        self.table.chains.insert(to, chain);
        self.before.entry(to).or_insert(None);
        self.retarget(name, to)
    }

    /// Lets the rules that jump to a chain jump to another one.
    fn retarget(&mut self, from: Name, to: Name) -> Result<(), ApplyError> {
        let jumps = |rule: &Rule| rule.target.as_ref().is_some_and(|t| t.chain() == Some(from));
        let callers = self.table.chains.iter().filter(|(_, chain)| chain.rules.iter().any(jumps));
        let callers: Vec<Name> = callers.map(|(name, _)| *name).collect();
        for caller in callers {
            for rule in &mut self.chain(caller)?.rules {
                rule.retarget(from, to);
            }
        }
        self.references = None;
        Ok(())
    }

    /// Counts the jumps to each chain, if that was not done yet.
    fn references(&mut self) -> &HashMap<Name, usize> {
        let table = &self.table;
        self.references.get_or_insert_with(|| {
            let rules = table.chains.values().flat_map(|chain| &chain.rules);
            let targets = rules.filter_map(|rule| rule.target.as_ref()?.chain());
            targets.fold(HashMap::new(), |mut counts, target| {
                *counts.entry(target).or_default() += 1;
                counts
            })
        })
    }

    fn count(&mut self, rule: &Rule, more: usize) {
        if let (Some(counts), Some(target)) =
            (&mut self.references, rule.target.as_ref().and_then(Target::chain))
        {
            *counts.entry(target).or_default() += more;
        }
    }

    fn forget(&mut self, rules: &[Rule]) {
        let Some(counts) = &mut self.references else { return };
        for target in rules.iter().filter_map(|rule| rule.target.as_ref()?.chain()) {
            counts.entry(target).and_modify(|count| *count = count.saturating_sub(1));
        }
    }

    /// Fails if a chain that was touched reaches itself.
    fn find_loop(&self) -> Result<(), ApplyError> {
        let mut state: HashMap<Name, Visit> = HashMap::new();
        let mut touched: Vec<Name> = self.before.keys().copied().collect();
        touched.sort_unstable();
        touched.into_iter().try_for_each(|start| visit(self.table, start, &mut state))
    }

    /// Puts everything back.
    fn undo(&mut self) {
        for (name, chain) in self.before.drain() {
            match chain {
                Some(chain) => drop(self.table.chains.insert(name, chain)),
                None => drop(self.table.chains.swap_remove(&name)),
            }
        }
    }
}

/// How far a search has come with a chain.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Visit {
    /// It is on the path.
    Open,
    /// It and all that it reaches is free of circles.
    Closed,
}

/// Searches for a circle from a chain on, without recursion: chains may be many.
fn visit(table: &Table, start: Name, state: &mut HashMap<Name, Visit>) -> Result<(), ApplyError> {
    let mut path = vec![(start, 0)];
    while let Some((name, next)) = path.pop() {
        if next == 0 {
            match state.insert(name, Visit::Open) {
                Some(Visit::Open) => return Err(ApplyError::Loop(name)),
                Some(Visit::Closed) => {
                    state.insert(name, Visit::Closed);
                    continue;
                }
                None => {}
            }
        }
        let rules = table.chains.get(&name).map_or(&[][..], |chain| &chain.rules);
        let rest = rules.get(next..).unwrap_or_default();
        let jump = |rule: &Rule| rule.target.as_ref().and_then(Target::chain);
        match rest.iter().enumerate().find_map(|(i, rule)| Some((i, jump(rule)?))) {
            Some((i, target)) => path.extend([(name, next + i + 1), (target, 0)]),
            None => drop(state.insert(name, Visit::Closed)),
        }
    }
    Ok(())
}

/// Returns the index of a rule's number; numbers start at 1.
fn place(number: u32) -> usize {
    usize::try_from(number).unwrap_or(usize::MAX).saturating_sub(1)
}

impl Rule {
    fn retarget(&mut self, from: Name, to: Name) {
        if let Some(Target::Jump(chain) | Target::Goto(chain)) = &mut self.target
            && *chain == from
        {
            *chain = to;
        }
    }
}

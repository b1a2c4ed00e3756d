//! The jumps from built-in chains to kube-proxy's own.

use kps_ruleset::Name;
use kps_ruleset::iptables::{CtStates, Family, Rule, Ruleset, Target};

use super::matches::states;
use crate::Operation;

/// A jump from a built-in chain.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Jump {
    /// The table.
    pub table: &'static str,
    /// The built-in chain.
    pub from: &'static str,
    /// Our chain.
    pub to: &'static str,
    /// Its comment; empty if there is none.
    pub comment: &'static str,
    /// Whether it is only for the first packets of connections.
    pub only_new: bool,
}

impl Jump {
    /// Returns a jump for all packets.
    pub(crate) const fn all(
        table: &'static str,
        from: &'static str,
        to: &'static str,
        comment: &'static str,
    ) -> Jump {
        Jump { table, from, to, comment, only_new: false }
    }

    /// Returns a jump for the first packets of connections.
    pub(crate) const fn new_connections(
        from: &'static str,
        to: &'static str,
        comment: &'static str,
    ) -> Jump {
        Jump { table: "filter", from, to, comment, only_new: true }
    }

    /// Returns the steps that make the chains and put the jumps on top of the built-in chains, one
    /// after the other: so later ones end up above earlier ones.
    pub(crate) fn operations(jumps: &[Jump], family: Family) -> Vec<Operation> {
        let mut made = Vec::new();
        let mut operations = Vec::new();
        for jump in jumps {
            if !made.contains(&(jump.table, jump.to)) {
                made.push((jump.table, jump.to));
                let chain = jump.to.into();
                operations.push(Operation::Chain { family, table: jump.table, chain });
            }
            operations.push(jump.insert(family));
        }
        operations
    }

    fn insert(&self, family: Family) -> Operation {
        let chain = self.from.into();
        Operation::Insert { family, table: self.table, chain, rule: self.rule() }
    }

    fn rule(&self) -> Rule {
        let mut rule = Rule::write();
        if self.only_new {
            rule = rule.matching(states(CtStates::NEW));
        }
        if !self.comment.is_empty() {
            rule = rule.comment(self.comment);
        }
        rule.target(Target::Jump(self.to.into()))
    }
}

/// Puts the chains and jumps into the tables.
pub(crate) fn install(jumps: &[Jump], ruleset: &mut Ruleset) {
    for jump in jumps {
        if let Some(table) = ruleset.tables.get_mut(&Name::new(jump.table)) {
            table.chains.entry(jump.to.into()).or_default();
            table.chains.entry(jump.from.into()).or_default().rules.insert(0, jump.rule());
        }
    }
}

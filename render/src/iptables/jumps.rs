//! The jumps from built-in chains to kube-proxy's own.

use kps_ruleset::Name;
use kps_ruleset::iptables::transaction::Command;
use kps_ruleset::iptables::{CtStates, Rule, Ruleset, Target};

use super::matches::states;

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

    fn insert(&self) -> Command {
        Command::Insert { chain: self.from.into(), number: 1, rule: self.rule() }
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

/// Returns the commands that make the chains and put the jumps on top of the built-in chains, one
/// after the other: so later ones end up above earlier ones.
pub(crate) fn commands(jumps: &[Jump]) -> impl Iterator<Item = (&'static str, Command)> {
    jumps.iter().enumerate().flat_map(|(index, jump)| {
        let same = |other: &Jump| (other.table, other.to) == (jump.table, jump.to);
        let make = !jumps[..index].iter().any(same);
        let new = make.then(|| (jump.table, Command::New(jump.to.into())));
        new.into_iter().chain([(jump.table, jump.insert())])
    })
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

//! From the trees of both families to a [`Program`].

use kps_flow::Family;
use kps_ruleset::NodeState;
use kps_ruleset::iptables::{
    self as ipt, DualStack, Policy as TreePolicy, Ruleset, Table, Target, builtin_chains,
};
use kps_ruleset::nftables::{self as nft, BaseChain, ChainKind, Hook, Policy, TableFamily};
use kps_ruleset::{Name, ipset};

use super::index::Index;
use super::lookup::Set;
use super::program::{Action, Chain, Program, Rule};
use super::table_family;
use crate::walk::chains::ChainId;

/// Prepares the tables of both families and the IP sets that they name.
pub(crate) fn compile<'a>(tables: &'a DualStack, sets: &'a ipset::Sets) -> Program<'a> {
    let mut program = Program::default();
    for family in Family::BOTH {
        for (name, table) in &of_family(tables, family).tables {
            let scope = Scope { family, name: *name, table, first: number(program.chains.len()) };
            program.chains.extend(table.chains.keys().map(|chain| scope.chain(*chain)));
        }
    }
    program.sets = sets.sets.iter().map(|(name, set)| (*name, Set::new(set))).collect();
    program
}

/// A base chain with its number, and what orders it among equal priorities.
pub(crate) struct Built {
    /// The handle of the nftables table that it is in; 0 if that is not known.
    pub handle: u64,
    pub chain: ChainId,
    pub kind: ChainKind,
    pub hook: Hook,
    pub priority: i32,
}

/// Returns the built-in chains that see packets of a family.
pub(crate) fn base_chains(state: &NodeState, family: Family) -> Vec<Built> {
    let mut found = Vec::new();
    let mut first = 0;
    for each in Family::BOTH {
        for (name, table) in &of_family(&state.iptables, each).tables {
            let handle = twin(state, each, *name).and_then(|twin| twin.handle).unwrap_or(0);
            let built = table.chains.iter().zip(first..).filter(|_| each == family);
            found.extend(built.filter_map(|((chain, tree), number)| {
                tree.policy?;
                let (hook, priority, kind) = slot(*name, *chain)?;
                Some(Built { handle, chain: number, kind, hook, priority })
            }));
            first += number(table.chains.len());
        }
    }
    found
}

/// Tells whether an nftables table is one of iptables that `iptables-save` shows as well: the tools
/// of the `nf_tables` variant keep their tables there. It must not run twice.
pub(crate) fn shown_twice(table: &nft::Table, tables: &DualStack) -> bool {
    let Some(family) = family_of(table.family) else { return false };
    let known = of_family(tables, family).tables.contains_key(&table.name);
    known && is_of_iptables(table)
}

/// Tells whether all base chains are built-in ones of the iptables table of that name, in their
/// place. A table that somebody wrote for nftables has other names or places.
fn is_of_iptables(table: &nft::Table) -> bool {
    let builtin = |name: Name, base: &BaseChain| {
        slot(table.name, name).is_some_and(|(hook, priority, kind)| {
            (hook, priority, kind) == (base.hook, base.priority, base.kind)
        })
    };
    let bases = || table.chains.iter().filter_map(|(name, c)| Some((*name, c.base.as_deref()?)));
    !builtin_chains(&table.name).is_empty() && bases().all(|(name, base)| builtin(name, base))
}

fn twin(state: &NodeState, family: Family, name: Name) -> Option<&nft::Table> {
    let is_twin = |table: &&nft::Table| {
        table.family == table_family(family) && table.name == name && is_of_iptables(table)
    };
    state.nftables.tables.iter().find(is_twin)
}

fn family_of(family: TableFamily) -> Option<Family> {
    Family::BOTH.into_iter().find(|each| table_family(*each) == family)
}

fn of_family(tables: &DualStack, family: Family) -> &Ruleset {
    match family {
        Family::V4 => &tables.v4,
        Family::V6 => &tables.v6,
    }
}

/// Returns where a built-in chain is hooked in (`enum nf_ip_hook_priorities`), and as what.
fn slot(table: Name, chain: Name) -> Option<(Hook, i32, ChainKind)> {
    builtin_chains(&table).contains(&chain.as_str()).then_some(())?;
    let hook = match chain.as_str() {
        "PREROUTING" => Hook::Prerouting,
        "INPUT" => Hook::Input,
        "FORWARD" => Hook::Forward,
        "OUTPUT" => Hook::Output,
        _ => Hook::Postrouting,
    };
    Some(match (table.as_str(), hook) {
        ("raw", _) => (hook, -300, ChainKind::Filter),
        ("mangle", Hook::Output) => (hook, -150, ChainKind::Route),
        ("mangle", _) => (hook, -150, ChainKind::Filter),
        ("nat", Hook::Prerouting | Hook::Output) => (hook, -100, ChainKind::Nat),
        ("nat", _) => (hook, 100, ChainKind::Nat),
        ("security", _) => (hook, 50, ChainKind::Filter),
        _ => (hook, 0, ChainKind::Filter),
    })
}

/// A table being compiled.
struct Scope<'a> {
    family: Family,
    name: Name,
    table: &'a Table,
    /// The number of its first chain.
    first: ChainId,
}

impl<'a> Scope<'a> {
    fn chain(&self, name: Name) -> Chain<'a> {
        let tree = self.table.chains.get(&name);
        let rules: Vec<_> = tree.into_iter().flat_map(|t| &t.rules).map(|r| self.rule(r)).collect();
        let policy = tree.and_then(|tree| tree.policy);
        let slot = policy.and_then(|_| slot(self.name, name));
        Chain {
            family: table_family(self.family),
            table: self.name,
            name,
            policy: match policy {
                Some(TreePolicy::Drop) => Policy::Drop,
                Some(TreePolicy::Accept) | None => Policy::Accept,
            },
            priority: slot.map_or(0, |(_, priority, _)| priority),
            reroutes: slot.is_some_and(|(_, _, kind)| kind == ChainKind::Route),
            index: Index::of(&rules),
            rules,
        }
    }

    fn rule(&self, tree: &'a ipt::Rule) -> Rule<'a> {
        let action = match &tree.target {
            None => Action::Nothing,
            Some(Target::Jump(name)) => self.resolve(*name, Action::Jump),
            Some(Target::Goto(name)) => self.resolve(*name, Action::Goto),
            Some(target) => Action::Target(target),
        };
        Rule { tree, action }
    }

    fn resolve(&self, name: Name, to: fn(ChainId) -> Action<'a>) -> Action<'a> {
        let found = self.table.chains.get_index_of(&name);
        found.map_or(Action::Dangling(name), |at| to(self.first + number(at)))
    }
}

/// Returns the number of a chain. No rule set has 2^32 of them.
fn number(count: usize) -> ChainId {
    ChainId::try_from(count).unwrap_or(ChainId::MAX)
}

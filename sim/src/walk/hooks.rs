//! Which functions a packet meets at each hook, in which order.
//!
//! Functions run by ascending priority. Among equal priorities the one that was registered last
//! runs first (`nf_hook_entries_grow` of `net/netfilter/core.c` inserts before its equals). Chains of
//! type `nat` are not hooked in by themselves: they run inside one function that translation has at
//! each of four hooks, ordered among each other by their own priorities
//! (`nf_nat_register_fn` of `net/netfilter/nf_nat_core.c`).

use std::collections::HashMap;

use kps_flow::Family;
use kps_ruleset::nftables::{ChainKind, Hook};
use kps_ruleset::{Name, NodeState, ipvs};

use super::chains::ChainId;
use super::iptables;
use super::ipvs::{Duty, PLACES};
use super::nftables::sees;
use crate::conntrack::Side;
use crate::trace::Language;

/// The functions of all hooks.
#[derive(Debug, Default)]
pub(crate) struct Hooks(HashMap<(Family, Hook), Vec<Function>>);

/// A function at a hook.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Function {
    pub priority: i32,
    pub work: Work,
    /// The interface that it is limited to, at ingress and egress.
    pub devices: Vec<Name>,
}

/// What a function does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Work {
    /// Finds the packet's connection.
    Track,
    /// Runs a base chain.
    Chain(Base),
    /// Runs a `nat` chain, if the connection is new and that side undecided.
    Nat(Base, Side),
    /// Settles what no rule decided, and rewrites the packet.
    Rewrite(Side),
    /// Routes the packet again if it changed.
    Reroute,
    /// Routes the packet again if its destination was translated; its mark does not count
    /// (`nf_nat_ipv4_local_fn`).
    RerouteTranslated,
    /// Does what IPVS does.
    Ipvs(Duty),
}

/// A base chain: its language, and its number there.
pub(crate) type Base = (Language, ChainId);

/// Where conntrack is (`NF_IP_PRI_CONNTRACK`).
const TRACK: i32 = -200;

impl Hooks {
    /// Returns the functions of a hook in the order in which they run.
    pub(crate) fn at(&self, family: Family, hook: Hook) -> &[Function] {
        self.0.get(&(family, hook)).map_or(&[], Vec::as_slice)
    }

    /// Collects the base chains of a node's rule sets. Chains are numbered through all tables of
    /// their language.
    pub(crate) fn new(state: &NodeState) -> Hooks {
        let mut hooks = Hooks::default();
        for family in Family::BOTH {
            let chains = base_chains(state, family);
            hooks.add(family, Hook::Prerouting, TRACK, Work::Track);
            hooks.add(family, Hook::Output, TRACK, Work::Track);
            let is_nat = |chain: &&Registered| chain.kind == ChainKind::Nat;
            for chain in chains.iter().filter(|chain| !is_nat(chain)) {
                hooks.register(family, chain);
            }
            let mut nat: Vec<_> = chains.iter().filter(is_nat).collect();
            nat.reverse();
            nat.sort_by_key(|chain| chain.priority);
            hooks.add_translation(family, &nat);
        }
        hooks.with_ipvs(&state.ipvs)
    }

    /// Adds the functions of IPVS, which are there once it has a virtual server.
    fn with_ipvs(mut self, table: &ipvs::Table) -> Hooks {
        if !table.services.is_empty() {
            for family in Family::BOTH {
                for (hook, priority, duty) in PLACES {
                    self.add(family, hook, priority, Work::Ipvs(duty));
                }
            }
        }
        self
    }

    fn add(&mut self, family: Family, hook: Hook, priority: i32, work: Work) {
        self.insert(family, hook, Function { priority, work, devices: Vec::new() });
    }

    /// Inserts before all that have the same priority.
    fn insert(&mut self, family: Family, hook: Hook, function: Function) {
        let functions = self.0.entry((family, hook)).or_default();
        let at = functions.partition_point(|other| other.priority < function.priority);
        functions.insert(at, function);
    }

    fn register(&mut self, family: Family, chain: &Registered) {
        let &Registered { hook, priority, .. } = chain;
        if chain.kind == ChainKind::Route && hook == Hook::Output {
            self.add(family, hook, priority, Work::Reroute);
        }
        let work = Work::Chain(chain.base);
        self.insert(family, hook, Function { priority, work, devices: chain.devices.to_vec() });
    }

    /// Once any `nat` chain exists, translation is at work at all four hooks.
    fn add_translation(&mut self, family: Family, chains: &[&Registered]) {
        if chains.is_empty() {
            return;
        }
        for (hook, side) in TRANSLATING {
            let priority = slot(side);
            if hook == Hook::Output {
                self.add(family, hook, priority, Work::RerouteTranslated);
            }
            self.add(family, hook, priority, Work::Rewrite(side));
            for chain in chains.iter().rev().filter(|chain| chain.hook == hook) {
                self.add(family, hook, priority, Work::Nat(chain.base, side));
            }
        }
    }
}

/// The hooks at which addresses are translated, and which side there.
const TRANSLATING: [(Hook, Side); 4] = [
    (Hook::Prerouting, Side::Destination),
    (Hook::Output, Side::Destination),
    (Hook::Input, Side::Source),
    (Hook::Postrouting, Side::Source),
];

/// `NF_IP_PRI_NAT_DST` and `NF_IP_PRI_NAT_SRC`.
fn slot(side: Side) -> i32 {
    match side {
        Side::Destination => -100,
        Side::Source => 100,
    }
}

/// A base chain with where and as what it is registered.
struct Registered<'a> {
    /// What tells the order of registration: the handle of its table, or 0 if that is not known.
    handle: u64,
    base: Base,
    kind: ChainKind,
    hook: Hook,
    priority: i32,
    devices: &'a [Name],
}

/// Returns the base chains that see packets of a family, in the order of registration: that of the
/// tables' handles where they are known, else iptables before nftables, each as listed.
fn base_chains(state: &NodeState, family: Family) -> Vec<Registered<'_>> {
    let mut found: Vec<_> = iptables::base_chains(state, family)
        .into_iter()
        .map(|built| Registered {
            handle: built.handle,
            base: (Language::Iptables, built.chain),
            kind: built.kind,
            hook: built.hook,
            priority: built.priority,
            devices: &[],
        })
        .collect();
    found.extend(nftables_chains(state, family));
    found.sort_by_key(|chain| chain.handle);
    found
}

/// Tables of iptables that `iptables-save` shows as well are taken from there.
fn nftables_chains(state: &NodeState, family: Family) -> Vec<Registered<'_>> {
    let mut number = 0;
    let mut found = Vec::new();
    for table in &state.nftables.tables {
        let dormant = table.flags.iter().any(|flag| flag.as_str() == "dormant");
        let at_work = !dormant
            && sees(table.family, family)
            && !iptables::shown_twice(table, &state.iptables);
        for (chain, number) in table.chains.values().zip(number..) {
            let Some(base) = chain.base.as_deref().filter(|_| at_work) else { continue };
            found.push(Registered {
                handle: table.handle.unwrap_or(0),
                base: (Language::Nftables, number),
                kind: base.kind,
                hook: base.hook,
                priority: base.priority,
                devices: &base.devices,
            });
        }
        number += ChainId::try_from(table.chains.len()).unwrap_or(0);
    }
    found
}

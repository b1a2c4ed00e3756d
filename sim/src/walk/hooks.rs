//! Which functions a packet meets at each hook, in which order.
//!
//! Functions run by ascending priority. Among equal priorities the one that was registered last
//! runs first (`nf_hook_entries_grow` of `net/netfilter/core.c` inserts before its equals). Chains of
//! type `nat` are not hooked in by themselves: they run inside one function that translation has at
//! each of four hooks, ordered among each other by their own priorities
//! (`nf_nat_register_fn` of `net/netfilter/nf_nat_core.c`).

use std::collections::HashMap;

use kps_flow::Family;
use kps_ruleset::Name;
use kps_ruleset::ipvs;
use kps_ruleset::nftables::{self as nft, ChainKind, Hook};

use super::ipvs::{Duty, PLACES};
use super::nftables::sees;
use crate::conntrack::Side;

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
    /// Runs an nftables base chain.
    Chain(u32),
    /// Runs an nftables `nat` chain, if the connection is new and that side undecided.
    Nat(u32, Side),
    /// Settles what no rule decided, and rewrites the packet.
    Rewrite(Side),
    /// Routes the packet again if it changed.
    Reroute,
    /// Does what IPVS does.
    Ipvs(Duty),
}

/// Where conntrack is (`NF_IP_PRI_CONNTRACK`).
const TRACK: i32 = -200;

impl Hooks {
    /// Returns the functions of a hook in the order in which they run.
    pub(crate) fn at(&self, family: Family, hook: Hook) -> &[Function] {
        self.0.get(&(family, hook)).map_or(&[], Vec::as_slice)
    }

    /// Collects the base chains of a rule set. Chains are numbered through all tables.
    pub(crate) fn new(ruleset: &nft::Ruleset) -> Hooks {
        let mut hooks = Hooks::default();
        for family in Family::BOTH {
            let chains = base_chains(ruleset, family);
            hooks.add(family, Hook::Prerouting, TRACK, Work::Track);
            hooks.add(family, Hook::Output, TRACK, Work::Track);
            for (number, base) in chains.iter().filter(|(_, base)| base.kind != ChainKind::Nat) {
                hooks.register(family, *number, base);
            }
            let mut nat: Vec<_> = chains.iter().filter(|(_, b)| b.kind == ChainKind::Nat).collect();
            nat.reverse();
            nat.sort_by_key(|(_, base)| base.priority);
            hooks.add_translation(family, &nat);
        }
        hooks
    }

    /// Adds the functions of IPVS, which are there once it has a virtual server.
    pub(crate) fn with_ipvs(mut self, table: &ipvs::Table) -> Hooks {
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

    fn register(&mut self, family: Family, number: u32, base: &nft::BaseChain) {
        if base.kind == ChainKind::Route && base.hook == Hook::Output {
            self.add(family, base.hook, base.priority, Work::Reroute);
        }
        let devices = base.devices.clone();
        let work = Work::Chain(number);
        self.insert(family, base.hook, Function { priority: base.priority, work, devices });
    }

    /// Once any `nat` chain exists, translation is at work at all four hooks.
    fn add_translation(&mut self, family: Family, chains: &[&(u32, &nft::BaseChain)]) {
        if chains.is_empty() {
            return;
        }
        for (hook, side) in TRANSLATING {
            let priority = slot(side);
            if hook == Hook::Output {
                self.add(family, hook, priority, Work::Reroute);
            }
            self.add(family, hook, priority, Work::Rewrite(side));
            for (number, _) in chains.iter().rev().filter(|(_, base)| base.hook == hook) {
                self.add(family, hook, priority, Work::Nat(*number, side));
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

/// Returns the base chains that see packets of a family, with their numbers, in the order of
/// registration: that of the tables' handles where they are known, else as listed.
fn base_chains(ruleset: &nft::Ruleset, family: Family) -> Vec<(u32, &nft::BaseChain)> {
    let mut number = 0;
    let mut found = Vec::new();
    for table in &ruleset.tables {
        let dormant = table.flags.iter().any(|flag| flag.as_str() == "dormant");
        for chain in table.chains.values() {
            if let Some(base) =
                chain.base.as_deref().filter(|_| !dormant && sees(table.family, family))
            {
                found.push((table.handle.unwrap_or(0), number, base));
            }
            number += 1;
        }
    }
    found.sort_by_key(|(handle, _, _)| *handle);
    found.into_iter().map(|(_, number, base)| (number, base)).collect()
}

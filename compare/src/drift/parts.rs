//! Whose a part of a node's state is: kube-proxy's in the mode at hand, left over from it in another
//! mode, or somebody else's.

use std::borrow::Cow;

use kps_flow::Family;
use kps_model::Mode;
use kps_ruleset::iptables::{self, Chain, Policy, Rule, Ruleset, Target, print_rule};
use kps_ruleset::nftables::{Table, TableFamily};
use kps_ruleset::{Name, NodeState};

/// The device that carries the addresses of Services in ipvs mode.
pub(super) const DEVICE: &str = "kube-ipvs0";
/// The chains that the kubelet makes.
const KUBELETS: [&str; 4] =
    ["KUBE-KUBELET-CANARY", "KUBE-MARK-DROP", "KUBE-IPTABLES-HINT", "KUBE-FIREWALL"];
/// How chains begin that kube-proxy has in iptables mode alone.
const IPTABLES: [&str; 8] = [
    "KUBE-SVC-",
    "KUBE-SVL-",
    "KUBE-EXT-",
    "KUBE-FW-",
    "KUBE-SEP-",
    "KUBE-EXTERNAL-SERVICES",
    "KUBE-NODEPORTS",
    "KUBE-PROXY-CANARY",
];
/// How chains begin that kube-proxy has in ipvs mode alone.
const IPVS: [&str; 4] =
    ["KUBE-IPVS-", "KUBE-LOAD-BALANCER", "KUBE-NODE-PORT", "KUBE-SOURCE-RANGES-FIREWALL"];

/// Whose something is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Whose {
    /// kube-proxy's, in the mode at hand.
    Own,
    /// kube-proxy's, in another mode.
    LeftOver(Mode),
    /// Somebody else's.
    Foreign,
}

/// Tells parts of a node apart.
#[derive(Debug, Clone, Copy)]
pub(super) struct Parts<'a> {
    /// The mode of kube-proxy.
    pub mode: Mode,
    /// What it should have: chains that others make, too, are its own if they are in there.
    pub expected: &'a NodeState,
    /// What the node has.
    pub dump: &'a NodeState,
}

impl<'a> Parts<'a> {
    /// Tells whose a table of nftables is.
    pub fn table(&self, table: &Table) -> Whose {
        self.table_named(table.family, table.name)
    }

    /// Tells whose a table of nftables of that name is.
    pub fn table_named(&self, family: TableFamily, name: Name) -> Whose {
        match family {
            TableFamily::Ip | TableFamily::Ip6 if name == "kube-proxy" => self.of(Mode::Nftables),
            _ => Whose::Foreign,
        }
    }

    /// Tells whose a chain of iptables is.
    pub fn chain(&self, chain: Name) -> Whose {
        let starts = |list: &[&str]| list.iter().any(|start| is_or_starts(&chain, start));
        if !chain.starts_with("KUBE-") || self.is_kubelets(chain) {
            Whose::Foreign
        } else if starts(&IPVS) {
            self.of(Mode::Ipvs)
        } else if starts(&IPTABLES) {
            self.of(Mode::Iptables)
        } else if self.mode == Mode::Nftables {
            Whose::LeftOver(if self.has_ipvs() { Mode::Ipvs } else { Mode::Iptables })
        } else {
            Whose::Own
        }
    }

    /// Tells whose a rule of a chain is: in a built-in chain, that of the chain it leads to.
    pub fn rule(&self, chain: Name, rule: &Rule) -> Whose {
        match rule.target {
            Some(Target::Jump(to) | Target::Goto(to)) if !chain.starts_with("KUBE-") => {
                self.chain(to)
            }
            _ => self.chain(chain),
        }
    }

    /// Tells whose virtual servers, sets and bound addresses are.
    pub fn ipvs(&self) -> Whose {
        if self.mode == Mode::Ipvs {
            Whose::Own
        } else if self.has_ipvs() {
            Whose::LeftOver(Mode::Ipvs)
        } else {
            Whose::Foreign
        }
    }

    /// Returns the node's state with those parts alone that are `kept`.
    pub fn only(&self, kept: impl Fn(Whose) -> bool) -> Cow<'a, NodeState> {
        if self.all(&kept) {
            return Cow::Borrowed(self.dump);
        }
        let mut state = self.dump.clone();
        state.nftables.tables.retain(|table| kept(self.table(table)));
        self.keep_chains(&mut state.iptables.v4, &kept);
        self.keep_chains(&mut state.iptables.v6, &kept);
        if !kept(self.ipvs()) {
            state.ipvs.services.clear();
            state.host.addresses.retain(|address| address.link != DEVICE);
            state.host.links.retain(|link| link.name != DEVICE);
        }
        if !kept(Whose::Foreign) {
            state.ipset.sets.retain(|name, _| name.starts_with("KUBE-"));
        }
        Cow::Owned(state)
    }

    /// Tells whether all parts are kept.
    fn all(&self, kept: &impl Fn(Whose) -> bool) -> bool {
        let families = [&self.dump.iptables.v4, &self.dump.iptables.v6];
        let mut chains = families.iter().flat_map(|rules| rules.tables.values());
        let is_kept = |(name, chain): (&Name, &Chain)| {
            (chain.policy != Some(Policy::Drop) || kept(Whose::Foreign))
                && (chain.policy.is_some() || kept(self.chain(*name)))
                && chain.rules.iter().all(|rule| kept(self.rule(*name, rule)))
        };
        let is_ours = |name: &Name| name.starts_with("KUBE-") || kept(Whose::Foreign);
        kept(self.ipvs())
            && self.dump.nftables.tables.iter().all(|table| kept(self.table(table)))
            && self.dump.ipset.sets.keys().all(is_ours)
            && chains.all(|table| table.chains.iter().all(is_kept))
    }

    /// Returns the rules that are somebody else's.
    pub fn foreign_rules(&self) -> Vec<String> {
        let mut texts = Vec::new();
        let tables = self.dump.nftables.tables.iter();
        for table in tables.filter(|table| self.table(table) == Whose::Foreign) {
            let rules = table.chains.values().flat_map(|chain| &chain.rules);
            texts.extend(rules.map(ToString::to_string));
        }
        for rules in [&self.dump.iptables.v4, &self.dump.iptables.v6] {
            for (name, chain) in rules.tables.values().flat_map(|table| &table.chains) {
                let others = chain.rules.iter().filter(|r| self.rule(*name, r) == Whose::Foreign);
                texts.extend(others.map(|rule| print_rule(rule, rules.family)));
            }
        }
        texts
    }

    fn keep_chains(&self, rules: &mut Ruleset, kept: &impl Fn(Whose) -> bool) {
        let is_kept = |name: Name, chain: &Chain| chain.policy.is_some() || kept(self.chain(name));
        for table in rules.tables.values_mut() {
            table.chains.retain(|name, chain| is_kept(*name, chain));
            for (name, chain) in &mut table.chains {
                chain.rules.retain(|rule| kept(self.rule(*name, rule)));
                if !kept(Whose::Foreign) && chain.policy.is_some() {
                    chain.policy = Some(Policy::Accept);
                }
            }
        }
    }

    fn of(&self, mode: Mode) -> Whose {
        if self.mode == mode { Whose::Own } else { Whose::LeftOver(mode) }
    }

    fn has_ipvs(&self) -> bool {
        self.dump.ipset.sets.keys().any(|name| name.starts_with("KUBE-"))
            || self.dump.host.addresses.iter().any(|address| address.link == DEVICE)
    }

    /// Tells whether a chain is the kubelet's; kube-proxy makes one of them, too.
    fn is_kubelets(&self, chain: Name) -> bool {
        let families = [&self.expected.iptables.v4, &self.expected.iptables.v6];
        let is_expected = || families.iter().any(|r| r.chain("filter", &chain).is_some());
        KUBELETS.contains(&chain.as_str()) && !is_expected()
    }
}

/// Tells whether a node has anything of kube-proxy in a mode.
pub(super) fn shows(mode: Mode, state: &NodeState) -> bool {
    Family::BOTH.into_iter().any(|family| shows_family(mode, family, state))
}

/// Tells whether a node has anything of kube-proxy in a mode for a family.
pub(super) fn shows_family(mode: Mode, family: Family, state: &NodeState) -> bool {
    let has_chain = |list: &[&str]| {
        let tables = rules(family, state).tables.values();
        let mut chains = tables.flat_map(|table| table.chains.keys());
        chains.any(|chain| list.iter().any(|start| is_or_starts(chain, start)))
    };
    match mode {
        Mode::Nftables => table(family, state).is_some(),
        Mode::Iptables => has_chain(&IPTABLES),
        Mode::Ipvs => has_chain(&IPVS) || servers(family, state) > 0,
    }
}

/// Returns how many chains, rules, elements and servers kube-proxy has in a mode.
pub(super) fn size(state: &NodeState, mode: Mode) -> usize {
    let of_family = |family| match mode {
        Mode::Nftables => table(family, state).map_or(0, size_of_table),
        Mode::Iptables => size_of_rules(rules(family, state)),
        Mode::Ipvs => size_of_rules(rules(family, state)) + servers(family, state),
    };
    let shared = match mode {
        Mode::Ipvs => state.ipset.sets.values().map(|set| 1 + set.entries.len()).sum(),
        Mode::Nftables | Mode::Iptables => 0,
    };
    Family::BOTH.into_iter().map(of_family).sum::<usize>() + shared
}

/// Returns how much a table of nftables has.
pub(super) fn size_of_table(table: &Table) -> usize {
    let rules: usize = table.chains.values().map(|chain| 1 + chain.rules.len()).sum();
    let elements: usize = table.sets.values().map(|set| 1 + set.elements.len()).sum();
    rules + elements
}

fn size_of_rules(rules: &Ruleset) -> usize {
    rules.tables.values().map(size_of_chains).sum()
}

/// Returns how much a table of iptables has.
pub(super) fn size_of_chains(table: &iptables::Table) -> usize {
    let of_chain = |chain: &Chain| usize::from(chain.policy.is_none()) + chain.rules.len();
    table.chains.values().map(of_chain).sum()
}

/// Returns how many virtual and real servers there are, with the addresses bound for them.
fn servers(family: Family, state: &NodeState) -> usize {
    let is_v6 = family == Family::V6;
    let services = state.ipvs.services.iter().filter(|(id, _)| id.is_ipv6() == is_v6);
    let servers: usize = services.map(|(_, service)| 1 + service.real_servers.len()).sum();
    let bound = state.host.addresses.iter().filter(|address| address.link == DEVICE);
    servers + bound.filter(|address| Family::of(address.network.addr()) == family).count()
}

fn rules(family: Family, state: &NodeState) -> &Ruleset {
    match family {
        Family::V4 => &state.iptables.v4,
        Family::V6 => &state.iptables.v6,
    }
}

fn table(family: Family, state: &NodeState) -> Option<&Table> {
    let family = if family == Family::V4 { TableFamily::Ip } else { TableFamily::Ip6 };
    state.nftables.table(family, "kube-proxy")
}

fn is_or_starts(chain: &str, start: &str) -> bool {
    if start.ends_with('-') { chain.starts_with(start) } else { chain == start }
}

//! What is written in a sync, as data.

use std::collections::BTreeMap;
use std::net::IpAddr;

use ipnet::IpNet;
use kps_flow::Family;
use kps_model::PortKey;
use kps_ruleset::host::{Address, Link, Scope};
use kps_ruleset::ipset::{Element, Sets};
use kps_ruleset::iptables::compare::FreeOrder;
use kps_ruleset::iptables::{Rule, Table};
use kps_ruleset::ipvs::{ServiceId, Timeouts, VirtualServer};
use kps_ruleset::{Name, NodeState};

use super::sets::SetKind;
use crate::iptables::{Jump, Part, Refusal, install_jumps, refusal, ruleset_family};

/// The device that carries the addresses of Services, so that packets to them are delivered to the
/// node, where IPVS takes them.
pub(super) const DEVICE: &str = "kube-ipvs0";

/// What one proxier writes in a sync.
#[derive(Debug, Clone, PartialEq)]
pub struct Plan {
    /// The family.
    pub family: Family,
    /// The sysctls that are set at the start.
    pub sysctls: Vec<(&'static str, &'static str)>,
    /// The timeouts of connections in seconds, if they are set; 0 leaves the kernel's.
    pub timeouts: Option<Timeouts>,
    /// The jumps that are made first, one by one, with the chains that they lead to. Each is put on
    /// top of its built-in chain, so later ones end up above earlier ones.
    pub jumps: &'static [Jump],
    /// The parts of the `ServicePort`s, in the order of the view.
    pub fragments: Vec<Fragment>,
    /// The rules, which look addresses and ports up in the sets.
    pub rules: Part,
    /// Virtual servers in these ranges are left alone, whoever made them.
    pub exclude_cidrs: Vec<IpNet>,
}

/// What one `ServicePort` adds.
#[derive(Debug, Clone, PartialEq)]
pub struct Fragment {
    /// Which one.
    pub key: PortKey,
    /// The entries of sets.
    pub entries: Vec<(SetKind, Element)>,
    /// The virtual servers with their real servers. If another `ServicePort` has the same one, the
    /// later of them has it.
    pub servers: Vec<(ServiceId, VirtualServer)>,
    /// The rules that refuse this node the load balancer IPs that its address may not use.
    pub refusals: Vec<Rule>,
}

impl Plan {
    /// Adds what the proxier makes on a node that has nothing of it.
    pub fn install(self, state: &mut NodeState) {
        for (name, value) in self.sysctls {
            state.host.sysctls.insert(name.to_owned(), value.to_owned());
        }
        if let Some(timeouts) = self.timeouts {
            let old = state.ipvs.timeouts.unwrap_or_default();
            state.ipvs.timeouts = Some(old.set(timeouts));
        }
        install_rules(self.family, self.jumps, self.rules, state);
        install_sets(self.family, &self.fragments, &mut state.ipset);
        bind(self.family, state);
        for fragment in self.fragments {
            state.ipvs.services.extend(fragment.servers);
        }
    }

    /// Returns the chains whose rules stand in no particular order, since kube-proxy keeps
    /// `ServicePort`s in a map.
    #[must_use]
    pub fn free_order(&self) -> Vec<FreeOrder> {
        let table = Some("filter".into());
        vec![FreeOrder { table, chain: "KUBE-IPVS-OUT-FILTER".into(), tail: 0 }]
    }

    /// Returns the rule at which `iptables-nft-restore` stops, if there is one. Virtual servers and
    /// sets are there all the same.
    #[must_use]
    pub fn refusal(&self) -> Option<Refusal> {
        refusal(self.family, [("nat", [&self.rules.nat]), ("filter", [&self.rules.filter])])
    }

    /// Returns the virtual servers that several `ServicePort`s claim, with all claims. Which of
    /// them wins depends on the order of a map, and may change at each sync.
    #[must_use]
    pub fn contested(&self) -> BTreeMap<ServiceId, Vec<&VirtualServer>> {
        let mut claims: BTreeMap<ServiceId, Vec<&VirtualServer>> = BTreeMap::new();
        for (id, server) in self.fragments.iter().flat_map(|fragment| &fragment.servers) {
            claims.entry(*id).or_default().push(server);
        }
        claims.retain(|_, servers| servers.iter().any(|server| *server != servers[0]));
        claims
    }

    /// Tells whether a sync deletes a virtual server that it does not want.
    #[must_use]
    pub fn deletes(&self, server: &ServiceId) -> bool {
        match server {
            ServiceId::Address { address, .. } => {
                Family::of(*address) == self.family
                    && !self.exclude_cidrs.iter().any(|cidr| cidr.contains(address))
            }
            ServiceId::Mark { .. } => false,
        }
    }
}

impl Fragment {
    /// Returns the addresses that are put on the device.
    pub fn bound_addresses(&self) -> impl Iterator<Item = IpAddr> {
        self.entries.iter().filter_map(|(kind, element)| match (kind, element) {
            (SetKind::IpvsIps, Element::Ip(address)) => Some(*address),
            _ => None,
        })
    }
}

fn install_rules(family: Family, jumps: &[Jump], rules: Part, state: &mut NodeState) {
    let ruleset = state.iptables.family_mut(ruleset_family(family));
    for name in ["filter", "nat"] {
        ruleset.tables.entry(name.into()).or_insert_with(|| Table::builtin(name));
    }
    install_jumps(jumps, ruleset);
    rules.install(ruleset);
}

fn install_sets(family: Family, fragments: &[Fragment], sets: &mut Sets) {
    for kind in SetKind::ALL {
        sets.sets.insert(kind.name(family), kind.create(family));
    }
    for (kind, element) in fragments.iter().flat_map(|fragment| &fragment.entries) {
        if let Some(set) = sets.sets.get_mut(&kind.name(family)) {
            set.entries.entry(*element).or_default();
        }
    }
}

/// Puts the addresses of Services on the device.
fn bind(family: Family, state: &mut NodeState) {
    let host = &mut state.host;
    let link = Name::new(DEVICE);
    if !host.links.iter().any(|other| other.name == link) {
        host.links.push(Link { name: link, up: false, master: None });
    }
    let bound = state.ipset.sets.get(&SetKind::IpvsIps.name(family));
    for element in bound.iter().flat_map(|set| set.entries.keys()) {
        if let Element::Ip(address) = *element {
            let network = IpNet::from(address);
            host.addresses.push(Address { link, network, scope: Scope::Global });
        }
    }
}

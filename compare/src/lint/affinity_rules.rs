//! The affinity times that rules keep: what `-m recent`, sets and virtual servers say.

use std::collections::{BTreeSet, HashMap};
use std::net::{IpAddr, SocketAddr};

use kps_flow::Family;
use kps_model::{Mode, NodeView, PortView};
use kps_ruleset::iptables::{Match, RecentAction, Rule, Target};
use kps_ruleset::ipvs::ServiceId;
use kps_ruleset::nftables::TableFamily;
use kps_ruleset::{Name, NodeState};

use super::target::of_addresses;

/// The times in seconds, by what names the ServicePort in each rule language.
#[derive(Debug, Default)]
pub struct Kept {
    /// By the comment of a rule, `namespace/name:port`, with the rule's family.
    recent: HashMap<(Family, String), BTreeSet<u64>>,
    /// By the middle of a set's name, `namespace/name/protocol/port`, with the table's family.
    sets: HashMap<(Family, String), BTreeSet<u64>>,
    /// By address, port and protocol number of a virtual server.
    servers: HashMap<(IpAddr, u16, u8), u64>,
}

impl Kept {
    /// Reads all rules of a node.
    #[must_use]
    pub fn read(state: &NodeState) -> Kept {
        let mut kept = Kept::default();
        kept.read_recent(state);
        kept.read_sets(state);
        for (id, server) in &state.ipvs.services {
            if let (ServiceId::Address { protocol, address, port }, Some(persistence)) =
                (id, &server.persistence)
            {
                let key = (*address, *port, protocol.0);
                kept.servers.insert(key, persistence.timeout.into());
            }
        }
        kept
    }

    fn read_recent(&mut self, state: &NodeState) {
        for (family, rules) in [(Family::V4, &state.iptables.v4), (Family::V6, &state.iptables.v6)]
        {
            let chains = rules.tables.values().flat_map(|table| table.chains.values());
            for rule in chains.flat_map(|chain| &chain.rules) {
                let checks = rule.matches.iter().filter_map(|m| match m {
                    Match::Recent(recent) if recent.action.value == RecentAction::Check => {
                        recent.seconds
                    }
                    _ => None,
                });
                for seconds in checks {
                    let times = self.recent.entry((family, owner(rule))).or_default();
                    times.insert(seconds.into());
                }
            }
        }
    }

    fn read_sets(&mut self, state: &NodeState) {
        for (family, word) in [(Family::V4, TableFamily::Ip), (Family::V6, TableFamily::Ip6)] {
            let table = state.nftables.table(word, "kube-proxy");
            for (name, set) in table.into_iter().flat_map(|table| &table.sets) {
                let Some(timeout) = set.timeout else { continue };
                let owner = name.strip_prefix("affinity-").and_then(|rest| rest.split_once('-'));
                let owner = owner.and_then(|(_, rest)| rest.split_once("__"));
                if let Some((owner, _)) = owner {
                    let times = self.sets.entry((family, owner.to_owned())).or_default();
                    times.insert(timeout / 1000);
                }
            }
        }
    }

    /// Returns a time that is kept and not meant, in words. Where nothing is kept, nothing is said:
    /// there may be no endpoint.
    #[must_use]
    pub fn other_than(&self, mode: Mode, view: &NodeView, port: &PortView) -> Option<String> {
        let own = &port.port;
        let family = Family::of(own.cluster_ip);
        let meant = own.affinity.map(u64::from);
        let times: BTreeSet<u64> = match mode {
            Mode::Iptables => {
                self.recent.get(&(family, own.key.to_string())).cloned().unwrap_or_default()
            }
            Mode::Nftables => self.sets.get(&(family, in_set(port))).cloned().unwrap_or_default(),
            Mode::Ipvs => self.of_servers(view, port).collect(),
        };
        let other = times.into_iter().find(|time| Some(*time) != meant)?;
        Some(format!("{other} s"))
    }

    /// Returns the times of a ServicePort's virtual servers, those of its node port included.
    fn of_servers(&self, view: &NodeView, port: &PortView) -> impl Iterator<Item = u64> {
        let own = &port.port;
        let nodes = own
            .node_port
            .map(|number| view.interface_addresses.iter().map(move |address| (*address, number)));
        let services = of_addresses(port).map(|target| (target.address, target.number));
        let dialled = services.chain(nodes.into_iter().flatten());
        dialled.filter_map(|(address, number)| {
            self.servers.get(&(address, number, own.key.protocol.number())).copied()
        })
    }
}

/// Returns how the names of affinity sets call a ServicePort.
fn in_set(port: &PortView) -> String {
    let key = &port.port.key;
    let protocol = key.protocol.lower();
    format!("{}/{}/{protocol}/{}", key.namespace, key.name, key.port_name)
}

/// Returns the endpoints to which rules of iptables send clients that they remember, by family and
/// the name that comments give the ServicePort. The chain of a set of nftables goes with the set, and
/// virtual servers remember none but their own real servers.
#[must_use]
pub fn ways_back(state: &NodeState) -> HashMap<(Family, String), BTreeSet<SocketAddr>> {
    let mut ways: HashMap<(Family, String), BTreeSet<SocketAddr>> = HashMap::new();
    for (family, rules) in [(Family::V4, &state.iptables.v4), (Family::V6, &state.iptables.v6)] {
        let Some(nat) = rules.tables.get(&Name::new("nat")) else { continue };
        for rule in nat.chains.values().flat_map(|chain| &chain.rules) {
            let asks = |m: &Match| matches!(m, Match::Recent(recent) if recent.action.value == RecentAction::Check);
            if !rule.matches.iter().any(asks) {
                continue;
            }
            let next = match &rule.target {
                Some(Target::Jump(chain)) => nat.chains.get(chain).map(|chain| &chain.rules),
                _ => None,
            };
            let all = std::iter::once(rule).chain(next.into_iter().flatten());
            let key = (family, owner(rule));
            ways.entry(key).or_default().extend(all.filter_map(destination));
        }
    }
    ways
}

/// Returns the ServicePort that a comment names, `namespace/name:port`.
fn owner(rule: &Rule) -> String {
    let comment = rule.comment().map(|name| name.to_string()).unwrap_or_default();
    comment.split(" -> ").next().unwrap_or_default().to_owned()
}

fn destination(rule: &Rule) -> Option<SocketAddr> {
    let Some(Target::Dnat(nat)) = &rule.target else { return None };
    Some(SocketAddr::new(nat.addresses?.0, nat.ports?.range.first))
}

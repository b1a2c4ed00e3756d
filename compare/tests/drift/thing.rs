//! The things that kube-proxy's part of a node consists of, each of which can get lost.

use std::net::IpAddr;

use kps_ruleset::iptables::{Family, Rule};
use kps_ruleset::ipvs::ServiceId;
use kps_ruleset::nftables::{self, Key, TableFamily};
use kps_ruleset::{Name, NodeState, ipset};

const DEVICE: &str = "kube-ipvs0";

/// A thing, told by what it says and not by its place.
#[derive(Debug, Clone, PartialEq)]
pub enum Thing {
    Rule(TableFamily, Name, nftables::Rule),
    Chain(TableFamily, Name),
    Element(TableFamily, Name, Key),
    Line(Family, Name, Name, Rule),
    Lines(Family, Name, Name),
    Virtual(ServiceId),
    Real(ServiceId, IpAddr, u16),
    Member(Name, ipset::Element),
    Bound(IpAddr),
}

/// Returns all that a node has.
pub fn all(state: &NodeState) -> Vec<Thing> {
    let mut all = Vec::new();
    for table in &state.nftables.tables {
        for (name, chain) in &table.chains {
            all.push(Thing::Chain(table.family, *name));
            all.extend(chain.rules.iter().map(|r| Thing::Rule(table.family, *name, r.clone())));
        }
        for (name, set) in &table.sets {
            all.extend(set.elements.keys().map(|k| Thing::Element(table.family, *name, k.clone())));
        }
    }
    for family in [Family::Ipv4, Family::Ipv6] {
        for (table, chains) in &state.iptables.family(family).tables {
            for (name, chain) in &chains.chains {
                if chain.policy.is_none() {
                    all.push(Thing::Lines(family, *table, *name));
                }
                let thing = |rule: &Rule| Thing::Line(family, *table, *name, rule.clone());
                all.extend(chain.rules.iter().map(thing));
            }
        }
    }
    for (id, service) in &state.ipvs.services {
        all.push(Thing::Virtual(*id));
        all.extend(service.real_servers.iter().map(|r| Thing::Real(*id, r.address, r.port)));
    }
    for (name, set) in &state.ipset.sets {
        all.extend(set.entries.keys().map(|element| Thing::Member(*name, *element)));
    }
    let addresses = state.host.addresses.iter().filter(|address| address.link == DEVICE);
    all.extend(addresses.map(|address| Thing::Bound(address.network.addr())));
    all
}

impl Thing {
    /// Takes it away.
    pub fn remove(&self, state: &mut NodeState) {
        match self {
            Thing::Rule(family, chain, rule) => {
                let chains = table(state, *family).chains.get_mut(chain);
                remove_first(&mut chains.unwrap().rules, rule);
            }
            Thing::Chain(family, chain) => {
                table(state, *family).chains.shift_remove(chain);
            }
            Thing::Element(family, set, key) => {
                let set = table(state, *family).sets.get_mut(set).unwrap();
                set.elements.shift_remove(key);
            }
            Thing::Line(family, table, chain, rule) => {
                let tables = &mut state.iptables.family_mut(*family).tables;
                let chain = tables.get_mut(table).unwrap().chains.get_mut(chain).unwrap();
                remove_first(&mut chain.rules, rule);
            }
            Thing::Lines(family, table, chain) => {
                let tables = &mut state.iptables.family_mut(*family).tables;
                tables.get_mut(table).unwrap().chains.shift_remove(chain);
            }
            Thing::Virtual(id) => {
                state.ipvs.services.shift_remove(id);
            }
            Thing::Real(id, address, port) => {
                let service = state.ipvs.services.get_mut(id).unwrap();
                service.real_servers.retain(|r| (r.address, r.port) != (*address, *port));
            }
            Thing::Member(set, element) => {
                state.ipset.sets.get_mut(set).unwrap().entries.shift_remove(element);
            }
            Thing::Bound(address) => {
                let is_it = |a: &kps_ruleset::host::Address| {
                    a.link == DEVICE && a.network.addr() == *address
                };
                state.host.addresses.retain(|address| !is_it(address));
            }
        }
    }

    /// Turns round the rules of the chain that it stands in, if it is a rule.
    pub fn reverse_chain(&self, state: &mut NodeState) {
        match self {
            Thing::Rule(family, chain, _) => {
                table(state, *family).chains.get_mut(chain).unwrap().rules.reverse();
            }
            Thing::Line(family, table, chain, _) => {
                let tables = &mut state.iptables.family_mut(*family).tables;
                let chain = tables.get_mut(table).unwrap().chains.get_mut(chain).unwrap();
                chain.rules.reverse();
            }
            _ => {}
        }
    }
}

fn remove_first<T: PartialEq>(items: &mut Vec<T>, item: &T) {
    let at = items.iter().position(|other| other == item).unwrap();
    items.remove(at);
}

fn table(state: &mut NodeState, family: TableFamily) -> &mut nftables::Table {
    state.nftables.tables.iter_mut().find(|table| table.family == family).unwrap()
}

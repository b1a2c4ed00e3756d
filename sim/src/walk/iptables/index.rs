//! Which rules of a chain can apply to a packet at all.
//!
//! kube-proxy's longest chains ask for one address, one protocol and one port in each rule. The rules
//! are grouped by what they ask for exactly, so that a packet meets only those of its own groups,
//! still in the order of the chain.

use std::collections::HashMap;
use std::net::IpAddr;

use kps_ruleset::iptables::{Match, Negatable, Network, PortRange, PortTest, Rule as Tree};

use super::field::header_holds;
use super::program::{Chain, Rule};
use crate::packet::Packet;

/// The rules of a chain by what they ask for.
#[derive(Debug, Default)]
pub(crate) struct Index {
    groups: HashMap<Key, Vec<usize>>,
}

/// What a rule asks for exactly: a destination address, and a protocol with a destination port.
type Key = (Option<IpAddr>, Option<(u8, u16)>);

/// A chain with fewer rules is read from the start.
const FEW: usize = 16;

impl Index {
    /// Makes the index of a chain's rules, if they are many.
    pub(super) fn of(rules: &[Rule]) -> Option<Box<Index>> {
        if rules.len() < FEW {
            return None;
        }
        let mut index = Index::default();
        for (at, rule) in rules.iter().enumerate() {
            index.groups.entry(key_of(rule.tree)).or_default().push(at);
        }
        Some(Box::new(index))
    }

    /// Returns the first rule from `from` on whose group the packet belongs to.
    fn next(&self, from: usize, packet: &Packet) -> Option<usize> {
        let port = packet.destination_port.map(|port| (packet.protocol.number(), port));
        let address = Some(packet.destination);
        let keys: [Key; 4] = [(address, port), (address, None), (None, port), (None, None)];
        keys.iter().filter_map(|key| self.next_of(key, from)).min()
    }

    fn next_of(&self, key: &Key, from: usize) -> Option<usize> {
        let group = self.groups.get(key)?;
        group.get(group.partition_point(|at| *at < from)).copied()
    }
}

impl Chain<'_> {
    /// Returns the first rule from `from` on whose header test holds. Some of those whose matches are
    /// sure to fail are left out.
    pub(super) fn next(&self, from: usize, packet: &Packet) -> Option<usize> {
        // A port that is not known may be any: no rule can be left out.
        let index = self.index.as_deref().filter(|_| packet.destination_port.is_some());
        let mut from = from;
        loop {
            let at = index.map_or(Some(from), |index| index.next(from, packet))?;
            if header_holds(&self.rules.get(at)?.tree.header, packet) {
                return Some(at);
            }
            from = at + 1;
        }
    }
}

fn key_of(rule: &Tree) -> Key {
    let address = match &rule.header.destination {
        Some(Negatable { negated: false, value: Network::Prefix(net) })
            if net.prefix_len() == net.max_prefix_len() =>
        {
            Some(net.addr())
        }
        _ => None,
    };
    (address, port_of(rule))
}

/// Returns the protocol and port that a rule asks for, if nothing before that has an effect or needs
/// to be asked about.
fn port_of(rule: &Tree) -> Option<(u8, u16)> {
    let protocol = rule.header.protocol.filter(|protocol| !protocol.negated)?.value;
    let plain = |m: &&Match| !matches!(m, Match::Comment(_) | Match::AddrType(_));
    let ports: &PortTest = match rule.matches.iter().find(plain)? {
        Match::Tcp(test) => &test.ports,
        Match::Udp(test) => test,
        Match::Sctp(test) => &test.ports,
        _ => return None,
    };
    let Negatable { negated: false, value: PortRange { first, last } } = ports.destination? else {
        return None;
    };
    (first == last).then_some((protocol.0, first))
}

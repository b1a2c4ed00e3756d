//! Which rules of a chain can apply to a packet at all.
//!
//! kube-proxy's longest chains ask for one address, one protocol and one port in each rule. The rules
//! are grouped by what they ask for exactly, so that a packet meets only those of its own groups,
//! still in the order of the chain.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::net::IpAddr;

use kps_ruleset::iptables::{Match, Negatable, Network, PortRange, PortTest, Rule as Tree};

use super::field::header_holds;
use super::program::{Chain, Rule};
use crate::classes::line::{Line, Span};
use crate::classes::region::{Asked, number};
use crate::classes::watch::LineKey;
use crate::packet::Packet;
use crate::walk::branch::Branch;
use crate::walk::chains::ChainId;

/// The rules of a chain by what they ask for.
#[derive(Debug, Default)]
pub(crate) struct Index {
    groups: HashMap<Key, Vec<usize>>,
    /// The ports that they ask for, by destination and protocol.
    ports: HashMap<(Option<IpAddr>, u8), Vec<u16>>,
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
            let key = key_of(rule.tree);
            index.groups.entry(key).or_default().push(at);
            if let (address, Some((protocol, port))) = key {
                index.ports.entry((address, protocol)).or_default().push(port);
            }
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

    /// Returns the ports of a protocol that rules for a destination, or for all, ask for exactly.
    fn ports(&self, destination: Option<IpAddr>, protocol: u8) -> impl Iterator<Item = Span> + '_ {
        let of = self.ports.get(&(destination, protocol));
        of.into_iter().flatten().map(|port| (u128::from(*port), u128::from(*port)))
    }

    /// Returns the destinations that rules ask for exactly.
    fn destinations(&self) -> impl Iterator<Item = IpAddr> + '_ {
        self.groups.keys().filter_map(|(address, _)| *address)
    }

    fn next_of(&self, key: &Key, from: usize) -> Option<usize> {
        let group = self.groups.get(key)?;
        group.get(group.partition_point(|at| *at < from)).copied()
    }
}

impl Chain<'_> {
    /// It is asked which group the packet belongs to.
    pub(super) fn asks_index(&self, id: ChainId, branch: &Branch) {
        let (Some(index), Some(watch)) = (self.index.as_deref(), branch.watch()) else { return };
        let packet = &branch.packet;
        let (family, protocol) = (packet.family(), packet.protocol.number());
        let Some(port) = packet.destination_port.map(Asked::Port) else { return };
        watch.ask_by(LineKey::Destinations(id, family), Asked::Address(packet.destination), || {
            let one = |address: IpAddr| (number(address), number(address));
            let named: HashSet<u128> = index.destinations().map(number).collect();
            let spans = index.destinations().map(one);
            Line::labelled(spans, |n| named.contains(&n).then_some(n))
        });
        watch.ask_by(LineKey::Ports(id, protocol), port, || exactly(index.ports(None, protocol)));
        if watch.is_open(port) {
            watch.ask(port, &exactly(index.ports(Some(packet.destination), protocol)));
        }
    }

    /// Returns the first rule from `from` on whose header test holds. Some of those whose matches are
    /// sure to fail are left out.
    pub(super) fn next(&self, from: usize, branch: &Branch) -> Option<usize> {
        let packet = &branch.packet;
        // A port that is not known may be any: no rule can be left out.
        let index = self.index.as_deref().filter(|_| packet.destination_port.is_some());
        let mut from = from;
        loop {
            let at = index.map_or(Some(from), |index| index.next(from, packet))?;
            let header = &self.rules.get(at)?.tree.header;
            branch.asks_header(header);
            if header_holds(header, packet) {
                return Some(at);
            }
            from = at + 1;
        }
    }
}

/// Tells ports apart that are named; each is its own.
fn exactly(ports: impl Iterator<Item = Span>) -> Line {
    let ports: BTreeSet<Span> = ports.collect();
    Line::labelled(ports.iter().copied(), |n| ports.contains(&(n, n)).then_some(n))
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

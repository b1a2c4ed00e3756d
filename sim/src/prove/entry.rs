//! Where packets come from: processes of the node, and each of its links, with each protocol.
//!
//! Links that lead to one address each (those of pods) are taken together: the link is then that of
//! the source. A link with a next hop may bring packets from any source, another one from those that it
//! leads to.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;
use std::sync::Arc;

use kps_flow::{ClientClass, Family, Flow, Protocol};
use kps_ruleset::Name;
use kps_ruleset::host::{Route, RouteKind};

use super::class::Class;
use crate::classes::line::{Line, Span};
use crate::classes::region::{Field, Region, Sample, address, number};
use crate::classes::set::Set;
use crate::classes::watch::OwnLinks;
use crate::host::places::span;
use crate::host::{LOOPBACK, Network};
use crate::mark::Mark;
use crate::packet::Packet;
use crate::walk::Walker;

/// Packets of one protocol that come in one way.
pub(super) struct Entry {
    way_in: WayIn,
    family: Family,
    protocol: Protocol,
    /// The link of each source, if the entry is of several links.
    pub(super) links: Option<Arc<OwnLinks>>,
    pub(super) region: Region,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum WayIn {
    /// A process of the node sends it.
    Process,
    /// It comes by this link.
    Link(Name),
    /// It comes by the link that leads to its source.
    OwnLink,
}

/// Addresses that read well where any will do: those for documentation (RFC 5737, RFC 3849).
const READABLE: [&str; 4] = ["203.0.113.7", "198.51.100.7", "192.0.2.7", "2001:db8::7"];
/// Ports that do.
const READABLE_PORTS: [u128; 3] = [Flow::DEFAULT_SOURCE_PORT as u128, 80, 8080];

impl Entry {
    /// Returns a packet of a region that reads well.
    pub(super) fn sample(&self, region: &Region) -> Sample {
        let addresses: Vec<u128> = READABLE
            .iter()
            .filter_map(|text| text.parse().ok())
            .filter(|address: &IpAddr| Family::of(*address) == self.family)
            .map(number)
            .collect();
        region.sample(&addresses, &READABLE_PORTS)
    }

    /// Returns the packet with these values.
    pub(super) fn packet(&self, sample: &Sample) -> Packet {
        let at = |field| address(sample.get(field), self.family);
        let port = |field| u16::try_from(sample.get(field)).ok();
        Packet {
            source: at(Field::Source),
            source_port: port(Field::SourcePort),
            destination: at(Field::Destination),
            destination_port: port(Field::DestinationPort),
            protocol: self.protocol,
            mark: Mark::ZERO,
            input: self.link(sample),
            output: None,
            owned: self.way_in == WayIn::Process,
            served: false,
        }
    }

    fn link(&self, sample: &Sample) -> Option<Name> {
        match self.way_in {
            WayIn::Process => None,
            WayIn::Link(link) => Some(link),
            WayIn::OwnLink => self.links.as_ref()?.get(&sample.get(Field::Source)).copied(),
        }
    }

    /// Returns a packet as a question to a dataplane.
    pub(super) fn flow(&self, sample: &Sample, walker: &Walker) -> Flow {
        let packet = self.packet(sample);
        let source = Some(packet.source).filter(|_| self.way_in != WayIn::Process);
        Flow {
            client: Entry::client(source, walker.network()),
            interface: packet.input.map(|link| link.to_string()),
            source,
            source_port: packet.source_port.unwrap_or(0),
            protocol: packet.protocol,
            destination: packet.destination,
            port: packet.destination_port.unwrap_or(0),
        }
    }

    /// Tells who sends. From the node alone a pod elsewhere looks like anybody outside.
    fn client(source: Option<IpAddr>, network: &Network) -> ClientClass {
        match source {
            None => ClientClass::Node,
            Some(source) if network.is_behind(source) => ClientClass::Pod,
            Some(_) => ClientClass::Outside,
        }
    }

    /// Returns the packets of a region, as people read them.
    pub(super) fn class(&self, region: &Region, walker: &Walker) -> Class {
        let flow = self.flow(&self.sample(region), walker);
        let several = self.way_in == WayIn::OwnLink && !region.set(Field::Source).is_single();
        let interface = flow.interface.filter(|_| !several);
        let links = self.links.clone();
        Class::new(flow.client, interface, self.protocol, self.family, links, region)
    }
}

/// Returns all entries of the nodes of both walkers.
pub(super) fn all(left: &Walker, right: &Walker) -> Vec<Entry> {
    let networks = [left.network(), right.network()];
    let mut all = Vec::new();
    for family in Family::BOTH {
        if !networks.iter().any(|network| network.has_routes(family)) {
            continue;
        }
        let unspecified = (0, 0);
        for protocol in protocols(family) {
            let entry = |way_in, links, sources: Set| Entry {
                way_in,
                family,
                protocol,
                links,
                region: universe(sources, family, protocol),
            };
            all.push(entry(WayIn::Process, None, Set::of(unspecified)));
            let links = Links::of(&networks, family);
            for own in links.own {
                let Some(sources) = Set::of_numbers(own.keys().copied()) else { continue };
                all.push(entry(WayIn::OwnLink, Some(Arc::new(own)), sources));
            }
            for link in links.shared {
                let any = Set::of(addresses(family));
                let sources = if leads_on(&networks, link) {
                    Some(any)
                } else {
                    left.network().led_to_by(link, family, &any)
                };
                all.extend(sources.map(|sources| entry(WayIn::Link(link), None, sources)));
            }
        }
    }
    all
}

fn protocols(family: Family) -> [Protocol; 4] {
    let icmp = if family == Family::V4 { Protocol::Icmp } else { Protocol::Icmpv6 };
    [Protocol::Tcp, Protocol::Udp, Protocol::Sctp, icmp]
}

fn universe(sources: Set, family: Family, protocol: Protocol) -> Region {
    let ports = || Set::of(if protocol.has_ports() { (0, u16::MAX.into()) } else { (0, 0) });
    Region::new([sources, ports(), Set::of(addresses(family)), ports()])
}

fn addresses(family: Family) -> Span {
    (0, if family == Family::V4 { u32::MAX.into() } else { u128::MAX })
}

/// The links by which packets come in.
struct Links {
    /// Those that lead to single addresses, in groups that the host treats alike.
    own: Vec<OwnLinks>,
    /// All others.
    shared: BTreeSet<Name>,
}

impl Links {
    fn of(networks: &[&Network; 2], family: Family) -> Links {
        let mut routes: BTreeMap<Name, Vec<&Route>> = BTreeMap::new();
        for route in networks.iter().flat_map(|network| network.routes_out(family)) {
            if let Some(link) = route.link {
                routes.entry(link).or_default().push(route);
            }
        }
        let mut own: BTreeMap<Vec<[u32; 4]>, OwnLinks> = BTreeMap::new();
        let mut shared = BTreeSet::new();
        for (link, routes) in routes {
            let is_own = routes.iter().all(|route| leads_to_one(route))
                && networks.iter().all(|network| !network.selects_by(link));
            if !is_own {
                shared.insert(link);
                continue;
            }
            let alike = networks.iter().map(|network| network.sysctls().of_link(family, link));
            let group = own.entry(alike.collect()).or_default();
            let sources = routes.iter().map(|route| route.destination.addr());
            group.extend(sources.map(|source| (number(source), link)));
        }
        Links { own: own.into_values().collect(), shared }
    }
}

fn leads_on(networks: &[&Network; 2], link: Name) -> bool {
    let mut routes = networks.iter().flat_map(|network| network.routes());
    routes.any(|route| route.gateway.is_some() && route.link == Some(link))
}

fn leads_to_one(route: &Route) -> bool {
    let network = route.destination;
    network.prefix_len() == network.max_prefix_len() && route.gateway.is_none()
}

impl Network {
    fn has_routes(&self, family: Family) -> bool {
        self.routes_out(family).next().is_some()
    }

    /// Returns the addresses that a link leads to.
    fn led_to_by(&self, link: Name, family: Family, any: &Set) -> Option<Set> {
        let spans = self.routes().iter().map(|route| route.destination);
        let spans = spans.filter(|network| Family::of(network.addr()) == family).map(span);
        let cut = Line::labelled([(0, 0)].into_iter().chain(spans), |at| {
            self.link_to(address(at, family)) == Some(link)
        });
        let first = cut.label(0);
        let leads =
            |label: u32| (label == first) == (self.link_to(address(0, family)) == Some(link));
        any.split(&cut).into_iter().find(|(label, _)| leads(*label)).map(|(_, set)| set)
    }

    /// Returns the routes that lead out by a link.
    fn routes_out(&self, family: Family) -> impl Iterator<Item = &Route> {
        self.routes().iter().filter(move |route| {
            route.kind == RouteKind::Unicast
                && Family::of(route.destination.addr()) == family
                && route.link.is_some_and(|link| link.as_str() != LOOPBACK)
        })
    }
}

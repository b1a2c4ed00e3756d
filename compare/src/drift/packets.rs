//! The packets that are asked of a dump and of what is expected: some of each class, biased to the
//! constants of the rules.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use ipnet::IpNet;
use kps_flow::{ClientClass, Family, Flow};
use kps_model::intent::{Frontend, Owner};
use kps_model::{Intent, NodeView, PortView, address};
use kps_sim::prove::{Difference, Proof};

use super::lines::Line;
use super::owners::{Dialled, Owners};
use crate::lint::target::{Target, is_of_link, of_addresses, word};
use crate::lint::{Client, Scene};

/// A packet, and the class that it stands for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Question {
    /// The ServicePort that it is for.
    pub service: String,
    /// By what kind of address.
    pub frontend: &'static str,
    /// The packet.
    pub flow: Flow,
}

/// What packets are aimed at beside the objects.
#[derive(Debug)]
pub(super) struct Hints<'a> {
    /// The lines in which kube-proxy's part differs.
    pub lines: &'a [Line],
    /// The rules of others.
    pub foreign: Vec<String>,
    /// What can be dialled by what is left over, and by no ServicePort.
    pub left_over: Vec<(Option<String>, Dialled)>,
}

/// What stands for the ServicePort of packets that are for none.
pub(super) const NO_SERVICE: &str = "no Service";
/// A port that hardly any Service has: discard (RFC 863).
pub(super) const UNDEFINED: u16 = 9;
/// How many addresses of the node are dialled beside loopback.
const MOST_ADDRESSES: usize = 8;
/// How many sources that rules name are tried as clients.
const MOST_SOURCES: usize = 16;

/// Returns every packet to ask: this is the one place that chooses them.
///
/// There is a client of each class, for each address of each ServicePort and a port beside it; a
/// client of its source ranges, and those that are its endpoints. What lines and other people's rules
/// name as sources are clients, too; what lines let clients dial is dialled.
#[must_use]
pub(super) fn sampled(scene: &Scene<'_>, hints: &Hints<'_>) -> Vec<Question> {
    let (named, by_service) = (named_sources(scene, hints), named_by_services(hints.lines));
    let mut questions = Vec::new();
    for view in scene.subject.views {
        let general: Vec<Client> = scene.clients(view.family).cloned().collect();
        let named = named.iter().filter(|client| client.family == view.family);
        let clients: Vec<Client> = general.iter().chain(named).cloned().collect();
        let addresses = view.ports.iter().flat_map(of_addresses);
        for target in addresses.chain(node_ports(view)) {
            let special = special(scene, target.port, &by_service);
            questions.extend(of(scene, target, clients.iter().chain(&special)));
        }
        for port in &view.ports {
            let beside = of_addresses(port).map(|target| Target { number: UNDEFINED, ..target });
            questions.extend(beside.flat_map(|target| {
                let asked = of(scene, target, general.iter());
                asked.map(|question| Question { frontend: "port of no Service", ..question })
            }));
        }
    }
    questions.extend(stale(scene, hints));
    questions
}

/// Returns a packet of each class that a proof found to differ.
pub(super) fn proven(scene: &Scene<'_>, owners: &Owners, proof: &Proof) -> Vec<Question> {
    let question = |difference: &Difference| {
        let flow = difference.flow.clone();
        let (service, frontend) = owner(scene, owners, &flow);
        Question { service, frontend, flow }
    };
    proof.differences.iter().map(question).collect()
}

/// Returns the ServicePort that a packet is for, and by what kind of address.
fn owner(scene: &Scene<'_>, owners: &Owners, flow: &Flow) -> (String, &'static str) {
    let views = scene.subject.views.iter();
    let view = views.into_iter().find(|view| view.family == flow.family());
    match view.map(|view| Intent::new(view).owner(flow)) {
        Some(Owner::Port(port, frontend)) => (port.port.key.to_string(), word(frontend)),
        Some(Owner::Contested) => ("several Services".to_owned(), "contested address"),
        Some(Owner::Nobody) | None => match owners.of_address(flow.destination) {
            Some(service) => (service, "port of no Service"),
            None => (NO_SERVICE.to_owned(), "address of no Service"),
        },
    }
}

/// Returns packets to what can be dialled though no ServicePort has it.
fn stale(scene: &Scene<'_>, hints: &Hints<'_>) -> Vec<Question> {
    let of_line = |line: &Line| Some((line.service.clone(), line.dialled?));
    let of_lines = hints.lines.iter().filter_map(of_line);
    let mut questions = Vec::new();
    for (service, (address, protocol, port)) in of_lines.chain(hints.left_over.iter().cloned()) {
        let service = service.unwrap_or_else(|| NO_SERVICE.to_owned());
        for address in address.into_iter().chain(node_addresses(scene, address)) {
            for client in scene.clients(Family::of(address)) {
                let flow = scene.flow(client, protocol, address, port);
                let frontend = "stale address";
                questions.push(Question { service: service.clone(), frontend, flow });
            }
        }
    }
    questions
}

/// Returns the addresses at which a node port is dialled, if no address is named.
fn node_addresses(scene: &Scene<'_>, named: Option<IpAddr>) -> impl Iterator<Item = IpAddr> {
    let views = scene.subject.views.iter().filter(move |_| named.is_none());
    views.filter_map(crate::lint::target::node_port_address)
}

/// Returns clients of the ranges that lines and rules name, as far as they are not the endpoints'.
fn named_sources(scene: &Scene<'_>, hints: &Hints<'_>) -> Vec<Client> {
    let views = scene.subject.views.iter();
    let endpoints = views.flat_map(|view| &view.ports).flat_map(|port| &port.endpoints);
    let endpoints: BTreeSet<IpAddr> = endpoints.map(|endpoint| endpoint.address.ip()).collect();
    let lines = hints.lines.iter().map(|line| line.text.as_str());
    let texts = lines.chain(hints.foreign.iter().map(String::as_str));
    let addresses = texts.flat_map(sources).filter(|address| !endpoints.contains(address));
    let addresses: BTreeSet<IpAddr> = addresses.take(MOST_SOURCES).collect();
    addresses.into_iter().filter_map(|address| client(scene, address)).collect()
}

/// Reads the sources of a rule: `-s RANGE`, `saddr RANGE`, or the ranges of a set.
fn sources(text: &str) -> impl Iterator<Item = IpAddr> {
    let words: Vec<&str> = text.split([' ', ',', '"']).filter(|word| !word.is_empty()).collect();
    let after = words.windows(2).filter(|pair| matches!(pair, ["-s" | "saddr" | "!=", _]));
    let ranges = words.iter().filter(|word| word.contains('/'));
    let found: Vec<IpNet> =
        after.map(|pair| pair[1]).chain(ranges.copied()).filter_map(range).collect();
    found.into_iter().filter_map(|range| range.hosts().next())
}

fn range(text: &str) -> Option<IpNet> {
    let whole = || address::parse_address(text).map(IpNet::from);
    address::parse_prefix(text).or_else(whole)
}

/// Returns the client with an address, of the class that the objects put it in.
fn client(scene: &Scene<'_>, address: IpAddr) -> Option<Client> {
    if address.is_loopback() || address.is_unspecified() || scene.walker.network().is_local(address)
    {
        return None;
    }
    let has = |ranges: &[IpNet]| ranges.iter().any(|range| range.contains(&address));
    let nodes = || scene.subject.cluster.nodes.iter().flat_map(crate::lint::scene::pod_ranges);
    let class = if scene.subject.views.iter().any(|view| has(&view.pod_cidrs)) {
        ClientClass::Pod
    } else if nodes().any(|range| range.contains(&address)) {
        ClientClass::RemotePod
    } else {
        ClientClass::Outside
    };
    Some(scene.client_at(class, address))
}

/// Returns the node ports at every address of the node, loopback too: those that serve them, and
/// those that should not.
fn node_ports(view: &NodeView) -> impl Iterator<Item = Target<'_>> {
    let loopback = match view.family {
        Family::V4 => IpAddr::V4(Ipv4Addr::LOCALHOST),
        Family::V6 => IpAddr::V6(Ipv6Addr::LOCALHOST),
    };
    let serving = view.node_ports.serving(&view.interface_addresses);
    let all = serving.iter().chain(&view.interface_addresses);
    let mut addresses = vec![loopback];
    for address in all.filter(|address| !address.is_loopback() && !is_of_link(**address)) {
        if addresses.len() <= MOST_ADDRESSES && !addresses.contains(address) {
            addresses.push(*address);
        }
    }
    let of_port = move |port| {
        let at = |address: IpAddr| node_port(port, address);
        addresses.clone().into_iter().filter_map(at).collect::<Vec<_>>()
    };
    view.ports.iter().flat_map(of_port)
}

fn node_port(port: &PortView, address: IpAddr) -> Option<Target<'_>> {
    let number = port.port.node_port?;
    Some(Target { port, frontend: Frontend::NodePort, address, number })
}

fn of<'c>(
    scene: &Scene<'_>,
    target: Target<'_>,
    clients: impl Iterator<Item = &'c Client>,
) -> impl Iterator<Item = Question> {
    let Target { port, frontend, address, number } = target;
    // Loopback can only be dialled from the node itself.
    let can = move |client: &&Client| client.class == ClientClass::Node || !address.is_loopback();
    clients.filter(can).map(move |client| Question {
        service: port.port.key.to_string(),
        frontend: word(frontend),
        flow: scene.flow(client, port.port.key.protocol, address, number),
    })
}

/// Returns a client of the first and one of the last source range, and pods that are endpoints: one
/// here, one elsewhere, and those that lines of the ServicePort name.
fn special(scene: &Scene<'_>, port: &PortView, named: &Named<'_>) -> Vec<Client> {
    let ranges = &port.port.source_ranges;
    let guests = ranges.first().into_iter().chain(ranges.last()).filter_map(|r| r.hosts().next());
    let mut addresses: BTreeSet<IpAddr> = guests.collect();
    for is_local in [true, false] {
        let of_kind = port.reachable_endpoints().find(|endpoint| endpoint.is_local == is_local);
        addresses.extend(of_kind.map(|endpoint| endpoint.address.ip()));
    }
    if let Some(named) = named.get(port.port.key.to_string().as_str()) {
        let own = port.endpoints.iter().map(|endpoint| endpoint.address.ip());
        addresses.extend(own.filter(|address| named.contains(address)).take(MOST_SOURCES));
    }
    addresses.into_iter().filter_map(|address| client(scene, address)).collect()
}

/// The addresses that lines name, by the ServicePort of the line.
type Named<'l> = HashMap<&'l str, HashSet<IpAddr>>;

fn named_by_services(lines: &[Line]) -> Named<'_> {
    let mut named = Named::new();
    for line in lines {
        let Some(service) = &line.service else { continue };
        let words = line.text.split([' ', ',', '"', '/']);
        let addresses = words.filter_map(address::parse_address);
        named.entry(service.as_str()).or_default().extend(addresses);
    }
    named
}

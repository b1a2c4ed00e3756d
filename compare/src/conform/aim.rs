//! Flows that aim at everything that a cluster has: each frontend, ports beside them, addresses that
//! nobody has; from each class of client.

use std::collections::BTreeSet;
use std::net::IpAddr;

use ipnet::IpNet;
use kps_flow::{ClientClass, Family, Flow, Protocol};
use kps_model::{Cluster, NodeView, address};
use kps_sim::Walker;

/// Returns flows at everything that the views of a node have, each once.
#[must_use]
pub fn flows(cluster: &Cluster, views: &[NodeView], walker: &Walker<'_>) -> Vec<Flow> {
    let mut all = Vec::new();
    for view in views {
        let clients = clients(cluster, view, walker);
        for (destination, protocol, port) in targets(cluster, view) {
            all.extend(clients.iter().map(|client| client.dials(protocol, destination, port)));
        }
    }
    all
}

type Target = (IpAddr, Protocol, u16);

fn targets(cluster: &Cluster, view: &NodeView) -> BTreeSet<Target> {
    let mut all = BTreeSet::new();
    let own = view.interface_addresses.iter().copied();
    let loopback: [IpAddr; 2] = [[127, 0, 0, 1].into(), std::net::Ipv6Addr::LOCALHOST.into()];
    let node: Vec<IpAddr> =
        own.chain(loopback).filter(|ip| Family::of(*ip) == view.family).collect();
    for service in &cluster.services {
        let spec = &service.spec;
        let vips = service.status.load_balancer.ingress.iter().map(|ingress| &ingress.ip);
        let texts = spec.cluster_ips.iter().chain(&spec.external_ips).chain(vips);
        let addresses: Vec<IpAddr> = texts.filter_map(|text| text.parse().ok()).collect();
        for port in &spec.ports {
            let protocol =
                port.protocol.as_deref().unwrap_or("TCP").parse().unwrap_or(Protocol::Tcp);
            let number = u16::try_from(port.port).unwrap_or(80);
            let node_port = port.node_port.and_then(|number| u16::try_from(number).ok());
            all.extend(addresses.iter().map(|address| (*address, protocol, number)));
            all.extend(addresses.iter().map(|address| (*address, protocol, 9)));
            if let Some(node_port) = node_port {
                all.extend(node.iter().map(|address| (*address, protocol, node_port)));
                all.extend(addresses.iter().take(1).map(|address| (*address, protocol, node_port)));
            }
        }
        let echo = if view.family == Family::V4 { Protocol::Icmp } else { Protocol::Icmpv6 };
        all.extend(addresses.iter().map(|address| (*address, echo, 0)));
    }
    let strays = ["10.96.0.250", "198.51.100.77", "fd00:10:96::fa", "2001:db8:99::77"];
    all.extend(strays.iter().filter_map(|text| Some((text.parse().ok()?, Protocol::Tcp, 80))));
    all.retain(|(address, ..)| Family::of(*address) == view.family);
    all
}

/// Somebody who dials.
struct Client {
    class: ClientClass,
    source: Option<IpAddr>,
    interface: Option<String>,
}

impl Client {
    fn dials(&self, protocol: Protocol, destination: IpAddr, port: u16) -> Flow {
        Flow {
            client: self.class,
            interface: self.interface.clone(),
            source: self.source,
            source_port: Flow::DEFAULT_SOURCE_PORT,
            protocol,
            destination,
            port,
        }
    }
}

fn clients(cluster: &Cluster, view: &NodeView, walker: &Walker<'_>) -> Vec<Client> {
    let arriving = |(class, source): (ClientClass, IpAddr)| {
        let link = walker.network().link_to(source);
        let interface = Some(link.map_or_else(|| "eth0".to_owned(), |link| link.to_string()));
        Client { class, source: Some(source), interface }
    };
    let mut who = strangers(cluster, view);
    let endpoints = view.ports.iter().flat_map(|port| &port.endpoints);
    let ips: BTreeSet<IpAddr> = endpoints.map(|endpoint| endpoint.address.ip()).collect();
    let here = |ip: &IpAddr| view.pod_cidrs.iter().any(|range| range.contains(ip));
    who.extend(ips.into_iter().filter(here).take(2).map(|ip| (ClientClass::Pod, ip)));
    let node = Client { class: ClientClass::Node, source: None, interface: None };
    who.into_iter().map(arriving).chain([node]).collect()
}

/// Returns clients that are no endpoints, as far as one can tell: a pod of this node, one of
/// another, and somebody outside.
fn strangers(cluster: &Cluster, view: &NodeView) -> Vec<(ClientClass, IpAddr)> {
    let of_family = |range: &&IpNet| Family::of(range.addr()) == view.family;
    let own = view.pod_cidrs.iter().find(of_family);
    let all = cluster.nodes.iter().flat_map(|node| &node.spec.pod_cidrs);
    let all: Vec<IpNet> = all.filter_map(|text| address::parse_prefix(text)).collect();
    let other = all.iter().filter(of_family).find(|range| !view.pod_cidrs.contains(range));
    let outside: IpAddr = match view.family {
        Family::V4 => [198, 51, 100, 200].into(),
        Family::V6 => [0x2001, 0xdb8, 0x99, 0, 0, 0, 0, 0x200].into(),
    };
    let pod = own.and_then(late).map(|ip| (ClientClass::Pod, ip));
    let remote = other.and_then(late).map(|ip| (ClientClass::RemotePod, ip));
    pod.into_iter().chain(remote).chain([(ClientClass::Outside, outside)]).collect()
}

/// Returns an address of a range that an allocator comes to late.
fn late(range: &IpNet) -> Option<IpAddr> {
    range.hosts().take(251).last()
}

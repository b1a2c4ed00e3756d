//! The set entries and virtual servers of a `ServicePort`: one virtual server for each address and
//! port that it can be reached by.

use std::net::IpAddr;

use kps_flow::Protocol;
use kps_model::{NodeView, PortView};
use kps_ruleset::ipset::{Element, Port};
use kps_ruleset::iptables::{Ipvs, Match, Negatable, Network, Rule, Target};
use kps_ruleset::ipvs::ServiceId;

use super::plan::Fragment;
use super::servers;
use super::sets::SetKind;
use crate::iptables::protocol;

/// The node's own addresses, as this mode sees them.
pub(super) struct NodeAddresses {
    /// All but loopback and link-local ones. They need not be put on kube-ipvs0.
    pub all: Vec<IpAddr>,
    /// Those that serve node ports.
    pub node_ports: Vec<IpAddr>,
}

/// A `ServicePort` whose part is being written.
struct Writer<'a> {
    view: &'a NodeView,
    node: &'a NodeAddresses,
    port: &'a PortView,
    fragment: Fragment,
}

/// Returns the part of a `ServicePort`.
pub(super) fn fragment(view: &NodeView, node: &NodeAddresses, port: &PortView) -> Fragment {
    let key = port.port.key.clone();
    let fragment = Fragment { key, entries: Vec::new(), servers: Vec::new(), refusals: Vec::new() };
    let mut writer = Writer { view, node, port, fragment };
    writer.loop_back();
    writer.cluster_ip();
    writer.external_ips();
    writer.load_balancer_vips();
    if port.port.node_port.is_none() || !node.node_ports.is_empty() {
        writer.node_port();
        writer.health_check();
    }
    writer.fragment
}

impl NodeAddresses {
    /// Returns the addresses of the view's node.
    pub fn of(view: &NodeView) -> NodeAddresses {
        let global = |address: &IpAddr| !address.is_loopback() && !is_link_local(*address);
        let all: Vec<IpAddr> = view.interface_addresses.iter().copied().filter(global).collect();
        let node_ports = if view.node_ports.match_all {
            all.clone()
        } else {
            let mut serving = view.node_ports.serving(&view.interface_addresses);
            serving.retain(|address| !address.is_loopback());
            serving
        };
        NodeAddresses { all, node_ports }
    }
}

fn is_link_local(address: IpAddr) -> bool {
    matches!(address, IpAddr::V6(address) if address.is_unicast_link_local())
}

impl Writer<'_> {
    /// Writes all endpoints on this node, ready or not.
    fn loop_back(&mut self) {
        let protocol = protocol(self.port.port.key.protocol);
        for endpoint in self.port.endpoints.iter().filter(|endpoint| endpoint.is_local) {
            let address = endpoint.address.ip();
            let port = Port { protocol, port: endpoint.address.port() };
            self.entry(SetKind::LoopBack, Element::IpPortIp(address, port, address));
        }
    }

    fn cluster_ip(&mut self) {
        let address = self.port.port.cluster_ip;
        self.address_entry(SetKind::ClusterIp, address);
        self.entry(SetKind::IpvsIps, Element::Ip(address));
        self.serve(address, self.port.port.port, self.port.port.internal_local);
    }

    fn external_ips(&mut self) {
        let local = self.port.port.external_local;
        let kind = if local { SetKind::ExternalIpLocal } else { SetKind::ExternalIp };
        for address in &self.port.port.external_ips {
            self.address_entry(kind, *address);
            self.serve_from_outside(*address);
        }
    }

    fn load_balancer_vips(&mut self) {
        for address in &self.port.port.load_balancer_vips {
            self.address_entry(SetKind::LoadBalancer, *address);
            if self.port.port.external_local {
                self.address_entry(SetKind::LoadBalancerLocal, *address);
            }
            if !self.port.port.source_ranges.is_empty() {
                self.source_ranges(*address);
            }
            self.serve_from_outside(*address);
        }
    }

    fn source_ranges(&mut self, address: IpAddr) {
        let service = &self.port.port;
        let port = self.own_port();
        self.address_entry(SetKind::LoadBalancerFirewall, address);
        for range in &service.source_ranges {
            let element = Element::IpPortNet(address, port, *range);
            self.entry(SetKind::LoadBalancerSourceCidr, element);
        }
        // A packet from the node has the load balancer's address as source, since that is bound to
        // the node.
        if service.source_ranges.iter().any(|range| range.contains(&self.view.node_ip)) {
            let element = Element::IpPortIp(address, port, address);
            self.entry(SetKind::LoadBalancerSourceIp, element);
        } else {
            self.fragment.refusals.push(refusal(address, port));
        }
    }

    fn node_port(&mut self) {
        let Some(number) = self.port.port.node_port else { return };
        let (kind, local) = node_port_sets(self.port.port.key.protocol);
        self.node_port_entries(kind, number);
        if self.port.port.external_local {
            self.node_port_entries(local, number);
        }
        for address in &self.node.node_ports {
            self.serve(*address, number, self.port.port.external_local);
        }
    }

    /// Writes a node port. There is no bitmap of SCTP ports, so those come with addresses.
    fn node_port_entries(&mut self, kind: SetKind, number: u16) {
        if self.port.port.key.protocol != Protocol::Sctp {
            return self.entry(kind, Element::Port(number));
        }
        let port = Port { protocol: kps_ruleset::Protocol::SCTP, port: number };
        for address in &self.node.node_ports {
            self.entry(kind, Element::IpPort(*address, port));
        }
    }

    fn health_check(&mut self) {
        if let Some(number) = self.port.port.health_check_node_port {
            self.entry(SetKind::HealthCheckNodePort, Element::Port(number));
        }
    }

    fn serve_from_outside(&mut self, address: IpAddr) {
        if !self.node.all.contains(&address) {
            self.entry(SetKind::IpvsIps, Element::Ip(address));
        }
        self.serve(address, self.port.port.port, self.port.port.external_local);
    }

    fn serve(&mut self, address: IpAddr, port: u16, only_local: bool) {
        let protocol = protocol(self.port.port.key.protocol);
        let server = servers::virtual_server(self.view, self.port, only_local);
        self.fragment.servers.push((ServiceId::Address { protocol, address, port }, server));
    }

    fn address_entry(&mut self, kind: SetKind, address: IpAddr) {
        self.entry(kind, Element::IpPort(address, self.own_port()));
    }

    fn entry(&mut self, kind: SetKind, element: Element) {
        self.fragment.entries.push((kind, element));
    }

    /// Returns the Service's own port.
    fn own_port(&self) -> Port {
        let service = &self.port.port;
        Port { protocol: protocol(service.key.protocol), port: service.port }
    }
}

/// Returns the sets of node ports of a protocol: of all, and of those with policy Local.
fn node_port_sets(protocol: Protocol) -> (SetKind, SetKind) {
    match protocol {
        Protocol::Udp => (SetKind::NodePortUdp, SetKind::NodePortLocalUdp),
        Protocol::Sctp => (SetKind::NodePortSctp, SetKind::NodePortLocalSctp),
        _ => (SetKind::NodePortTcp, SetKind::NodePortLocalTcp),
    }
}

/// Returns the rule that refuses this node a load balancer IP: its packets have that address as
/// source, which the source ranges need not contain.
fn refusal(address: IpAddr, port: Port) -> Rule {
    let server = Ipvs {
        address: Some(Negatable::is(Network::host(address))),
        protocol: Some(Negatable::is(port.protocol)),
        port: Some(Negatable::is(port.port)),
        ..Ipvs::default()
    };
    Rule::write().source_host(address).matching(Match::Ipvs(Box::new(server))).target(Target::Drop)
}

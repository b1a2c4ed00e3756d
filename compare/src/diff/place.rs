//! Where packets aim: at which ServicePort, by what kind of address.

use std::collections::HashMap;
use std::fmt;
use std::net::IpAddr;

use kps_flow::{ClientClass, Family, Flow, Protocol};
use kps_model::{NodeView, PortKey, PortView, ServicePort};

/// By what a packet aims at a Service, or past it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    /// The cluster IP and a port that the Service has there.
    ClusterIp,
    /// An external IP and such a port.
    ExternalIp,
    /// A load balancer IP that the node serves, and such a port.
    LoadBalancerIp,
    /// A node port on an address of the node.
    NodePort,
    /// A node port on a loopback address.
    Loopback,
    /// An address of the Service and a port that no Service has there.
    OtherPort,
    /// An address of the Service, without any port.
    Ping,
    /// An address in a range of cluster IPs that no Service has.
    Unassigned,
    /// Anything else.
    Elsewhere,
}

impl Kind {
    /// All of them, in order.
    pub const ALL: [Kind; 9] = [
        Kind::ClusterIp,
        Kind::ExternalIp,
        Kind::LoadBalancerIp,
        Kind::NodePort,
        Kind::Loopback,
        Kind::OtherPort,
        Kind::Ping,
        Kind::Unassigned,
        Kind::Elsewhere,
    ];
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Kind::ClusterIp => "cluster IP",
            Kind::ExternalIp => "external IP",
            Kind::LoadBalancerIp => "load balancer IP",
            Kind::NodePort => "node port",
            Kind::Loopback => "node port on loopback",
            Kind::OtherPort => "undefined port",
            Kind::Ping => "ping",
            Kind::Unassigned => "unassigned cluster IP",
            Kind::Elsewhere => "elsewhere",
        })
    }
}

/// The row of a report: a ServicePort in one family. Packets past all Services have none.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Row {
    /// The ServicePort.
    pub key: PortKey,
    /// The family.
    pub family: Family,
}

/// Where a packet aims.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    /// The ServicePort; of those that have the address, the first.
    pub row: Option<Row>,
    /// The kind of address.
    pub kind: Kind,
    /// Who sends it.
    pub client: ClientClass,
}

/// A view's ServicePorts by what leads to them.
#[derive(Debug)]
pub struct Index<'a> {
    /// The view.
    pub view: &'a NodeView,
    by_address: HashMap<IpAddr, Vec<usize>>,
    by_node_port: HashMap<(u16, Protocol), Vec<usize>>,
    by_health_port: HashMap<u16, Vec<usize>>,
}

impl<'a> Index<'a> {
    /// Indexes a view.
    #[must_use]
    pub fn new(view: &'a NodeView) -> Index<'a> {
        let (mut by_address, mut by_node_port) = (HashMap::new(), HashMap::new());
        let mut by_health_port: HashMap<u16, Vec<usize>> = HashMap::new();
        for (number, port) in view.ports.iter().enumerate() {
            for (_, address) in addresses(&port.port) {
                let ports: &mut Vec<usize> = by_address.entry(address).or_default();
                if ports.last() != Some(&number) {
                    ports.push(number);
                }
            }
            if let Some(node_port) = port.port.node_port {
                let key = (node_port, port.port.key.protocol);
                by_node_port.entry(key).or_insert_with(Vec::new).push(number);
            }
            if let Some(health) = port.port.health_check_node_port {
                by_health_port.entry(health).or_default().push(number);
            }
        }
        Index { view, by_address, by_node_port, by_health_port }
    }

    /// Returns the view with those ServicePorts alone that have to do with a packet's addresses and port:
    /// whatever asks about the packet need not look at the others.
    #[must_use]
    pub fn narrow(&self, flow: &Flow) -> NodeView {
        let by_address = self.at(flow.destination).iter();
        let by_health = self.by_health_port.get(&flow.port).into_iter().flatten();
        let by_source = flow.source.map_or(&[][..], |source| self.at(source));
        let by_number = self.by_port(flow).iter().chain(by_health).chain(by_source);
        let mut numbers: Vec<usize> = by_address.chain(by_number).copied().collect();
        numbers.sort_unstable();
        numbers.dedup();
        let ports = numbers.iter().filter_map(|number| self.view.ports.get(*number));
        NodeView { ports: ports.cloned().collect(), ..without_ports(self.view) }
    }

    /// Returns where a packet aims.
    #[must_use]
    pub fn place(&self, flow: &Flow) -> Place {
        let (port, kind) = self
            .exactly(flow)
            .or_else(|| self.node_port(flow))
            .unwrap_or_else(|| self.beside(flow));
        let family = self.view.family;
        let row = port.map(|port| Row { key: port.port.key.clone(), family });
        Place { row, kind, client: flow.client }
    }

    /// Tells whether any Service has an address.
    #[must_use]
    pub fn has(&self, address: IpAddr) -> bool {
        self.by_address.contains_key(&address)
    }

    /// Tells whether a Service has a port at an address.
    #[must_use]
    pub fn has_port(&self, address: IpAddr, protocol: Protocol, number: u16) -> bool {
        self.ports(self.at(address)).any(|port| is_own(&port.port, protocol, number))
    }

    /// Tells whether a ServicePort comes first of those that have an address.
    #[must_use]
    pub fn is_first(&self, address: IpAddr, key: &PortKey) -> bool {
        self.ports(self.at(address)).next().is_none_or(|port| port.port.key == *key)
    }

    fn exactly(&self, flow: &Flow) -> Option<(Option<&'a PortView>, Kind)> {
        let mut ports = self.ports(self.at(flow.destination));
        let port = ports.find(|port| is_own(&port.port, flow.protocol, flow.port))?;
        let mut kinds = addresses(&port.port);
        let (kind, _) = kinds.find(|(_, address)| *address == flow.destination)?;
        Some((Some(port), kind))
    }

    fn node_port(&self, flow: &Flow) -> Option<(Option<&'a PortView>, Kind)> {
        let to = flow.destination;
        if !to.is_loopback() && !self.view.interface_addresses.contains(&to) {
            return None;
        }
        let port = self.ports(self.by_port(flow)).next()?;
        Some((Some(port), if to.is_loopback() { Kind::Loopback } else { Kind::NodePort }))
    }

    fn beside(&self, flow: &Flow) -> (Option<&'a PortView>, Kind) {
        let to = flow.destination;
        match self.ports(self.at(to)).next() {
            Some(port) if flow.protocol.has_ports() => (Some(port), Kind::OtherPort),
            Some(port) => (Some(port), Kind::Ping),
            None if self.view.service_cidrs.iter().any(|range| range.contains(&to)) => {
                (None, Kind::Unassigned)
            }
            None => (None, Kind::Elsewhere),
        }
    }

    fn ports(&self, numbers: &[usize]) -> impl Iterator<Item = &'a PortView> {
        let ports = &self.view.ports;
        numbers.iter().filter_map(move |number| ports.get(*number))
    }

    fn at(&self, address: IpAddr) -> &[usize] {
        self.by_address.get(&address).map_or(&[], Vec::as_slice)
    }

    fn by_port(&self, flow: &Flow) -> &[usize] {
        self.by_node_port.get(&(flow.port, flow.protocol)).map_or(&[], Vec::as_slice)
    }
}

/// Returns the addresses of a ServicePort, the most particular kind first.
pub(super) fn addresses(port: &ServicePort) -> impl Iterator<Item = (Kind, IpAddr)> {
    let outer = port.load_balancer_vips.iter().map(|address| (Kind::LoadBalancerIp, *address));
    let external = port.external_ips.iter().map(|address| (Kind::ExternalIp, *address));
    std::iter::once((Kind::ClusterIp, port.cluster_ip)).chain(outer).chain(external)
}

fn is_own(port: &ServicePort, protocol: Protocol, number: u16) -> bool {
    port.port == number && port.key.protocol == protocol
}

/// Copies what a view says of the node.
fn without_ports(view: &NodeView) -> NodeView {
    NodeView {
        ports: Vec::new(),
        node_name: view.node_name.clone(),
        zone: view.zone.clone(),
        interface_addresses: view.interface_addresses.clone(),
        pod_cidrs: view.pod_cidrs.clone(),
        detector: view.detector.clone(),
        node_ports: view.node_ports.clone(),
        service_cidrs: view.service_cidrs.clone(),
        ipvs: view.ipvs.clone(),
        ..*view
    }
}

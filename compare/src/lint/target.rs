//! What clients can dial: every ServicePort by every kind of address that it has.

use std::collections::HashMap;
use std::net::IpAddr;

use kps_model::intent::Frontend;
use kps_model::{NodeView, PortKey, PortView};

/// An address and port of a ServicePort.
#[derive(Debug, Clone, Copy)]
pub struct Target<'v> {
    /// The ServicePort.
    pub port: &'v PortView,
    /// The kind of the address.
    pub frontend: Frontend,
    /// The address.
    pub address: IpAddr,
    /// The port number.
    pub number: u16,
}

/// Returns everything that can be dialled: all addresses of a Service, and of those that serve
/// node ports the first that is not loopback.
pub fn targets(view: &NodeView) -> impl Iterator<Item = Target<'_>> {
    let node = node_port_address(view);
    view.ports.iter().flat_map(move |port| of_addresses(port).chain(of_node_port(port, node)))
}

/// Returns the addresses of a ServicePort's Service.
pub fn of_addresses(port: &PortView) -> impl Iterator<Item = Target<'_>> {
    let own = &port.port;
    let kinds = std::iter::once((Frontend::ClusterIp, own.cluster_ip))
        .chain(own.load_balancer_vips.iter().map(|ip| (Frontend::LoadBalancerIp, *ip)))
        .chain(own.external_ips.iter().map(|ip| (Frontend::ExternalIp, *ip)));
    kinds.map(move |(frontend, address)| Target { port, frontend, address, number: own.port })
}

fn of_node_port(port: &PortView, node: Option<IpAddr>) -> Option<Target<'_>> {
    let number = port.port.node_port?;
    Some(Target { port, frontend: Frontend::NodePort, address: node?, number })
}

/// Returns the address of the node at which its node ports are dialled: one that can be dialled from
/// elsewhere.
#[must_use]
pub fn node_port_address(view: &NodeView) -> Option<IpAddr> {
    let serving = view.node_ports.serving(&view.interface_addresses);
    serving.into_iter().find(|address| !address.is_loopback() && !is_of_link(*address))
}

/// Tells whether an address means something on one link only.
#[must_use]
pub fn is_of_link(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => address.is_link_local(),
        IpAddr::V6(address) => address.is_unicast_link_local(),
    }
}

/// Returns the ServicePorts of all families by namespace and name of their Service.
#[must_use]
pub fn by_service(views: &[NodeView]) -> HashMap<(&str, &str), Vec<&PortView>> {
    let mut by_service: HashMap<_, Vec<&PortView>> = HashMap::new();
    for port in views.iter().flat_map(|view| &view.ports) {
        let key = &port.port.key;
        by_service.entry((key.namespace.as_str(), key.name.as_str())).or_default().push(port);
    }
    by_service
}

/// Returns a ServicePort's Service, as objects are named in findings.
#[must_use]
pub fn service(key: &PortKey) -> String {
    format!("Service {}/{}", key.namespace, key.name)
}

/// Returns a port of a Service in words: its name if it has one, its number and protocol.
#[must_use]
pub fn port(port: &PortView) -> String {
    let own = &port.port;
    match own.key.port_name.as_str() {
        "" => format!("port {}/{}", own.port, own.key.protocol),
        name => format!("port {name} ({}/{})", own.port, own.key.protocol),
    }
}

/// Returns the word for a kind of address.
#[must_use]
pub fn word(frontend: Frontend) -> &'static str {
    match frontend {
        Frontend::ClusterIp => "cluster IP",
        Frontend::ExternalIp => "external IP",
        Frontend::LoadBalancerIp => "load balancer IP",
        Frontend::NodePort => "node port",
    }
}

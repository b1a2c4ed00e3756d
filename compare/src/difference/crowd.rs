//! Where the Service ports of a node meet: addresses, ports and node ports that several claim.

use std::collections::{HashMap, HashSet};
use std::net::IpAddr;

use kps_flow::Protocol;
use kps_model::{NodeView, PortView, ServicePort};

/// What is claimed, and how often.
pub(super) struct Crowd {
    claims: HashMap<(IpAddr, u16, Protocol), u32>,
    node_ports: HashMap<(u16, Protocol), u32>,
    outer_on_node: bool,
}

impl Crowd {
    /// Counts the claims of a view's Service ports.
    pub(super) fn of(view: &NodeView) -> Crowd {
        let own: HashSet<&IpAddr> = view.interface_addresses.iter().collect();
        let mut crowd =
            Crowd { claims: HashMap::new(), node_ports: HashMap::new(), outer_on_node: false };
        for port in view.ports.iter().map(|port| &port.port) {
            let addresses: HashSet<&IpAddr> = addresses(port).collect();
            for address in addresses {
                let claim = (*address, port.port, port.key.protocol);
                *crowd.claims.entry(claim).or_default() += 1;
            }
            if let Some(number) = port.node_port {
                *crowd.node_ports.entry((number, port.key.protocol)).or_default() += 1;
            }
            crowd.outer_on_node |= outer_addresses(port).any(|address| own.contains(address));
        }
        crowd
    }

    /// Tells whether an external or load balancer address is one of the node's own.
    pub(super) fn has_outer_address_of_node(&self) -> bool {
        self.outer_on_node
    }

    /// Tells whether another Service port claims an address and port of this one, or its node port.
    pub(super) fn shares(&self, port: &PortView) -> bool {
        let (number, protocol) = (port.port.port, port.port.key.protocol);
        let address = |address: &IpAddr| self.claims.get(&(*address, number, protocol));
        let claims = addresses(&port.port).filter_map(address);
        let of_node = port.port.node_port.and_then(|n| self.node_ports.get(&(n, protocol)));
        claims.chain(of_node).any(|count| *count > 1)
    }

    /// Tells whether the Service's own port is the node port of some Service.
    pub(super) fn meets_node_port(&self, port: &PortView) -> bool {
        self.node_ports.contains_key(&(port.port.port, port.port.key.protocol))
    }
}

fn addresses(port: &ServicePort) -> impl Iterator<Item = &IpAddr> {
    std::iter::once(&port.cluster_ip).chain(outer_addresses(port))
}

fn outer_addresses(port: &ServicePort) -> impl Iterator<Item = &IpAddr> {
    port.external_ips.iter().chain(&port.load_balancer_vips)
}

//! Which differences the objects and the configuration of a node call up, without any packet.

use std::net::IpAddr;

use kps_model::view::PortView;
use kps_model::{Mode, NodeView, PortKey};

use super::Id;

/// One side of a move: a mode, and what a proxier of that mode sees.
#[derive(Debug, Clone, Copy)]
pub struct Side<'a> {
    /// The mode.
    pub mode: Mode,
    /// The view, made for this mode, its configuration and its release.
    pub view: &'a NodeView,
}

/// A difference that a move calls up.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Concern {
    /// The difference.
    pub id: Id,
    /// The Service ports that it touches, ordered; none if it is about the node as a whole.
    pub ports: Vec<PortKey>,
}

/// Differences about the node as a whole, each with the modes that are alike in it.
const OF_NODES: &[(Id, &[Mode])] = &[
    (Id::D05, &[Mode::Iptables, Mode::Ipvs]),
    (Id::D26, &[Mode::Iptables, Mode::Nftables]),
    (Id::D28, &[]),
    (Id::D29, &[Mode::Iptables, Mode::Nftables]),
    (Id::D32, &[]),
    (Id::D33, &[]),
    (Id::D36, &[]),
    (Id::D37, &[]),
];

/// Returns the differences that a move from one side to another calls up by the objects and the
/// configuration alone, ordered by id. Whether a packet shows them, it does not say.
#[must_use]
pub fn concerns(from: Side<'_>, to: Side<'_>) -> Vec<Concern> {
    if from.mode == to.mode {
        return Vec::new();
    }
    let is_between = |alike: &[Mode]| !(alike.contains(&from.mode) && alike.contains(&to.mode));
    let mut found: Vec<Concern> = OF_NODES
        .iter()
        .filter(|(_, alike)| is_between(alike))
        .map(|(id, _)| Concern { id: *id, ports: Vec::new() })
        .collect();
    if is_between(&[Mode::Ipvs, Mode::Nftables]) && !from.view.tcp_be_liberal {
        found.push(Concern { id: Id::D06, ports: Vec::new() });
    }
    let about_ports = OF_PORTS.iter().filter(|(_, alike, _)| is_between(alike));
    found.extend(about_ports.filter_map(|(id, _, touches)| touched(*id, from, to, *touches)));
    found.sort_by_key(|concern| concern.id);
    found
}

/// Tells whether a difference touches a Service port.
type Touches = fn(&PortView, Side<'_>, Side<'_>) -> bool;

/// Differences about Service ports, each with the modes that are alike in it.
const OF_PORTS: &[(Id, &[Mode], Touches)] = &[
    (Id::D01, &[], |p, from, to| {
        p.port.node_port.is_some() && from.view.node_ports != to.view.node_ports
    }),
    (Id::D03, &[Mode::Ipvs, Mode::Nftables], |p, from, to| {
        let iptables = if from.mode == Mode::Iptables { from.view } else { to.view };
        p.port.node_port.is_some() && iptables.localhost_node_ports
    }),
    (Id::D10, &[], |p, _, _| !p.has_any),
    (Id::D11, &[Mode::Iptables, Mode::Nftables], |p, _, _| {
        p.has_any && p.port.uses_local_endpoints() && p.local.is_empty()
    }),
    (Id::D12, &[Mode::Iptables, Mode::Nftables], |p, _, _| {
        p.port.external_local && p.port.externally_accessible() && !p.local.is_empty()
    }),
    (Id::D14, &[], |p, _, _| !p.port.source_ranges.is_empty() && has_balancer(p)),
    (Id::D15, &[Mode::Iptables, Mode::Nftables], |p, _, _| {
        p.port.affinity.is_some() && p.port.externally_accessible()
    }),
    (Id::D16, &[], |p, _, _| p.port.affinity.is_some()),
    (Id::D17, &[Mode::Iptables, Mode::Nftables], |p, _, _| p.reachable.len() > 1),
    (Id::D24, &[Mode::Iptables, Mode::Nftables], |_, _, _| true),
    (Id::D25, &[Mode::Iptables, Mode::Nftables], |p, _, _| has_outside_address(p)),
    (Id::D27, &[Mode::Iptables, Mode::Nftables], |p, from, to| {
        let ipvs = if from.mode == Mode::Ipvs { from.view } else { to.view };
        has_outside_address(p) && !ipvs.ipvs.strict_arp
    }),
    (Id::D31, &[], |p, from, _| from.view.ports.iter().any(|other| collide(p, other))),
    (Id::D38, &[Mode::Iptables, Mode::Ipvs], |p, _, _| p.port.health_check_node_port.is_some()),
];

fn touched(id: Id, from: Side<'_>, to: Side<'_>, touches: Touches) -> Option<Concern> {
    let ports = from.view.ports.iter().filter(|port| touches(port, from, to));
    let ports: Vec<PortKey> = ports.map(|port| port.port.key.clone()).collect();
    (!ports.is_empty()).then_some(Concern { id, ports })
}

fn has_balancer(port: &PortView) -> bool {
    !port.port.load_balancer_vips.is_empty()
}

fn has_outside_address(port: &PortView) -> bool {
    has_balancer(port) || !port.port.external_ips.is_empty()
}

/// Tells whether two Service ports claim one address, port and protocol.
fn collide(one: &PortView, other: &PortView) -> bool {
    let (one, other) = (&one.port, &other.port);
    let alike = one.port == other.port && one.key.protocol == other.key.protocol;
    one.key != other.key && alike && addresses(one).any(|a| addresses(other).any(|b| a == b))
}

fn addresses(port: &kps_model::ServicePort) -> impl Iterator<Item = &IpAddr> {
    let outside = port.external_ips.iter().chain(&port.load_balancer_vips);
    std::iter::once(&port.cluster_ip).chain(outside)
}

//! Which differences the objects and the configuration of a node call up, without any packet.

use kps_flow::Family;
use kps_model::{KubeVersion, Mode, NodeView, PortKey, PortView};

use super::Id;
use super::crowd::Crowd;

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
    (Id::D34, &[]),
    (Id::D35, &[]),
    (Id::D36, &[]),
    (Id::D37, &[]),
];

/// Returns the differences that a move from one side to another calls up by the objects and the
/// configuration alone, ordered by id. Whether a packet shows them, it does not say.
#[must_use]
pub fn concerns(from: Side<'_>, to: Side<'_>) -> Vec<Concern> {
    let moved = Move { from, to, crowd: Crowd::of(from.view) };
    let mut found = moved.of_node();
    let about_ports = OF_PORTS.iter().filter(|(_, alike, _)| moved.is_between(alike));
    found.extend(about_ports.filter_map(|(id, _, touches)| moved.touched(*id, *touches)));
    if from.rewrites_hairpins() != to.rewrites_hairpins() {
        found.extend(moved.touched(Id::D20, has_endpoint_elsewhere));
    }
    found.sort_by_key(|concern| concern.id);
    found
}

/// Tells whether two sides differ in what a difference is about.
pub(super) fn is_between(id: Id, from: Side<'_>, to: Side<'_>) -> bool {
    if id == Id::D20 {
        return from.rewrites_hairpins() != to.rewrites_hairpins();
    }
    let alike = |modes: &[Mode]| modes.contains(&from.mode) && modes.contains(&to.mode);
    OF_PORTS.iter().find(|(known, _, _)| *known == id).is_none_or(|(_, modes, _)| !alike(modes))
}

/// A move, with what is shared among the Service ports.
struct Move<'a> {
    from: Side<'a>,
    to: Side<'a>,
    crowd: Crowd,
}

impl Side<'_> {
    /// Tells whether a pod of another node that reaches itself is masqueraded.
    fn rewrites_hairpins(self) -> bool {
        match self.mode {
            Mode::Iptables => true,
            Mode::Nftables => self.view.version < KubeVersion::V1_36,
            Mode::Ipvs => false,
        }
    }
}

impl<'a> Move<'a> {
    fn is_between(&self, alike: &[Mode]) -> bool {
        self.from.mode != self.to.mode
            && !(alike.contains(&self.from.mode) && alike.contains(&self.to.mode))
    }

    /// Returns the side with a mode; of two, the one moved to.
    fn side(&self, mode: Mode) -> Option<&'a NodeView> {
        [self.to, self.from].into_iter().find(|side| side.mode == mode).map(|side| side.view)
    }

    fn of_node(&self) -> Vec<Concern> {
        let all = OF_NODES.iter().filter(|(_, alike)| self.is_between(alike));
        let mut ids: Vec<Id> = all.map(|(id, _)| *id).collect();
        if self.is_between(&[Mode::Ipvs, Mode::Nftables]) && !self.from.view.tcp_be_liberal {
            ids.push(Id::D06);
        }
        let nftables = self.side(Mode::Nftables).filter(|view| !view.service_cidrs.is_empty());
        if self.is_between(&[Mode::Iptables, Mode::Ipvs]) && nftables.is_some() {
            ids.push(Id::D08);
        }
        ids.into_iter().map(|id| Concern { id, ports: Vec::new() }).collect()
    }

    fn touched(&self, id: Id, touches: Touches) -> Option<Concern> {
        let ports = self.from.view.ports.iter().filter(|port| touches(port, self));
        let ports: Vec<PortKey> = ports.map(|port| port.port.key.clone()).collect();
        (!ports.is_empty()).then_some(Concern { id, ports })
    }
}

/// Tells whether a difference touches a Service port.
type Touches = fn(&PortView, &Move<'_>) -> bool;

/// Differences about Service ports, each with the modes that are alike in it.
const OF_PORTS: &[(Id, &[Mode], Touches)] = &[
    (Id::D01, &[], |p, m| {
        p.port.node_port.is_some() && m.from.view.node_ports != m.to.view.node_ports
    }),
    (Id::D02, &[], |p, m| {
        let differ = m.from.view.node_ports != m.to.view.node_ports;
        p.port.node_port.is_some() && differ && m.crowd.has_outer_address_of_node()
    }),
    (Id::D03, &[Mode::Ipvs, Mode::Nftables], |p, m| {
        p.port.node_port.is_some() && m.from.view.family == Family::V4
    }),
    (Id::D04, &[Mode::Ipvs, Mode::Nftables], |p, m| {
        p.port.node_port.is_some() && m.from.view.family == Family::V6
    }),
    (Id::D07, &[Mode::Ipvs, Mode::Nftables], |_, _| true),
    (Id::D09, &[Mode::Ipvs, Mode::Nftables], |_, _| true),
    (Id::D10, &[], |p, _| !p.has_any),
    (Id::D11, &[], |p, _| p.has_any && p.port.uses_local_endpoints() && p.local.is_empty()),
    (Id::D12, &[Mode::Iptables, Mode::Nftables], |p, _| {
        p.port.external_local && p.port.externally_accessible()
    }),
    (Id::D13, &[Mode::Iptables, Mode::Nftables], |p, _| {
        p.port.externally_accessible() && p.port.uses_local_endpoints() && p.local != p.cluster
    }),
    (Id::D14, &[], |p, _| !p.port.source_ranges.is_empty() && has_balancer(p)),
    (Id::D15, &[Mode::Iptables, Mode::Nftables], |p, _| {
        p.port.affinity.is_some() && p.port.externally_accessible()
    }),
    (Id::D16, &[], |p, _| p.port.affinity.is_some()),
    (Id::D17, &[Mode::Iptables, Mode::Nftables], |p, _| p.reachable.len() > 1),
    (Id::D18, &[], |p, _| p.reachable.len() > 1),
    (Id::D19, &[Mode::Iptables, Mode::Nftables], |p, m| {
        let own = &m.from.view.interface_addresses;
        p.endpoints.iter().any(|endpoint| own.contains(&endpoint.address.ip()))
    }),
    (Id::D21, &[Mode::Iptables, Mode::Nftables], |_, m| {
        m.from.view.detector.is_none() && !m.from.view.masquerade_all
    }),
    (Id::D22, &[Mode::Iptables, Mode::Ipvs], |_, m| m.from.view.masquerade_all),
    (Id::D24, &[Mode::Iptables, Mode::Nftables], |_, _| true),
    (Id::D25, &[Mode::Iptables, Mode::Nftables], |p, _| has_outside_address(p)),
    (Id::D27, &[Mode::Iptables, Mode::Nftables], |p, m| {
        let strict = m.side(Mode::Ipvs).is_some_and(|view| view.ipvs.strict_arp);
        has_outside_address(p) && !strict
    }),
    (Id::D30, &[Mode::Iptables, Mode::Nftables], |p, _| !p.reachable.is_empty()),
    (Id::D31, &[], |p, m| m.crowd.shares(p)),
    (Id::D38, &[], |p, _| p.port.health_check_node_port.is_some()),
    (Id::D39, &[Mode::Iptables, Mode::Nftables], |p, m| m.crowd.meets_node_port(p)),
    (Id::D40, &[Mode::Iptables, Mode::Nftables], |p, m| {
        let none = |view: &NodeView| view.node_ports.serving(&view.interface_addresses).is_empty();
        p.port.node_port.is_some() && m.side(Mode::Ipvs).is_some_and(none)
    }),
    (Id::D41, &[Mode::Iptables, Mode::Nftables], |p, _| {
        p.endpoints.iter().any(|endpoint| endpoint.is_local)
    }),
];

fn has_balancer(port: &PortView) -> bool {
    !port.port.load_balancer_vips.is_empty()
}

fn has_outside_address(port: &PortView) -> bool {
    has_balancer(port) || !port.port.external_ips.is_empty()
}

fn has_endpoint_elsewhere(port: &PortView, _: &Move<'_>) -> bool {
    port.endpoints.iter().any(|endpoint| !endpoint.is_local)
}

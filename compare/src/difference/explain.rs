//! Which documented difference explains that a packet fares differently in two modes.
//!
//! Each side is held against the promise: what keeps it or is excused by an [`Exception`] does
//! exactly what is written down for its mode, so two such sides differ by their exceptions, by what
//! they take to be the destination's owner, or within what the promise leaves open.

use std::collections::BTreeSet;
use std::net::{IpAddr, SocketAddr};

use kps_flow::{ClientClass, Distribution, Flow, Outcome};
use kps_model::intent::{Frontend, Owner};
use kps_model::{Intent, Mode, NodeView, PortView, ServicePort};

use super::concern::is_between;
use super::{Id, Side};
use crate::diff::same_but_for_source;
use crate::exception::Exception;
use crate::judge::{Judgement, judge_outcomes};

/// What a side does with a packet.
#[derive(Debug, Clone, Copy)]
pub struct Seen<'a> {
    /// The mode.
    pub mode: Mode,
    /// What the proxier of the packet's family sees.
    pub view: &'a NodeView,
    /// What becomes of the packet.
    pub outcomes: &'a Distribution<Outcome>,
}

/// Returns the documented differences that explain why two sides differ for a packet; none if
/// nothing that is documented does.
#[must_use]
pub fn explain(flow: &Flow, left: Seen<'_>, right: Seen<'_>) -> BTreeSet<Id> {
    let sides = [left, right];
    if let Some(id) = sides.iter().find_map(|side| side.by_own_address(flow)) {
        return BTreeSet::from([id]);
    }
    let ids = by_promise(flow, sides);
    if ids.is_empty() { by_promise(&as_told_apart(flow, left.view), sides) } else { ids }
}

/// Returns why two sides differ that are held against what is promised for a client.
fn by_promise(flow: &Flow, sides: [Seen<'_>; 2]) -> BTreeSet<Id> {
    let [left, right] = sides;
    let judgements = sides.map(|side| side.judged(flow));
    if judgements.contains(&Judgement::Contested) {
        return BTreeSet::from([Id::D31]);
    }
    let broken = |(_, judged): &(&Seen<'_>, &Judgement)| matches!(judged, Judgement::Broken(_));
    let broken: Vec<&Seen<'_>> =
        sides.iter().zip(&judgements).filter(broken).map(|(side, _)| side).collect();
    if !broken.is_empty() {
        return broken.iter().find_map(|side| side.peculiar(flow)).into_iter().collect();
    }
    let excused: BTreeSet<Id> = judgements.iter().filter_map(excuse).collect();
    if !excused.is_empty() {
        return telling(excused, left, right);
    }
    match by_node_port(flow, left, right) {
        Some(id) => BTreeSet::from([id]),
        None => within_promise(flow, left, right),
    }
}

/// Returns a packet with the client that rules take it to have: they know the node's processes by
/// their addresses.
fn as_told_apart(flow: &Flow, view: &NodeView) -> Flow {
    let is_own = |source: IpAddr| view.interface_addresses.contains(&source);
    let client = if flow.source.is_some_and(is_own) { ClientClass::Node } else { flow.client };
    Flow { client, ..flow.clone() }
}

/// Leaves out those in which the two sides are alike, unless there are no others.
fn telling(ids: BTreeSet<Id>, left: Seen<'_>, right: Seen<'_>) -> BTreeSet<Id> {
    let [left, right] = [left, right].map(|seen| Side { mode: seen.mode, view: seen.view });
    let between: BTreeSet<Id> =
        ids.iter().copied().filter(|id| is_between(*id, left, right)).collect();
    if between.is_empty() { ids } else { between }
}

impl<'a> Seen<'a> {
    fn judged(&self, flow: &Flow) -> Judgement {
        judge_outcomes(self.outcomes, self.view, self.mode, flow)
    }

    /// Returns what a mode changes for packets that come in from or to addresses that are the node's
    /// alone: ipvs gives it more of them, iptables has the kernel take those of loopback.
    fn by_own_address(&self, flow: &Flow) -> Option<Id> {
        let source = flow.source.filter(|_| flow.client != ClientClass::Node)?;
        let is_service = || self.view.ports.iter().any(|port| has(&port.port, source));
        match self.mode {
            Mode::Ipvs if !is_service() => None,
            Mode::Ipvs if self.always(&Outcome::Drop) => Some(Id::D24),
            // Source ranges that hold the node let the balancer's own address in with it.
            Mode::Ipvs if self.has_ranges_at(source) && flow.destination == source => Some(Id::D14),
            Mode::Ipvs => (self.view.detector.is_none() && self.rewrites()).then_some(Id::D21),
            Mode::Iptables if !self.view.localhost_node_ports => None,
            Mode::Iptables if source.is_loopback() => Some(Id::D28),
            Mode::Iptables => flow.destination.is_loopback().then_some(Id::D03),
            Mode::Nftables => None,
        }
    }

    /// Returns what a mode does beside the promise: iptables with loopback addresses that are routed,
    /// ipvs by the number of a port alone, nftables with node ports on addresses that the node has
    /// without being given them (anycast and broadcast).
    fn peculiar(&self, flow: &Flow) -> Option<Id> {
        match self.mode {
            Mode::Iptables => {
                let guards = self.view.localhost_node_ports && flow.destination.is_loopback();
                (guards && self.always(&Outcome::Drop)).then_some(Id::D03)
            }
            Mode::Ipvs => self.by_number(flow),
            Mode::Nftables => self.has_node_port(flow).then_some(Id::D01),
        }
    }

    fn by_number(&self, flow: &Flow) -> Option<Id> {
        let mut checks = self.view.ports.iter().map(|port| port.port.health_check_node_port);
        if self.always(&Outcome::Local) && checks.any(|number| number == Some(flow.port)) {
            return Some(Id::D38);
        }
        self.has_node_port(flow).then_some(Id::D39)
    }

    fn has_node_port(&self, flow: &Flow) -> bool {
        let mut ports = self.view.ports.iter().map(|port| &port.port);
        ports.any(|p| p.node_port == Some(flow.port) && p.key.protocol == flow.protocol)
    }

    fn has_ranges_at(&self, address: IpAddr) -> bool {
        let mut ports = self.view.ports.iter().map(|port| &port.port);
        ports.any(|p| p.load_balancer_vips.contains(&address) && !p.source_ranges.is_empty())
    }

    /// Tells whether the source is rewritten of whatever gets through.
    fn rewrites(&self) -> bool {
        self.outcomes.branches().iter().all(|(_, outcome)| match outcome {
            Outcome::Deliver(to) => to.source.is_rewritten(),
            Outcome::Pass(source) => source.is_rewritten(),
            _ => false,
        })
    }

    fn always(&self, wanted: &Outcome) -> bool {
        self.outcomes.branches().iter().all(|(_, outcome)| outcome == wanted)
    }

    fn owner(&self, flow: &Flow) -> Option<(&'a PortView, Frontend)> {
        match Intent::new(self.view).owner(flow) {
            Owner::Port(port, frontend) => Some((port, frontend)),
            Owner::Nobody | Owner::Contested => None,
        }
    }
}

/// Tells whether a Service has an address.
fn has(port: &ServicePort, address: IpAddr) -> bool {
    port.cluster_ip == address
        || port.external_ips.contains(&address)
        || port.load_balancer_vips.contains(&address)
}

fn excuse(judgement: &Judgement) -> Option<Id> {
    let Judgement::Excused(exception) = judgement else { return None };
    Some(match exception {
        Exception::D03 => Id::D03,
        Exception::D04 => Id::D04,
        Exception::D07 => Id::D07,
        Exception::D08 => Id::D08,
        Exception::D09 => Id::D09,
        Exception::D10 => Id::D10,
        Exception::D11 => Id::D11,
        Exception::D12 => Id::D12,
        Exception::D14 => Id::D14,
        Exception::D20 => Id::D20,
        Exception::D25 => Id::D25,
    })
}

/// A node port that one side serves on an address, and the other does not.
fn by_node_port(flow: &Flow, left: Seen<'_>, right: Seen<'_>) -> Option<Id> {
    let is_node_port =
        |side: Seen<'_>| side.owner(flow).is_some_and(|(_, by)| by == Frontend::NodePort);
    if is_node_port(left) == is_node_port(right) {
        return None;
    }
    let to = flow.destination;
    let is_outer = left.view.ports.iter().any(|port| has(&port.port, to));
    Some(match to.is_loopback() {
        true if to.is_ipv4() => Id::D03,
        true => Id::D04,
        false if is_outer => Id::D02,
        false => Id::D01,
    })
}

/// What the promise leaves open: the source that endpoints see.
fn within_promise(flow: &Flow, left: Seen<'_>, right: Seen<'_>) -> BTreeSet<Id> {
    if !same_but_for_source(left.outcomes, right.outcomes) {
        return BTreeSet::new();
    }
    let is_service = |source| left.view.ports.iter().any(|port| has(&port.port, source));
    let by_source = flow.client == ClientClass::Node || flow.source.is_some_and(is_service);
    let Some((port, frontend)) = left.owner(flow) else {
        let to_itself = flow.source == Some(flow.destination);
        let id = to_itself.then_some(Id::D41).or(by_source.then_some(Id::D21));
        return id.into_iter().collect();
    };
    let own = &left.view.interface_addresses;
    let (on_node, others): (Vec<SocketAddr>, Vec<SocketAddr>) =
        differently_seen(left, right).partition(|endpoint| own.contains(&endpoint.ip()));
    let is_inner = frontend == Frontend::ClusterIp;
    let by_client = match flow.client {
        _ if others.is_empty() => None,
        _ if is_inner && by_source => Some(Id::D21),
        ClientClass::Node => port.port.external_local.then_some(Id::D12),
        _ => others.iter().all(|e| Some(e.ip()) == flow.source).then_some(Id::D20),
    };
    let by_place = (!on_node.is_empty()).then_some(Id::D19);
    by_client.into_iter().chain(by_place).collect()
}

/// Returns the endpoints that see another source on one side than on the other.
fn differently_seen<'a>(left: Seen<'a>, right: Seen<'a>) -> impl Iterator<Item = SocketAddr> {
    let seen = |side: Seen<'a>| -> BTreeSet<(SocketAddr, bool)> {
        let outcomes = side.outcomes.branches().iter().map(|(_, outcome)| outcome);
        let delivered = outcomes.filter_map(|outcome| match outcome {
            Outcome::Deliver(to) => Some((to.endpoint, to.source.is_rewritten())),
            _ => None,
        });
        delivered.collect()
    };
    let (left, right) = (seen(left), seen(right));
    left.into_iter().filter(move |seen| !right.contains(seen)).map(|(endpoint, _)| endpoint)
}

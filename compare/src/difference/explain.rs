//! Which documented difference explains that a packet fares differently in two modes.
//!
//! Each side is held against the promise: what keeps it or is excused by an [`Exception`] does
//! exactly what is written down for its mode, so two such sides differ by their exceptions, by what
//! they take to be the destination's owner, or within what the promise leaves open.

use std::collections::BTreeSet;
use std::net::SocketAddr;

use kps_flow::{ClientClass, Distribution, Flow, Outcome};
use kps_model::intent::{Frontend, Owner};
use kps_model::{Intent, Mode, NodeView, PortView};

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
    let judgements = sides.map(|side| side.judged(flow));
    if judgements.contains(&Judgement::Contested) {
        return BTreeSet::from([Id::D31]);
    }
    let broken = |(_, judged): &(&Seen<'_>, &Judgement)| matches!(judged, Judgement::Broken(_));
    let mut broken = sides.iter().zip(&judgements).filter(broken).map(|(side, _)| *side);
    if let Some(side) = broken.next() {
        // Two sides that do what is not written down for them do not explain each other.
        let id = side.peculiar(flow).filter(|_| broken.next().is_none());
        return id.into_iter().collect();
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

    /// Returns what ipvs does beside the promise by the number of a port alone.
    fn peculiar(self, flow: &Flow) -> Option<Id> {
        if self.mode != Mode::Ipvs {
            return None;
        }
        let mut outcomes = self.outcomes.branches().iter().map(|(_, outcome)| outcome);
        let is_local = outcomes.all(|outcome| *outcome == Outcome::Local);
        let mut ports = self.view.ports.iter().map(|port| &port.port);
        let named = |number: Option<u16>| number == Some(flow.port);
        if is_local && ports.any(|port| named(port.health_check_node_port)) {
            return Some(Id::D38);
        }
        let mut ports = self.view.ports.iter().map(|port| &port.port);
        let is_node_port =
            ports.any(|port| named(port.node_port) && port.key.protocol == flow.protocol);
        is_node_port.then_some(Id::D39)
    }

    fn owner(&self, flow: &Flow) -> Option<(&'a PortView, Frontend)> {
        match Intent::new(self.view).owner(flow) {
            Owner::Port(port, frontend) => Some((port, frontend)),
            Owner::Nobody | Owner::Contested => None,
        }
    }
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
    let is_outer = left.view.ports.iter().any(|port| {
        port.port.load_balancer_vips.contains(&to) || port.port.external_ips.contains(&to)
    });
    Some(match to.is_loopback() {
        true if to.is_ipv4() => Id::D03,
        true => Id::D04,
        false if is_outer => Id::D02,
        false => Id::D01,
    })
}

/// What the promise leaves open: the source that endpoints see.
fn within_promise(flow: &Flow, left: Seen<'_>, right: Seen<'_>) -> BTreeSet<Id> {
    let owner = left.owner(flow).filter(|_| same_but_for_source(left.outcomes, right.outcomes));
    let Some((port, frontend)) = owner else { return BTreeSet::new() };
    let own = &left.view.interface_addresses;
    let (on_node, others): (Vec<SocketAddr>, Vec<SocketAddr>) =
        differently_seen(left, right).partition(|endpoint| own.contains(&endpoint.ip()));
    let is_inner = frontend == Frontend::ClusterIp;
    let by_client = match flow.client {
        _ if others.is_empty() => None,
        ClientClass::Node if is_inner => Some(Id::D21),
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

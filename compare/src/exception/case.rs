//! What exceptions ask of a flow.

use std::net::IpAddr;

use kps_flow::{ClientClass, Family, Flow, Promise, SourcePromise};
use kps_model::intent::{Frontend, Owner, Policy};
use kps_model::{Intent, KubeVersion, Mode, NodeView, PortView};

/// A flow for which the promise is not kept.
#[derive(Debug, Clone, Copy)]
pub struct Case<'a> {
    /// The mode.
    pub mode: Mode,
    /// The view of the flow's family.
    pub view: &'a NodeView,
    /// The flow.
    pub flow: &'a Flow,
    /// Whose destination it is.
    pub owner: Owner<'a>,
    /// What is promised.
    pub promise: &'a Promise,
}

impl<'a> Case<'a> {
    pub(super) fn is_node_port_on_loopback(&self, family: Family) -> bool {
        matches!(self.owner, Owner::Port(_, Frontend::NodePort))
            && self.flow.destination.is_loopback()
            && self.view.family == family
    }

    /// Returns what becomes of a node port on a loopback address that iptables does not serve: the
    /// host has it, unless the rule for a lack of local endpoints drops it first.
    pub(super) fn off_loopback(&self, family: Family) -> Option<Promise> {
        let Owner::Port(port, _) = self.owner else { return None };
        if !self.is_node_port_on_loopback(family) || self.view.localhost_node_ports {
            return None;
        }
        Some(match self.as_from_outside(port, Frontend::NodePort) {
            Promise::Endpoints(_) => Promise::Host,
            nowhere => nowhere,
        })
    }

    /// Returns what a local address that serves no node ports does for a node port that has nowhere
    /// to send a client from outside, if that is `nowhere`.
    pub(super) fn unserved(&self, nowhere: &Promise) -> Option<Promise> {
        if !matches!(self.owner, Owner::Nobody) || !self.intent().is_own(self.flow.destination) {
            return None;
        }
        let protocol = self.flow.protocol;
        let mut ports = self.view.ports.iter().filter(|port| {
            port.port.node_port == Some(self.flow.port) && port.port.key.protocol == protocol
        });
        let meant = ports.any(|port| self.as_from_outside(port, Frontend::NodePort) == *nowhere);
        meant.then(|| nowhere.clone())
    }

    /// A refusal that a node process does not meet.
    pub(super) fn passes_unrefused(&self) -> Option<Promise> {
        let (_, frontend) = self.port()?;
        let outer = matches!(frontend, Frontend::ExternalIp | Frontend::LoadBalancerIp);
        let refused = *self.promise == Promise::Refused;
        (outer && refused && self.is_from_node()).then_some(Promise::Onward)
    }

    /// Returns what becomes of a client outside the source ranges if there is no endpoint.
    pub(super) fn out_of_range_unserved(&self) -> Option<Promise> {
        let (port, frontend) = self.shut_out()?;
        let refused = self.as_from_outside(port, frontend) == Promise::Refused;
        let instead = if self.is_from_node() { Promise::Onward } else { Promise::Refused };
        refused.then_some(instead)
    }

    /// Returns what becomes of a node process outside the source ranges that meets no rule: ipvs
    /// has no endpoint, or the process has bound an address of the node.
    pub(super) fn escapes_source_ranges(&self) -> Option<Promise> {
        let (port, frontend) = self.shut_out().filter(|_| self.is_from_node())?;
        let served = self.near_or_anywhere(port, frontend);
        let escapes = served == Promise::Refused || self.flow.source.is_some();
        escapes.then_some(served)
    }

    /// Returns what local endpoints, or else all of them, give where policy Local is set, for a
    /// client that the policy does or does not spare.
    pub(super) fn with_fallback(&self, spared: bool) -> Option<Promise> {
        let (port, frontend) = self.port()?;
        let inner = frontend == Frontend::ClusterIp;
        let local = if inner { port.port.internal_local } else { port.port.external_local };
        let is_spared = !inner && self.intent().is_from_cluster(self.flow);
        if !local || is_spared != spared || self.shut_out().is_some() {
            return None;
        }
        if inner && !port.port.externally_accessible() {
            return (*self.promise == Promise::Discarded).then_some(Promise::Refused);
        }
        Some(self.near_or_anywhere(port, frontend))
    }

    pub(super) fn refused_on_cluster_ip(&self, has_ports: bool) -> Option<Promise> {
        let refused = matches!(self.owner, Owner::Nobody)
            && self.is_cluster_ip(self.flow.destination)
            && self.flow.protocol.has_ports() == has_ports;
        refused.then_some(Promise::Refused)
    }

    pub(super) fn refused_on_outer_address(&self) -> Option<Promise> {
        let to = self.flow.destination;
        let is_outer = self.view.ports.iter().any(|port| {
            port.port.external_ips.contains(&to) || port.port.load_balancer_vips.contains(&to)
        });
        let refused = matches!(self.owner, Owner::Nobody) && is_outer && !self.intent().is_own(to);
        refused.then_some(Promise::Refused)
    }

    pub(super) fn is_unallocated(&self) -> bool {
        let to = self.flow.destination;
        matches!(self.owner, Owner::Nobody)
            && self.view.service_cidrs.iter().any(|range| range.contains(&to))
            && !self.is_cluster_ip(to)
    }

    /// Returns the promise without its word on the source of a client that is an endpoint on
    /// another node.
    pub(super) fn with_hairpins_elsewhere_free(&self) -> Option<Promise> {
        let (port, _) = self.port()?;
        let loose = self.free_hairpins_elsewhere(port, self.promise.clone());
        (loose != *self.promise).then_some(loose)
    }

    fn free_hairpins_elsewhere(&self, port: &PortView, promise: Promise) -> Promise {
        let rewrites = self.mode == Mode::Iptables
            || (self.mode == Mode::Nftables && self.view.version < KubeVersion::V1_36);
        let (Promise::Endpoints(mut promised), false) = (promise.clone(), rewrites) else {
            return promise;
        };
        let client = self.flow.source;
        let elsewhere = port.endpoints.iter().filter(|e| !e.is_local);
        for hairpin in elsewhere.filter(|e| Some(e.address.ip()) == client) {
            promised.entry(hairpin.address).and_modify(|source| *source = SourcePromise::Free);
        }
        Promise::Endpoints(promised)
    }

    fn near_or_anywhere(&self, port: &PortView, frontend: Frontend) -> Promise {
        let under = |policy| self.intent().under(policy, self.flow, port, frontend);
        let is_local = frontend != Frontend::ClusterIp && port.port.external_local;
        let near = if is_local { under(Policy::Local) } else { Promise::Discarded };
        let promise = match near {
            Promise::Endpoints(_) => near,
            _ => under(Policy::Cluster),
        };
        self.free_hairpins_elsewhere(port, promise)
    }

    /// What a client from outside is promised that no source range shuts out.
    fn as_from_outside(&self, port: &PortView, frontend: Frontend) -> Promise {
        let policy = if port.port.external_local { Policy::Local } else { Policy::Cluster };
        self.intent().under(policy, self.flow, port, frontend)
    }

    /// Returns the ServicePort whose source ranges shut the client out.
    fn shut_out(&self) -> Option<(&'a PortView, Frontend)> {
        self.port().filter(|(port, frontend)| {
            *frontend == Frontend::LoadBalancerIp
                && !self.intent().is_in_source_ranges(self.flow, &port.port)
        })
    }

    fn port(&self) -> Option<(&'a PortView, Frontend)> {
        match self.owner {
            Owner::Port(port, frontend) => Some((port, frontend)),
            Owner::Nobody | Owner::Contested => None,
        }
    }

    fn is_from_node(&self) -> bool {
        self.flow.client == ClientClass::Node
    }

    fn is_cluster_ip(&self, address: IpAddr) -> bool {
        self.view.ports.iter().any(|port| port.port.cluster_ip == address)
    }

    fn intent(&self) -> Intent<'a> {
        Intent::new(self.view)
    }
}

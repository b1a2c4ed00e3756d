//! Where a mode rightly does something else than Kubernetes promises.

use std::fmt;
use std::net::IpAddr;

use kps_flow::{Flow, Promise, SourcePromise};
use kps_model::intent::{Frontend, Owner};
use kps_model::{KubeVersion, Mode, NodeView};

/// A documented departure from the promise. The names are the ids under which the differences
/// between modes are known in the migration notes of kube-proxy (kubernetes.io, "Virtual IPs and
/// Service Proxies") and its design (KEP-3866).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Exception {
    /// Node ports on loopback: nftables leaves loopback addresses to the host, whatever
    /// `nodePortAddresses` says.
    D03,
    /// A port that no Service port has, on the cluster IP of a Service: nftables refuses it, for
    /// forwarded packets and those of node processes.
    D07,
    /// An address in a range of cluster IPs that no Service has: nftables drops the packet, if it
    /// knows the range.
    D08,
    /// ICMP to the cluster IP of a Service: nftables refuses it like any other packet.
    D09,
    /// A pod elsewhere that reaches itself: nftables keeps its source since 1.36, which looks for
    /// endpoints of this node alone (kubernetes/kubernetes#136499).
    D20,
}

impl Exception {
    /// All of them, in the order of their ids.
    pub const ALL: [Exception; 5] =
        [Exception::D03, Exception::D07, Exception::D08, Exception::D09, Exception::D20];

    /// Returns what the mode keeps instead of the promise for a flow; `None` if this exception is
    /// not about the flow.
    #[must_use]
    pub fn instead(self, case: &Case<'_>) -> Option<Promise> {
        if case.mode != Mode::Nftables {
            return None;
        }
        let refused = case.is_unowned_on_cluster_ip().then_some(Promise::Refused);
        match self {
            Exception::D03 => case.is_node_port_on_loopback().then_some(Promise::Host),
            Exception::D07 => refused.filter(|_| case.flow.protocol.has_ports()),
            Exception::D08 => case.is_unallocated().then_some(Promise::Discarded),
            Exception::D09 => refused.filter(|_| !case.flow.protocol.has_ports()),
            Exception::D20 => case.with_hairpins_elsewhere_free(),
        }
    }
}

impl fmt::Display for Exception {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self, f)
    }
}

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

impl Case<'_> {
    fn is_node_port_on_loopback(&self) -> bool {
        matches!(self.owner, Owner::Port(_, Frontend::NodePort))
            && self.flow.destination.is_loopback()
    }

    fn is_unowned_on_cluster_ip(&self) -> bool {
        matches!(self.owner, Owner::Nobody) && self.is_cluster_ip(self.flow.destination)
    }

    fn is_unallocated(&self) -> bool {
        let to = self.flow.destination;
        matches!(self.owner, Owner::Nobody)
            && self.view.service_cidrs.iter().any(|range| range.contains(&to))
            && !self.is_cluster_ip(to)
    }

    fn is_cluster_ip(&self, address: IpAddr) -> bool {
        self.view.ports.iter().any(|port| port.port.cluster_ip == address)
    }

    /// Returns the promise without its word on the source of a client that is an endpoint on
    /// another node.
    fn with_hairpins_elsewhere_free(&self) -> Option<Promise> {
        let (Owner::Port(port, _), Promise::Endpoints(promised)) = (self.owner, self.promise)
        else {
            return None;
        };
        let client = self.flow.source.filter(|_| self.view.version >= KubeVersion::V1_36)?;
        let mut loose = promised.clone();
        let hairpins = port.endpoints.iter().filter(|e| e.address.ip() == client && !e.is_local);
        for hairpin in hairpins {
            loose.entry(hairpin.address).and_modify(|source| *source = SourcePromise::Free);
        }
        (loose != *promised).then_some(Promise::Endpoints(loose))
    }
}

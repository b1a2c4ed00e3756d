//! Where a mode rightly does something else than Kubernetes promises.

use std::fmt;
use std::net::IpAddr;

use kps_flow::{Flow, Outcome, Promise};
use kps_model::intent::{Frontend, Owner};
use kps_model::{Mode, NodeView};

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
}

impl Exception {
    /// All of them, in the order of their ids.
    pub const ALL: [Exception; 4] =
        [Exception::D03, Exception::D07, Exception::D08, Exception::D09];

    /// Tells whether it excuses that an outcome departs from the promise for a flow.
    #[must_use]
    pub fn excuses(self, case: &Case<'_>) -> bool {
        if case.mode != Mode::Nftables {
            return false;
        }
        match self {
            Exception::D03 => case.is_node_port_on_loopback() && *case.outcome == Outcome::Local,
            Exception::D07 => {
                case.flow.protocol.has_ports() && case.is_unowned_on_cluster_ip() && case.refuses()
            }
            Exception::D08 => case.is_unallocated() && *case.outcome == Outcome::Drop,
            Exception::D09 => {
                !case.flow.protocol.has_ports() && case.is_unowned_on_cluster_ip() && case.refuses()
            }
        }
    }
}

impl fmt::Display for Exception {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self, f)
    }
}

/// A flow whose outcome departs from the promise.
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
    /// What happens.
    pub outcome: &'a Outcome,
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

    fn refuses(&self) -> bool {
        matches!(self.outcome, Outcome::Reject(_))
    }
}

//! Where a mode rightly does something else than Kubernetes promises.

mod case;

use std::fmt;

use kps_flow::{Family, Promise};
use kps_model::Mode;

pub use case::Case;

/// A documented departure from the promise. The names are the ids under which the differences
/// between modes are known in the migration notes of kube-proxy (kubernetes.io, "Virtual IPs and
/// Service Proxies") and its design (KEP-3866).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Exception {
    /// Node ports on 127.0.0.0/8: nftables and ipvs leave loopback addresses to the host, whatever
    /// `nodePortAddresses` says; iptables does if `localhostNodePorts` is false.
    D03,
    /// Node ports on `::1`: every mode leaves them to the host. In iptables, a packet that policy
    /// Local would drop elsewhere is dropped all the same.
    D04,
    /// A port that no Service port has, on the cluster IP of a Service: nftables refuses it, for
    /// forwarded packets and those of node processes; ipvs has the address, and refuses it.
    D07,
    /// An address in a range of cluster IPs that no Service has: nftables drops the packet, if it
    /// knows the range.
    D08,
    /// ICMP to the cluster IP of a Service: nftables and ipvs refuse it like any other packet.
    D09,
    /// No usable endpoint: the refusals of iptables for addresses outside the cluster are not in
    /// OUTPUT, so node processes pass; and those of node ports hold on every local address,
    /// whether it serves node ports or not.
    D10,
    /// Policy Local and endpoints on other nodes alone: ipvs uses those
    /// (kubernetes/kubernetes#97081), or refuses if only the cluster IP leads to the Service. The
    /// drop of iptables for node ports holds on every local address.
    D11,
    /// Pods and node processes that use an address from outside with policy Local: ipvs has no
    /// short circuit to all endpoints, but takes the local ones if there are any.
    D12,
    /// Source ranges without endpoints: iptables has no firewall chain then, and refuses; so does
    /// ipvs itself for a node process. A node process that binds the node's own address escapes the
    /// rule of ipvs, which looks for packets from the load balancer IP.
    D14,
    /// A pod elsewhere that reaches itself: nftables since 1.36, and ipvs, keep its source, since
    /// they look for endpoints of this node alone (kubernetes/kubernetes#136499).
    D20,
    /// A port that no Service port has, on a load balancer IP or external IP: ipvs has the address,
    /// and refuses it.
    D25,
}

impl Exception {
    /// All of them, in the order of their ids.
    pub const ALL: [Exception; 11] = [
        Exception::D03,
        Exception::D04,
        Exception::D07,
        Exception::D08,
        Exception::D09,
        Exception::D10,
        Exception::D11,
        Exception::D12,
        Exception::D14,
        Exception::D20,
        Exception::D25,
    ];

    /// Returns what the mode keeps instead of the promise for a flow; `None` if this exception is
    /// not about the flow.
    #[must_use]
    pub fn instead(self, case: &Case<'_>) -> Option<Promise> {
        match case.mode {
            Mode::Iptables => self.instead_in_iptables(case),
            Mode::Ipvs => self.instead_in_ipvs(case),
            Mode::Nftables => self.instead_in_nftables(case),
        }
    }

    fn instead_in_iptables(self, case: &Case<'_>) -> Option<Promise> {
        match self {
            Exception::D03 => case.off_loopback(Family::V4),
            Exception::D04 => case.off_loopback(Family::V6),
            Exception::D10 => case.passes_unrefused().or_else(|| case.unserved(&Promise::Refused)),
            Exception::D11 => case.unserved(&Promise::Discarded),
            Exception::D14 => case.out_of_range_unserved(),
            _ => None,
        }
    }

    fn instead_in_nftables(self, case: &Case<'_>) -> Option<Promise> {
        match self {
            Exception::D03 => case.is_node_port_on_loopback(Family::V4).then_some(Promise::Host),
            Exception::D04 => case.is_node_port_on_loopback(Family::V6).then_some(Promise::Host),
            Exception::D07 => case.refused_on_cluster_ip(true),
            Exception::D08 => case.is_unallocated().then_some(Promise::Discarded),
            Exception::D09 => case.refused_on_cluster_ip(false),
            Exception::D20 => case.with_hairpins_elsewhere_free(),
            _ => None,
        }
    }

    fn instead_in_ipvs(self, case: &Case<'_>) -> Option<Promise> {
        match self {
            Exception::D03 => case.is_node_port_on_loopback(Family::V4).then_some(Promise::Host),
            Exception::D04 => case.is_node_port_on_loopback(Family::V6).then_some(Promise::Host),
            Exception::D07 => case.refused_on_cluster_ip(true),
            Exception::D09 => case.refused_on_cluster_ip(false),
            Exception::D11 => case.with_fallback(false),
            Exception::D12 => case.with_fallback(true),
            Exception::D14 => case.escapes_source_ranges(),
            Exception::D20 => case.with_hairpins_elsewhere_free(),
            Exception::D25 => case.refused_on_outer_address(),
            _ => None,
        }
    }
}

impl fmt::Display for Exception {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self, f)
    }
}

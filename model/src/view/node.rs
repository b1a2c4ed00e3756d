//! What a proxier knows of its own node: addresses, pod ranges, topology.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use ipnet::IpNet;
use kps_flow::Family;

use crate::address::{parse_address, parse_prefix};
use crate::objects::Node;

/// The label of a Node's zone.
pub const ZONE: &str = "topology.kubernetes.io/zone";

/// What is known of the node. Everything is empty if there is no Node object of its name:
/// kube-proxy waits for one, then goes on without.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct NodeFacts {
    /// InternalIPs, then ExternalIPs, in the order of the object.
    pub addresses: Vec<IpAddr>,
    /// `bindAddress`, unless unspecified: the proxier's idea of the node's address in its family.
    pub bind_address: Option<IpAddr>,
    /// `spec.podCIDRs`.
    pub pod_cidrs: Vec<IpNet>,
    /// The zone.
    pub zone: Option<String>,
}

impl NodeFacts {
    /// Reads a Node object.
    #[must_use]
    pub fn of(node: Option<&Node>, bind_address: Option<IpAddr>) -> NodeFacts {
        let bind_address = bind_address.filter(|address| !address.is_unspecified());
        let Some(node) = node else { return NodeFacts { bind_address, ..NodeFacts::default() } };
        NodeFacts {
            bind_address,
            addresses: addresses(node),
            pod_cidrs: pod_cidrs(node),
            zone: node.metadata.labels.get(ZONE).filter(|zone| !zone.is_empty()).cloned(),
        }
    }

    /// Returns the node's address of a family, if it has one.
    #[must_use]
    pub fn address(&self, family: Family) -> Option<IpAddr> {
        let known = self.bind_address.iter().chain(&self.addresses);
        known.copied().find(|address| Family::of(*address) == family)
    }

    /// Returns the addresses of a family, each once.
    #[must_use]
    pub fn addresses_of(&self, family: Family) -> Vec<IpAddr> {
        let mut unique = Vec::new();
        for address in self.addresses.iter().filter(|a| Family::of(**a) == family) {
            if !unique.contains(address) {
                unique.push(*address);
            }
        }
        unique
    }
}

/// The loopback address of a family.
#[must_use]
pub fn loopback(family: Family) -> IpAddr {
    match family {
        Family::V4 => IpAddr::V4(Ipv4Addr::LOCALHOST),
        Family::V6 => IpAddr::V6(Ipv6Addr::LOCALHOST),
    }
}

fn addresses(node: &Node) -> Vec<IpAddr> {
    let of_kind = |wanted: &'static str| {
        let all = node.status.addresses.iter();
        all.filter(move |a| a.kind == wanted).filter_map(|a| parse_address(&a.address))
    };
    of_kind("InternalIP").chain(of_kind("ExternalIP")).collect()
}

fn pod_cidrs(node: &Node) -> Vec<IpNet> {
    let many = &node.spec.pod_cidrs;
    let written = if many.is_empty() { node.spec.pod_cidr.as_slice() } else { many };
    written.iter().filter_map(|cidr| parse_prefix(cidr)).collect()
}

//! The sets and maps that all `ServicePort`s share.

use kps_flow::Family;
use kps_ruleset::Name;
use kps_ruleset::nftables::{DataType, Set};

/// A set or map to which `ServicePort`s add elements. A sync compares the elements with those in
/// the kernel instead of writing all again; what is left over is deleted in this order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Container {
    /// `cluster-ips`: the cluster IPs of all Services.
    ClusterIps,
    /// `service-ips`: the chain of an address, protocol and port.
    ServiceIps,
    /// `firewall-ips`: the firewall chain of an address, protocol and port.
    FirewallIps,
    /// `no-endpoint-services`: what becomes of packets that no endpoint may have.
    NoEndpointServices,
    /// `no-endpoint-nodeports`: the same for node ports.
    NoEndpointNodePorts,
    /// `service-nodeports`: the chain of a protocol and node port.
    ServiceNodePorts,
    /// `hairpin-connections`: endpoints' connections to themselves.
    HairpinConnections,
    /// `localhost-nodeport-reject-ports`: node ports that are refused on loopback addresses.
    LocalhostNodePorts,
}

impl Container {
    /// All of them.
    pub const ALL: [Container; 8] = [
        Container::ClusterIps,
        Container::ServiceIps,
        Container::FirewallIps,
        Container::NoEndpointServices,
        Container::NoEndpointNodePorts,
        Container::ServiceNodePorts,
        Container::HairpinConnections,
        Container::LocalhostNodePorts,
    ];

    /// Returns its name in the table.
    #[must_use]
    pub fn name(self) -> Name {
        Name::new(match self {
            Container::ClusterIps => "cluster-ips",
            Container::ServiceIps => "service-ips",
            Container::FirewallIps => "firewall-ips",
            Container::NoEndpointServices => "no-endpoint-services",
            Container::NoEndpointNodePorts => "no-endpoint-nodeports",
            Container::ServiceNodePorts => "service-nodeports",
            Container::HairpinConnections => "hairpin-connections",
            Container::LocalhostNodePorts => "localhost-nodeport-reject-ports",
        })
    }

    /// Returns it without elements.
    pub(super) fn set(self, family: Family) -> Set {
        Set {
            key: self.key(address_type(family)),
            data: self.is_map().then(|| vec![DataType::Verdict]),
            comment: Some(Name::new(self.comment())),
            ..Set::default()
        }
    }

    /// Tells whether it is a map, to verdicts.
    fn is_map(self) -> bool {
        !matches!(self, Container::ClusterIps | Container::HairpinConnections)
    }

    fn key(self, address: DataType) -> Vec<DataType> {
        let (protocol, port) = (DataType::InetProto, DataType::InetService);
        match self {
            Container::ClusterIps => vec![address],
            Container::ServiceIps | Container::FirewallIps | Container::NoEndpointServices => {
                vec![address, protocol, port]
            }
            Container::NoEndpointNodePorts
            | Container::ServiceNodePorts
            | Container::LocalhostNodePorts => vec![protocol, port],
            Container::HairpinConnections => vec![address, address, protocol, port],
        }
    }

    fn comment(self) -> &'static str {
        match self {
            Container::ClusterIps => "Active ClusterIPs",
            Container::ServiceIps => "ClusterIP, ExternalIP and LoadBalancer IP traffic",
            Container::FirewallIps => "destinations that are subject to LoadBalancerSourceRanges",
            Container::NoEndpointServices => {
                "vmap to drop or reject packets to services with no endpoints"
            }
            Container::NoEndpointNodePorts => {
                "vmap to drop or reject packets to service nodeports with no endpoints"
            }
            Container::ServiceNodePorts => "NodePort traffic",
            Container::HairpinConnections => "service hairpin connections",
            Container::LocalhostNodePorts => "localhost NodePorts rejected by kube-proxy",
        }
    }
}

/// Returns the type of an address of a family.
pub(super) fn address_type(family: Family) -> DataType {
    match family {
        Family::V4 => DataType::Ipv4Addr,
        Family::V6 => DataType::Ipv6Addr,
    }
}

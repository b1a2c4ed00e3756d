//! ServicePorts: what kube-proxy makes of each port of a Service, for one family.

use std::fmt;
use std::net::IpAddr;

use ipnet::IpNet;
use kps_flow::Protocol;

/// The key of a ServicePort.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PortKey {
    /// The Service's namespace.
    pub namespace: String,
    /// The Service's name.
    pub name: String,
    /// The name of the port; may be empty.
    pub port_name: String,
    /// Its protocol.
    pub protocol: Protocol,
}

impl fmt::Display for PortKey {
    /// Writes `namespace/name:port`, or `namespace/name` if the port has no name. The protocol is
    /// not written, as kube-proxy does not write it in comments.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.namespace, self.name)?;
        if self.port_name.is_empty() { Ok(()) } else { write!(f, ":{}", self.port_name) }
    }
}

/// One port of a Service in one family (`pkg/proxy/serviceport.go`).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServicePort {
    /// Its key.
    pub key: PortKey,
    /// The cluster IP of the family.
    pub cluster_ip: IpAddr,
    /// The port number.
    pub port: u16,
    /// The node port.
    pub node_port: Option<u16>,
    /// The affinity time in seconds, if `sessionAffinity` is ClientIP.
    pub affinity: Option<u32>,
    /// Whether traffic from outside is only for endpoints on this node.
    pub external_local: bool,
    /// Whether traffic to the cluster IP is only for endpoints on this node.
    pub internal_local: bool,
    /// The external IPs of the family, in order.
    pub external_ips: Vec<IpAddr>,
    /// The load balancer IPs of the family that the node itself serves (ipMode VIP), in order.
    pub load_balancer_vips: Vec<IpAddr>,
    /// Who may use the load balancer IPs; empty means everybody.
    pub source_ranges: Vec<IpNet>,
    /// The port of the health check.
    pub health_check_node_port: Option<u16>,
    /// Whether the Service has external IPs of the family, even if a feature gate hides them.
    pub has_external_ips: bool,
}

impl ServicePort {
    /// Tells whether the port can be reached by an address other than its cluster IP.
    #[must_use]
    pub fn externally_accessible(&self) -> bool {
        self.node_port.is_some() || !self.load_balancer_vips.is_empty() || self.has_external_ips
    }

    /// Tells whether endpoints on all nodes are used for some traffic. Even with policy Local they
    /// are, for the pods and processes of this node.
    #[must_use]
    pub fn uses_cluster_endpoints(&self) -> bool {
        !self.internal_local || self.externally_accessible()
    }

    /// Tells whether the endpoints on this node are used apart from the others.
    #[must_use]
    pub fn uses_local_endpoints(&self) -> bool {
        self.internal_local || (self.external_local && self.externally_accessible())
    }
}

//! The view of one node's proxier of one family: everything that its rules are made of.

use std::net::IpAddr;

use ipnet::IpNet;
use kps_flow::Family;

use crate::config::IpvsConfig;
use crate::{Endpoint, KubeVersion, ServicePort};

/// What one proxier sees after filtering and categorising. Renderers read this and nothing else.
#[expect(clippy::struct_excessive_bools, reason = "independent settings of the proxier")]
#[derive(Debug, Clone, PartialEq)]
pub struct NodeView {
    /// The family.
    pub family: Family,
    /// The release that is imitated.
    pub version: KubeVersion,
    /// The name of the node.
    pub node_name: String,
    /// The node's address: `bindAddress`, else of the Node object, else loopback.
    pub node_ip: IpAddr,
    /// The addresses of the node's interfaces, loopback included.
    pub interface_addresses: Vec<IpAddr>,
    /// How traffic of local pods is recognised; `None` if that is not possible in this family.
    pub detector: Option<Detector>,
    /// The addresses that serve node ports.
    pub node_ports: NodePortAddresses,
    /// The ranges that cluster IPs come from, as far as known.
    pub service_cidrs: Vec<IpNet>,
    /// The masquerade mark.
    pub mark: u32,
    /// Whether all traffic to cluster IPs is masqueraded.
    pub masquerade_all: bool,
    /// Whether node ports answer on IPv4 loopback addresses (iptables mode): configured, and
    /// loopback is among the addresses that serve node ports. Never in IPv6.
    pub localhost_node_ports: bool,
    /// Whether connection tracking lets TCP packets outside the window pass
    /// (`nf_conntrack_tcp_be_liberal` as the proxy finds it at its start).
    pub tcp_be_liberal: bool,
    /// Whether the kernel has nfacct accounting objects.
    pub nfacct: bool,
    /// What the ipvs mode is told.
    pub ipvs: IpvsConfig,
    /// The ServicePorts with their endpoints, ordered by key. kube-proxy has no order here; this
    /// one is ours.
    pub ports: Vec<PortView>,
}

/// How traffic of local pods is recognised (`pkg/proxy/util/localdetector.go`).
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Detector {
    /// By source address.
    Cidr(IpNet),
    /// By the interface's name.
    Interface(String),
    /// By the start of the interface's name.
    InterfacePrefix(String),
}

/// The addresses that serve node ports (`pkg/proxy/util/nodeport_addresses.go`).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NodePortAddresses {
    /// The CIDRs of the family after the words are expanded; never empty.
    pub cidrs: Vec<IpNet>,
    /// Whether a zero CIDR is among them: every local address serves.
    pub match_all: bool,
    /// Whether IPv4 loopback is contained.
    pub contains_ipv4_loopback: bool,
    /// Whether a CIDR is itself a loopback one (zero CIDRs do not count).
    pub contains_explicit_loopback: bool,
}

/// A ServicePort with its endpoints.
#[derive(Debug, Clone, PartialEq)]
pub struct PortView {
    /// The port.
    pub port: ServicePort,
    /// All its endpoints, ordered by the text `IP:port`.
    pub endpoints: Vec<Endpoint>,
    /// Indices into `endpoints`: those for traffic with policy Cluster.
    pub cluster: Vec<usize>,
    /// Indices into `endpoints`: those for traffic with policy Local.
    pub local: Vec<usize>,
    /// Indices into `endpoints`: the union, in the order of `endpoints`.
    pub reachable: Vec<usize>,
    /// Whether there is any usable endpoint anywhere.
    pub has_any: bool,
}

impl NodePortAddresses {
    /// Returns those of `addresses` that serve node ports, each once, in order.
    #[must_use]
    pub fn serving(&self, addresses: &[IpAddr]) -> Vec<IpAddr> {
        let mut serving = Vec::new();
        for address in addresses {
            if self.cidrs.iter().any(|cidr| cidr.contains(address)) && !serving.contains(address) {
                serving.push(*address);
            }
        }
        serving
    }
}

impl PortView {
    /// Returns the endpoints for traffic with policy Cluster.
    pub fn cluster_endpoints(&self) -> impl ExactSizeIterator<Item = &Endpoint> {
        self.cluster.iter().map(|index| &self.endpoints[*index])
    }

    /// Returns the endpoints for traffic with policy Local.
    pub fn local_endpoints(&self) -> impl ExactSizeIterator<Item = &Endpoint> {
        self.local.iter().map(|index| &self.endpoints[*index])
    }

    /// Returns all endpoints that rules may send to.
    pub fn reachable_endpoints(&self) -> impl ExactSizeIterator<Item = &Endpoint> {
        self.reachable.iter().map(|index| &self.endpoints[*index])
    }

    /// Tells whether traffic to the cluster IP has somewhere to go.
    #[must_use]
    pub fn has_internal(&self) -> bool {
        self.has_any && (!self.port.internal_local || !self.local.is_empty())
    }

    /// Tells whether traffic from outside has somewhere to go.
    #[must_use]
    pub fn has_external(&self) -> bool {
        self.has_any && (!self.port.external_local || !self.local.is_empty())
    }
}

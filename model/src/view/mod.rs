//! The view of one node's proxier of one family: everything that its rules are made of.
//!
//! [`view`] filters the cluster's objects and sorts endpoints as kube-proxy does before it writes
//! a rule; one file for each decision: [`frontends`] (Services), [`endpoints`] (slices),
//! [`categorize`](mod@categorize) (policies and topology), [`node`], [`node_ports`], [`detector`].
//! Why an object is left out, [`frontends::exclusion`] and [`endpoints::exclusion`] tell.

pub mod categorize;
pub mod detector;
pub mod endpoints;
pub mod frontends;
pub mod node;
pub mod node_ports;
#[cfg(test)]
mod tests;

use std::net::IpAddr;

use ipnet::IpNet;
use kps_flow::Family;

pub use detector::Detector;
pub use node::NodeFacts;
pub use node_ports::NodePortAddresses;

use crate::address::parse_prefix;
use crate::config::IpvsConfig;
use crate::{Cluster, Config, Endpoint, KubeVersion, ServicePort};
use categorize::{Place, categorize};
use endpoints::EndpointMap;

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
    /// The node's zone, if it is known.
    pub zone: Option<String>,
    /// Whether hints for nodes count (gate `PreferSameTrafficDistribution`).
    pub node_hints: bool,
    /// The node's address: `bindAddress`, else of the Node object, else loopback.
    pub node_ip: IpAddr,
    /// The addresses of the node's interfaces, loopback included.
    pub interface_addresses: Vec<IpAddr>,
    /// The node's pod ranges, of both families.
    pub pod_cidrs: Vec<IpNet>,
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
    /// Whether node ports on loopback addresses are handled in nftables mode (gate
    /// `KubeProxyNFTablesLocalhostNodePorts`).
    pub localhost_node_port_gate: bool,
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

impl PortView {
    /// Returns the endpoints for traffic with policy Cluster.
    #[must_use]
    pub fn cluster_endpoints(&self) -> impl ExactSizeIterator<Item = &Endpoint> {
        self.cluster.iter().map(|index| &self.endpoints[*index])
    }

    /// Returns the endpoints for traffic with policy Local.
    #[must_use]
    pub fn local_endpoints(&self) -> impl ExactSizeIterator<Item = &Endpoint> {
        self.local.iter().map(|index| &self.endpoints[*index])
    }

    /// Returns all endpoints that rules may send to.
    #[must_use]
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

/// Works out what the proxier of `family` on the node called `node_name` sees.
#[must_use]
pub fn view(
    cluster: &Cluster,
    config: &Config,
    node_name: &str,
    version: KubeVersion,
    family: Family,
) -> NodeView {
    let facts = NodeFacts::of(cluster.node(node_name), config.bind_address);
    let node_ports = NodePortAddresses::new(config, &facts, family, version);
    NodeView {
        family,
        version,
        node_name: node_name.to_owned(),
        node_ip: facts.address(family).unwrap_or_else(|| node::loopback(family)),
        interface_addresses: interface_addresses(&facts, family),
        detector: Detector::new(&config.detect_local, &facts, family),
        localhost_node_ports: config.localhost_node_ports && node_ports.contains_ipv4_loopback,
        localhost_node_port_gate: config.gates.nftables_localhost_node_ports,
        node_ports,
        service_cidrs: service_cidrs(cluster, config, family),
        mark: config.mark(),
        masquerade_all: config.masquerade_all,
        tcp_be_liberal: config.conntrack_tcp_be_liberal,
        nfacct: true,
        ipvs: config.ipvs.clone(),
        ports: ports(cluster, config, &facts, node_name, version, family),
        zone: facts.zone,
        node_hints: config.gates.prefer_same_traffic_distribution,
        pod_cidrs: facts.pod_cidrs,
    }
}

/// The addresses of the node's interfaces: loopback, then what the Node object lists.
fn interface_addresses(facts: &NodeFacts, family: Family) -> Vec<IpAddr> {
    std::iter::once(node::loopback(family)).chain(facts.addresses_of(family)).collect()
}

/// The ranges of all ServiceCIDRs, each once, ascending; kube-proxy has them in no order.
fn service_cidrs(cluster: &Cluster, config: &Config, family: Family) -> Vec<IpNet> {
    if !config.gates.multi_cidr_service_allocator {
        return Vec::new();
    }
    let written = cluster.service_cidrs.iter().flat_map(|object| &object.spec.cidrs);
    let mut cidrs: Vec<IpNet> = written
        .filter_map(|cidr| parse_prefix(cidr))
        .filter(|cidr| Family::of(cidr.addr()) == family)
        .collect();
    cidrs.sort_unstable();
    cidrs.dedup();
    cidrs
}

fn ports(
    cluster: &Cluster,
    config: &Config,
    facts: &NodeFacts,
    node_name: &str,
    version: KubeVersion,
    family: Family,
) -> Vec<PortView> {
    let endpoints = EndpointMap::new(&cluster.slices, family, node_name, version);
    let node_hints = config.gates.prefer_same_traffic_distribution;
    let place = Place { node: node_name, zone: facts.zone.as_deref(), node_hints };
    let services = cluster.services.iter();
    let mut ports: Vec<ServicePort> = services
        .flat_map(|service| frontends::service_ports(service, family, config, version))
        .collect();
    // Of two ports with one key the later one wins, as in kube-proxy's map: it comes first here.
    ports.reverse();
    ports.sort_by(|a, b| a.key.cmp(&b.key));
    ports.dedup_by(|a, b| a.key == b.key);
    ports.into_iter().map(|port| PortView::new(port, &endpoints, place)).collect()
}

impl PortView {
    fn new(port: ServicePort, endpoints: &EndpointMap<'_>, place: Place<'_>) -> PortView {
        let endpoints = endpoints.of(&port.key).to_vec();
        let categories = categorize(&endpoints, &port, place);
        PortView {
            port,
            endpoints,
            cluster: categories.cluster,
            local: categories.local,
            reachable: categories.reachable,
            has_any: categories.has_any,
        }
    }
}

//! What lints look at: the objects, what the proxiers of a node see, and the rules it has.

use std::net::IpAddr;

use ipnet::IpNet;
use kps_flow::{ClientClass, Family, Flow, Protocol};
use kps_model::address::{parse_address, parse_prefix};
use kps_model::objects::Node;
use kps_model::{Cluster, Config, NodeView};
use kps_ruleset::NodeState;
use kps_sim::{Options, Walk, Walker};

use super::finding::Witness;

/// What is checked: a node of a cluster, with the rules that it has.
#[derive(Debug, Clone, Copy)]
pub struct Subject<'a> {
    /// The objects.
    pub cluster: &'a Cluster,
    /// The configuration of kube-proxy.
    pub config: &'a Config,
    /// The name of the node.
    pub node: &'a str,
    /// What its proxiers see, one view a family.
    pub views: &'a [NodeView],
    /// Its rules and what is around them, rendered or dumped.
    pub state: &'a NodeState,
    /// Syncs that failed, as they say it.
    pub failures: &'a [String],
}

/// A subject with its rules made ready for walks.
#[derive(Debug)]
pub struct Scene<'a> {
    /// What is checked.
    pub subject: Subject<'a>,
    /// Walks packets through the node's rules.
    pub walker: Walker<'a>,
    clients: Vec<Client>,
}

/// A client that stands for its class.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Client {
    /// The class.
    pub class: ClientClass,
    /// The family.
    pub family: Family,
    /// Its address; `None` for a node process that lets the kernel choose.
    pub address: Option<IpAddr>,
    /// The interface by which it comes in; `None` for a node process.
    pub interface: Option<String>,
}

/// Addresses outside of any cluster, kept for documentation (RFC 5737, RFC 3849), by preference.
const OUTSIDE: [&str; 4] =
    ["198.51.100.200", "203.0.113.200", "2001:db8:99::200", "2001:db8:ffff::200"];

impl<'a> Scene<'a> {
    /// Makes the rules of a subject ready.
    #[must_use]
    pub fn new(subject: Subject<'a>) -> Scene<'a> {
        let walker = Walker::new(subject.state);
        let mut scene = Scene { subject, walker, clients: Vec::new() };
        scene.clients = subject.views.iter().flat_map(|view| scene.of_each_class(view)).collect();
        scene
    }

    /// Returns the clients of a family: one of each class that there can be.
    pub fn clients(&self, family: Family) -> impl Iterator<Item = &Client> {
        self.clients.iter().filter(move |client| client.family == family)
    }

    /// Returns the client of a class.
    #[must_use]
    pub fn client(&self, family: Family, class: ClientClass) -> Option<&Client> {
        self.clients(family).find(|client| client.class == class)
    }

    /// Returns the first packet that a client sends to an address.
    #[must_use]
    pub fn flow(&self, client: &Client, protocol: Protocol, to: IpAddr, port: u16) -> Flow {
        Flow {
            client: client.class,
            interface: client.interface.clone(),
            source: client.address,
            source_port: Flow::DEFAULT_SOURCE_PORT,
            protocol,
            destination: to,
            port,
        }
    }

    /// Walks the first packet of a flow.
    #[must_use]
    pub fn walk(&self, flow: &Flow) -> Walk {
        self.walker.walk(flow, &Options { fresh: true, ..Options::default() })
    }

    /// Returns a packet with what becomes of it.
    #[must_use]
    pub fn witness(&self, flow: Flow) -> Witness {
        let distribution = self.walk(&flow).distribution();
        let outcomes =
            distribution.merged().into_iter().map(|(outcome, share)| (outcome.clone(), share));
        Witness { outcomes: outcomes.collect(), flow, decided: None }
    }

    /// Returns the packet that a client of a class sends to an address, if there is such a client.
    #[must_use]
    pub fn sent_by(
        &self,
        class: ClientClass,
        protocol: Protocol,
        to: IpAddr,
        port: u16,
    ) -> Option<Witness> {
        let client = self.client(Family::of(to), class)?;
        Some(self.witness(self.flow(client, protocol, to, port)))
    }

    /// Returns a client with an address, which comes in by the interface that its answers take.
    #[must_use]
    pub fn client_at(&self, class: ClientClass, address: IpAddr) -> Client {
        let link = self.walker.network().link_to(address);
        let interface = link.map_or_else(|| "eth0".to_owned(), |link| link.to_string());
        Client {
            class,
            family: Family::of(address),
            address: Some(address),
            interface: Some(interface),
        }
    }

    /// Returns an address outside of the cluster and of ranges.
    #[must_use]
    pub fn stranger(&self, family: Family, ranges: &[IpNet]) -> Option<IpAddr> {
        let known = OUTSIDE.iter().filter_map(|text| parse_address(text));
        let mut of_family = known.filter(|address| Family::of(*address) == family);
        of_family.find(|address| !ranges.iter().any(|range| range.contains(address)))
    }

    fn of_each_class(&self, view: &NodeView) -> Vec<Client> {
        let family = view.family;
        let node = Client { class: ClientClass::Node, family, address: None, interface: None };
        let at = |class, address: Option<IpAddr>| address.map(|a| self.client_at(class, a));
        let here = self.free_address(view.pod_cidrs.iter().copied(), family);
        let other = self.subject.cluster.nodes.iter().filter(|n| n.metadata.name != view.node_name);
        let elsewhere = self.free_address(other.flat_map(pod_ranges), family);
        [
            at(ClientClass::Pod, here),
            at(ClientClass::RemotePod, elsewhere),
            Some(node),
            at(ClientClass::Outside, Scene::outside(view)),
        ]
        .into_iter()
        .flatten()
        .collect()
    }

    /// Returns an address of the first range of a family that no endpoint has.
    fn free_address(
        &self,
        mut ranges: impl Iterator<Item = IpNet>,
        family: Family,
    ) -> Option<IpAddr> {
        let range = ranges.find(|range| Family::of(range.addr()) == family)?;
        let hosts: Vec<IpAddr> = range.hosts().take(251).collect();
        let slices = &self.subject.cluster.slices;
        let taken: Vec<IpAddr> = slices
            .iter()
            .flat_map(|slice| &slice.endpoints)
            .filter_map(|endpoint| parse_address(endpoint.addresses.first()?))
            .filter(|address| range.contains(address))
            .collect();
        hosts.into_iter().rev().find(|address| !taken.contains(address))
    }

    /// Returns an address that no Service, node or source range of the family has.
    fn outside(view: &NodeView) -> Option<IpAddr> {
        let known: Vec<IpAddr> = OUTSIDE.iter().filter_map(|text| parse_address(text)).collect();
        let mut of_family = known.into_iter().filter(|a| Family::of(*a) == view.family);
        let is_taken = |address: &IpAddr| {
            let mut ports = view.ports.iter().map(|port| &port.port);
            ports
                .any(|p| p.external_ips.contains(address) || p.load_balancer_vips.contains(address))
        };
        of_family.find(|address| !is_taken(address))
    }
}

/// Returns the pod ranges of a Node.
pub fn pod_ranges(node: &Node) -> impl Iterator<Item = IpNet> {
    let many = &node.spec.pod_cidrs;
    let texts = if many.is_empty() { node.spec.pod_cidr.as_slice() } else { many };
    texts.iter().filter_map(|text| parse_prefix(text))
}

/// Returns the addresses of a Node that packets can go to.
pub fn node_addresses(node: &Node) -> impl Iterator<Item = IpAddr> {
    let addresses = node.status.addresses.iter();
    addresses
        .filter(|address| matches!(address.kind.as_str(), "InternalIP" | "ExternalIP"))
        .filter_map(|address| parse_address(&address.address))
}

//! Makes a cluster of any size: Services of type ClusterIP with one port, on two nodes.

use std::collections::BTreeMap;
use std::net::Ipv4Addr;

use ipnet::{IpNet, Ipv4Net};
use kps_model::Cluster;
use kps_model::objects::{
    EndpointSlice, Metadata, Node, NodeAddress, NodeSpec, NodeStatus, Service, ServicePort,
    ServiceSpec, SliceEndpoint, SlicePort,
};

/// The shape of a cluster.
#[derive(Debug, Clone, Copy)]
pub struct Shape {
    /// How many Services there are.
    pub services: u32,
    /// How many endpoints each has.
    pub endpoints: u32,
    /// Whether all have the same endpoints.
    pub same_pods: bool,
}

/// The nodes; every other endpoint is on the first.
const NODES: [(&str, &str); 2] = [("node-a", "192.0.2.10"), ("node-b", "192.0.2.11")];
/// Where cluster IPs begin (`10.96.0.0/12` is the range that kubeadm sets up).
const CLUSTER_IPS: Ipv4Addr = Ipv4Addr::new(10, 96, 0, 0);
/// Where pods' addresses begin.
const PODS: Ipv4Addr = Ipv4Addr::new(11, 0, 0, 0);
/// How many endpoints a slice holds (`--max-endpoints-per-slice` of the controller).
const SLICE: usize = 100;

/// Returns the name of the node that is looked at.
pub fn node() -> &'static str {
    NODES[0].0
}

/// Returns the range of the pods' addresses.
pub fn pods() -> IpNet {
    Ipv4Net::new_assert(PODS, 8).into()
}

/// Makes a cluster. The same shape gives the same cluster.
pub fn cluster(shape: Shape) -> Cluster {
    let mut cluster =
        Cluster { nodes: NODES.iter().map(node_object).collect(), ..Cluster::default() };
    for number in 0..shape.services {
        cluster.services.push(service(number));
        cluster.slices.extend(slices(shape, number));
    }
    cluster
}

fn node_object(&(name, address): &(&str, &str)) -> Node {
    let address = NodeAddress { kind: "InternalIP".to_owned(), address: address.to_owned() };
    Node {
        metadata: Metadata { name: name.to_owned(), ..Metadata::default() },
        spec: NodeSpec::default(),
        status: NodeStatus { addresses: vec![address], ..NodeStatus::default() },
    }
}

fn service(number: u32) -> Service {
    let ip = at(CLUSTER_IPS, number + 1);
    let port = ServicePort {
        name: "http".to_owned(),
        protocol: Some("TCP".to_owned()),
        port: 80,
        node_port: None,
    };
    Service {
        metadata: metadata(name(number), BTreeMap::new()),
        spec: ServiceSpec {
            kind: Some("ClusterIP".to_owned()),
            cluster_ip: Some(ip.clone()),
            cluster_ips: vec![ip],
            ip_families: vec!["IPv4".to_owned()],
            ports: vec![port],
            ..ServiceSpec::default()
        },
        ..Service::default()
    }
}

fn slices(shape: Shape, number: u32) -> impl Iterator<Item = EndpointSlice> {
    let first = if shape.same_pods { 0 } else { number.saturating_mul(shape.endpoints) };
    let endpoints: Vec<SliceEndpoint> =
        (0..shape.endpoints).map(|nth| endpoint(first.saturating_add(nth), nth)).collect();
    let slices: Vec<Vec<SliceEndpoint>> = endpoints.chunks(SLICE).map(<[_]>::to_vec).collect();
    slices.into_iter().enumerate().map(move |(nth, endpoints)| slice(number, nth, endpoints))
}

fn slice(number: u32, nth: usize, endpoints: Vec<SliceEndpoint>) -> EndpointSlice {
    let label = ("kubernetes.io/service-name".to_owned(), name(number));
    let port = SlicePort {
        name: Some("http".to_owned()),
        protocol: Some("TCP".to_owned()),
        port: Some(8080),
    };
    EndpointSlice {
        metadata: metadata(format!("{}-{nth}", name(number)), BTreeMap::from([label])),
        address_type: "IPv4".to_owned(),
        endpoints,
        ports: vec![port],
    }
}

fn endpoint(pod: u32, nth: u32) -> SliceEndpoint {
    let (node, _) = NODES[usize::from(nth % 2 == 1)];
    SliceEndpoint {
        addresses: vec![at(PODS, pod.saturating_add(1))],
        node_name: Some(node.to_owned()),
        ..SliceEndpoint::default()
    }
}

fn metadata(name: String, labels: BTreeMap<String, String>) -> Metadata {
    Metadata { name, namespace: "default".to_owned(), labels }
}

fn name(number: u32) -> String {
    format!("service-{number}")
}

fn at(first: Ipv4Addr, distance: u32) -> String {
    Ipv4Addr::from_bits(first.to_bits().wrapping_add(distance)).to_string()
}

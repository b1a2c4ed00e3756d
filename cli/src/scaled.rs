//! Makes a cluster larger: every Service several times, each copy on the same pods.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use kps_model::Cluster;
use kps_model::objects::{EndpointSlice, Service};

use crate::error::Failure;

/// The label by which a slice belongs to a Service.
const SERVICE_NAME: &str = "kubernetes.io/service-name";
/// Where node ports begin (`--service-node-port-range` of the API server).
const FIRST_NODE_PORT: i32 = 30_000;

/// Returns the cluster with each Service there `times` times. Copies have cluster IPs, external
/// addresses and node ports that nothing else has.
///
/// # Errors
/// If there are not enough ports.
pub fn scaled(cluster: &Cluster, times: u32) -> Result<Cluster, Failure> {
    let mut larger = cluster.clone();
    let mut unused = Unused::besides(cluster);
    let mut slices: HashMap<(&str, &str), Vec<&EndpointSlice>> = HashMap::new();
    for slice in &cluster.slices {
        let Some(service) = slice.metadata.labels.get(SERVICE_NAME) else { continue };
        slices.entry((&slice.metadata.namespace, service)).or_default().push(slice);
    }
    for service in &cluster.services {
        let key = (service.metadata.namespace.as_str(), service.metadata.name.as_str());
        for copy in 2..=times {
            let another = unused.copy(service, copy)?;
            let own = slices.get(&key).into_iter().flatten();
            larger.slices.extend(own.map(|slice| slice_of(slice, &another, copy)));
            larger.services.push(another);
        }
    }
    Ok(larger)
}

fn slice_of(slice: &EndpointSlice, service: &Service, copy: u32) -> EndpointSlice {
    let mut slice = slice.clone();
    slice.metadata.name = format!("{}-copy-{copy}", slice.metadata.name);
    slice.metadata.labels.insert(SERVICE_NAME.to_owned(), service.metadata.name.clone());
    slice
}

/// What a copy may take.
struct Unused {
    addresses: HashSet<IpAddr>,
    /// Where to look on for an address like another.
    next: HashMap<IpAddr, IpAddr>,
    ports: BTreeSet<i32>,
    next_port: i32,
}

impl Unused {
    fn besides(cluster: &Cluster) -> Unused {
        let services = cluster.services.iter().flat_map(addresses);
        let pods = cluster.slices.iter().flat_map(|slice| &slice.endpoints);
        let pods = pods.flat_map(|endpoint| &endpoint.addresses);
        let nodes = cluster.nodes.iter().flat_map(|node| &node.status.addresses);
        let texts = services.chain(pods).chain(nodes.map(|address| &address.address));
        Unused {
            addresses: texts.filter_map(|text| text.parse().ok()).collect(),
            next: HashMap::new(),
            ports: cluster.services.iter().flat_map(ports).collect(),
            next_port: FIRST_NODE_PORT,
        }
    }

    fn copy(&mut self, service: &Service, copy: u32) -> Result<Service, Failure> {
        let mut another = service.clone();
        another.metadata.name = format!("{}-copy-{copy}", service.metadata.name);
        let spec = &mut another.spec;
        spec.cluster_ips.iter_mut().for_each(|ip| self.readdress(ip));
        match (spec.cluster_ips.first(), &mut spec.cluster_ip) {
            (Some(first), ip @ Some(_)) => *ip = Some(first.clone()),
            (None, Some(ip)) => self.readdress(ip),
            (_, None) => {}
        }
        spec.external_ips.iter_mut().for_each(|ip| self.readdress(ip));
        for ingress in &mut another.status.load_balancer.ingress {
            self.readdress(&mut ingress.ip);
        }
        let node_ports = spec.ports.iter_mut().filter_map(|port| port.node_port.as_mut());
        for port in node_ports.chain(&mut spec.health_check_node_port).filter(|port| **port != 0) {
            *port = self.port()?;
        }
        Ok(another)
    }

    /// Puts an address that nothing has in the place of another. What is no address stays.
    fn readdress(&mut self, text: &mut String) {
        let Ok(like) = text.parse::<IpAddr>() else { return };
        let mut address = self.next.get(&like).copied().unwrap_or(like);
        while !self.addresses.insert(address) {
            address = following(address);
        }
        self.next.insert(like, address);
        *text = address.to_string();
    }

    fn port(&mut self) -> Result<i32, Failure> {
        while !self.ports.insert(self.next_port) {
            self.next_port += 1;
        }
        if self.next_port > i32::from(u16::MAX) {
            return Err(Failure::Usage(
                "--scale: there are not so many node ports; take a smaller factor".to_owned(),
            ));
        }
        Ok(self.next_port)
    }
}

fn addresses(service: &Service) -> impl Iterator<Item = &String> {
    let spec = &service.spec;
    let external = service.status.load_balancer.ingress.iter().map(|ingress| &ingress.ip);
    spec.cluster_ip.iter().chain(&spec.cluster_ips).chain(&spec.external_ips).chain(external)
}

fn ports(service: &Service) -> impl Iterator<Item = i32> {
    let spec = &service.spec;
    spec.ports.iter().filter_map(|port| port.node_port).chain(spec.health_check_node_port)
}

fn following(address: IpAddr) -> IpAddr {
    match address {
        IpAddr::V4(it) => Ipv4Addr::from_bits(it.to_bits().wrapping_add(1)).into(),
        IpAddr::V6(it) => Ipv6Addr::from_bits(it.to_bits().wrapping_add(1)).into(),
    }
}

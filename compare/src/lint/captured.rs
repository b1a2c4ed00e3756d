//! Addresses that a Service takes from somebody else: CVE-2020-8554 and its kin.
//!
//! Whoever may set `externalIPs` or the status of a load balancer can point any address at his
//! pods. Rules do so in every mode; ipvs mode takes the whole address, whatever the port.

use std::collections::{BTreeSet, HashMap};
use std::net::IpAddr;

use ipnet::IpNet;
use kps_flow::ClientClass;
use kps_model::address::{parse_address, parse_prefix};
use kps_model::intent::Frontend;
use kps_model::{Cluster, Mode, PortView};

use super::catalogue::Lint;
use super::finding::Finding;
use super::prefixes::Prefixes;
use super::scene::{Scene, node_addresses, pod_ranges};
use super::target::{self, of_addresses, word};

/// Tells external and load balancer addresses that belong to somebody else.
pub fn find(scene: &Scene<'_>) -> Vec<Finding> {
    let owners = Owners::of(scene);
    let ports = scene.subject.views.iter().flat_map(|view| &view.ports);
    let mut told = BTreeSet::new();
    let mut findings = Vec::new();
    for port in ports {
        for target in of_addresses(port).filter(|t| t.frontend != Frontend::ClusterIp) {
            let service = target::service(&port.port.key);
            // An address is captured by a Service once, whatever its ports.
            if !told.insert((service.clone(), target.address)) {
                continue;
            }
            if let Some((lint, whose)) = owners.whose(port, target.frontend, target.address) {
                let word = word(target.frontend);
                let address = target.address;
                let mut detail = format!("{word} {address} is {whose}");
                if scene.subject.config.mode == Mode::Ipvs && lint == Lint::TakesNodeAddress {
                    detail.push_str("; other nodes lose that node, as the address becomes theirs");
                }
                let protocol = port.port.key.protocol;
                let witness = [ClientClass::Pod, ClientClass::Node]
                    .iter()
                    .find_map(|class| scene.sent_by(*class, protocol, address, target.number));
                findings.push(Finding::new(lint, vec![service], detail).with(witness));
            }
        }
    }
    findings
}

/// Whose addresses are.
struct Owners {
    nodes: HashMap<IpAddr, String>,
    cluster_ips: HashMap<IpAddr, String>,
    endpoints: HashMap<IpAddr, String>,
    ranges: Prefixes<String>,
}

impl Owners {
    fn of(scene: &Scene<'_>) -> Owners {
        let cluster = scene.subject.cluster;
        let mut owners = Owners {
            nodes: HashMap::new(),
            cluster_ips: HashMap::new(),
            endpoints: HashMap::new(),
            ranges: of_pods(cluster).chain(of_services(cluster)).collect(),
        };
        for node in &cluster.nodes {
            let name = &node.metadata.name;
            owners.nodes.extend(node_addresses(node).map(|address| (address, name.clone())));
        }
        for port in scene.subject.views.iter().flat_map(|view| &view.ports) {
            owners.cluster_ips.insert(port.port.cluster_ip, target::service(&port.port.key));
        }
        for slice in &cluster.slices {
            let (space, name) = (&slice.metadata.namespace, &slice.metadata.name);
            let first = slice.endpoints.iter().filter_map(|e| parse_address(e.addresses.first()?));
            let slice = format!("EndpointSlice {space}/{name}");
            owners.endpoints.extend(first.map(|address| (address, slice.clone())));
        }
        owners
    }

    fn whose(
        &self,
        port: &PortView,
        frontend: Frontend,
        address: IpAddr,
    ) -> Option<(Lint, String)> {
        let service = target::service(&port.port.key);
        if let Some(node) = self.nodes.get(&address) {
            return Some((Lint::TakesNodeAddress, format!("an address of Node {node}")));
        }
        let other = self.cluster_ips.get(&address).filter(|owner| **owner != service);
        if let Some(owner) = other {
            return Some((Lint::TakesClusterIp, format!("the cluster IP of {owner}")));
        }
        if let Some(slice) = self.endpoints.get(&address) {
            return Some((Lint::TakesEndpointAddress, format!("that of an endpoint in {slice}")));
        }
        if let Some((_, range)) = self.ranges.find(address) {
            return Some((Lint::TakesClusterRange, format!("in {range}")));
        }
        let is_foreign = frontend == Frontend::ExternalIp && is_public(address);
        is_foreign.then(|| (Lint::TakesPublicAddress, "a public address".to_owned()))
    }
}

fn of_pods(cluster: &Cluster) -> impl Iterator<Item = (IpNet, String)> {
    cluster.nodes.iter().flat_map(|node| {
        let name = &node.metadata.name;
        pod_ranges(node).map(move |range| (range, format!("pod range {range} of Node {name}")))
    })
}

fn of_services(cluster: &Cluster) -> impl Iterator<Item = (IpNet, String)> {
    cluster.service_cidrs.iter().flat_map(|object| {
        let name = &object.metadata.name;
        let cidrs = object.spec.cidrs.iter().filter_map(|text| parse_prefix(text));
        cidrs.map(move |range| (range, format!("range {range} of ServiceCIDR {name}")))
    })
}

/// Tells whether the Internet may know an address. Those for documentation stand for such.
fn is_public(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(v4) => {
            let [first, second, ..] = v4.octets();
            let is_shared = first == 100 && (64..128).contains(&second);
            let is_benchmark = first == 198 && (second & 0xfe) == 18;
            !(v4.is_private()
                || v4.is_loopback()
                || v4.is_link_local()
                || is_shared
                || is_benchmark)
        }
        IpAddr::V6(v6) => !(v6.is_loopback() || v6.is_unique_local() || v6.is_unicast_link_local()),
    }
}

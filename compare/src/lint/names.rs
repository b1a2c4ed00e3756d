//! Names of nodes: kube-proxy compares strings, and says nothing when they differ.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::net::IpAddr;

use kps_model::address::parse_address;
use kps_model::objects::EndpointSlice;

use super::catalogue::Lint;
use super::finding::Finding;
use super::prefixes::Prefixes;
use super::scene::{Scene, node_addresses, pod_ranges};

/// Tells a node under test that no Node object describes.
pub fn unknown_node(scene: &Scene<'_>) -> Vec<Finding> {
    let (node, cluster) = (scene.subject.node, scene.subject.cluster);
    if cluster.node(node).is_some() || cluster.nodes.is_empty() {
        return Vec::new();
    }
    let known: Vec<&str> = cluster.node_names().take(5).collect();
    let detail = format!("there is no Node {node}; there are {}", known.join(", "));
    vec![Finding::new(Lint::UnknownNode, vec![format!("Node {node}")], detail)]
}

/// Tells endpoints whose node is unknown, absent, or another than their address says.
pub fn find(scene: &Scene<'_>) -> Vec<Finding> {
    let cluster = scene.subject.cluster;
    let known: HashSet<&str> = cluster.node_names().collect();
    if known.is_empty() {
        return Vec::new();
    }
    let places = Places::of(scene);
    let mut found = Found::default();
    for slice in &cluster.slices {
        for endpoint in &slice.endpoints {
            let address = endpoint.addresses.first().and_then(|text| parse_address(text));
            let Some(address) = address else { continue };
            let home = places.home(address);
            match (endpoint.node_name.as_deref(), home) {
                (Some(name), _) if !known.contains(name) => found.unknown(name, slice),
                (None, Some(home)) => found.nameless(home, address, slice),
                (Some(name), Some(home)) if name != home => {
                    found.elsewhere(name, home, address, slice);
                }
                _ => {}
            }
        }
    }
    found.told()
}

/// Which node an address belongs to, by the Nodes' pod ranges.
struct Places<'a> {
    ranges: Prefixes<&'a str>,
    on_nodes: HashSet<IpAddr>,
}

impl<'a> Places<'a> {
    fn of(scene: &Scene<'a>) -> Places<'a> {
        let nodes = scene.subject.cluster.nodes.iter();
        let ranges = nodes
            .clone()
            .flat_map(|node| pod_ranges(node).map(|range| (range, node.metadata.name.as_str())));
        Places { ranges: ranges.collect(), on_nodes: nodes.flat_map(node_addresses).collect() }
    }

    /// Returns the node whose pods have an address; that of a node itself is no pod's.
    fn home(&self, address: IpAddr) -> Option<&'a str> {
        let of_pods = !self.on_nodes.contains(&address);
        self.ranges.find(address).filter(|_| of_pods).map(|(_, node)| *node)
    }
}

/// Slices by what is wrong with them.
#[derive(Default)]
struct Found<'a> {
    unknown: BTreeMap<&'a str, BTreeSet<String>>,
    nameless: BTreeMap<(&'a str, IpAddr), BTreeSet<String>>,
    elsewhere: BTreeMap<(&'a str, &'a str, IpAddr), BTreeSet<String>>,
}

impl<'a> Found<'a> {
    fn unknown(&mut self, name: &'a str, slice: &EndpointSlice) {
        self.unknown.entry(name).or_default().insert(printed(slice));
    }

    fn nameless(&mut self, home: &'a str, address: IpAddr, slice: &EndpointSlice) {
        self.nameless.entry((home, address)).or_default().insert(printed(slice));
    }

    fn elsewhere(&mut self, name: &'a str, home: &'a str, at: IpAddr, slice: &EndpointSlice) {
        self.elsewhere.entry((name, home, at)).or_default().insert(printed(slice));
    }

    fn told(self) -> Vec<Finding> {
        let unknown = self.unknown.into_iter().map(|(name, slices)| {
            let detail = format!("nodeName is {name}, which is no Node");
            finding(Lint::EndpointOnUnknownNode, slices, detail)
        });
        let nameless = self.nameless.into_iter().map(|((home, address), slices)| {
            let detail = format!("{address} is in the pod range of {home} and has no nodeName");
            finding(Lint::EndpointWithoutNode, slices, detail)
        });
        let elsewhere = self.elsewhere.into_iter().map(|((name, home, address), slices)| {
            let detail = format!("{address} is in the pod range of {home}, but nodeName is {name}");
            finding(Lint::EndpointOnOtherNode, slices, detail)
        });
        unknown.chain(nameless).chain(elsewhere).collect()
    }
}

fn finding(lint: Lint, slices: BTreeSet<String>, detail: String) -> Finding {
    Finding::new(lint, slices.into_iter().collect(), detail)
}

fn printed(slice: &EndpointSlice) -> String {
    format!("EndpointSlice {}/{}", slice.metadata.namespace, slice.metadata.name)
}

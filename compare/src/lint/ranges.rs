//! Ranges of pods, nodes and cluster IPs that meet.

use std::net::IpAddr;

use ipnet::IpNet;
use kps_model::address::parse_prefix;

use super::catalogue::Lint;
use super::finding::Finding;
use super::scene::{Scene, node_addresses, pod_ranges};

/// A range with the object that says it.
type Owned = (IpNet, String);

/// Tells ranges that overlap, and addresses of nodes within them.
pub fn find(scene: &Scene<'_>) -> Vec<Finding> {
    let cluster = scene.subject.cluster;
    let named = |node: &kps_model::objects::Node| format!("Node {}", node.metadata.name);
    let mut ranges: Vec<Owned> = Vec::new();
    for node in &cluster.nodes {
        ranges.extend(pod_ranges(node).map(|range| (range, named(node))));
    }
    for object in &cluster.service_cidrs {
        let name = format!("ServiceCIDR {}", object.metadata.name);
        let cidrs = object.spec.cidrs.iter().filter_map(|text| parse_prefix(text));
        ranges.extend(cidrs.map(|range| (range, name.clone())));
    }
    ranges.sort();
    let mut findings = overlaps(&ranges);
    for node in &cluster.nodes {
        let addresses = node_addresses(node);
        findings.extend(addresses.filter_map(|address| within(address, named(node), &ranges)));
    }
    findings
}

/// Compares each range with the next: sorted ones overlap there if anywhere.
fn overlaps(ranges: &[Owned]) -> Vec<Finding> {
    let pairs = ranges.windows(2).filter_map(|pair| match pair {
        [a, b] if a.0.contains(&b.0) => Some((a, b)),
        _ => None,
    });
    pairs
        .map(|((range, one), (other, another))| {
            let detail = format!("{other} of {another} lies in {range} of {one}");
            Finding::new(Lint::RangesOverlap, vec![another.clone(), one.clone()], detail)
        })
        .collect()
}

fn within(address: IpAddr, node: String, ranges: &[Owned]) -> Option<Finding> {
    let (range, owner) = ranges.iter().find(|(range, _)| range.contains(&address))?;
    let detail = format!("address {address} of {node} lies in {range} of {owner}");
    let objects = if *owner == node { vec![node] } else { vec![node, owner.clone()] };
    Some(Finding::new(Lint::RangesOverlap, objects, detail))
}

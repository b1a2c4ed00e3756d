//! Values of a family that a Service or a node does not have.

use std::net::IpAddr;

use kps_flow::Family;
use kps_model::address::{parse_address, parse_prefix};
use kps_model::objects::Service;

use super::catalogue::Lint;
use super::finding::Finding;
use super::scene::Scene;

/// Tells addresses and source ranges of a family in which the Service has no cluster IP.
pub fn find(scene: &Scene<'_>) -> Vec<Finding> {
    let services = scene.subject.cluster.services.iter();
    services.filter_map(foreign).collect()
}

fn foreign(service: &Service) -> Option<Finding> {
    let spec = &service.spec;
    let cluster_ips = spec.cluster_ips.iter().chain(&spec.cluster_ip);
    let own: Vec<Family> =
        cluster_ips.filter_map(|text| parse_address(text)).map(Family::of).collect();
    let ingress = service.status.load_balancer.ingress.iter().map(|ingress| &ingress.ip);
    let addresses = spec.external_ips.iter().chain(ingress);
    let addresses = addresses.filter_map(|text| Some((text, parse_address(text)?)));
    let ranges = spec.load_balancer_source_ranges.iter();
    let ranges = ranges.filter_map(|text| Some((text, parse_prefix(text.trim())?.addr())));
    let is_foreign = |(_, address): &(&String, IpAddr)| !own.contains(&Family::of(*address));
    let values: Vec<&str> =
        addresses.chain(ranges).filter(is_foreign).map(|(text, _)| text.as_str()).collect();
    let name = format!("Service {}/{}", service.metadata.namespace, service.metadata.name);
    let is_odd = !own.is_empty() && !values.is_empty();
    is_odd.then(|| Finding::new(Lint::OtherFamily, vec![name], values.join(", ")))
}

/// Tells families of Services in which the node has no address.
pub fn without_address(scene: &Scene<'_>) -> Vec<Finding> {
    let subject = &scene.subject;
    let is_known = subject.cluster.node(subject.node).is_some();
    let lacking = subject.views.iter().filter(|view| {
        let has_address = view.interface_addresses.iter().any(|address| !address.is_loopback());
        is_known && !view.ports.is_empty() && !has_address
    });
    lacking
        .map(|view| {
            let detail = format!("no {} address, and Services have such", view.family);
            let node = format!("Node {}", subject.node);
            Finding::new(Lint::NodeWithoutFamily, vec![node], detail)
        })
        .collect()
}

//! Endpoints whose state is told oddly.

use std::collections::BTreeMap;
use std::net::IpAddr;

use kps_flow::ClientClass;
use kps_model::address::parse_address;
use kps_model::objects::{EndpointSlice, SliceEndpoint};
use kps_model::view::endpoints::SERVICE_NAME;

use super::catalogue::Lint;
use super::finding::Finding;
use super::scene::Scene;
use super::target;

/// Tells endpoints that are ready but do not serve, with the share of packets that they get.
pub fn find(scene: &Scene<'_>) -> Vec<Finding> {
    let ports = scene.subject.views.iter().flat_map(|view| &view.ports);
    let odd = ports.filter_map(|port| {
        let ready = || port.endpoints.iter().filter(|endpoint| endpoint.ready);
        let odd = ready().filter(|endpoint| !endpoint.serving || endpoint.terminating).count();
        let own = &port.port;
        let detail =
            format!("{}: {odd} of {} ready endpoints", target::port(port), ready().count());
        let to = (own.cluster_ip, own.port);
        let witness = scene.sent_by(ClientClass::Node, own.key.protocol, to.0, to.1);
        let service = target::service(&own.key);
        let finding = Finding::new(Lint::ReadyNotServing, vec![service], detail).with(witness);
        (odd > 0).then_some(finding)
    });
    odd.collect()
}

/// Tells addresses that are twice in a Service's slices with different state or pods.
pub fn twice(scene: &Scene<'_>) -> Vec<Finding> {
    let mut seen: BTreeMap<(&str, &str, IpAddr), Vec<&SliceEndpoint>> = BTreeMap::new();
    for slice in &scene.subject.cluster.slices {
        let Some(service) = service(slice) else { continue };
        for endpoint in &slice.endpoints {
            let address = endpoint.addresses.first().and_then(|text| parse_address(text));
            if let Some(address) = address {
                let key = (slice.metadata.namespace.as_str(), service, address);
                seen.entry(key).or_default().push(endpoint);
            }
        }
    }
    let differ = |entries: &[&SliceEndpoint]| {
        entries.windows(2).any(|pair| match pair {
            [a, b] => a.conditions != b.conditions || a.target_ref != b.target_ref,
            _ => false,
        })
    };
    let told = seen.into_iter().filter(|(_, entries)| differ(entries));
    told.map(|((namespace, name, address), entries)| {
        let detail = format!("{address} is there {} times", entries.len());
        Finding::new(Lint::EndpointTwice, vec![format!("Service {namespace}/{name}")], detail)
    })
    .collect()
}

fn service(slice: &EndpointSlice) -> Option<&str> {
    slice.metadata.labels.get(SERVICE_NAME).map(String::as_str)
}

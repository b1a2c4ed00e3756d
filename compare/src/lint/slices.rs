//! EndpointSlices that do not fit their Services.

use std::collections::{HashMap, HashSet};

use kps_flow::ClientClass;
use kps_model::objects::EndpointSlice;
use kps_model::view::endpoints::SERVICE_NAME;
use kps_model::view::frontends::{HEADLESS, SERVICE_PROXY_NAME};
use kps_model::{NodeView, PortView};

use super::catalogue::Lint;
use super::finding::Finding;
use super::scene::Scene;
use super::target;

/// Namespace and name of a Service.
type Name<'a> = (&'a str, &'a str);

/// Tells slices that count for no Service, and Services that are left to another proxy.
pub fn find(scene: &Scene<'_>) -> Vec<Finding> {
    let cluster = scene.subject.cluster;
    let services = cluster.services.iter().map(|service| &service.metadata);
    let known: HashSet<Name<'_>> =
        services.clone().map(|m| (m.namespace.as_str(), m.name.as_str())).collect();
    let proxied = target::by_service(scene.subject.views);
    let orphans = cluster.slices.iter().filter_map(|slice| {
        let why = orphaned(slice, &known, &proxied)?;
        let name = format!("EndpointSlice {}/{}", slice.metadata.namespace, slice.metadata.name);
        Some(Finding::new(Lint::SliceWithoutService, vec![name], why))
    });
    let others = services.filter(|m| m.labels.contains_key(SERVICE_PROXY_NAME)).map(|metadata| {
        let name = format!("Service {}/{}", metadata.namespace, metadata.name);
        let detail = format!("it has the label {SERVICE_PROXY_NAME}");
        Finding::new(Lint::LeftToOtherProxy, vec![name], detail)
    });
    orphans.chain(others).collect()
}

fn orphaned(
    slice: &EndpointSlice,
    known: &HashSet<Name<'_>>,
    proxied: &HashMap<Name<'_>, Vec<&PortView>>,
) -> Option<String> {
    let labels = &slice.metadata.labels;
    let Some(service) = labels.get(SERVICE_NAME).filter(|name| !name.is_empty()) else {
        return Some(format!("it has no label {SERVICE_NAME}"));
    };
    let name = (slice.metadata.namespace.as_str(), service.as_str());
    if !known.contains(&name) {
        return Some(format!("there is no Service {}/{service}", slice.metadata.namespace));
    }
    let is_hidden = labels.contains_key(HEADLESS) && proxied.contains_key(&name);
    is_hidden.then(|| format!("it has the label {HEADLESS}, and its Service has a cluster IP"))
}

/// Tells ServicePorts without a usable endpoint, and whether their slices lack the port.
pub fn unmatched_ports(scene: &Scene<'_>) -> Vec<Finding> {
    let mut by_service: HashMap<Name<'_>, Vec<&EndpointSlice>> = HashMap::new();
    for slice in &scene.subject.cluster.slices {
        if let Some(service) = slice.metadata.labels.get(SERVICE_NAME) {
            let name = (slice.metadata.namespace.as_str(), service.as_str());
            by_service.entry(name).or_default().push(slice);
        }
    }
    let views = scene.subject.views.iter();
    let empty = views.flat_map(|view| {
        view.ports.iter().filter(|port| is_unserved(port)).map(move |port| (view, port))
    });
    empty
        .map(|(view, port)| {
            let key = &port.port.key;
            let name = (key.namespace.as_str(), key.name.as_str());
            let slices = by_service.get(&name).map(Vec::as_slice).unwrap_or_default();
            let (lint, why) = reason(view, port, slices);
            let own = &port.port;
            let witness = scene.sent_by(ClientClass::Node, key.protocol, own.cluster_ip, own.port);
            let detail = format!("{}, {}: {why}", target::port(port), view.family);
            Finding::new(lint, vec![target::service(key)], detail).with(witness)
        })
        .collect()
}

fn is_unserved(port: &PortView) -> bool {
    let is_usable = |e: &kps_model::Endpoint| e.ready || (e.serving && e.terminating);
    !port.endpoints.iter().any(is_usable)
}

fn reason(view: &NodeView, port: &PortView, slices: &[&EndpointSlice]) -> (Lint, String) {
    let family = view.family.to_string();
    let mut own = slices.iter().filter(|slice| slice.address_type == family).peekable();
    if !port.endpoints.is_empty() {
        return (Lint::NoUsableEndpoint, "no endpoint is ready".to_owned());
    }
    if own.peek().is_none() {
        return (Lint::NoUsableEndpoint, "no EndpointSlice names the Service".to_owned());
    }
    if own.clone().all(|slice| slice.endpoints.is_empty()) {
        return (Lint::NoUsableEndpoint, "its EndpointSlices are empty".to_owned());
    }
    let ports: Vec<String> = own
        .flat_map(|slice| &slice.ports)
        .map(|port| {
            let name = port.name.as_deref().unwrap_or("(none)");
            let number = port.port.map_or_else(|| "no number".to_owned(), |n| n.to_string());
            format!("`{name}` {number}/{}", port.protocol.as_deref().unwrap_or("TCP"))
        })
        .collect();
    let have = if ports.is_empty() { "no ports".to_owned() } else { ports.join(", ") };
    (Lint::PortWithoutSlicePort, format!("its EndpointSlices have {have}"))
}

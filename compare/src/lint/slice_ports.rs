//! Ports and addresses of EndpointSlices that kube-proxy does not use as somebody may expect.

use std::collections::{BTreeSet, HashMap};

use kps_flow::ClientClass;
use kps_model::objects::{EndpointSlice, SlicePort};
use kps_model::view::endpoints::{SERVICE_NAME, exclusion};
use kps_model::{NodeView, PortView};

use super::catalogue::Lint;
use super::finding::Finding;
use super::scene::Scene;
use super::target;

/// Slices by namespace and name of their Service.
type ByService<'a> = HashMap<(&'a str, &'a str), Vec<&'a EndpointSlice>>;

/// Tells ServicePorts that only some slices of their Service have, or that have several numbers.
pub fn find(scene: &Scene<'_>) -> Vec<Finding> {
    scene.subject.views.iter().flat_map(|view| in_family(scene, view)).collect()
}

fn in_family(scene: &Scene<'_>, view: &NodeView) -> Vec<Finding> {
    let mut by_service = ByService::new();
    let slices = scene.subject.cluster.slices.iter();
    for slice in slices.filter(|slice| exclusion(slice, view.family, view.version).is_none()) {
        if let Some(service) = slice.metadata.labels.get(SERVICE_NAME) {
            let name = (slice.metadata.namespace.as_str(), service.as_str());
            by_service.entry(name).or_default().push(slice);
        }
    }
    let served = view.ports.iter().filter(|port| !port.endpoints.is_empty());
    served
        .flat_map(|port| {
            let key = &port.port.key;
            let name = (key.namespace.as_str(), key.name.as_str());
            let slices = by_service.get(&name).map(Vec::as_slice).unwrap_or_default();
            lacking(scene, port, slices).into_iter().chain(numbers(scene, port, slices))
        })
        .collect()
}

/// Slices whose endpoints get nothing on this port, while those of others do.
fn lacking(scene: &Scene<'_>, port: &PortView, slices: &[&EndpointSlice]) -> Option<Finding> {
    let lacks = |slice: &&&EndpointSlice| {
        !slice.endpoints.is_empty() && of_port(slice, port).next().is_none()
    };
    let lacking: Vec<&&EndpointSlice> = slices.iter().filter(lacks).collect();
    let unused: usize = lacking.iter().map(|slice| slice.endpoints.len()).sum();
    let mut objects = vec![target::service(&port.port.key)];
    objects.extend(lacking.iter().map(|slice| named(slice)));
    let detail = format!(
        "{}: {unused} endpoints of {} of {} EndpointSlices do not have it",
        target::port(port),
        lacking.len(),
        slices.len()
    );
    let finding = || Finding::new(Lint::PortOnSomeSlices, objects, detail);
    (unused > 0).then(|| finding().with(dialled(scene, port)))
}

fn numbers(scene: &Scene<'_>, port: &PortView, slices: &[&EndpointSlice]) -> Option<Finding> {
    let numbers: BTreeSet<i32> =
        slices.iter().flat_map(|slice| of_port(slice, port)).filter_map(|p| p.port).collect();
    let words: Vec<String> = numbers.iter().map(ToString::to_string).collect();
    let detail = format!("{}: endpoints listen on {}", target::port(port), words.join(", "));
    let objects = vec![target::service(&port.port.key)];
    let finding = || Finding::new(Lint::PortWithSeveralNumbers, objects, detail);
    (numbers.len() > 1).then(|| finding().with(dialled(scene, port)))
}

/// Returns the ports of a slice that a ServicePort means: those of its name and protocol that have
/// a number.
fn of_port<'s>(slice: &'s EndpointSlice, port: &PortView) -> impl Iterator<Item = &'s SlicePort> {
    let key = &port.port.key;
    slice.ports.iter().filter(move |own| {
        let protocol = own.protocol.as_deref().unwrap_or("TCP");
        own.name.as_deref() == Some(&key.port_name)
            && protocol.eq_ignore_ascii_case(&key.protocol.to_string())
            && own.port.is_some_and(|number| number > 0)
    })
}

fn dialled(scene: &Scene<'_>, port: &PortView) -> Option<super::finding::Witness> {
    let own = &port.port;
    scene.sent_by(ClientClass::Node, own.key.protocol, own.cluster_ip, own.port)
}

/// Tells endpoints with several addresses: the others are nobody's.
pub fn extra_addresses(scene: &Scene<'_>) -> Vec<Finding> {
    let slices = scene.subject.cluster.slices.iter();
    let told = slices.filter_map(|slice| {
        let several = |e: &&kps_model::objects::SliceEndpoint| e.addresses.len() > 1;
        let extra = slice.endpoints.iter().filter(several);
        let unused: Vec<&str> =
            extra.flat_map(|e| e.addresses.iter().skip(1)).map(String::as_str).collect();
        let detail = format!("never used: {}", unused.join(", "));
        let finding = || Finding::new(Lint::EndpointExtraAddresses, vec![named(slice)], detail);
        (!unused.is_empty()).then(finding)
    });
    told.collect()
}

fn named(slice: &EndpointSlice) -> String {
    format!("EndpointSlice {}/{}", slice.metadata.namespace, slice.metadata.name)
}

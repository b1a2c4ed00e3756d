//! Load balancers that send to nodes instead of being served by them (KEP-1860, `ipMode`).

use std::collections::{HashMap, HashSet};
use std::net::IpAddr;

use kps_flow::{ClientClass, Family, Outcome, Protocol};
use kps_model::PortView;
use kps_model::address::{parse_address, parse_prefix};
use kps_model::objects::Service;

use super::catalogue::Lint;
use super::finding::{Finding, Witness};
use super::scene::Scene;
use super::target;

/// Tells addresses of mode Proxy that the node serves after all.
pub fn still_served(scene: &Scene<'_>) -> Vec<Finding> {
    let bound: HashMap<IpAddr, &str> = scene
        .subject
        .state
        .host
        .addresses
        .iter()
        .map(|address| (address.network.addr(), address.link.as_str()))
        .collect();
    let services = scene.subject.cluster.services.iter();
    let served = services.flat_map(|service| {
        let own = service.status.load_balancer.ingress.iter();
        let proxied = own.filter(|ingress| ingress.ip_mode.as_deref() == Some("Proxy"));
        let addresses = proxied.filter_map(|ingress| parse_address(&ingress.ip));
        addresses.map(move |address| (service, address))
    });
    served
        .filter_map(|(service, address)| {
            let witness = captured(scene, service, address);
            let link = bound.get(&address).copied().filter(|link| *link == "kube-ipvs0");
            let how = match (&witness, link) {
                (Some(_), _) => "goes to endpoints",
                (None, Some(_)) => "is bound to kube-ipvs0",
                (None, None) => return None,
            };
            let detail = format!("{address} has ipMode Proxy and {how}");
            let finding = Finding::new(Lint::ProxyAddressServed, vec![named(service)], detail);
            Some(finding.with(witness))
        })
        .collect()
}

/// Returns a packet to the balancer that ends at an endpoint.
fn captured(scene: &Scene<'_>, service: &Service, address: IpAddr) -> Option<Witness> {
    ports(service).find_map(|(protocol, number)| {
        let witness = scene.sent_by(ClientClass::Node, protocol, address, number)?;
        let is_taken = |(outcome, _): &(Outcome, _)| matches!(outcome, Outcome::Deliver(_));
        witness.outcomes.iter().any(is_taken).then_some(witness)
    })
}

fn ports(service: &Service) -> impl Iterator<Item = (Protocol, u16)> {
    service.spec.ports.iter().filter_map(|port| {
        let protocol = port.protocol.as_deref().unwrap_or("TCP").parse().ok()?;
        Some((protocol, u16::try_from(port.port).ok()?))
    })
}

/// Tells balancers of mode Proxy that have no node port to send to.
pub fn without_way(scene: &Scene<'_>) -> Vec<Finding> {
    let seen = target::by_service(scene.subject.views);
    let services = scene.subject.cluster.services.iter();
    let stranded = services.filter(|service| {
        let ingress = &service.status.load_balancer.ingress;
        let name = (service.metadata.namespace.as_str(), service.metadata.name.as_str());
        let is_proxy = |own: &kps_model::objects::Ingress| {
            own.ip.is_empty() || own.ip_mode.as_deref() == Some("Proxy")
        };
        service.spec.kind.as_deref() == Some("LoadBalancer")
            && seen.contains_key(&name)
            && !ingress.is_empty()
            && ingress.iter().all(is_proxy)
            && service.spec.ports.iter().all(|port| port.node_port.unwrap_or(0) == 0)
    });
    stranded
        .map(|service| {
            let detail = "no port has a node port, and no address is served by nodes".to_owned();
            Finding::new(Lint::BalancerWithoutWay, vec![named(service)], detail)
        })
        .collect()
}

/// Tells source ranges that nothing on a node enforces, and families that they leave open.
pub fn unguarded(scene: &Scene<'_>) -> Vec<Finding> {
    let seen = target::by_service(scene.subject.views);
    let mut findings = Vec::new();
    for service in &scene.subject.cluster.services {
        let families: HashSet<Family> = written(service).collect();
        let name = (service.metadata.namespace.as_str(), service.metadata.name.as_str());
        let Some(ports) = seen.get(&name).filter(|_| !families.is_empty()) else { continue };
        let vip = |port: &PortView| port.port.load_balancer_vips.first().copied();
        let served: Vec<_> = ports.iter().filter_map(|p| Some((&p.port, vip(p)?))).collect();
        let objects = vec![named(service)];
        if served.is_empty() && restricts(service) {
            let detail = "the node serves no load balancer address of it".to_owned();
            findings.push(Finding::new(Lint::SourceRangesMoot, objects, detail));
            continue;
        }
        let open = served.iter().find(|(_, vip)| !families.contains(&Family::of(*vip)));
        if let Some((port, vip)) = open {
            let family = Family::of(*vip);
            let detail = format!("{vip} is open to all: there is no {family} range");
            let protocol = port.key.protocol;
            let witness = scene.sent_by(ClientClass::Outside, protocol, *vip, port.port);
            findings.push(Finding::new(Lint::SourceRangesOneFamily, objects, detail).with(witness));
        }
    }
    findings
}

/// Tells whether source ranges shut anybody out: one of length zero lifts them.
fn restricts(service: &Service) -> bool {
    let mut ranges = service.spec.load_balancer_source_ranges.iter();
    !ranges.any(|text| parse_prefix(text.trim()).is_some_and(|range| range.prefix_len() == 0))
}

/// Returns the family of each source range.
fn written(service: &Service) -> impl Iterator<Item = Family> {
    let ranges = service.spec.load_balancer_source_ranges.iter();
    let ranges = ranges.filter_map(|text| parse_prefix(text.trim()));
    ranges.map(|range| Family::of(range.addr()))
}

fn named(service: &Service) -> String {
    format!("Service {}/{}", service.metadata.namespace, service.metadata.name)
}

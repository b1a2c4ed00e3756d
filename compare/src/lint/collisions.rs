//! Addresses and ports that several Services claim. The API checks none of this across objects.

use std::collections::{BTreeMap, BTreeSet};
use std::net::{IpAddr, SocketAddr};

use kps_flow::{ClientClass, Protocol};
use kps_model::{NodeView, PortKey};

use super::catalogue::Lint;
use super::finding::Finding;
use super::scene::Scene;
use super::target::{self, Target, of_addresses, word};

/// Who claims what.
type Claims<'v, K> = BTreeMap<K, BTreeMap<&'v PortKey, &'static str>>;

/// Tells addresses with port and protocol that several ServicePorts have.
pub fn shared_addresses(scene: &Scene<'_>) -> Vec<Finding> {
    scene.subject.views.iter().flat_map(|view| shared_in(scene, view)).collect()
}

fn shared_in(scene: &Scene<'_>, view: &NodeView) -> Vec<Finding> {
    let mut claims: Claims<'_, (IpAddr, u16, Protocol)> = BTreeMap::new();
    for Target { port, frontend, address, number } in view.ports.iter().flat_map(of_addresses) {
        let key = &port.port.key;
        let claimed = claims.entry((address, number, key.protocol)).or_default();
        claimed.entry(key).or_insert(word(frontend));
    }
    let shared = claims.into_iter().filter(|(_, by)| by.len() > 1);
    shared
        .map(|((address, number, protocol), by)| {
            let kinds: Vec<String> =
                by.iter().map(|(key, word)| format!("{word} of {key}")).collect();
            let socket = SocketAddr::new(address, number);
            let detail = format!("{socket}/{protocol} is {}", kinds.join(" and "));
            let witness = scene.sent_by(ClientClass::Node, protocol, address, number);
            Finding::new(Lint::SharedAddress, services(by.into_keys()), detail).with(witness)
        })
        .collect()
}

/// Tells node ports that several ServicePorts have: as node port, as health check port, or as port
/// of an external address that is the node's own.
pub fn shared_node_ports(scene: &Scene<'_>) -> Vec<Finding> {
    scene.subject.views.iter().flat_map(|view| node_ports_in(scene, view)).collect()
}

fn node_ports_in(scene: &Scene<'_>, view: &NodeView) -> Vec<Finding> {
    let mut claims: Claims<'_, (u16, Protocol)> = BTreeMap::new();
    let mut claim = |number, protocol, key, word| {
        claims.entry((number, protocol)).or_default().entry(key).or_insert(word);
    };
    for port in &view.ports {
        let (own, key) = (&port.port, &port.port.key);
        if let Some(number) = own.node_port {
            claim(number, key.protocol, key, "node port");
        }
        if let Some(number) = own.health_check_node_port {
            claim(number, Protocol::Tcp, key, "health check port");
        }
        let served = |target: &Target<'_>| view.interface_addresses.contains(&target.address);
        if of_addresses(port).any(|target| served(&target)) {
            claim(own.port, key.protocol, key, "port of an address of the node");
        }
    }
    let shared = claims.into_iter().filter(|(_, by)| of_several(by));
    shared
        .map(|((number, protocol), by)| {
            let kinds: Vec<String> =
                by.iter().map(|(key, word)| format!("{word} of {key}")).collect();
            let detail = format!("{number}/{protocol} is {}", kinds.join(" and "));
            let address = target::node_port_address(view);
            let witness =
                address.and_then(|to| scene.sent_by(ClientClass::Outside, protocol, to, number));
            Finding::new(Lint::SharedNodePort, services(by.into_keys()), detail).with(witness)
        })
        .collect()
}

/// Tells whether claims meet: those of several Services, at least one of them a node port or health
/// check port. Ports of addresses alone are compared by address.
fn of_several(by: &BTreeMap<&PortKey, &str>) -> bool {
    let services: BTreeSet<_> = by.keys().map(|key| (&key.namespace, &key.name)).collect();
    services.len() > 1 && by.values().any(|word| !word.starts_with("port of"))
}

fn services<'k>(keys: impl Iterator<Item = &'k PortKey>) -> Vec<String> {
    let unique: BTreeSet<String> = keys.map(target::service).collect();
    unique.into_iter().collect()
}

//! What follows in ipvs mode from every Service address being the node's own.

use std::collections::HashSet;

use kps_flow::{ClientClass, Flow, Outcome, Protocol};
use kps_model::intent::Frontend;
use kps_model::{Mode, NodeView};
use kps_ruleset::host::Scope;

use super::catalogue::Lint;
use super::finding::Finding;
use super::scene::Scene;
use super::target::{self, Target, of_addresses, targets, word};

/// Tells what only ipvs mode does.
pub fn find(scene: &Scene<'_>) -> Vec<Finding> {
    if scene.subject.config.mode != Mode::Ipvs {
        return Vec::new();
    }
    let views = scene.subject.views.iter();
    views
        .flat_map(|view| [arp, probes, meets, health].map(|lint| lint(scene, view)).concat())
        .collect()
}

/// Addresses of Services on a network of the node, for which every node answers ARP.
fn arp(scene: &Scene<'_>, view: &NodeView) -> Vec<Finding> {
    let sysctls = &scene.subject.state.host.sysctls;
    let ignore = sysctls.get("net.ipv4.conf.all.arp_ignore").map(|value| value.trim());
    if view.ipvs.strict_arp || ignore.is_some_and(|value| value != "0") {
        return Vec::new();
    }
    let on_link = |target: &Target<'_>| {
        let mut addresses = scene.subject.state.host.addresses.iter();
        addresses.any(|address| {
            address.link != "kube-ipvs0"
                && address.scope == Scope::Global
                && address.network.contains(&target.address)
        })
    };
    let outer = view.ports.iter().flat_map(of_addresses);
    let outer = outer.filter(|t| t.frontend != Frontend::ClusterIp).filter(on_link);
    outer
        .map(|target| {
            let detail = format!("{} {}", word(target.frontend), target.address);
            let service = target::service(&target.port.port.key);
            Finding::new(Lint::ArpForServiceAddress, vec![service], detail)
        })
        .collect()
}

/// Packets that come from a load balancer address.
fn probes(scene: &Scene<'_>, view: &NodeView) -> Vec<Finding> {
    let Some(node) = target::node_port_address(view) else { return Vec::new() };
    let balanced = view.ports.iter().filter(|port| port.port.node_port.is_some());
    let discarded = balanced.filter_map(|port| {
        let own = &port.port;
        let vip = *own.load_balancer_vips.first()?;
        let client = scene.client(view.family, ClientClass::Outside)?;
        let flow = scene.flow(client, own.key.protocol, node, own.node_port?);
        let witness = scene.witness(Flow { source: Some(vip), ..flow });
        let is_dropped = witness.outcomes.iter().all(|(outcome, _)| *outcome == Outcome::Drop);
        let detail = format!("load balancer IP {vip}");
        let service = target::service(&own.key);
        let lint = Lint::BalancerProbesDiscarded;
        is_dropped.then(|| Finding::new(lint, vec![service], detail).with(Some(witness)))
    });
    discarded.collect()
}

/// Ports of cluster IPs that are node ports of other Services, where that costs pods their source.
fn meets(scene: &Scene<'_>, view: &NodeView) -> Vec<Finding> {
    let node_ports: HashSet<_> = view
        .ports
        .iter()
        .filter_map(|port| Some((port.port.node_port?, port.port.key.protocol)))
        .collect();
    let met = targets(view).filter(|target| {
        let key = (target.number, target.port.port.key.protocol);
        target.frontend == Frontend::ClusterIp && node_ports.contains(&key)
    });
    let told = met.filter_map(|target| {
        let key = &target.port.port.key;
        let witness =
            scene.sent_by(ClientClass::Pod, key.protocol, target.address, target.number)?;
        let is_hidden = |(outcome, _): &(Outcome, _)| {
            matches!(outcome, Outcome::Deliver(way) if way.source.is_rewritten())
        };
        let is_changed = !view.masquerade_all && witness.outcomes.iter().any(is_hidden);
        let detail = format!("{} is also a node port", target::port(target.port));
        let lint = Lint::NodePortOnServiceAddress;
        let service = target::service(key);
        is_changed.then(|| Finding::new(lint, vec![service], detail).with(Some(witness)))
    });
    told.collect()
}

/// Health check ports that reach the node's own sockets by a Service's address.
fn health(scene: &Scene<'_>, view: &NodeView) -> Vec<Finding> {
    let checked = view.ports.iter().filter_map(|port| {
        let number = port.port.health_check_node_port?;
        let own = &port.port;
        let witness = scene.sent_by(ClientClass::Pod, Protocol::Tcp, own.cluster_ip, number)?;
        let is_local = witness.outcomes.iter().any(|(outcome, _)| *outcome == Outcome::Local);
        let where_to = match scene.subject.config.node_port_addresses.as_slice() {
            [] => "kube-proxy's listener, which is on every address",
            _ => "whatever listens there; kube-proxy does on nodePortAddresses alone",
        };
        let detail = format!("{}:{number} leads to {where_to}", own.cluster_ip);
        let lint = Lint::HealthPortOnServiceAddress;
        let service = target::service(&own.key);
        is_local.then(|| Finding::new(lint, vec![service], detail).with(Some(witness)))
    });
    // A Service with several ports has one health check.
    let mut told: Vec<Finding> = checked.collect();
    told.dedup_by(|one, other| one.key() == other.key());
    told
}

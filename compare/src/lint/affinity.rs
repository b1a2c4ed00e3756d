//! Session affinity: narrower than users expect, and shorter or longer than the field says.

use std::collections::{BTreeMap, HashSet};
use std::net::{IpAddr, SocketAddr};

use kps_flow::{ClientClass, Family};
use kps_model::{Mode, PortView};

use super::affinity_rules::{Kept, ways_back};
use super::catalogue::Lint;
use super::finding::Finding;
use super::scene::Scene;
use super::target;

/// Tells Services with ClientIP affinity and several ports.
pub fn find(scene: &Scene<'_>) -> Vec<Finding> {
    let mut ports: BTreeMap<String, Vec<u16>> = BTreeMap::new();
    let all = scene.subject.views.iter().flat_map(|view| &view.ports);
    for port in all.filter(|port| port.port.affinity.is_some()) {
        let numbers = ports.entry(target::service(&port.port.key)).or_default();
        if !numbers.contains(&port.port.port) {
            numbers.push(port.port.port);
        }
    }
    let several = ports.into_iter().filter(|(_, numbers)| numbers.len() > 1);
    several
        .map(|(service, numbers)| {
            let numbers: Vec<String> = numbers.iter().map(ToString::to_string).collect();
            let detail = format!("ports {} each have an affinity of their own", numbers.join(", "));
            Finding::new(Lint::AffinityByPort, vec![service], detail)
        })
        .collect()
}

/// How many clients a list of `-m recent` holds unless the module is told otherwise
/// (`ip_list_tot` of `net/netfilter/xt_recent.c`).
const RECENT_CLIENTS: usize = 100;
/// How long ipvs remembers a client at least: while a closed connection of his is still known, which
/// for TCP is two minutes, his template stays (`ip_vs_conn_expire`).
const IPVS_SECONDS: u32 = 120;

/// Tells affinity that the rules keep for another time than the field says, or that the kernel
/// cannot keep so.
pub fn kept(scene: &Scene<'_>) -> Vec<Finding> {
    let kept = Kept::read(scene.subject.state);
    let views = scene.subject.views.iter();
    let ports = || views.clone().flat_map(|view| view.ports.iter().map(move |port| (view, port)));
    let differing = ports().filter_map(|(view, port)| {
        let found = kept.other_than(scene.subject.config.mode, view, port)?;
        let own = &port.port;
        let meant = own.affinity.map_or_else(|| "none".to_owned(), |s| format!("{s} s"));
        let detail = format!("{}: {meant} is wanted, {found} is kept", target::port(port));
        let service = vec![target::service(&own.key)];
        let witness = scene.sent_by(ClientClass::Node, own.key.protocol, own.cluster_ip, own.port);
        Some(Finding::new(Lint::AffinityTimeoutDiffers, service, detail).with(witness))
    });
    let known = clients(scene);
    let limited = ports().filter_map(|(_, port)| limit(scene.subject.config.mode, port, known));
    differing.chain(limited).collect()
}

fn limit(mode: Mode, port: &PortView, known: usize) -> Option<Finding> {
    let seconds = port.port.affinity?;
    let service = vec![target::service(&port.port.key)];
    let word = target::port(port);
    let room = port.endpoints.len().saturating_mul(RECENT_CLIENTS);
    if mode == Mode::Ipvs && seconds < IPVS_SECONDS {
        let detail = format!("{word}: {seconds} s are wanted");
        return Some(Finding::new(Lint::AffinityTooShort, service, detail));
    }
    let is_small = mode == Mode::Iptables && room > 0 && known > room;
    let detail = format!("{word}: {known} pods and nodes are known, its lists hold {room}");
    is_small.then(|| Finding::new(Lint::AffinityForgetsClients, service, detail))
}

/// Counts the pods and nodes that the objects show, each of which may be a client.
fn clients(scene: &Scene<'_>) -> usize {
    let cluster = scene.subject.cluster;
    let endpoints = cluster.slices.iter().flat_map(|slice| &slice.endpoints);
    let pods = endpoints.filter_map(|e| kps_model::address::parse_address(e.addresses.first()?));
    let all: HashSet<IpAddr> =
        pods.chain(cluster.nodes.iter().flat_map(super::scene::node_addresses)).collect();
    all.len()
}

/// Tells affinity that leads a remembered client to an endpoint which new clients do not get.
pub fn remembered(scene: &Scene<'_>) -> Vec<Finding> {
    let ways = ways_back(scene.subject.state);
    let ports = scene.subject.views.iter().flat_map(|view| &view.ports);
    let told = ports.filter_map(|port| {
        let own = &port.port;
        let family = Family::of(own.cluster_ip);
        let back = ways.get(&(family, own.key.to_string()))?;
        let is_chosen = |to: &SocketAddr| port.reachable_endpoints().any(|e| e.address == *to);
        let wrong = back.iter().find(|to| !is_chosen(to))?;
        let detail = format!("{}: clients may be remembered for {wrong}", target::port(port));
        let service = vec![target::service(&own.key)];
        let protocol = own.key.protocol;
        let witness = scene.sent_by(ClientClass::Node, protocol, own.cluster_ip, own.port);
        Some(Finding::new(Lint::AffinityToUnchosen, service, detail).with(witness))
    });
    told.collect()
}

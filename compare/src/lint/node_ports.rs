//! Which addresses serve node ports, and what they take.

use kps_flow::{ClientClass, Protocol};
use kps_model::NodeView;
use kps_model::address::parse_prefix;

use super::catalogue::Lint;
use super::finding::Finding;
use super::scene::Scene;
use super::target;

/// Ports that daemons of a node listen on (kubernetes.io, Ports and Protocols), and ssh.
const DAEMONS: [(u16, &str); 9] = [
    (22, "sshd"),
    (2379, "etcd"),
    (2380, "etcd"),
    (6443, "the API server"),
    (10249, "kube-proxy"),
    (10250, "the kubelet"),
    (10256, "kube-proxy"),
    (10257, "the controller manager"),
    (10259, "the scheduler"),
];

/// Tells odd `nodePortAddresses` and node ports of daemons.
pub fn find(scene: &Scene<'_>) -> Vec<Finding> {
    scene.subject.views.iter().flat_map(|view| in_family(scene, view)).collect()
}

fn in_family(scene: &Scene<'_>, view: &NodeView) -> Vec<Finding> {
    let mut findings = daemons(scene, view);
    let written = &scene.subject.config.node_port_addresses;
    let has_ports = view.ports.iter().any(|port| port.port.node_port.is_some());
    let is_reachable = view.interface_addresses.iter().any(|address| !address.is_loopback());
    if !has_ports || written.is_empty() || !is_reachable {
        return findings;
    }
    let prefixes: Vec<_> = written.iter().filter_map(|word| parse_prefix(word.trim())).collect();
    let is_of_family = |range: &ipnet::IpNet| kps_flow::Family::of(range.addr()) == view.family;
    let family = view.family;
    let all_prefixes = prefixes.len() == written.len();
    let objects = vec!["KubeProxyConfiguration".to_owned()];
    if all_prefixes && !prefixes.iter().any(is_of_family) {
        let detail = format!("it lists no {family} range, and {family} node ports exist");
        findings.push(Finding::new(Lint::NodePortAddressesOneFamily, objects, detail));
    } else if target::node_port_address(view).is_none() {
        let detail = format!("no {family} address of the node serves node ports");
        findings.push(Finding::new(Lint::NodePortAddressesNone, objects, detail));
    }
    findings
}

fn daemons(scene: &Scene<'_>, view: &NodeView) -> Vec<Finding> {
    let taken = view.ports.iter().filter_map(|port| {
        let own = &port.port;
        let number = own.node_port.filter(|_| own.key.protocol == Protocol::Tcp)?;
        let (_, daemon) = DAEMONS.iter().find(|(known, _)| *known == number)?;
        let detail = format!("node port {number} is that of {daemon}");
        let address = target::node_port_address(view)?;
        let witness = scene.sent_by(ClientClass::Outside, Protocol::Tcp, address, number);
        let service = target::service(&own.key);
        Some(Finding::new(Lint::NodePortShadowsDaemon, vec![service], detail).with(witness))
    });
    taken.collect()
}

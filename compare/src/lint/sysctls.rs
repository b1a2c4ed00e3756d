//! Settings of the node's kernel with which packets to Services fail. Nothing is said of settings
//! that neither a dump nor the command line tells.

use std::ops::RangeInclusive;

use kps_flow::{ClientClass, Family, Outcome};
use kps_model::{Mode, NodeView};

use super::catalogue::Lint;
use super::finding::{Finding, Witness};
use super::scene::Scene;
use super::target::{self, targets};

/// A setting that must not be 0, where it is known.
struct Needed {
    name: &'static str,
    family: Family,
    /// The mode that needs it; `None` if all do.
    mode: Option<Mode>,
    why: &'static str,
}

const NEEDED: [Needed; 3] = [
    Needed {
        name: "net.ipv4.ip_forward",
        family: Family::V4,
        mode: None,
        why: "IPv4 packets to endpoints elsewhere are not forwarded",
    },
    Needed {
        name: "net.ipv6.conf.all.forwarding",
        family: Family::V6,
        mode: None,
        why: "IPv6 packets to endpoints elsewhere are not forwarded",
    },
    Needed {
        name: "net.ipv4.vs.conntrack",
        family: Family::V4,
        mode: Some(Mode::Ipvs),
        why: "packets that ipvs sends on are not masqueraded",
    },
];

/// Tells settings that are 0 and must not be.
pub fn needed(scene: &Scene<'_>) -> Vec<Finding> {
    let mode = scene.subject.config.mode;
    let is_off = |needed: &&Needed| {
        value(scene, needed.name) == Some("0") && needed.mode.is_none_or(|of| of == mode)
    };
    let told = NEEDED.iter().filter(is_off).filter_map(|needed| {
        let view = scene.subject.views.iter().find(|view| view.family == needed.family)?;
        let target = targets(view).next()?;
        let detail = format!("{} is 0, so {}", needed.name, needed.why);
        let protocol = target.port.port.key.protocol;
        let witness = scene.sent_by(ClientClass::Outside, protocol, target.address, target.number);
        Some(Finding::new(Lint::SysctlBreaksServices, node(scene), detail).with(witness))
    });
    told.collect()
}

/// Tells node ports that the kernel may give to connections of the node itself.
pub fn local_ports(scene: &Scene<'_>) -> Vec<Finding> {
    let range = value(scene, "net.ipv4.ip_local_port_range").and_then(local_range);
    let Some(range) = range else { return Vec::new() };
    let reserved = reserved(value(scene, "net.ipv4.ip_local_reserved_ports").unwrap_or_default());
    let is_lent = |number: &u16| {
        range.contains(number) && !reserved.iter().any(|range| range.contains(number))
    };
    let ports = scene.subject.views.iter().flat_map(|view| {
        let address = target::node_port_address(view);
        view.ports.iter().map(move |port| (port, address))
    });
    let told = ports.filter_map(|(port, address)| {
        let number = port.port.node_port.filter(is_lent)?;
        let (first, last) = (range.start(), range.end());
        let detail = format!("node port {number} lies in ip_local_port_range {first}-{last}");
        let service = vec![target::service(&port.port.key)];
        let protocol = port.port.key.protocol;
        let witness = scene.sent_by(ClientClass::Outside, protocol, address?, number);
        Some(Finding::new(Lint::NodePortInLocalRange, service, detail).with(witness))
    });
    told.collect()
}

/// Reads `FIRST LAST`.
fn local_range(text: &str) -> Option<RangeInclusive<u16>> {
    let mut numbers = text.split_whitespace().map(str::parse);
    Some(numbers.next()?.ok()?..=numbers.next()?.ok()?)
}

/// Reads `PORT,FIRST-LAST,…`; what cannot be read is passed over.
fn reserved(text: &str) -> Vec<RangeInclusive<u16>> {
    let range = |part: &str| {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        Some(first.trim().parse().ok()?..=last.trim().parse().ok()?)
    };
    text.split(',').filter_map(range).collect()
}

/// Tells bridges whose frames pass no rules, so that an answer from one pod to another on the same
/// bridge is not translated back.
pub fn bridges(scene: &Scene<'_>) -> Vec<Finding> {
    let links = &scene.subject.state.host.links;
    let bridge = links.iter().find_map(|link| {
        let master = link.master?;
        let members = links.iter().filter(|other| other.master == Some(master)).count();
        (members > 1).then_some(master)
    });
    let Some(bridge) = bridge else { return Vec::new() };
    let setting = |family| match family {
        Family::V4 => "net.bridge.bridge-nf-call-iptables",
        Family::V6 => "net.bridge.bridge-nf-call-ip6tables",
    };
    let off = scene.subject.views.iter().filter(|v| value(scene, setting(v.family)) == Some("0"));
    let told = off.filter_map(|view| {
        let witness = neighbours(scene, view)?;
        let name = setting(view.family);
        let detail = format!("{name} is 0, and pods of the node are on the bridge {bridge}");
        Some(Finding::new(Lint::BridgeBypassesRules, node(scene), detail).with(Some(witness)))
    });
    told.collect()
}

/// Returns a packet of a pod that is sent to another pod of this node with its source kept.
fn neighbours(scene: &Scene<'_>, view: &NodeView) -> Option<Witness> {
    let near = view.ports.iter().filter(|port| port.endpoints.iter().any(|e| e.is_local));
    near.filter_map(|port| {
        let own = &port.port;
        scene.sent_by(ClientClass::Pod, own.key.protocol, own.cluster_ip, own.port)
    })
    .find(|witness| {
        witness.outcomes.iter().any(|(outcome, _)| {
            matches!(outcome, Outcome::Deliver(way) if !way.source.is_rewritten()
                && view.pod_cidrs.iter().any(|range| range.contains(&way.endpoint.ip())))
        })
    })
}

fn value<'s>(scene: &'s Scene<'_>, name: &str) -> Option<&'s str> {
    scene.subject.state.host.sysctls.get(name).map(|value| value.trim())
}

fn node(scene: &Scene<'_>) -> Vec<String> {
    vec![format!("Node {}", scene.subject.node)]
}

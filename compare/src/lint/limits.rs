//! Values for which the kernel's sets and names have no room.

use kps_flow::{ClientClass, Family, Protocol};
use kps_model::config::DetectLocal;
use kps_model::{Config, Mode};
use kps_ruleset::ipset::{self, Element, Range, Set, SetType};

use super::catalogue::Lint;
use super::finding::{Finding, Witness};
use super::scene::Scene;

/// The most elements of a hash that was made without `maxelem` (`IPSET_DEFAULT_MAXELEM`).
const DEFAULT_ELEMENTS: u32 = 65_536;
/// The longest name of an interface (`IFNAMSIZ` with the end of the text).
const LONGEST_INTERFACE: usize = 15;

/// Tells IP sets that are asked to hold what they cannot.
pub fn sets(scene: &Scene<'_>) -> Vec<Finding> {
    let sets = &scene.subject.state.ipset.sets;
    sets.iter()
        .flat_map(|(name, set)| {
            let object = || vec![format!("IP set {name}")];
            let (room, number) = (room(set), set.entries.len());
            let past = set.entries.keys().nth(room);
            let full = past.map(|first| {
                let detail = format!("{number} entries, and room for {room}");
                finding(scene, object(), detail, first)
            });
            let odd = set.entries.keys().find(|element| !is_storable(set, element));
            let odd = odd.map(|element| {
                let detail = format!("{element} is no value that its type can store");
                finding(scene, object(), detail, element)
            });
            full.into_iter().chain(odd)
        })
        .collect()
}

fn finding(scene: &Scene<'_>, objects: Vec<String>, detail: String, element: &Element) -> Finding {
    Finding::new(Lint::ValueNotStorable, objects, detail).with(looked_up(scene, element))
}

fn room(set: &Set) -> usize {
    let most = match set.kind {
        SetType::BitmapIp | SetType::BitmapIpMac | SetType::BitmapPort => None,
        SetType::ListSet => set.options.size,
        _ => Some(set.options.max_elements.unwrap_or(DEFAULT_ELEMENTS)),
    };
    most.and_then(|most| usize::try_from(most).ok()).unwrap_or(usize::MAX)
}

/// Tells whether a set of its type and family has room for an element: hashes of networks refuse a
/// prefix of length zero, but for `hash:net,iface` (`net/netfilter/ipset/ip_set_hash_*.c`).
fn is_storable(set: &Set, element: &Element) -> bool {
    let family =
        if set.options.family == Some(ipset::Family::Inet6) { Family::V6 } else { Family::V4 };
    let is_own = |address: std::net::IpAddr| Family::of(address) == family;
    let is_net = |net: &ipnet::IpNet| net.prefix_len() > 0 && is_own(net.addr());
    match element {
        Element::Ip(address) | Element::IpMark(address, _) | Element::IpPort(address, _) => {
            is_own(*address)
        }
        Element::IpPortIp(one, _, other) => is_own(*one) && is_own(*other),
        Element::IpPortNet(address, _, net) => is_own(*address) && is_net(net),
        Element::Net(net) | Element::NetPort(net, _) => is_net(net),
        Element::NetNet(one, other) | Element::NetPortNet(one, _, other) => {
            is_net(one) && is_net(other)
        }
        Element::Port(port) => match set.options.range {
            Some(Range::Ports(first, last)) => (first..=last).contains(port),
            _ => true,
        },
        _ => true,
    }
}

/// Returns a packet to what an element stands for.
fn looked_up(scene: &Scene<'_>, element: &Element) -> Option<Witness> {
    let (address, port) = match element {
        Element::IpPort(address, port)
        | Element::IpPortIp(address, port, _)
        | Element::IpPortNet(address, port, _) => (*address, port),
        _ => return None,
    };
    let protocol = Protocol::from_number(port.protocol.0)?;
    scene.sent_by(ClientClass::Node, protocol, address, port.port)
}

/// Tells interface names in the configuration that no interface can have.
pub fn interface_names(scene: &Scene<'_>) -> Vec<Finding> {
    let config = scene.subject.config;
    let Some((field, name, longest)) = interface(config) else { return Vec::new() };
    let detail = format!("{field} `{name}` is {} characters long, at most {longest}", name.len());
    let objects = vec!["KubeProxyConfiguration".to_owned()];
    let finding = || Finding::new(Lint::InterfaceNameTooLong, objects, detail);
    (name.len() > longest).then(finding).into_iter().collect()
}

/// Returns the interface name that the configuration has, and how long it may be. iptables writes a
/// `+` behind a prefix, which counts.
fn interface(config: &Config) -> Option<(&'static str, &str, usize)> {
    match &config.detect_local {
        DetectLocal::BridgeInterface(name) => Some(("bridgeInterface", name, LONGEST_INTERFACE)),
        DetectLocal::InterfaceNamePrefix(prefix) => {
            let mark = usize::from(config.mode != Mode::Nftables);
            Some(("interfaceNamePrefix", prefix, LONGEST_INTERFACE - mark))
        }
        DetectLocal::ClusterCidr(_) | DetectLocal::NodeCidr => None,
    }
}

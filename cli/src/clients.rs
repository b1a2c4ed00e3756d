//! Who sends a packet: from a word to an address and an interface.

use std::net::IpAddr;

use kps_flow::{ClientClass, Family};
use kps_model::objects::SliceEndpoint;
use kps_model::{Cluster, address};
use kps_sim::Walker;

use crate::cluster::Proxied;
use crate::error::Failure;
use crate::node::Node;

/// A client.
pub struct Client {
    /// Who it is.
    pub class: ClientClass,
    /// Its address; `None` for a node process that lets the kernel choose.
    pub address: Option<IpAddr>,
    /// The interface by which its packets come in.
    pub interface: Option<String>,
}

/// Addresses outside of any cluster, kept for documentation (RFC 5737, RFC 3849).
const OUTSIDE: [&str; 2] = ["198.51.100.200", "2001:db8:99::200"];

/// Finds the client that a word or address means.
///
/// # Errors
/// If it means none; `option` says where the word was given.
pub fn find(
    option: &str,
    word: &str,
    family: Family,
    node: &Node<'_>,
    walker: &Walker<'_>,
) -> Result<Client, Failure> {
    meant(word, family, node, walker)
        .map_err(|why| Failure::Usage(format!("{option} {word}: {why}")))
}

fn meant(
    word: &str,
    family: Family,
    node: &Node<'_>,
    walker: &Walker<'_>,
) -> Result<Client, String> {
    match word {
        "node" => Ok(Client { class: ClientClass::Node, address: None, interface: None }),
        "outside" => Ok(outside(family, walker)),
        "pod" => pod(family, objects(node)?, walker),
        _ => match word.strip_prefix("pod:") {
            Some(name) => named_pod(name, family, objects(node)?, walker),
            None => addressed(word, node, walker),
        },
    }
}

fn objects<'n>(node: &'n Node<'n>) -> Result<&'n Proxied<'n>, String> {
    node.proxied
        .as_ref()
        .ok_or_else(|| "only objects say where pods are; give an address".to_owned())
}

fn outside(family: Family, walker: &Walker<'_>) -> Client {
    let texts = OUTSIDE.iter().filter_map(|text| text.parse().ok());
    let address = texts.into_iter().find(|address| Family::of(*address) == family);
    came_in(ClientClass::Outside, address, walker)
}

fn came_in(class: ClientClass, address: Option<IpAddr>, walker: &Walker<'_>) -> Client {
    let link = address.and_then(|address| walker.network().link_to(address));
    let interface = Some(link.map_or_else(|| "eth0".to_owned(), |link| link.to_string()));
    Client { class, address, interface }
}

/// Takes the highest free address of the node's pod range that is below .252: one that an
/// allocator comes to last.
fn pod(family: Family, proxied: &Proxied<'_>, walker: &Walker<'_>) -> Result<Client, String> {
    let view = proxied.views.iter().find(|view| view.family == family);
    let ranges = view.into_iter().flat_map(|view| &view.pod_cidrs);
    let range = ranges.into_iter().find(|range| Family::of(range.addr()) == family);
    let range =
        range.ok_or_else(|| format!("the Node has no {family} pod range; give an address"))?;
    let taken = |address: &IpAddr| endpoints(proxied.cluster).any(|e| is_at(e, *address));
    let free = range.hosts().take(251).collect::<Vec<_>>().into_iter().rev().find(|a| !taken(a));
    Ok(came_in(ClientClass::Pod, free, walker))
}

fn named_pod(
    name: &str,
    family: Family,
    proxied: &Proxied<'_>,
    walker: &Walker<'_>,
) -> Result<Client, String> {
    let is_meant = |endpoint: &&SliceEndpoint| {
        let target = &endpoint.target_ref;
        let known = target.namespace.as_deref().zip(target.name.as_deref());
        target.kind.as_deref() == Some("Pod") && known == name.split_once('/')
    };
    let addresses = endpoints(proxied.cluster).filter(is_meant).filter_map(first_address);
    let address = addresses.into_iter().find(|address| Family::of(*address) == family);
    let address =
        address.ok_or_else(|| format!("no EndpointSlice has an {family} address of it"))?;
    Ok(came_in(class_of(address, proxied), Some(address), walker))
}

fn addressed(text: &str, node: &Node<'_>, walker: &Walker<'_>) -> Result<Client, String> {
    let address: IpAddr = text
        .parse()
        .map_err(|_| "expected pod, pod:NS/NAME, node, outside or an address".to_owned())?;
    if walker.network().is_local(address) {
        let address = Some(address);
        return Ok(Client { class: ClientClass::Node, address, interface: None });
    }
    let class = node.proxied.as_ref().map_or(ClientClass::Outside, |p| class_of(address, p));
    Ok(came_in(class, Some(address), walker))
}

/// Returns the class of an address that is not the node's own: by the Nodes' pod ranges.
fn class_of(address: IpAddr, proxied: &Proxied<'_>) -> ClientClass {
    let own = proxied.views.iter().flat_map(|view| &view.pod_cidrs);
    if own.into_iter().any(|range| range.contains(&address)) {
        return ClientClass::Pod;
    }
    let all = proxied.cluster.nodes.iter().flat_map(|node| &node.spec.pod_cidrs);
    let mut ranges = all.filter_map(|text| address::parse_prefix(text));
    let elsewhere = ranges.any(|range| range.contains(&address));
    if elsewhere { ClientClass::RemotePod } else { ClientClass::Outside }
}

fn endpoints(cluster: &Cluster) -> impl Iterator<Item = &SliceEndpoint> {
    cluster.slices.iter().flat_map(|slice| &slice.endpoints)
}

fn is_at(endpoint: &SliceEndpoint, address: IpAddr) -> bool {
    first_address(endpoint) == Some(address)
}

fn first_address(endpoint: &SliceEndpoint) -> Option<IpAddr> {
    address::parse_address(endpoint.addresses.first()?)
}

//! The choice among endpoints, and the way to each.

use std::net::SocketAddr;

use kps_model::PortView;
use kps_ruleset::Name;
use kps_ruleset::nftables::{Element, Key, Set, SetFlags, Value};

use super::chains::EndpointNames;
use super::containers::{Container, address_type};
use super::layout::Layout;
use super::matches::{dnat, goto, in_set, protocol, protocol_value, remember_client, saddr};
use super::plan::Fragment;
use super::port::Port;

/// Returns the names of the endpoints that rules may send to, if the layout has any for them, at the
/// endpoints' own indices.
pub(super) fn names(port: &PortView, base: &str, layout: Layout) -> Vec<Option<EndpointNames>> {
    if !layout.has_endpoint_chains(port.port.affinity.is_some()) {
        return Vec::new();
    }
    let mut names = vec![None; port.endpoints.len()];
    for index in &port.reachable {
        names[*index] = Some(EndpointNames::of(base, port.endpoints[*index].address));
    }
    names
}

/// Claims the chains of the endpoints, and their connections to themselves.
pub(super) fn claim(port: &Port<'_>, fragment: &mut Fragment) {
    for index in &port.seen.reachable {
        if let Some(names) = port.names_of(*index) {
            fragment.chain(names.chain);
        }
        let endpoint = &port.seen.endpoints[*index];
        if endpoint.is_local && port.layout.has_hairpin_set() {
            let connection = Element::new(hairpin_key(port, endpoint.address));
            fragment.element(Container::HairpinConnections, connection);
        }
    }
}

fn hairpin_key(port: &Port<'_>, endpoint: SocketAddr) -> Key {
    let address = Value::address(endpoint.ip());
    let protocol = protocol_value(port.service.key.protocol);
    Key::Many([address, address, protocol, Value::Port(endpoint.port())].into())
}

/// Writes the affinity sets, the policy chains, then the endpoints' chains.
pub(super) fn write(port: &Port<'_>, fragment: &mut Fragment) {
    write_affinity_sets(port, fragment);
    if let Some(chain) = port.chains.cluster {
        write_policy_chain(port, chain, &port.seen.cluster, fragment);
    }
    if let Some(chain) = port.chains.local {
        write_policy_chain(port, chain, &port.seen.local, fragment);
    }
    for index in &port.seen.reachable {
        if let Some(names) = port.names_of(*index) {
            let address = port.seen.endpoints[*index].address;
            write_endpoint_chain(port, names, address, fragment);
        }
    }
}

fn write_affinity_sets(port: &Port<'_>, fragment: &mut Fragment) {
    let Some(seconds) = port.service.affinity else { return };
    for names in port.names.iter().flatten() {
        let set = Set {
            key: vec![address_type(port.view.family)],
            flags: SetFlags { dynamic: true, timeout: true, ..SetFlags::default() },
            timeout: Some(u64::from(seconds) * 1000),
            ..Set::default()
        };
        fragment.affinity_set(names.affinity, set);
    }
}

/// A client with affinity to an endpoint goes there, the others are spread.
fn write_policy_chain(port: &Port<'_>, chain: Name, indices: &[usize], fragment: &mut Fragment) {
    if port.service.affinity.is_some() {
        for names in indices.iter().filter_map(|index| port.names_of(*index)) {
            let known = in_set(saddr(port.view.family), names.affinity);
            fragment.rule(chain, [known, goto(names.chain)]);
        }
    }
    port.layout.write_choice(port, chain, indices, fragment);
}

fn write_endpoint_chain(
    port: &Port<'_>,
    names: EndpointNames,
    address: SocketAddr,
    fragment: &mut Fragment,
) {
    port.layout.write_hairpin_mark(port, names, address.ip(), fragment);
    if port.service.affinity.is_some() {
        let remember = remember_client(names.affinity, port.view.family);
        fragment.rule(names.chain, [remember]);
    }
    let protocol = protocol(port.service.key.protocol);
    fragment.rule(names.chain, [protocol, dnat(address)]);
}

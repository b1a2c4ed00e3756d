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
pub(super) fn claim(context: &Port<'_>, fragment: &mut Fragment) {
    for index in &context.port.reachable {
        if let Some(names) = context.names_of(*index) {
            fragment.chain(names.chain);
        }
        let endpoint = &context.port.endpoints[*index];
        if endpoint.is_local && context.layout.has_hairpin_set() {
            let connection = Element::new(hairpin_key(context, endpoint.address));
            fragment.element(Container::HairpinConnections, connection);
        }
    }
}

fn hairpin_key(context: &Port<'_>, endpoint: SocketAddr) -> Key {
    let address = Value::address(endpoint.ip());
    let protocol = protocol_value(context.port.port.key.protocol);
    Key::Many([address, address, protocol, Value::Port(endpoint.port())].into())
}

/// Writes the affinity sets, the policy chains, then the endpoints' chains.
pub(super) fn write(context: &Port<'_>, fragment: &mut Fragment) {
    write_affinity_sets(context, fragment);
    if let Some(chain) = context.chains.cluster {
        write_policy_chain(context, chain, &context.port.cluster, fragment);
    }
    if let Some(chain) = context.chains.local {
        write_policy_chain(context, chain, &context.port.local, fragment);
    }
    for index in &context.port.reachable {
        if let Some(names) = context.names_of(*index) {
            let address = context.port.endpoints[*index].address;
            write_endpoint_chain(context, names, address, fragment);
        }
    }
}

fn write_affinity_sets(context: &Port<'_>, fragment: &mut Fragment) {
    let Some(seconds) = context.port.port.affinity else { return };
    for names in context.names.iter().flatten() {
        let set = Set {
            key: vec![address_type(context.view.family)],
            flags: SetFlags { dynamic: true, timeout: true, ..SetFlags::default() },
            timeout: Some(u64::from(seconds) * 1000),
            ..Set::default()
        };
        fragment.affinity_set(names.affinity, set);
    }
}

/// A client with affinity to an endpoint goes there, the others are spread.
fn write_policy_chain(context: &Port<'_>, chain: Name, indices: &[usize], fragment: &mut Fragment) {
    if context.port.port.affinity.is_some() {
        for names in indices.iter().filter_map(|index| context.names_of(*index)) {
            let known = in_set(saddr(context.view.family), names.affinity);
            fragment.rule(chain, [known, goto(names.chain)]);
        }
    }
    context.layout.write_choice(context, chain, indices, fragment);
}

fn write_endpoint_chain(
    context: &Port<'_>,
    names: EndpointNames,
    address: SocketAddr,
    fragment: &mut Fragment,
) {
    context.layout.write_hairpin_mark(context, names, address.ip(), fragment);
    if context.port.port.affinity.is_some() {
        let remember = remember_client(names.affinity, context.view.family);
        fragment.rule(names.chain, [remember]);
    }
    let protocol = protocol(context.port.port.key.protocol);
    fragment.rule(names.chain, [protocol, dnat(address)]);
}
